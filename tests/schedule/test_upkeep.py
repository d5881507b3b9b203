"""What the jobs of a daemon do: every run that was wanted ends in a record, whatever became of it."""

from datetime import UTC, timedelta

import pytest

from patrol.run.record_model import RunRecord, RunStatus, RunType
from patrol.run.store import RunStore
from patrol.schedule.gates import gates_of
from patrol.schedule.jobs import JobName
from patrol.schedule.model import FirstRun, Occurrence, first_run, first_state
from patrol.schedule.pauses import pause, resume
from patrol.schedule.times import Every
from patrol.schedule.upkeep import (
    ScheduledRun,
    Upkeep,
    forget_work,
    full_round,
    last_success_at,
    offer_run,
    record_owed,
    recover,
)
from patrol.settings.model import Settings, TriggersSection
from patrol.triggers.model import TriggerReason
from patrol.triggers.pacing import LIMITS
from patrol.work.model import WorkKind, WorkState
from patrol.work.queue import RunQueue
from patrol.work.store import KEPT, LEASE, WorkStore
from tests.triggers.builders import DISK, NOW, OPEN, VM, alert, manual, trigger
from tests.work.builders import ORG, Line

TRIGGERS = TriggersSection()


@pytest.fixture
def line(any_database):
    return Line(any_database)


def recovered(line, is_gone=lambda owner: False):
    return recover(line.database, ORG, line.now, is_gone)


def record(line, run_id):
    return RunStore(line.database, ORG).get(run_id)


def schedule_comes(line, missed=0):
    occurrence = Occurrence(name="patrol", due_at=line.now, at=line.now, missed=missed)
    enqueue = ScheduledRun(org_id=ORG, triggers=TRIGGERS, ids=line.ids).enqueue
    line.database.transact(lambda connection: enqueue(connection, occurrence))


def paused(line):
    pause(line.database, ORG, now=line.now, until=None, reason="", author="ann", ids=line.ids)


def test_a_scheduled_run_waits_from_the_moment_it_is_due_and_knows_what_was_missed(line):
    schedule_comes(line, missed=9)
    claimed = line.claimed()
    assert (claimed.trigger.reason, claimed.trigger.leading.missed) == (TriggerReason.SCHEDULED, 9)
    assert claimed.trigger.scope.is_full


def test_a_scheduled_run_in_a_pause_is_on_record_as_skipped_and_why(line):
    paused(line)
    schedule_comes(line)
    recovered(line)
    [skipped] = RunStore(line.database, ORG).list_runs()
    assert (skipped.status, skipped.trigger_reason, skipped.type) == (RunStatus.SKIPPED, "scheduled", RunType.FULL)
    assert "patrol resume" in skipped.error_summary


def test_a_pause_holds_back_alerts_but_nobody_who_asks(line):
    def offer(one):
        return line.database.transact(
            lambda connection: offer_run(connection, ORG, one, line.now, TRIGGERS, line.ids)
        ).work.state

    paused(line)
    assert offer(alert()) is WorkState.DROPPED
    assert offer(manual(VM)) is WorkState.WAITING
    resume(line.database, ORG, now=line.now, author="ann")
    assert offer(alert()) is WorkState.WAITING


def test_a_run_that_is_pushed_out_is_on_record_as_dropped(line):
    for number in range(LIMITS.most_pending):
        line.offer(trigger(TriggerReason.ALERT_CLEARED, f"vm:lab:{number}"))
    line.offer(alert(DISK))
    recovered(line)
    [dropped] = RunStore(line.database, ORG).list_runs()
    assert (dropped.status, dropped.type) == (RunStatus.DROPPED, RunType.SCOPED)
    assert "more urgent" in dropped.error_summary
    assert line.store(WorkStore.list_owed) == []


def test_an_accepted_run_that_is_taken_back_is_on_record_as_cancelled(line):
    run_id = line.offer(manual(VM)).work.run_id
    line.database.transact(lambda connection: RunQueue(connection, ORG).cancel(run_id, NOW, "asked by ann"))
    recovered(line)
    assert record(line, run_id).status is RunStatus.CANCELLED
    assert record(line, run_id).scope == (VM,)


def test_a_run_whose_process_ended_before_it_began_is_on_record_as_crashed(line):
    run_id = line.offer(manual(VM)).work.run_id
    line.claimed()
    line.passes(LEASE.total_seconds())
    assert [each.run_id for each in recovered(line)] == [run_id]
    assert record(line, run_id).status is RunStatus.CRASHED


