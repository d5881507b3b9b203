"""The queue of runs in the database: it survives a restart, and whatever leaves it says why."""

from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from findings.model import Severity
from patrol.triggers.model import MOST_OCCASIONS, TriggerReason
from patrol.triggers.pacing import LIMITS
from patrol.triggers.queue import Accepted, Gates, Merged, Rejected, Rejection, UnderWay
from patrol.work.model import WorkKind, WorkReason, WorkState
from patrol.work.queue import Claim, NothingDue, RunQueue, decode, encode
from patrol.work.store import LEASE, WorkLostError, WorkStore
from tests.databases import MEMORY, fresh_database
from tests.triggers.builders import DISK, HOST, NOW, VM, alert, manual, scheduled, seconds, trigger
from tests.work.builders import ORG, Line


@pytest.fixture
def line(any_database):
    return Line(any_database)


def test_an_accepted_run_has_its_id_before_it_begins(line):
    offered = line.offer(manual(VM))
    assert offered.work.run_id
    found = line.store(lambda store: store.find_run(offered.work.run_id))
    assert found.state is WorkState.WAITING
    assert line.claimed().work.run_id == offered.work.run_id


def test_a_trigger_comes_back_from_the_database_as_it_went(line):
    wanted = alert().joined(alert(alert_type="disk"))
    line.offer(wanted)
    assert line.claimed().trigger == wanted


def test_what_waits_survives_a_restart(line):
    line.offer(alert())
    after = Line(line.database)
    assert after.claimed().trigger == alert()


def test_alerts_about_one_resource_wait_as_one_run_that_knows_all(line):
    first = line.offer(alert(alert_type="cpu"))
    second = line.offer(alert(alert_type="disk"))
    assert isinstance(second.decision, Merged)
    assert (second.work.id, second.work.run_id) == (first.work.id, first.work.run_id)
    assert second.work.times == 2
    assert [each.alert_type for each in line.claimed().trigger.occasions] == ["cpu", "disk"]


def test_the_queue_takes_triggers_while_a_run_is_carried_out(line):
    line.offer(alert(VM))
    held = line.claimed()
    line.offer(alert(DISK))
    assert line.nothing() == NothingDue()
    line.finish(held)
    line.passes(60)
    assert line.claimed().trigger == alert(DISK)


def test_who_asks_about_one_thing_does_not_wait_for_the_run_over_everything_and_only_for_one_like_it(line):
    line.offer(scheduled())
    line.claimed()
    line.offer(manual(VM))
    line.offer(manual(DISK))
    line.offer(manual())
    first = line.claimed()
    assert first.trigger == manual(VM)
    assert line.nothing() == NothingDue()
    line.finish(first)
    assert line.claimed().trigger == manual(DISK)
    assert line.nothing() == NothingDue()


def test_asking_twice_for_the_run_under_way_gives_its_id(line):
    first = line.offer(manual(VM))
    line.claimed()
    again = line.offer(manual(VM))
    assert isinstance(again.decision, UnderWay)
    assert again.work.run_id == first.work.run_id


def test_a_run_that_was_put_back_was_no_run_about_its_resource(line):
    line.offer(alert())
    held = line.claimed()
    line.store(lambda store: store.put_back(held.work, line.now, line.now + seconds(5), "busy"))
    assert line.nothing() == NothingDue(ask_at=NOW + seconds(5))
    line.passes(5)
    assert line.claimed().work.attempts == 1


def test_a_resource_rests_after_its_run(line):
    line.offer(alert())
    held = line.claimed()
    line.passes(30)
    line.finish(held)
    line.offer(alert(alert_type="disk"))
    assert line.nothing() == NothingDue(ask_at=line.now + LIMITS.resource_gap)
    line.passes(120)
    assert isinstance(line.claim(), Claim)


def test_who_is_pushed_out_has_a_record_to_come(line):
    for number in range(LIMITS.most_pending):
        line.offer(trigger(TriggerReason.ALERT_CLEARED, f"vm:lab:{number}"))
    offered = line.offer(alert(DISK))
    assert isinstance(offered.decision, Accepted)
    assert offered.decision.evicted is not None
    [owed] = line.store(WorkStore.list_owed)
    assert (owed.id, owed.state, owed.reason) == (
        offered.decision.evicted.id,
        WorkState.DROPPED,
        WorkReason.EVICTED,
    )


def test_refusals_are_counted_with_their_reason_and_kept_in_one_row_an_hour(line):
    line.gates = Gates(alerts=False)
    offered = [line.offer(alert()) for _ in range(5)]
    assert {each.decision for each in offered} == {Rejected(reason=Rejection.ALERTS_OFF)}
    assert line.store(WorkStore.counts) == {("dropped", "alerts_off"): 5}
    assert line.store(WorkStore.list_owed) == []
    line.passes(3600)
    line.offer(alert())
    dropped = line.store(lambda store: store.list_work(WorkKind.RUN, (WorkState.DROPPED,)))
    assert [each.times for each in dropped] == [5, 1]


