"""Whatever comes in whatever order: one id for each thing for ever, and two complete reads before one is removed."""

from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st

from patrol.estate.collect import merge_estates
from patrol.estate.memory.model import Presence
from patrol.estate.model import Estate, Resource
from tests.estate.memory.builders import NOW, Life, disk, estate, gap, guest, host


@dataclass(frozen=True)
class Step:
    """One run. Things by number; what of them can be read; how the source answered."""

    disks: tuple[tuple[int, int], ...]  # which disk sits where
    serials: frozenset[int]  # of which disks the serial number can be read
    guests: tuple[tuple[int, int], ...]  # VMID and name
    host_name: int
    answer: str
    full: bool

    @property
    def is_complete(self) -> bool:
        return self.answer == "whole" and self.full

    def estate(self) -> Estate:
        if self.answer == "outage":
            return estate(connected=False)
        if self.answer == "empty":
            return estate()
        name = f"host{self.host_name}"
        rows: list[Resource] = [host(name, "m1")]
        for number, place in self.disks:
            device = f"sd{'abcdef'[place]}"
            rows.append(disk(device, f"S{number}XY" if number in self.serials else "", on=name))
        rows.extend(guest(vmid, f"name{called}") for vmid, called in self.guests)
        if self.answer == "doubled":
            rows.extend(guest(vmid, f"name{called}", source="second") for vmid, called in self.guests)
        return estate(*rows, gaps=[gap()] if self.answer == "partial" else [])


_UNIQUE = {"unique_by": (lambda pair: pair[0], lambda pair: pair[1])}
steps = st.builds(
    Step,
    disks=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=4, **_UNIQUE).map(tuple),
    serials=st.frozensets(st.integers(0, 3)),
    guests=st.lists(st.tuples(st.integers(101, 103), st.integers(0, 4)), max_size=3, **_UNIQUE).map(tuple),
    host_name=st.integers(0, 1),
    answer=st.sampled_from(["whole", "whole", "whole", "partial", "outage", "empty", "doubled"]),
    full=st.sampled_from([True, True, False]),
)


@given(st.lists(steps, max_size=8))
def test_ids_are_minted_once_and_nothing_goes_without_two_complete_reads(history):
    life, complete_reads = Life(), {}
    for step in history:
        before = life.memory
        collected = merge_estates([step.estate()])
        seen = life.takes(collected, counts_absence=step.full)
        now = life.memory
        assert len(seen) == len(set(seen)), "two things with one id"
        assert set(seen) <= now.resources.keys()
        given_up = before.resources.keys() - now.resources.keys()
        for old in given_up:
            assert now.find_id(old) is not None, "an id that was merged leads to what it became"
        known = {resource.id for resource in collected.resources}
        assert all(not resource.parent or resource.parent in known for resource in collected.resources)
        for each in now.resources.values():
            missed = each.id not in seen and (step.is_complete or (step.answer == "doubled" and step.full))
            count = 0 if each.id in seen else complete_reads.get(each.id, 0) + missed
            complete_reads[each.id] = count
            if each.presence is Presence.REMOVED:
                assert count >= 2, "removed without two complete reads"
            assert (each.removed_at is None) == (each.presence is not Presence.REMOVED)
            assert NOW < each.first_seen_at <= each.last_seen_at <= life.now
            assert each.presence is Presence.PRESENT or each.id not in seen


readable = steps.map(lambda step: replace(step, serials=frozenset(range(4)), host_name=0, answer="whole", full=True))


@given(st.lists(readable, max_size=6))
def test_a_disk_whose_serial_number_is_always_read_has_one_id_wherever_it_sits(history):
    life, minted = Life(), {}
    for step in history:
        collected = merge_estates([step.estate()])
        serials = [row.disk.serial if row.disk else "" for row in collected.resources]
        for serial, resource_id in zip(serials, life.takes(collected), strict=True):
            if serial:
                assert minted.setdefault(serial, resource_id) == resource_id
    assert len(set(minted.values())) == len(minted)


@given(st.lists(steps, min_size=1, max_size=4))
def test_seeing_the_same_again_changes_nothing(history):
    life = Life()
    for step in history:
        life.takes(merge_estates([step.estate()]), counts_absence=step.full)
    first = life.takes(merge_estates([history[-1].estate()]))
    recognition = life.recognises(collected := merge_estates([history[-1].estate()]))
    assert [resource.id for resource in collected.resources] == first
    assert (recognition.new, recognition.merges, recognition.aliases) == ((), (), ())
