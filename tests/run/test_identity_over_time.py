"""Findings follow their resource through renames, moves, outages and merges, and end when it is removed."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from findings.kinds import Kind
from findings.model import DEFAULT_ORG, FindingState, ResolveReason, Topic, TransitionReason
from findings.silence import Silence, SilenceKind
from findings.silence_store import SilenceStore
from findings.store import FindingStore
from patrol.estate.memory.model import Memory
from patrol.estate.memory.store import ResourceMemory
from patrol.estate.model import Estate, Resource, ResourceType, SourceState, Status
from patrol.run import RunRequest
from patrol.run.memory import RunMemory
from patrol.run.record_model import RunStatus
from signals.backup_evidence import BackupTaskRow, PveBackupRow
from signals.evidence import BackupStore, DiskRow
from tests.run.builders import HOST, NOW, GivenSource, House, disk, estate, gap, host

S1, WEAK = "disk:serial:S1ABC", "disk:hosta:sda"


def findings(house: House, kind: Kind | None = None):
    with house.database.read() as connection:
        found = FindingStore(connection, DEFAULT_ORG).list_findings()
    return [each for each in found if kind is None or each.kind == kind]


def transitions(house: House, finding_id: str):
    with house.database.read() as connection:
        return FindingStore(connection, DEFAULT_ORG).transitions(finding_id)


def memory(house: House) -> Memory:
    with house.database.read() as connection:
        return ResourceMemory(connection).load()


def bad(serial: str | None = "S1ABC", *, device: str = "sda", wwn: str | None = None, on: str = HOST) -> Resource:
    """A disk that says FAILED, with the id that the local source gives it."""
    natural = f"serial:{serial}" if serial else f"wwn:{wwn}" if wwn else f"{on.rpartition(':')[2]}:{device}"
    return Resource(
        id=f"disk:{natural}",
        type=ResourceType.DISK,
        name=device,
        source="local",
        parent=on,
        disk=DiskRow(
            device=device,
            dev_path=f"/dev/{device}",
            serial=serial,
            wwn=wwn,
            health="FAILED",
            type="sata",
            smart_complete=True,
        ),
    )


def the_one(house: House, kind: Kind = Kind.SMART_FAILURE):
    (found,) = findings(house, kind)
    return found


# --- the same thing under another name


def test_a_serial_number_learned_later_leaves_the_finding_where_it_is(house: House):
    house.run(estate(host(), bad(serial=None)))
    before = the_one(house)
    house.run(estate(host(), bad()))
    after = the_one(house)
    assert (after.id, after.resource_id, after.first_seen_at) == (before.id, WEAK, before.first_seen_at)
    assert (after.times_raised, after.state) == (2, FindingState.OPEN)


def test_a_renamed_host_keeps_its_findings(house: House):
    old, new = host(usage=99), host(usage=99, name="hostb")
    old.aliases, new.aliases = ["machine-id:m1"], ["machine-id:m1"]
    house.run(estate(old, bad(serial=None)))
    report = house.run(estate(new, bad(serial=None, on="agent:local:hostb")))
    assert {each.resource_id for each in findings(house)} == {HOST, WEAK}
    assert all(each.times_raised == 2 for each in findings(house))
    assert the_one(house, Kind.HIGH_DISK).resource_name == "hostb"
    assert {signal.resource_id for signal in report.signals} == {HOST, WEAK}


def test_a_scope_and_a_gap_may_use_any_id_that_a_host_ever_had(house: House):
    old, new = host(usage=99), host(usage=99, name="hostb")
    old.aliases, new.aliases = ["machine-id:m1"], ["machine-id:m1"]
    house.run(estate(old))
    report = house.run(
        estate(new, gaps=[gap(Topic.UNITS, "agent:local:hostb")]), request=RunRequest(scope=("agent:local:hostb",))
    )
    assert report.run.scope == (HOST,)
    assert [each.resource_id for each in report.gaps] == [HOST]


def test_two_ids_found_to_be_one_unite_what_is_stored_about_them(house: House):
    house.run(estate(host(), bad(serial=None, wwn="5000c500a1b2c3d4")))
    house.run(estate(host(), bad(serial=None, wwn="5000c500a1b2c3d4"), bad(device="sdb")))
    first, second = sorted(findings(house, Kind.SMART_FAILURE), key=lambda each: each.first_seen_at)
    silence = Silence(
        org_id=DEFAULT_ORG,
        id="s1",
        kind=SilenceKind.SUPPRESSION,
        resource_id=S1,
        starts_at=NOW,
        reason="known",
        author="anna",
        created_at=NOW,
    )
    with house.database.write() as connection:
        SilenceStore(connection, DEFAULT_ORG).add(silence)
    house.run(estate(host(), bad(wwn="5000c500a1b2c3d4")))
    united = the_one(house)
    assert (united.id, united.resource_id) == (first.id, "disk:wwn:5000c500a1b2c3d4")
    assert united.first_seen_at == first.first_seen_at
    assert united.times_raised == first.times_raised + second.times_raised + 1
    reasons = [each.reason for each in transitions(house, first.id)]
    assert reasons == [TransitionReason.FILED, TransitionReason.FILED, TransitionReason.UNITED]
    assert memory(house).find_id(S1) == united.resource_id
    assert S1 not in memory(house).resources
    with house.database.read() as connection:
        (moved,) = SilenceStore(connection, DEFAULT_ORG).list_silences()
        readings = [("local", Topic.SMART, each) for each in (S1, united.resource_id)]
        known = RunMemory(connection).last_read(readings)
    assert moved.resource_id == united.resource_id
    assert list(known) == readings[1:]


def test_a_finding_without_a_twin_moves_when_its_resource_is_merged(house: House):
    sound = disk(serial="S1ABC")
    sound.disk = DiskRow(device="sda", wwn="5000c500a1b2c3d4", health="PASSED", smart_complete=True)
    sound.id = "disk:wwn:5000c500a1b2c3d4"
    house.run(estate(host(), sound))
    house.run(estate(host(), sound, bad(device="sdb")))
    before = the_one(house)
    house.run(estate(host(), bad(wwn="5000c500a1b2c3d4")))
    after = the_one(house)
    assert (after.id, after.resource_id) == (before.id, "disk:wwn:5000c500a1b2c3d4")
    assert [each.reason for each in transitions(house, after.id)][-1] is TransitionReason.UNITED
    house.run(estate(host(), bad(wwn="5000c500a1b2c3d4")))
    assert the_one(house).times_raised == 3


# --- removed


def test_a_disk_replaced_in_its_slot_takes_its_finding_with_it_after_two_complete_reads(house: House):
    house.run(estate(host(), bad()))
    sound = disk(serial="S2ABC")
    house.run(estate(host(), sound))
    assert the_one(house).is_open, "one complete read without it is not enough"
    report = house.run(estate(host(), sound))
    closed = the_one(house)
    assert (closed.state, closed.resolve_reason) == (FindingState.RESOLVED, ResolveReason.RESOURCE_REMOVED)
    assert report.run.status is RunStatus.HEALTHY, "what is gone needs no verdict, so nothing is uncertain"
    assert "uncertain" not in report.status_text
    house.run(estate(host(), sound))
    assert the_one(house) == closed


def test_what_reappears_is_the_same_resource_and_its_finding_comes_back(house: House):
    house.run(estate(host(), bad()))
    filed = the_one(house)
    house.run(estate(host()))
    house.run(estate(host()))
    assert not the_one(house).is_open
    house.run(estate(host(), bad()))
    back = the_one(house)
    assert (back.id, back.is_open, back.regression_count) == (filed.id, True, 1)
    assert memory(house).resources[S1].presence == "present"


def nameless() -> Resource:
    return Resource(id="disk:hosta:sdz", type=ResourceType.DISK, name="sdz", source="local", parent=HOST)


OUT_OF_SIGHT = {
    "an outage": estate(connected=False, gaps=[gap(Topic.INVENTORY)]),
    "an error": OSError("401 Unauthorized"),
    "an empty answer": estate(),
    "a partial answer": estate(host(), gaps=[gap(Topic.INVENTORY)]),
    "disks that cannot be listed": estate(host(), gaps=[gap(Topic.SMART)]),
    "a disk that does not say which one it is": estate(host(), nameless()),
}


@pytest.mark.parametrize("unseen", OUT_OF_SIGHT.values(), ids=OUT_OF_SIGHT)
def test_what_is_out_of_sight_is_not_removed(house: House, unseen: Estate | Exception):
    house.run(estate(host(), bad()))
    for _ in range(4):
        house.run(unseen)
    assert the_one(house).is_open
    assert memory(house).resources[S1].presence == "unseen"


def test_a_source_that_is_not_configured_any_more_removes_nothing(house: House):
    house.run(estate(host(), bad()))
    other = Estate(
        resources=[Resource(id="agent:other:x", type=ResourceType.AGENT, name="x", source="other")],
        sources=[SourceState(name="other", read=list(Topic))],
    )
    for _ in range(3):
        house.clock.advance(minutes=1)
        house.patrol(GivenSource([other], name="other")).run(RunRequest())
    assert the_one(house).is_open
    assert memory(house).resources[S1].presence == "unseen"


def test_a_scoped_run_neither_counts_nor_removes(house: House):
    house.run(estate(host(), bad()))
    for _ in range(3):
        house.run(estate(host()), request=RunRequest(scope=("hosta",)))
    assert the_one(house).is_open
    assert memory(house).resources[S1].presence == "present"


def test_an_operator_who_removed_it_during_a_run_is_not_overruled_by_it(house: House):
    house.run(estate(host(), bad()))
    known = memory(house)
    house.clock.advance(minutes=1)

    class MeanwhileRemoved(GivenSource):
        def collect(self, request):
            with house.database.write() as connection:
                assert ResourceMemory(connection).remove(S1, house.clock())
            return GivenSource.collect(self, request)

    house.patrol(MeanwhileRemoved([estate(host())])).run(RunRequest())
    after = memory(house).resources[S1]
    assert known.resources[S1].presence == "present"
    assert (after.presence, after.removed_by) == ("removed", "operator")
    assert the_one(house).resolve_reason is ResolveReason.RESOURCE_REMOVED


# --- guests


def guest(vmid: int = 101, name: str = "web", **more) -> Resource:
    return Resource(
        id=f"vm:pve:{vmid}",
        type=ResourceType.VM,
        name=name,
        status=Status.RUNNING,
        source="local",
        vmid=vmid,
        instance="pve",
        **more,
    )


def cluster(*guests: Resource, backups: Sequence[PveBackupRow] = (), tasks: Sequence[BackupTaskRow] = ()) -> Estate:
    whole = estate(host(), *guests)
    whole.collected_at = None  # as read in the run itself
    whole.backup_stores = [BackupStore(id="storage:pve:nas", name="nas")]
    whole.pve_backups = list(backups)
    whole.backup_tasks = list(tasks)
    return whole


def test_a_guest_that_was_there_from_the_beginning_is_stale_at_once_a_new_one_after_the_limit(house: House):
    house.run(cluster(guest()))
    assert [each.resource_id for each in findings(house, Kind.BACKUP_STALE)] == ["vm:pve:101"]
    house.run(cluster(guest(), guest(102, "new")))
    assert [each.resource_id for each in findings(house, Kind.BACKUP_STALE)] == ["vm:pve:101"]
    house.clock.advance(hours=49)
    house.run(cluster(guest(), guest(102, "new")))
    assert {each.resource_id for each in findings(house, Kind.BACKUP_STALE)} == {"vm:pve:101", "vm:pve:102"}


def test_a_removed_guest_has_no_stale_backups_whatever_is_left_of_them(house: House):
    old = PveBackupRow(vmid=101, backup_time=(NOW - timedelta(days=60)).isoformat(), instance="pve")
    house.run(cluster(guest(), guest(102, "b"), backups=[old]))
    kept = guest(102, "b")
    house.run(cluster(kept, backups=[old]))
    house.run(cluster(kept, backups=[old]))
    (closed,) = [each for each in findings(house, Kind.BACKUP_STALE) if each.resource_id == "vm:pve:101"]
    assert closed.resolve_reason is ResolveReason.RESOURCE_REMOVED
    house.run(cluster(kept, backups=[old]))
    (still,) = [each for each in findings(house, Kind.BACKUP_STALE) if each.resource_id == "vm:pve:101"]
    assert still == closed


def test_a_vmid_used_again_does_not_inherit_the_findings_of_the_guest_before(house: House):
    house.run(cluster(guest(), guest(102, "b")))
    house.run(cluster(guest(102, "b")))
    for _ in range(2):
        house.run(cluster(guest(102, "b"), guest(101, "mail")))
    states = {each.resource_id: each.state for each in findings(house, Kind.BACKUP_STALE)}
    assert states == {"vm:pve:101": "resolved", "vm:pve:102": "open"}
    house.clock.advance(hours=49)
    house.run(cluster(guest(102, "b"), guest(101, "mail")))
    states = {each.resource_id: each.state for each in findings(house, Kind.BACKUP_STALE)}
    assert states == {"vm:pve:101": "resolved", "vm:pve:101~g2": "open", "vm:pve:102": "open"}


def test_a_clock_that_goes_back_removes_nothing_sooner_and_dates_nothing_in_the_future(house: House):
    house.run(estate(host(), bad()))
    house.clock.advance(days=-2)
    house.run(estate(host(), bad()))
    house.run(estate(host()))
    known = memory(house).resources[S1]
    assert (known.presence, known.absent_runs) == ("unseen", 1)
    assert known.first_seen_at <= known.last_seen_at <= house.clock.now
    house.run(estate(host()))
    assert memory(house).resources[S1].presence == "removed"