def test_each_refused_round_has_a_record_to_come_however_soon_the_next_one_is_refused(line):
    line.gates = Gates(is_paused=True)
    for _ in range(3):
        line.offer(scheduled())
        line.passes(600)
    owed = line.store(WorkStore.list_owed)
    assert [(each.reason, each.times) for each in owed] == [(WorkReason.PAUSED, 1)] * 3
    assert len({each.run_id for each in owed} - {""}) == 3


# --- what comes at once ---


def test_what_comes_at_once_is_written_once_for_each_resource_and_counted_one_by_one(line):
    line.offer(alert(DISK))
    at_once = [alert(about, alert_type=f"t{number}") for number in range(200) for about in (VM, DISK, HOST)]
    offered = line.offer_all(*at_once)
    assert Counter(type(each.decision) for each in offered) == {Accepted: 2, Merged: 598}
    waiting = line.store(lambda store: store.list_work(WorkKind.RUN))
    assert sorted(work.times for work in waiting) == [200, 200, 201]
    assert sum(len(line.store(lambda store, each=work: store.changes(each.id))) for work in waiting) == 4
    assert {each.work.run_id for each in offered} == {work.run_id for work in waiting}
    first = decode(waiting[0].payload)
    assert (len(first.occasions), first.left_out) == (MOST_OCCASIONS, 201 - MOST_OCCASIONS)


def test_of_what_comes_at_once_each_meets_its_own_gate_and_refusals_are_counted(line):
    line.gates = Gates(min_severity=Severity.CRITICAL, alert_types=frozenset({"disk"}))
    low = [
        trigger(TriggerReason.ALERT_FIRED, VM, alert_id=f"a{number}", alert_type="disk", severity=Severity.WARNING)
        for number in range(3)
    ]
    offered = line.offer_all(*low, alert(alert_type="cpu"), alert(alert_type="disk"))
    assert [getattr(each.decision, "reason", "in") for each in offered] == [
        *[Rejection.BELOW_MIN_SEVERITY] * 3,
        Rejection.TYPE_LEFT_OUT,
        "in",
    ]
    assert line.store(WorkStore.counts) == {
        ("dropped", "below_min_severity"): 3,
        ("dropped", "type_left_out"): 1,
        ("waiting", "enqueued"): 1,
    }
    [only] = decode(offered[-1].work.payload).occasions
    assert only.alert_type == "disk"


def test_more_resources_at_once_than_may_wait_are_refused_and_a_person_who_asks_is_not(line):
    count = LIMITS.most_pending + 20
    offered = line.offer_all(*(alert(f"vm:lab:{number}") for number in range(count)), manual(VM), manual(VM))
    became = Counter(type(each.decision) for each in offered)
    assert became == {Accepted: LIMITS.most_pending + 1, Rejected: 20, Merged: 1}
    assert offered[-1].work.run_id == offered[-2].work.run_id
    assert len(line.store(lambda store: store.list_work(WorkKind.RUN))) == LIMITS.most_pending
    assert line.store(WorkStore.counts)["dropped", "queue_full"] == 20


# --- what leaves it ---


def test_a_run_taken_back_before_it_began_has_a_record_to_come(line):
    offered = line.offer(manual(VM))
    taken = line.database.transact(lambda connection: RunQueue(connection, ORG).cancel(offered.work.run_id, NOW))
    assert taken is not None
    assert [each.id for each in line.store(WorkStore.list_owed)] == [offered.work.id]
    assert line.nothing() == NothingDue()


def test_a_row_that_cannot_be_read_stops_no_other(line):
    offered = line.offer(manual(VM))
    line.store(lambda store: store.revise(offered.work, NOW, payload='{"scope": 3}', priority=100))
    line.offer(manual(DISK))
    assert line.claimed().trigger == manual(DISK)
    broken = line.store(lambda store: store.find(offered.work.id))
    assert (broken.state, broken.reason, broken.record_owed) == (WorkState.DROPPED, WorkReason.UNREADABLE, True)


def test_asking_how_the_queue_stands_changes_nothing(line):
    line.offer(alert())
    with line.database.read() as connection:  # a read cannot write
        told = RunQueue(connection, ORG).status(NOW, line.gates)
    assert (told.pending_triggers, told.recent_events, told.running) == (1, 1, False)


# --- whatever happens ---

REASONS = ["alert_fired", "alert_cleared", "anomaly", "manual", "scheduled", "user_action"]


