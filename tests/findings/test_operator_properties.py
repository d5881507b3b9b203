"""Any sequence of verbs, silences, runs and waiting keeps what operators are promised."""

import contextlib
from dataclasses import replace
from datetime import timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from findings.decision import VerbRefusedError, decide
from findings.kinds import Kind
from findings.lifecycle import Outcome, advance
from findings.model import DismissedReason, Finding, FindingState, Look, Severity, Transition, TransitionReason
from findings.silence import PATROLS_OWN, Quiet, QuietReason, Silence, SilenceKind, own_quiet, quiet
from findings.verbs import Acknowledge, Dismiss, Note, Resolve, Snooze, Suppress, Undo, Undoable
from tests.findings.builders import NOW, ORG, Looks, applied, observation
from tests.findings.test_silence import silence

NODE, GUEST, DISK = "node:lab:pve1", "vm:lab:101", "disk:serial:S1"
PLACES = [(Kind.HIGH_DISK, NODE), (Kind.HIGH_MEMORY, GUEST), (Kind.SMART_FAILURE, DISK), (Kind.SOURCE_BLIND, NODE)]
LIVES_ON = {NODE: (), GUEST: (NODE,), DISK: (NODE,)}
hours = st.integers(1, 400).map(lambda count: timedelta(hours=count))
seen = st.lists(
    st.builds(
        lambda place, severity, count: observation(
            place[0],
            severity,
            resource_id=place[1],
            facts={"reallocated_sectors": count} if place[0] is Kind.SMART_FAILURE else {},
        ),
        st.sampled_from(PLACES),
        st.sampled_from([Severity.WARNING, Severity.CRITICAL]),
        st.integers(1, 4),
    ),
    max_size=4,
)
WAKEABLE = {QuietReason.SNOOZED, QuietReason.DISMISSED, QuietReason.ACKNOWLEDGED}


class Operating(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.known: dict[str, Finding] = {}
        self.events: dict[str, list[Transition]] = {}
        self.silences: list[Silence] = []
        self.now = NOW
        self.runs = 0

    def why(self, finding: Finding) -> Quiet | None:
        return quiet(finding, self.silences, self.now)

    @rule(after=hours)
    def wait(self, after):
        self.now += after

    @rule(
        observations=seen,
        looks=st.dictionaries(st.sampled_from([(*place, "") for place in PLACES]), st.sampled_from(Look)),
    )
    def run(self, observations, looks):
        self.now += timedelta(minutes=1)
        self.runs += 1
        before = self.known
        result = advance(
            before, observations, Looks(looks), self.now, run_id=f"run-{self.runs}", org_id=ORG,
            silences=self.silences, lives_on=LIVES_ON,
        )  # fmt: skip
        self.known = applied(before, result)
        for event in result.transitions:
            self.events.setdefault(event.finding_id, []).append(event)
        for change in result.changes:
            self.check_life(change.before, change.after, result.outcomes.get(change.after.key))

    def check_life(self, before: Finding | None, after: Finding, outcome: Outcome | None) -> None:
        if outcome is not None:
            assert (outcome is Outcome.SILENCED) is (self.why(after) is not None)
        if before is None:
            return
        assert after.suppressed is before.suppressed, "only an operator ends a suppression"
        assert after.user_note == before.user_note
        why = self.why(before)
        if why is not None and self.why(after) is None and after.is_open:
            worse = after.severity.rank > before.severity.rank
            grew = any(count > before.acknowledged_facts.get(name, 0) for name, count in after.facts.items())
            returned = not before.is_open
            assert why.reason in WAKEABLE, "silences and suppressions are never woken"
            assert worse or returned or (why.reason is QuietReason.ACKNOWLEDGED and grew)

    @rule(
        number=st.integers(0, 20),
        after=hours,
        verb=st.sampled_from(
            [Acknowledge(), Suppress(), Resolve(), Note(text="a"), Note(text=""), Undo()]
            + [Undo(what=what) for what in Undoable]
            + [Dismiss(reason=reason) for reason in DismissedReason]
            + ["snooze"]
        ),
    )
    def operator(self, number, after, verb):
        if not self.known:
            return
        finding = self.known[sorted(self.known)[number % len(self.known)]]
        history = self.events.get(finding.id, [])
        verb = Snooze(until=self.now + after) if verb == "snooze" else verb
        with contextlib.suppress(VerbRefusedError):
            decision = decide(finding, verb, self.now, author="ann", history=history)
            if decision is None:
                return
            changed = decision.change.after
            assert decision.transition.author == "ann"
            assert (changed.facts, changed.severity, changed.value) == (finding.facts, finding.severity, finding.value)
            self.known = {**self.known, finding.key: changed}
            self.events.setdefault(finding.id, []).append(decision.transition)

    @rule(
        kind=st.sampled_from(SilenceKind),
        about=st.sampled_from([NODE, GUEST, DISK]),
        start=st.integers(-5, 50).map(lambda count: timedelta(hours=count)),
        length=hours,
        endless=st.booleans(),
    )
    def silence(self, kind, about, start, length, endless):
        ends_at = None if endless and kind is not SilenceKind.MAINTENANCE else self.now + start + length
        made = silence(kind, id=str(len(self.silences)), resource_id=about, starts_at=self.now + start, ends_at=ends_at)
        self.silences.append(made)

    @rule(number=st.integers(0, 20))
    def end_silence(self, number):
        if self.silences:
            place = number % len(self.silences)
            if self.silences[place].ended_at is None:
                self.silences[place] = replace(self.silences[place], ended_at=self.now, ended_by="ben")

    @invariant()
    def at_most_one_word_holds_and_each_has_its_author(self):
        for finding in self.known.values():
            words = [finding.suppressed, finding.is_dismissed, finding.snoozed_until is not None]
            assert sum(words) <= 1
            assert any(words) is (finding.silenced_by != "") is (finding.silenced_at is not None)
            assert (finding.acknowledged_at is not None) is (finding.acknowledged_by != "")
            if finding.remind_at is not None:
                assert finding.dismissed_reason is DismissedReason.WILL_FIX_LATER
            assert (finding.resolved_at is not None) is (finding.state is FindingState.RESOLVED)

    @invariant()
    def without_words_and_silences_everything_open_is_active(self):
        for finding in self.known.values():
            if own_quiet(finding, self.now) is None:
                assert finding.is_open is finding.is_active(self.now, [])
            far = self.now + timedelta(days=9000)
            why = quiet(finding, self.silences, far)
            assert why is None or why.until is None, "what has an end has ended by then"
            if finding.kind in PATROLS_OWN:
                assert why is None

    @invariant()
    def reminders_are_counted_as_they_are_told(self):
        for finding in self.known.values():
            told = [event for event in self.events.get(finding.id, []) if event.reason is TransitionReason.REMINDED]
            assert finding.remind_count == len(told)
            assert all(event.old_state is FindingState.OPEN for event in told)

    @invariant()
    def each_version_has_at_most_one_event(self):
        for events in self.events.values():
            versions = [event.version for event in events]
            assert versions == sorted(set(versions))


TestOperating = Operating.TestCase
TestOperating.settings = settings(deadline=None, max_examples=50, stateful_step_count=20)
