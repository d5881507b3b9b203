"""The queue of runs: nothing that is let in vanishes, nothing waits for ever, and nothing is asked twice."""

from dataclasses import replace

import pytest

from findings.model import Severity
from patrol.run import request
from patrol.triggers.model import (
    HINT_CHARACTERS,
    MOST_OCCASIONS,
    Depth,
    Occasion,
    Trigger,
    TriggerReason,
    TriggerScope,
)
from patrol.triggers.pacing import LIMITS, Past, pace
from patrol.triggers.queue import (
    Accepted,
    Gates,
    Merged,
    Next,
    Rejected,
    Rejection,
    UnderWay,
    next_due,
    offer,
    status,
)
from tests.triggers.builders import (
    DISK,
    HOST,
    NOW,
    OPEN,
    VM,
    alert,
    manual,
    past_run,
    pending,
    scheduled,
    scope,
    seconds,
    trigger,
)


def full_queue(one: Trigger | None = None) -> list:
    """As many as may wait, each about another resource."""
    return [
        pending(replace(one or alert(), scope=scope(f"vm:lab:{number}")), f"w{number}")
        for number in range(LIMITS.most_pending)
    ]


# --- what a scope is ---


def test_a_scope_names_each_resource_once_in_one_order():
    assert scope(VM, DISK, VM) == scope(DISK, VM)


@pytest.mark.parametrize("name", ["vm/100", "", "a name", "x" * 201])
def test_a_scope_takes_canonical_ids_alone(name):
    with pytest.raises(ValueError, match="not canonical"):
        scope(name)


def test_an_id_never_goes_with_a_guessed_type():
    with pytest.raises(ValueError, match="never both"):
        TriggerScope(resource_ids=(VM,), resource_types=("agent",))


def test_a_trigger_needs_an_occasion():
    with pytest.raises(ValueError, match="has occasions"):
        Trigger(scope=scope(), occasions=())


def test_an_event_about_nothing_known_never_becomes_a_run_over_everything():
    with pytest.raises(ValueError, match="about something"):
        trigger(TriggerReason.ALERT_FIRED)


def test_a_run_may_have_no_reason_that_a_trigger_cannot_have():
    assert {str(each) for each in request.TriggerReason} <= {str(each) for each in TriggerReason}


def test_foreign_text_is_cut():
    assert len(Occasion(reason=TriggerReason.ANOMALY, at=NOW, hint="x" * 1000).hint) == HINT_CHARACTERS


# --- merging ---


def test_two_alerts_about_one_resource_become_one_run_that_knows_both():
    decision = offer(alert(alert_type="disk"), [pending(alert(alert_type="cpu"))], [], NOW, OPEN)
    assert isinstance(decision, Merged)
    assert decision.into == "w1"
    assert [each.alert_type for each in decision.trigger.occasions] == ["cpu", "disk"]


def test_the_same_alert_again_is_told_once_and_by_its_newest_word():
    again = alert(at=NOW + seconds(60), severity=Severity.WARNING)
    decision = offer(again, [pending(alert())], [], NOW, OPEN)
    assert isinstance(decision, Merged)
    [only] = decision.trigger.occasions
    assert (only.at, only.severity) == (NOW + seconds(60), Severity.WARNING)


def test_a_merged_trigger_is_as_urgent_and_as_deep_as_the_more_urgent_and_the_deeper_one():
    calm = trigger(TriggerReason.ALERT_CLEARED, VM, depth=Depth.NORMAL)
    decision = offer(alert(), [pending(calm)], [], NOW, OPEN)
    assert isinstance(decision, Merged)
    assert (decision.trigger.priority, decision.trigger.reason) == (80, TriggerReason.ALERT_FIRED)
    assert decision.trigger.depth is Depth.NORMAL


def test_two_types_are_two_scopes():
    guests, hosts = (
        Trigger(scope=TriggerScope(resource_types=(name,)), occasions=alert().occasions) for name in ("vm", "host")
    )
    assert offer(guests, [pending(hosts)], [], NOW, OPEN) == Accepted()


def test_what_merges_needs_no_room():
    waiting = full_queue()
    decision = offer(replace(alert(alert_type="disk"), scope=waiting[3].trigger.scope), waiting, [], NOW, OPEN)
    assert isinstance(decision, Merged)
    assert decision.into == waiting[3].id


def test_manual_runs_merge_only_where_they_ask_the_same():
    waiting = [pending(manual(VM, alert_id="a"))]
    assert isinstance(offer(manual(VM, alert_id="a"), waiting, [], NOW, OPEN), Merged)
    assert offer(manual(VM, alert_id="b"), waiting, [], NOW, OPEN) == Accepted()
    assert offer(manual(VM), waiting, [], NOW, OPEN) == Accepted()
    assert offer(alert(), [pending(manual(VM))], [], NOW, OPEN) == Accepted()


def test_asking_for_the_run_that_is_under_way_names_it():
    running = [pending(manual(VM), "running")]
    assert offer(manual(VM), [], running, NOW, OPEN) == UnderWay(id="running")
    assert offer(manual(DISK), [], running, NOW, OPEN) == Accepted()