def test_a_run_whose_process_ended_in_the_middle_keeps_its_own_record(line):
    run_id = line.offer(manual()).work.run_id
    line.claimed()
    runs = RunStore(line.database, ORG)
    runs.begin(
        RunRecord(
            org_id=ORG,
            id=run_id,
            trigger_reason="manual",
            started_at=line.now,
            lease_owner="me",
            lease_expires_at=line.now + LEASE,
        )
    )
    assert recovered(line) == []
    assert [each.run_id for each in recovered(line, lambda owner: owner == "me")] == [run_id]
    assert record(line, run_id).status is RunStatus.CRASHED
    assert "tool calls" in record(line, run_id).error_summary
    assert len(runs.list_runs()) == 1


def test_records_are_written_once(line):
    paused(line)
    schedule_comes(line)
    for expected in (1, 0):
        assert len(line.database.transact(lambda connection: record_owed(connection, ORG))) == expected


def test_work_that_ended_long_ago_is_forgotten(line):
    line.offer(manual(VM))
    line.finish(line.claimed())
    assert forget_work(line.database, ORG, NOW + KEPT) == 0
    assert forget_work(line.database, ORG, NOW + KEPT + timedelta(seconds=1)) == 1


def test_the_start_and_the_schedule_together_are_one_run(line):
    for reason in (TriggerReason.STARTUP, TriggerReason.SCHEDULED):
        line.offer(full_round(reason, line.now))
    claimed = line.claimed()
    assert [each.reason for each in claimed.trigger.occasions] == ["startup", "scheduled"]
    line.finish(claimed)
    assert line.nothing().ask_at is None


@pytest.mark.parametrize(
    ("status", "run_type", "is_needed"),
    [
        (RunStatus.HEALTHY, RunType.FULL, False),
        (RunStatus.CRITICAL, RunType.FULL, False),
        (RunStatus.INCOMPLETE, RunType.FULL, True),
        (RunStatus.ERROR, RunType.FULL, True),
        (RunStatus.HEALTHY, RunType.SCOPED, True),
        (None, RunType.FULL, True),
    ],
)
def test_a_daemon_that_starts_looks_unless_all_was_seen_a_short_while_ago(line, status, run_type, is_needed):
    if status is not None:
        ended = NOW - timedelta(minutes=50)
        past = RunRecord(
            org_id=ORG,
            id="r1",
            type=run_type,
            status=status,
            trigger_reason="manual",
            started_at=ended,
            completed_at=ended,
        )
        RunStore(line.database, ORG).record_unstarted(past)
    hour = timedelta(hours=1)
    with line.database.read() as connection:
        coming, overdue = (
            first_state(ORG, "patrol", Every(hour), NOW - ago, after=None) for ago in (hour / 2, 2 * hour)
        )
        seen_at = last_success_at(connection, ORG)
    assert (first_run(coming.due_at, seen_at, NOW) is FirstRun.STARTUP) is is_needed
    assert first_run(overdue.due_at, seen_at, NOW) is not FirstRun.STARTUP


def test_the_standing_jobs_do_what_they_are_called(line):
    samples = []
    upkeep = Upkeep(
        database=line.database,
        org_id=ORG,
        settings=Settings(),
        ids=line.ids,
        is_gone=lambda owner: False,
        sample=lambda: samples.append("one"),
    )
    jobs = {job.name: job for job in upkeep.jobs(UTC)}
    assert set(jobs) == set(JobName)
    assert jobs[JobName.REMINDERS].first_after == timedelta(seconds=30)
    line.offer(manual(VM))
    line.finish(line.claimed())
    line.passes(KEPT.total_seconds() + 1)
    for job in jobs.values():
        occurrence = Occurrence(name=job.name, due_at=line.now, at=line.now, missed=0)
        if job.duty is not None:
            job.duty(occurrence)
        if job.enqueue is not None:
            line.database.transact(lambda connection, job=job, due=occurrence: job.enqueue(connection, due))
    assert samples == ["one"]
    assert [each.state for each in line.store(lambda store: store.list_work(WorkKind.RUN, tuple(WorkState)))] == [
        WorkState.WAITING
    ]


def test_without_sources_to_sample_there_is_no_sampler(line):
    upkeep = Upkeep(database=line.database, org_id=ORG, settings=Settings(), ids=line.ids, is_gone=lambda owner: False)
    assert JobName.SAMPLER not in {job.name for job in upkeep.jobs(UTC)}


def test_the_gates_are_those_of_the_settings():
    assert gates_of(TRIGGERS, None) == OPEN
    closed = gates_of(TriggersSection(alerts=False, anomalies=False), None, events_off="no")
    assert (closed.alerts, closed.anomalies, closed.events_off, closed.is_paused) == (False, False, "no", False)
