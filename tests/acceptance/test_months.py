"""Findings live for months: through faults, blindness, operators, changed limits, renames and clocks that step.

Whatever happens in whatever order, after every run the findings say what was seen, and nothing else.
"""

import tempfile
from collections import Counter as Count
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from findings.grouping import grouped
from findings.identity import finding_key
from findings.kinds import KINDS, Kind
from findings.lifecycle import WAIT, advance
from findings.model import DEFAULT_ORG, DismissedReason, Finding, Look, ResolveReason, Severity, TransitionReason
from findings.silence import SilenceKind
from findings.silence_store import SilenceEndedError, SilenceStore
from findings.store import FindingStore
from findings.verbs import Acknowledge, Dismiss, Note, Resolve, Snooze, Suppress, Undo, Verb
from patrol.database import open_database
from patrol.estate.memory.model import Recognition
from patrol.estate.memory.store import ResourceMemory
from patrol.operators.silences import Wish, add_silence, end_silence
from patrol.operators.verbs import RefusedError, carry_out
from patrol.run import RunReport, RunRequest
from patrol.run.analyst import ModelWork, NoAnalyst
from patrol.run.observations import observation_of
from patrol.run.places import KnownPlaces
from patrol.run.record_model import RunStatus
from tests.acceptance.months import FILES, LAB, LOCAL, UNITS, USAGES, Condition, World, condition_of
from tests.run.builders import GivenSource, House, Joins

FEW, MANY = 20, 400
Known = dict[str, Finding]


class Meddler(NoAnalyst):
    """Somebody acts between what a run saw and what it records."""

    def __init__(self, act: Callable[[], None]) -> None:
        super().__init__()
        self._act = act

    def evaluate(self, groups: object, findings: object) -> ModelWork:
        self._act()
        return ModelWork()


@dataclass
class WorldLooks:
    """What the world shows, asked as a run asks it."""

    known: Known
    looks: dict[Condition, Look]

    def look(self, kind: str, resource_id: str, subject: str) -> Look | None:
        finding = next(each for each in self.known.values() if each.key == finding_key(resource_id, kind, subject))
        return self.looks.get(condition_of(finding))


VERBS = ("ack", "snooze", "dismiss", "later", "suppress", "resolve", "note", "undo")
some_blind = st.sampled_from([frozenset(), frozenset(), frozenset({LAB}), frozenset({LOCAL}), frozenset({LAB, LOCAL})])
some_verb = st.tuples(st.integers(0, 99), st.sampled_from(VERBS))