def test_an_alert_during_a_run_about_its_resource_is_news():
    assert offer(alert(), [], [pending(alert(), "running")], NOW, OPEN) == Accepted()


def test_two_times_of_the_schedule_in_one_run_are_one_run_and_one_missed():
    decision = offer(scheduled(missed=2), [pending(scheduled(missed=1))], [], NOW, OPEN)
    assert isinstance(decision, Merged)
    [only] = decision.trigger.occasions
    assert only.missed == 4


def test_more_occasions_than_a_run_takes_in_are_counted_and_the_most_urgent_are_kept():
    known = alert(alert_type="first")
    for number in range(MOST_OCCASIONS + 9):
        known = known.joined(trigger(TriggerReason.ALERT_CLEARED, VM, alert_id=f"c{number}"))
    known = known.joined(alert(alert_type="last"))
    assert len(known.occasions) == MOST_OCCASIONS
    assert known.left_out == 11
    assert [each.alert_type for each in known.occasions if each.alert_type] == ["first", "last"]


# --- overflow ---


def test_a_full_queue_lets_in_what_is_more_urgent_and_says_what_goes():
    waiting = full_queue(trigger(TriggerReason.ALERT_CLEARED, VM))
    decision = offer(alert(HOST), waiting, [], NOW, OPEN)
    assert decision == Accepted(evicted=waiting[-1])


def test_of_equally_urgent_ones_the_youngest_goes():
    waiting = [
        replace(one, enqueued_at=NOW - seconds(number))
        for number, one in enumerate(full_queue(trigger(TriggerReason.ALERT_CLEARED, VM)))
    ]
    assert offer(alert(HOST), waiting, [], NOW, OPEN) == Accepted(evicted=waiting[0])


def test_a_full_queue_of_equals_lets_nobody_in():
    assert offer(alert(HOST), full_queue(), [], NOW, OPEN) == Rejected(reason=Rejection.QUEUE_FULL)


def test_only_a_queue_full_of_manual_runs_refuses_a_manual_one():
    waiting = full_queue()
    for one in waiting:
        one_long_ago = replace(one, enqueued_at=NOW - seconds(86_400))
        waiting[waiting.index(one)] = one_long_ago
    assert isinstance(offer(manual(HOST), waiting, [], NOW, OPEN), Accepted)
    of_people = full_queue(manual(VM))
    assert offer(manual(HOST), of_people, [], NOW, OPEN) == Rejected(reason=Rejection.QUEUE_FULL)
    assert offer(alert(HOST), of_people, [], NOW, OPEN) == Rejected(reason=Rejection.QUEUE_FULL)


def test_a_storm_of_alerts_does_not_push_out_the_round():
    assert offer(scheduled(), full_queue(), [], NOW, OPEN) == Accepted()
    waiting = [*full_queue(trigger(TriggerReason.ALERT_CLEARED, VM))[1:], pending(scheduled(), "round")]
    assert offer(alert(HOST), waiting, [], NOW, OPEN) == Accepted()


# --- gates ---


@pytest.mark.parametrize(
    ("one", "gates", "reason"),
    [
        (alert(), Gates(is_paused=True), Rejection.PAUSED),
        (scheduled(), Gates(is_paused=True), Rejection.PAUSED),
        (manual(), Gates(is_paused=True), None),
        (alert(), Gates(events_off="no"), Rejection.EVENTS_OFF),
        (scheduled(), Gates(events_off="no"), None),
        (alert(), Gates(alerts=False), Rejection.ALERTS_OFF),
        (trigger(TriggerReason.ALERT_CLEARED, VM), Gates(alerts=False), Rejection.ALERTS_OFF),
        (trigger(TriggerReason.ALERT_FLAPPING, VM), Gates(alerts=False), Rejection.ALERTS_OFF),
        (trigger(TriggerReason.ANOMALY, VM), Gates(alerts=False), None),
        (trigger(TriggerReason.ANOMALY, VM), Gates(anomalies=False), Rejection.ANOMALIES_OFF),
        (alert(), Gates(anomalies=False), None),
        (trigger(TriggerReason.USER_ACTION, VM), Gates(alerts=False, anomalies=False, events_off="no"), None),
    ],
)
def test_a_gate_stops_what_it_is_for_and_nothing_else(one, gates, reason):
    decision = offer(one, [], [], NOW, gates)
    assert decision == (Rejected(reason=reason) if reason else Accepted())


@pytest.mark.parametrize("reason", ["alert_fired", "alert_cleared", "alert_flapping", "anomaly"])
def test_the_least_severity_holds_for_all_events_also_for_an_end(reason):
    gates = Gates(min_severity=Severity.CRITICAL)
    low = trigger(TriggerReason(reason), VM, severity=Severity.WARNING)
    assert offer(low, [], [], NOW, gates) == Rejected(reason=Rejection.BELOW_MIN_SEVERITY)
    assert offer(trigger(TriggerReason(reason), VM), [], [], NOW, gates) == Accepted()
    assert offer(trigger(TriggerReason(reason), VM, severity=None), [], [], NOW, gates) == Accepted()


