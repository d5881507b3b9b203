"""Whatever is broken in an estate is found, and nothing else is: through the detectors, and through whole runs."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from findings.kinds import KINDS, Kind
from findings.model import Finding, FindingState, Look
from findings.silence import PATROLS_OWN
from findings.store import FindingStore
from patrol.database import open_database
from patrol.estate.collect import merge_estates
from patrol.estate.model import Estate, lists_about_resources
from patrol.run import RunReport, RunRequest
from patrol.run.record_model import RunStatus
from patrol.run.sweep import SWEPT
from patrol.tools.registry import Toolbox
from signals.model import Detection, Origin, ToolCall
from signals.pages import Page
from tests.acceptance.blindness import BLINDERS
from tests.acceptance.estates import SOURCES, Parts, Plan, Planting, plans
from tests.acceptance.faults import FAULTS, Condition
from tests.acceptance.recordings import clear_looks, conditions, judged, lines, recorded, swept, text_of
from tests.acceptance.things import CLUSTERS, THINGS, Place
from tests.run.builders import NOW, GivenSource, House

FEW, MANY = 20, 500
"""Estates for each property: in every test run, and in the long proof."""

Property = Callable[[Plan, int], None]


# --- one detection ----------------------------------------------------------------------------------------------------


def what_is_broken_is_a_signal_and_nothing_else_is(plan: Plan, seed: int) -> None:
    detection = judged(swept(plan.estate()))
    assert conditions(detection.signals) == plan.faults
    assert not any(look.look is Look.PRESENT and Condition(*look[:3]) not in plan.faults for look in detection.examined)


def a_mended_estate_is_clear_of_everything_that_was_wrong(plan: Plan, seed: int) -> None:
    detection = judged(swept(plan.estate(mended=True)))
    assert detection.signals == detection.problems == ()
    blind = {fault: look for fault in plan.faults if (look := detection.examined.look(*fault)) is not Look.CLEAR}
    assert blind == {}


def every_signal_shows_its_row_and_the_limit_of_its_value(plan: Plan, seed: int) -> None:
    for signal in judged(swept(plan.estate())).signals:
        assert signal.summary
        assert 0 < len(signal.evidence.encode()) <= 500
        assert signal.limit is None or signal.limit_source or signal.limit == 0
        assert signal.category is KINDS[signal.signal_type].category


def equal_evidence_gives_equal_bytes(plan: Plan, seed: int) -> None:
    calls = swept(plan.estate())
    assert lines(judged(calls)) == lines(judged(calls)) == lines(judged(swept(plan.estate())))


def the_order_of_an_estate_decides_nothing(plan: Plan, seed: int) -> None:
    parts = plan.parts()
    random = Random(seed)
    for part in parts.values():
        for rows in (*lists_about_resources(part), part.resources, part.gaps):
            random.shuffle(rows)  # type: ignore[arg-type]  # lists of different rows
    shuffled = judged(swept(merge_estates(parts.values())))
    whole = judged(swept(plan.estate()))
    if {"seen twice", "called alike"}.isdisjoint(plan.junk):
        assert [*map(msgspec.json.encode, shuffled.signals)] == [*map(msgspec.json.encode, whole.signals)]
    assert conditions(shuffled.signals) == conditions(whole.signals)


def signals_stand_in_their_order_whatever_was_read_first(plan: Plan, seed: int) -> None:
    calls = swept(plan.estate(), page_rows=3)
    Random(seed).shuffle(calls)
    shown = [(-each.severity.rank, each.signal_type, each.resource_id, each.subject) for each in judged(calls).signals]
    assert shown == sorted(shown, key=lambda each: (each[0], list(Kind).index(each[1]), *each[2:]))


def structs_and_their_recorded_text_say_the_same(plan: Plan, seed: int) -> None:
    calls = swept(plan.estate())
    as_structs, as_text = judged(calls), judged(recorded(calls))
    assert lines(as_structs) == lines(as_text)
    assert as_structs.problems == as_text.problems
    assert as_structs.checks_off == as_text.checks_off


def the_size_of_pages_decides_nothing(plan: Plan, seed: int) -> None:
    whole = judged(swept(plan.estate()))
    paged = judged(swept(plan.estate(), page_rows=1 + seed % 7))
    assert lines(paged, without_calls=True) == lines(whole, without_calls=True)


def what_a_model_reads_beside_the_sweep_changes_no_answer(plan: Plan, seed: int) -> None:
    random = Random(seed)
    estate = plan.estate()
    own = swept(estate)
    reads = swept(estate, page_rows=1 + seed % 9, origin=Origin.MODEL)
    reads += [_narrowed(estate, random, number) for number in range(4)]
    some = random.sample(reads, random.randint(1, len(reads)))
    read = [msgspec.structs.replace(call, id=f"model-{call.id}") for call in some]
    assert _answers(judged([*read, *own])) == _answers(judged(own))


def _answers(detection: Detection) -> tuple[set[Condition], set[tuple[object, ...]]]:
    """What is wrong and what was looked at, whichever row shows it."""
    return conditions(detection.signals), {(*look[:3], look.look) for look in detection.examined}


def _narrowed(estate: Estate, random: Random, number: int) -> ToolCall:
    """A read of one resource alone, as a model asks for it."""
    tool_name, selector, value = random.choice(SWEPT)
    about = random.choice([each.id for each in estate.resources])
    asked: dict[str, object] = {selector: value, "resource_id": about}
    output = Toolbox(estate, NOW).call(tool_name, asked)
    return ToolCall(id=f"one-{number}", tool_name=tool_name, input=asked, output=output, origin=Origin.MODEL)


def a_missing_page_clears_nothing_of_its_sweep(plan: Plan, seed: int) -> None:
    random = Random(seed)
    calls = swept(plan.estate(), page_rows=3)
    lost = random.choice(calls)
    if isinstance(lost.output, Page) and lost.output.pagination is not None:
        fewer = [call for call in calls if call is not lost]
        whole, less = judged(calls), judged(fewer)
        _clears_no_more(whole, less, fewer, lost)
        # An attempt that is not shown may have been the success that ended a failure.
        new = conditions(less.signals) - conditions(whole.signals)
        assert {condition.kind for condition in new} <= {Kind.BACKUP_FAILED}
        assert all(condition.resource_id in _known(whole) for condition in new)


def a_page_that_was_cut_off_says_no_more_than_the_whole(plan: Plan, seed: int) -> None:
    random = Random(seed)
    calls = swept(plan.estate())
    cut = random.choice(calls)
    text = text_of(cut)
    shorter = msgspec.structs.replace(cut, output=text[: random.randrange(len(text))])
    fewer = [shorter if call is cut else call for call in calls]
    whole, less = judged(calls), judged(fewer)
    assert conditions(less.signals) <= conditions(whole.signals)
    _clears_no_more(whole, less, fewer, cut)


def complete_rows_before_a_cut_count(plan: Plan, seed: int) -> None:
    random = Random(seed)
    calls = swept(plan.estate())
    shows_faults = {signal.tool_call_id for signal in judged(calls).signals}
    cut = random.choice([call for call in calls if call.id in shows_faults] or calls)
    tables = [(name, rows) for name, rows in msgspec.json.decode(text_of(cut)).items() if _is_table(rows)]
    if not tables:
        return
    name, rows = random.choice(tables)
    complete = rows[: random.choice((len(rows), random.randrange(len(rows))))]
    broken = msgspec.json.encode(random.choice(rows)).decode()
    begun = [*(msgspec.json.encode(row).decode() for row in complete), broken[: random.randrange(len(broken))]]
    texts = msgspec.json.encode({name: complete}).decode(), f'{{"{name}":[{",".join(begun)}'
    ended, broke_off = (
        judged([msgspec.structs.replace(call, output=text) if call is cut else call for call in calls])
        for text in texts
    )
    assert conditions(ended.signals) <= conditions(broke_off.signals)


def _is_table(value: object) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def a_value_of_the_wrong_type_is_told_and_costs_nothing_elsewhere(plan: Plan, seed: int) -> None:
    random = Random(seed)
    calls = swept(plan.estate())
    spoilt = random.choice([call for call in calls if not _is_inventory(call)])
    document = msgspec.json.decode(text_of(spoilt))
    if not _spoil(document, random):
        return
    changed = msgspec.structs.replace(spoilt, output=msgspec.json.encode(document).decode())
    fewer = [changed if call is spoilt else call for call in calls]
    whole, less = judged(calls), judged(fewer)
    assert {problem.tool_call_id for problem in less.problems} >= {spoilt.id}
    _clears_no_more(whole, less, fewer, spoilt)
    elsewhere = [signal for signal in whole.signals if signal.tool_call_id != spoilt.id]
    assert conditions(elsewhere) <= conditions(less.signals)


def _clears_no_more(whole: Detection, less: Detection, fewer: list[ToolCall], poorer: ToolCall) -> None:
    """Less evidence: nothing is clear that was not clear before, and nothing at all of the sweep that lost some."""
    assert clear_looks(less) <= clear_looks(whole)
    if not _is_inventory(poorer):
        own = [call for call in fewer if _is_inventory(call) or _same_read(call, poorer)]
        assert clear_looks(judged(own)) == set()


def _known(detection: Detection) -> set[str]:
    return {look.resource_id for look in detection.examined}


def _is_inventory(call: ToolCall) -> bool:
    return isinstance(call.input, dict) and call.input.get("action") == "inventory"


def _same_read(one: ToolCall, other: ToolCall) -> bool:
    def read(call: ToolCall) -> object:
        assert isinstance(call.input, dict)
        return call.tool_name, call.input.get("type"), call.input.get("action")

    return read(one) == read(other)


_OR_TEXT = frozenset(
    {
        *("start_time", "end_time", "backup_time", "last_run", "first_seen", "error"),
        *("time", "last_sync", "next_sync", "last_duration", "guest_id"),
    }
)  # text is right there
_WRONG = ({}, [1], "much", {"a": None}, "\U0001f4a9")


def _spoil(document: object, random: Random) -> bool:
    """Puts values of a wrong type into some rows of a page; whether there was a row to spoil."""
    spoilt = False
    for row in random.sample(rows := [row for row in _objects(document) if row is not document], min(len(rows), 3)):
        numbers = [name for name, value in row.items() if isinstance(value, int | float) and name not in _OR_TEXT]
        if numbers and "vmid" not in numbers:
            row[random.choice(numbers)] = random.choice(_WRONG)
            spoilt = True
    return spoilt


def _objects(value: object) -> Iterator[dict[str, object]]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(inner)


# --- whole runs -------------------------------------------------------------------------------------------------------


@contextmanager
def _house() -> Iterator[House]:
    database = open_database("sqlite://")
    try:
        yield House(database)
    finally:
        database.close()


def _run(house: House, parts: dict[str, Estate | Exception] | Parts) -> RunReport:
    house.clock.advance(minutes=1)
    return house.patrol(*(GivenSource([part], name=name) for name, part in parts.items())).run(RunRequest())


def _open(house: House) -> dict[Condition, Finding]:
    with house.database.read() as connection:
        found = FindingStore(connection, "default").list_findings(state=FindingState.OPEN)
    return {Condition(Kind(each.kind), each.resource_id, each.subject): each for each in found}


def a_run_files_what_is_broken_and_nothing_else(plan: Plan, seed: int) -> None:
    with _house() as house:
        report = _run(house, plan.parts())
        assert set(_open(house)) == plan.faults
        assert report.run.status not in {RunStatus.ERROR, RunStatus.CRASHED}
        assert (report.run.status in {RunStatus.ISSUES_FOUND, RunStatus.CRITICAL}) == bool(plan.faults)
        assert report.run.new_findings == sum(not each.parent_finding for each in _open(house).values())
        assert "all clear" not in report.status_text or not plan.faults


def a_second_run_changes_nothing(plan: Plan, seed: int) -> None:
    with _house() as house:
        _run(house, plan.parts())
        before = _open(house)
        report = _run(house, plan.parts())
        assert _open(house).keys() == before.keys()
        assert (report.run.new_findings, report.run.resolved_findings) == (0, 0)
        assert all(each.raise_count == 0 for each in _open(house).values())


def what_cannot_be_seen_is_neither_filed_nor_closed(plan: Plan, seed: int) -> None:
    random = Random(seed)
    with _house() as house:
        _run(house, plan.parts())
        before = _open(house)
        for _ in range(2):
            blind: dict[str, Estate | Exception] = {}
            for name, part in plan.parts().items():
                blinder = random.choice(BLINDERS)
                blind[name] = blinder(name, part, random)
            report = _run(house, blind)
            after = {condition for condition in _open(house) if condition.kind is not Kind.SOURCE_BLIND}
            assert after == set(before)
            assert report.run.resolved_findings == 0


def what_is_mended_closes_and_damage_done_stays(plan: Plan, seed: int) -> None:
    with _house() as house:
        _run(house, plan.parts())
        lasting = {condition for condition, finding in _open(house).items() if _is_lasting(finding)}
        slow = {condition for condition in _open(house) if KINDS[condition.kind].clears_after > 1}
        _run(house, plan.parts(mended=True))
        assert set(_open(house)) == slow
        report = _run(house, plan.parts(mended=True))
        assert set(_open(house)) == lasting
        assert lasting or report.run.status is RunStatus.HEALTHY
        assert lasting or "all clear" in report.status_text
        _run(house, plan.parts())
        assert set(_open(house)) == plan.faults


def _is_lasting(finding: Finding) -> bool:
    return any(finding.facts.get(name, 0) > 0 for name in KINDS[Kind(finding.kind)].sticky_facts)


PROPERTIES: tuple[Property, ...] = (
    what_is_broken_is_a_signal_and_nothing_else_is,
    a_mended_estate_is_clear_of_everything_that_was_wrong,
    every_signal_shows_its_row_and_the_limit_of_its_value,
    equal_evidence_gives_equal_bytes,
    the_order_of_an_estate_decides_nothing,
    signals_stand_in_their_order_whatever_was_read_first,
    structs_and_their_recorded_text_say_the_same,
    the_size_of_pages_decides_nothing,
    what_a_model_reads_beside_the_sweep_changes_no_answer,
    a_missing_page_clears_nothing_of_its_sweep,
    a_page_that_was_cut_off_says_no_more_than_the_whole,
    complete_rows_before_a_cut_count,
    a_value_of_the_wrong_type_is_told_and_costs_nothing_elsewhere,
    a_run_files_what_is_broken_and_nothing_else,
    a_second_run_changes_nothing,
    what_cannot_be_seen_is_neither_filed_nor_closed,
    what_is_mended_closes_and_damage_done_stays,
)


def prove(holds: Property, examples: int) -> None:
    settings(max_examples=examples)(given(plans(), st.integers(0, 2**16))(holds))()


@pytest.mark.parametrize("holds", PROPERTIES, ids=lambda holds: holds.__name__)
def test_in_any_estate(holds: Property) -> None:
    prove(holds, FEW)


@pytest.mark.long
@pytest.mark.parametrize("holds", PROPERTIES, ids=lambda holds: holds.__name__)
def test_in_very_many_estates(holds: Property) -> None:
    prove(holds, MANY)


# --- what the properties rest on --------------------------------------------------------------------------------------


def test_the_catalogue_holds_every_kind_that_a_detector_can_state() -> None:
    struck = set()
    for thing, faults in FAULTS.items():
        for fault, cluster, seed in itertools.product(faults, CLUSTERS, range(40)):
            made = THINGS[thing](Random(seed), Place(cluster, 1))
            struck.update(condition.kind for condition in fault.strike(made, Random(seed)))
    # What has no limit of its own cannot be broken here: an operator must say how much is too much.
    assert struck == set(Kind) - PATROLS_OWN - {Kind.SNAPSHOT_LARGE, Kind.HIGH_DISK_IO}


@pytest.mark.parametrize("name", SOURCES)
def test_a_source_that_stays_out_of_sight_is_a_fault_of_its_own_until_it_is_read(name: str) -> None:
    plan = Plan((Planting("guest", "lab", 1, None), Planting("disk", "lab", 2, None)))
    condition = Condition(Kind.SOURCE_BLIND, f"source:patrol:{name}")
    with _house() as house:
        _run(house, plan.parts())
        for expected in ((), (condition,), (condition,)):
            _run(house, {**plan.parts(), name: RuntimeError("it does not answer")})
            assert tuple(_open(house)) == expected
        _run(house, plan.parts())
        assert _open(house) == {}