class LifeOfAQueue(RuleBasedStateMachine):
    """Triggers come, runs begin, end, are put back and go silent, Patrol is paused, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.open = ExitStack()
        self.line = Line(self.open.enter_context(fresh_database(MEMORY, Path(), lambda: None)))
        self.held: Claim | None = None
        self.accepted: set[str] = set()
        self.offers: Counter[str] = Counter()

    def teardown(self) -> None:
        self.open.close()

    @rule(reason=st.sampled_from(REASONS), number=st.integers(0, 13))
    def offer(self, reason: str, number: int) -> None:
        ids = () if reason == "scheduled" else (f"vm:lab:{number}",)
        offered = self.line.offer(trigger(TriggerReason(reason), *ids, at=self.line.now))
        self.offers[type(offered.decision).__name__] += 1
        if isinstance(offered.decision, Accepted):
            self.accepted.add(offered.work.id)

    @rule(seconds=st.sampled_from([1, 20, 45, 130, 3600]))
    def time_passes(self, seconds: float) -> None:
        self.line.passes(seconds)

    @rule()
    def pause_or_resume(self) -> None:
        self.line.gates = Gates(is_paused=not self.line.gates.is_paused)

    @rule()
    def claim(self) -> None:
        found = self.line.claim()
        self.held = found if isinstance(found, Claim) else self.held

    @rule()
    def take_back(self) -> None:
        self.line.store(lambda store: store.take_back(self.line.now))

    @rule(goes_well=st.booleans())
    def end(self, goes_well: bool) -> None:
        held, self.held = self.held, None
        if held is None:
            return
        current = self.line.store(lambda store: store.find(held.work.id))
        if current.version != held.work.version:
            with pytest.raises(WorkLostError):
                self.line.finish(held)
        elif goes_well:
            self.line.finish(held)
        else:
            self.line.store(lambda store: store.put_back(held.work, self.line.now, self.line.now))

    @invariant()
    def one_run_at_most_is_under_way_in_each_slot(self) -> None:
        running = self.line.store(lambda store: store.list_work(WorkKind.RUN, (WorkState.RUNNING,)))
        taken = [decode(each.payload).slot for each in running]
        assert len(taken) == len(set(taken))

    @invariant()
    def nothing_is_lost_without_a_reason(self) -> None:
        works = self.line.store(lambda store: store.list_work(WorkKind.RUN, tuple(WorkState)))
        assert self.accepted <= {each.id for each in works}
        assert all(
            each.record_owed
            for each in works
            if each.id in self.accepted and each.state in {WorkState.DROPPED, WorkState.FAILED}
        )
        counted = sum(self.line.store(WorkStore.counts).values())
        assert counted == self.offers.total() - self.offers["UnderWay"]

    @invariant()
    def every_change_is_written_down(self) -> None:
        for each in self.line.store(lambda store: store.list_work(WorkKind.RUN, tuple(WorkState))):
            changes = self.line.store(lambda store, each=each: store.changes(each.id))
            assert [change.version for change in changes] == list(range(len(changes)))
            assert (changes[-1].new_state, bool(changes[-1].reason)) == (each.state, True)


TestLifeOfAQueue = LifeOfAQueue.TestCase
TestLifeOfAQueue.settings = settings(max_examples=20, stateful_step_count=30)


@given(waits=st.lists(st.integers(0, 20), min_size=1, max_size=8))
@settings(max_examples=20)
def test_whatever_waits_gets_its_turn(waits, tmp_path_factory):
    """A round waits, and more urgent alerts keep coming, for ever: it runs within twelve minutes all the same."""
    with fresh_database(MEMORY, tmp_path_factory.getbasetemp(), lambda: None) as database:
        line = Line(database)
        line.offer(scheduled())
        for number in range(200):
            line.offer(alert(f"vm:lab:{number}", at=line.now))
            found = line.claim()
            if isinstance(found, Claim):
                if found.trigger.is_round:
                    break
                line.passes(10)
                line.finish(found)
            line.passes(10 + waits[number % len(waits)])
        assert isinstance(found, Claim)
        assert found.trigger.is_round
        assert line.now - NOW <= seconds(720)


def test_a_lease_that_ran_out_frees_the_line(line):
    line.offer(scheduled())
    line.claimed()
    line.offer(manual())
    line.passes(LEASE.total_seconds() - 1)
    assert line.nothing() == NothingDue()
    line.passes(1)
    assert line.claimed().trigger == manual()


def test_a_claim_that_holds_no_more_is_no_run_that_is_under_way(line):
    first = line.offer(manual(VM))
    line.claimed()
    line.passes(LEASE.total_seconds())
    again = line.offer(manual(VM))
    assert isinstance(again.decision, Accepted)
    assert again.work.run_id != first.work.run_id
    assert line.claimed().work.run_id == again.work.run_id
    assert [each.run_id for each in line.store(WorkStore.list_owed)] == [first.work.run_id]


def test_what_no_version_can_read_is_no_trigger():
    assert decode("{}") is None
    assert decode("nonsense") is None
    assert decode(encode(alert()).replace(VM, "vm/100")) is None