class Months(RuleBasedStateMachine):
    """One house, its operators, and what the world does to it."""

    @initialize()
    def move_in(self) -> None:
        self.database = open_database("sqlite://")
        self.house = House(self.database)
        self.world = World()
        self.folder = tempfile.TemporaryDirectory()
        self.silence_count = 0
        self.broken = self.read_limits = False

    # --- what happens in the world

    @rule(usage=st.sampled_from(USAGES))
    def fill_up(self, usage: float | None) -> None:
        self.world.usage = usage

    @rule(memory=st.sampled_from([None, 30.0, 99.0]), of_guest=st.sampled_from([30.0, 99.0]))
    def use_memory(self, memory: float | None, of_guest: float) -> None:
        self.world.memory, self.world.guest_memory = memory, of_guest

    @rule(units=st.none() | st.frozensets(st.sampled_from(UNITS)))
    def break_units(self, units: frozenset[str] | None) -> None:
        self.world.units = units

    @rule(
        verdict=st.sampled_from([None, "PASSED", "FAILED"]),
        serial=st.booleans(),
        there=st.sampled_from([True, True, False]),
    )
    def change_disk(self, verdict: str | None, serial: bool, there: bool) -> None:
        self.world.verdict, self.world.serial_known, self.world.disk_there = verdict, serial, there

    @rule(online=st.booleans())
    def switch_node(self, online: bool) -> None:
        self.world.node_online = online

    @rule(name=st.sampled_from(["hosta", "hostb", "hostc"]))
    def rename_host(self, name: str) -> None:
        self.world.host_name = name

    @rule(hours=st.sampled_from([1, 5, 30, 24 * 8, 24 * 40]))
    def wait(self, hours: int) -> None:
        self.house.clock.advance(hours=hours)

    @rule(minutes=st.sampled_from([1, 30, 180]))
    def set_clock_back(self, minutes: int) -> None:
        self.house.clock.advance(minutes=-minutes)

    @rule(which=st.sampled_from(["higher", "off"]))
    def set_limits(self, which: str) -> None:
        self._write(which)
        self.world.in_force = which

    @precondition(lambda self: self.read_limits and not self.broken)
    @rule()
    def break_limits(self) -> None:
        """What a run read last stays in force."""
        self._write("broken")

    def _write(self, which: str) -> None:
        self.broken = which == "broken"
        self.read_limits = self.broken
        file = Path(self.folder.name) / "alerts.json"
        file.write_text(FILES[which])
        alerts = self.house.settings.alerts.model_copy(update={"file": str(file)})
        self.house.settings = self.house.settings.model_copy(update={"alerts": alerts})

    # --- what operators do

    @rule(word=some_verb)
    def say(self, word: tuple[int, str]) -> None:
        self._say(*word)

    def _say(self, which: int, word: str) -> None:
        known = sorted(self.known().values(), key=lambda each: each.id)
        if not known:
            return
        finding = known[which % len(known)]
        try:
            carry_out(self.database, DEFAULT_ORG, [finding.id], self._verb(word), now=self.house.clock(), author="ada")
        except RefusedError:
            assert self.known()[finding.id] == finding
        self.check_history()

    def _verb(self, word: str) -> Verb:
        verbs: dict[str, Verb] = {
            "ack": Acknowledge(),
            "snooze": Snooze(until=self.house.clock() + timedelta(days=3)),
            "dismiss": Dismiss(reason=DismissedReason.EXPECTED_BEHAVIOR),
            "later": Dismiss(reason=DismissedReason.WILL_FIX_LATER),
            "suppress": Suppress(),
            "resolve": Resolve(note="did it"),
            "note": Note(text=f"seen at {self.house.clock()}"),
            "undo": Undo(),
        }
        return verbs[word]

    @rule(kind=st.sampled_from(SilenceKind), of=st.sampled_from(["agent:local:hosta", "node:lab:n1"]))
    def silence(self, kind: SilenceKind, of: str) -> None:
        now = self.house.clock()
        self.silence_count += 1
        wish = Wish(kind=kind, resource=of, ends_at=now + timedelta(days=2), reason="work")
        name = f"silence-{self.silence_count}"
        add_silence(self.database, DEFAULT_ORG, wish, now=now, author="ada", ids=lambda: name)

    @rule(which=st.integers(0, 99))
    def end_silence(self, which: int) -> None:
        with self.database.read() as connection:
            all_of_them = SilenceStore(connection, DEFAULT_ORG).list_silences()
        if all_of_them:
            name = all_of_them[which % len(all_of_them)].id
            try:
                end_silence(self.database, DEFAULT_ORG, name, now=self.house.clock(), author="ada")
            except SilenceEndedError:
                assert len(all_of_them) == self.silence_count

    # --- runs

    @rule(blind=some_blind)
    def look(self, blind: frozenset[str]) -> None:
        self.run(blind)

    @rule(blind=some_blind, usage=st.sampled_from(USAGES), verdict=st.sampled_from(["PASSED", "FAILED"]))
    def look_at_a_change(self, blind: frozenset[str], usage: float | None, verdict: str) -> None:
        self.world.usage, self.world.verdict = usage, verdict
        self.run(blind)

    @rule(blind=some_blind)
    def look_closely(self, blind: frozenset[str]) -> None:
        self.run(blind, scoped=True)

    @rule(blind=some_blind, meddling=some_verb)
    def look_while_somebody_acts(self, blind: frozenset[str], meddling: tuple[int, str]) -> None:
        self.run(blind, meddling=meddling)

    def run(self, blind: frozenset[str], *, scoped: bool = False, meddling: tuple[int, str] | None = None) -> None:
        self.house.clock.advance(minutes=1)
        scoped = scoped and LOCAL not in blind
        snapshot: dict[str, Known] = {}

        def meddle() -> None:
            if meddling is not None:
                self._say(*meddling)
            snapshot["before"] = self.known()

        parts = self.world.parts(self.house.clock(), blind)
        patrol = self.house.patrol(*(GivenSource([part], name=name) for name, part in parts.items()))
        request = RunRequest(scope=(self.world.host_name,) if scoped else ())
        report = replace(patrol, analysts=Joins(Meddler(meddle))).run(request)
        self.read_limits = self.read_limits or self.world.in_force != "built-in"
        self.world.seen(blind, full=not scoped)
        looks = self.world.looks(blind)
        if scoped:
            looks = {each: look for each, look in looks.items() if each.thing in {"host", "disk"}}
        before, after = snapshot["before"], self.known()
        for finding in after.values():
            condition = condition_of(finding)
            self.check_change(before.get(finding.id), finding, looks.get(condition))
        self.check_all_is_told(after, looks, report)
        self.check_quiet(before, after)
        self.check_groups(after)
        self.check_status(after, report)
        self.check_history()
        self.check_once_is_enough(report, looks)

    def known(self) -> Known:
        with self.database.read() as connection:
            return {each.id: each for each in FindingStore(connection, DEFAULT_ORG).list_findings()}

    # --- what must hold

    def check_change(self, before: Finding | None, after: Finding, look: Look | None) -> None:
        was_open = before is not None and before.is_open
        assert after.first_seen_at <= after.last_seen_at
        assert (after.resolved_at is None) is (after.resolve_reason is None) is after.is_open
        if was_open and not after.is_open:
            match after.resolve_reason:
                case ResolveReason.CLEARED:
                    assert look is Look.CLEAR, after
                case ResolveReason.LIMIT_CHANGED:
                    assert look is Look.HELD, after
                case ResolveReason.CHECK_OFF:
                    assert after.kind == Kind.HIGH_DISK
                    assert not self.world.disk_checked
                case ResolveReason.RESOURCE_REMOVED:
                    assert condition_of(after).thing == "disk"
                    assert self.world.without_disk >= 2
                case other:
                    pytest.fail(f"a run closed {after} for {other}")
        if after.is_open and not was_open:
            assert look is Look.PRESENT, after
        if after.is_open and look is Look.CLEAR:
            assert after.clear_streak < KINDS[Kind(after.kind)].clears_after
            assert before is not None
            assert after.clear_streak == before.clear_streak + 1

    def check_all_is_told(self, after: Known, looks: dict[Condition, Look], report: RunReport) -> None:
        open_ones = Count(condition_of(each) for each in after.values() if each.is_open)
        assert all(count == 1 for count in open_ones.values()), open_ones
        assert len({each.key for each in after.values()}) == len(after)
        started, now = report.run.started_at, self.house.clock()
        overruled = {
            condition_of(each)
            for each in after.values()
            if each.resolve_reason is ResolveReason.OPERATOR
            and each.resolved_at is not None
            and started <= each.resolved_at <= now + WAIT
        }
        present = {each for each, look in looks.items() if look is Look.PRESENT}
        assert present - overruled <= set(open_ones)

    def check_quiet(self, before: Known, after: Known) -> None:
        now = self.house.clock()
        for finding in after.values():
            was = before.get(finding.id)
            if was is None:
                continue
            assert finding.suppressed is was.suppressed
            if was.is_open and finding.is_open and finding.severity is was.severity:
                due = was.remind_at is not None and was.remind_at <= now
                assert finding.dismissed_reason is (None if due else was.dismissed_reason)
                assert finding.snoozed_until == was.snoozed_until
            assert finding.user_note == was.user_note

    def check_groups(self, after: Known) -> None:
        causes = {each.id for each in after.values() if each.is_open and not each.parent_finding}
        open_kinds = Count(each.kind for each in after.values() if each.is_open)
        for finding in after.values():
            if finding.is_open and finding.parent_finding:
                assert finding.parent_finding in causes
                assert after[finding.parent_finding].kind in {Kind.NODE_OFFLINE, Kind.SOURCE_BLIND}
            if finding.is_open and finding.resource_type == "vm" and open_kinds[Kind.NODE_OFFLINE]:
                assert finding.parent_finding

    def check_status(self, after: Known, report: RunReport) -> None:
        with self.database.read() as connection:
            silences = SilenceStore(connection, DEFAULT_ORG).list_silences()
        scope = report.run.scope
        active = [
            each
            for each in after.values()
            if each.is_active(self.house.clock(), silences) and (not scope or each.resource_id in scope)
        ]
        worst = max((each.severity for each in active), key=lambda each: each.rank, default=Severity.INFO)
        if worst is Severity.CRITICAL:
            assert report.run.status is RunStatus.CRITICAL
        elif worst is Severity.WARNING:
            assert report.run.status is RunStatus.ISSUES_FOUND
        else:
            assert report.run.status in {RunStatus.HEALTHY, RunStatus.INCOMPLETE}
        assert {each.id for each in report.findings} == {each.id for each in active}

    def check_history(self) -> None:
        with self.database.read() as connection:
            store = FindingStore(connection, DEFAULT_ORG)
            for finding in store.list_findings():
                changes = store.transitions(finding.id)
                assert (changes[0].reason, changes[0].old_state) == (TransitionReason.FILED, None)
                for one, following in pairwise(changes):
                    assert one.version < following.version
                    assert (one.new_state, one.new_severity) == (following.old_state, following.old_severity)
                last = changes[-1]
                assert last.version <= finding.version
                assert (last.new_state, last.new_severity) == (finding.state, finding.severity)
                assert finding.regression_count == sum(each.reason is TransitionReason.REGRESSED for each in changes)

    def check_once_is_enough(self, report: RunReport, looks: dict[Condition, Look]) -> None:
        """What a run concluded, applied again to what it left, changes nothing."""
        observations = [observation_of(signal) for signal in report.signals]
        keys = {finding_key(each.resource_id, each.kind, each.subject) for each in observations}
        with self.database.read() as connection:
            known = FindingStore(connection, DEFAULT_ORG).load_open_and(keys)
            memory = ResourceMemory(connection).load()
        step = advance(
            known,
            observations,
            WorldLooks(known, looks),
            report.run.started_at,
            run_id=report.run.id,
            org_id=DEFAULT_ORG,
            recorded_at=self.house.clock(),
        )
        step = grouped(known, step, KnownPlaces(Recognition(memory=memory)), report.run.id)
        assert not step.changes
        assert not step.transitions

    def teardown(self) -> None:
        if not hasattr(self, "database"):
            return
        with self.database.read() as connection:
            assert connection.exec_driver_sql("PRAGMA quick_check").scalar_one() == "ok"
            assert connection.exec_driver_sql("PRAGMA foreign_key_check").first() is None
        self.database.close()
        self.folder.cleanup()


def prove(examples: int, steps: int) -> None:
    run_state_machine_as_test(
        Months, settings=settings(max_examples=examples, stateful_step_count=steps, deadline=None)
    )


def test_findings_live_through_months() -> None:
    prove(FEW, 30)


@pytest.mark.long
def test_findings_live_through_very_many_months() -> None:
    prove(MANY, 80)