def test_what_waits_when_patrol_is_paused_waits_until_it_is_over():
    waiting = [pending(alert()), pending(manual(DISK), "m")]
    chosen = next_due(waiting, Past(), NOW, Gates(is_paused=True))
    assert chosen.due == waiting[1]
    assert next_due(waiting[:1], Past(), NOW, Gates(is_paused=True)) == Next()


# --- which is next ---


def test_the_more_urgent_goes_first_and_of_equals_the_older():
    first, second, urgent = (
        pending(alert(VM), "b", waited=2),
        pending(alert(DISK), "a", waited=1),
        pending(manual(HOST), "c"),
    )
    assert next_due([second, first, urgent], Past(), NOW, OPEN).due == urgent
    assert next_due([second, first], Past(), NOW, OPEN).due == first


def test_equal_times_give_one_order_however_they_are_listed():
    one, other = pending(alert(VM), "a"), pending(alert(DISK), "b")
    assert next_due([one, other], Past(), NOW, OPEN) == next_due([other, one], Past(), NOW, OPEN)


def test_waiting_makes_urgent_so_that_a_round_is_not_starved():
    waiting = [pending(scheduled(), "round", waited=700), pending(alert(), "new")]
    assert next_due(waiting, Past(), NOW, OPEN).due == waiting[0]


def test_two_runs_are_never_under_way_at_once_in_one_slot():
    under_way = Past(runs=[past_run(ended_ago=None)])
    assert next_due([pending(manual()), pending(alert(VM), "w2")], under_way, NOW, OPEN) == Next()
    assert next_due([pending(manual(VM))], under_way, NOW, OPEN).due is not None


def test_a_resource_rests_two_minutes_from_the_end_of_its_run():
    past = Past(runs=[past_run(VM, ended_ago=90)])
    assert next_due([pending(alert())], past, NOW, OPEN) == Next(ask_at=NOW + seconds(30))
    assert next_due([pending(alert())], past, NOW + seconds(30), OPEN).due is not None
    assert next_due([pending(alert(DISK))], past, NOW, OPEN).due is not None


def test_a_full_run_was_about_every_resource():
    past = Past(runs=[past_run(ended_ago=90)])
    assert next_due([pending(alert())], past, NOW, OPEN).due is None


def test_manual_and_scheduled_runs_wait_for_no_gap():
    past = Past(runs=[past_run(VM, ended_ago=0)])
    for one in (manual(VM), scheduled(), trigger(TriggerReason.USER_ACTION, VM)):
        assert next_due([pending(one)], past, NOW, OPEN).due is not None


def test_what_was_put_back_waits_as_long_as_it_was_told():
    one = pending(manual(VM), not_before=NOW + seconds(5))
    assert next_due([one], Past(), NOW, OPEN) == Next(ask_at=NOW + seconds(5))
    before_the_clock_went_back = pending(manual(VM), not_before=NOW + seconds(3 * 3600))
    assert next_due([before_the_clock_went_back], Past(), NOW, OPEN).due == before_the_clock_went_back


def test_a_run_in_the_future_is_of_a_clock_that_went_back():
    past = Past(runs=[past_run(VM, ended_ago=-3600)])
    assert next_due([pending(alert())], past, NOW, OPEN).due is not None


# --- pace ---


@pytest.mark.parametrize(
    ("ages", "minutes", "gap", "is_busy"),
    [([], 30, 60, False), ([1] * 4, 15, 30, False), ([1] * 5, 5, 10, True), ([301] * 9, 30, 60, False)],
)
def test_the_gap_follows_what_happens(ages, minutes, gap, is_busy):
    found = pace([NOW - seconds(age) for age in ages], NOW)
    assert (found.interval, found.gap, found.is_busy) == (seconds(minutes * 60), seconds(gap), is_busy)


def test_the_gap_keeps_its_bounds():
    fast = replace(LIMITS, global_gap=seconds(1))
    slow = replace(LIMITS, global_gap=seconds(600))
    assert pace([], NOW, fast).gap == LIMITS.least_gap
    assert pace([], NOW, slow).gap == LIMITS.most_gap


def test_the_status_tells_and_changes_nothing():
    told = status([pending(alert())], Past(events=[NOW]), NOW, Gates(is_paused=True, anomalies=False))
    assert told == status([pending(alert())], Past(events=[NOW]), NOW, Gates(is_paused=True, anomalies=False))
    assert (told.pending_triggers, told.current_interval_ms, told.recent_events) == (1, 900_000, 1)
    assert (told.alert_triggers_enabled, told.anomaly_triggers_enabled) == (True, False)
    assert (told.event_triggers_blocked, told.event_triggers_blocked_reason) == (True, "paused")
    off = status([], Past(), NOW, Gates(events_off="switched off"))
    assert off.event_triggers_blocked_reason == "background_automation_disabled"
    assert status([], Past(), NOW, OPEN).event_triggers_blocked_reason == ""
