"""What is so now is read at each scrape: true after a restart, and absent where it cannot be known."""

from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from sqlalchemy import Connection

from findings.model import Topic
from findings.verbs import Snooze
from patrol.agent.charge import Charge
from patrol.agent.metering import CallOutcome, ModelCall, Phase
from patrol.agent.model import Usage
from patrol.database import Database, DatabaseBusyError
from patrol.estate.model import Estate
from patrol.history.model import Sample
from patrol.history.store import HistoryStore
from patrol.metrics import Metrics, StateReader
from patrol.operators.verbs import carry_out
from patrol.run import RunRequest
from patrol.run.lease import LEASE
from patrol.run.model_work.store import ModelWorkStore
from patrol.run.record_model import RunRecord, RunStatus
from patrol.run.store import RunStore
from patrol.schedule.jobs import JobName
from patrol.schedule.store import JobStore
from patrol.schedule.times import Every
from patrol.settings.model import Settings
from tests.metrics.samples import counted, metrics_of, values
from tests.run.builders import HOST, NOW, House, disk, estate, gap, host

HOUR = timedelta(hours=1)


def test_the_newest_runs_are_known_after_a_restart(house: House) -> None:
    house.run(estate(host()))
    healthy_at = house.clock()
    house.run(estate(host(), gaps=[gap(Topic.INVENTORY)]))
    incomplete_at = house.clock()
    metrics = metrics_of(house)
    assert values(metrics, "patrol_last_run_timestamp_seconds") == {("full",): incomplete_at.timestamp()}
    assert values(metrics, "patrol_last_success_timestamp_seconds") == {("full",): healthy_at.timestamp()}


def test_a_run_that_never_began_is_none(house: House) -> None:
    skipped = RunRecord(
        org_id="default",
        id="r",
        trigger_reason="scheduled",
        status=RunStatus.SKIPPED,
        started_at=NOW,
        completed_at=NOW,
    )
    RunStore(house.database).record_unstarted(skipped)
    assert values(metrics_of(house), "patrol_last_run_timestamp_seconds") == {}


def test_the_next_run_is_when_the_schedule_wants_it(house: House) -> None:
    assert values(metrics_of(house), "patrol_next_run_timestamp_seconds") == {}
    every = Every(HOUR)
    house.database.transact(
        lambda connection: JobStore(connection, "default").plan(JobName.PATROL, every, house.clock(), after=HOUR)
    )
    due = house.clock() + HOUR
    assert values(metrics_of(house), "patrol_next_run_timestamp_seconds") == {(): due.timestamp()}


def test_the_age_of_a_lease_grows_until_it_is_renewed(house: House) -> None:
    metrics = metrics_of(house)
    assert values(metrics, "patrol_lease_age_seconds") == {(): 0}
    run = RunRecord(
        org_id="default", id="r", trigger_reason="manual", started_at=NOW, lease_expires_at=house.clock() + LEASE
    )
    store = RunStore(house.database)
    store.begin(run)
    house.clock.advance(seconds=30)
    assert values(metrics, "patrol_lease_age_seconds") == {(): 30}
    assert values(metrics, "patrol_run_in_progress") == {(): 1}
    store.extend_lease("r", house.clock() + LEASE)
    assert values(metrics, "patrol_lease_age_seconds") == {(): 0}
    house.clock.advance(minutes=5)
    assert values(metrics, "patrol_lease_age_seconds") == {(): 300}
    assert values(metrics, "patrol_run_in_progress") == {(): 0}


def test_findings_are_counted_by_severity_and_by_whether_anybody_is_told(house: House) -> None:
    report = house.run(estate(host(97, units=["a.service"])))
    metrics = metrics_of(house)
    found = counted(metrics, "patrol_findings")
    assert found == {("critical", "active"): 1, ("warning", "active"): 1}
    worst = report.findings[0]
    end = house.clock() + HOUR
    carry_out(house.database, "default", [worst.id], Snooze(until=end), now=house.clock(), author="ada")
    assert counted(metrics, "patrol_findings") == {("critical", "silenced"): 1, ("warning", "active"): 1}
    house.clock.advance(hours=2)
    assert counted(metrics, "patrol_findings") == found


def test_what_a_full_run_saw_and_did_not_see_is_known_after_a_restart(house: House) -> None:
    house.run(estate(host(), disk(read=False), gaps=[gap(Topic.SMART, "disk:serial:S1")]))
    house.run(estate(host(), disk()), request=RunRequest(scope=(HOST,)))
    metrics = metrics_of(house)
    assert counted(metrics, "patrol_resources") == {("agent",): 1, ("disk",): 1}
    assert values(metrics, "patrol_gaps") == {("lost", "local"): 0, ("standing", "local"): 1}
    assert values(metrics, "patrol_source_up") == {}


def test_a_source_that_the_last_run_lost_is_down_after_a_restart(house: House) -> None:
    house.run(ValueError("a bug"))
    assert values(metrics_of(house), "patrol_source_up") == {("local",): 0}


def test_gaps_of_sources_that_only_a_document_names_are_counted_together(house: House) -> None:
    house.run(Estate(resources=[host()], gaps=[replace(gap(Topic.UNITS), source=f"s{number}") for number in range(50)]))
    assert counted(metrics_of(house), "patrol_gaps") == {("standing", "other"): 50}


def test_the_budget_is_used_up_to_its_fuller_half(house: House) -> None:
    house.settings = Settings.model_validate({"budget": {"day_tokens": 1000, "month_tokens": 10_000, "month_usd": 1.0}})
    report = house.run(estate(host()))
    spent = ModelCall(
        run_id=report.run.id,
        seq=1,
        phase=Phase.MAIN,
        model="m",
        started_at=house.clock(),
        outcome=CallOutcome.ANSWERED,
        usage=Usage(input_tokens=400, output_tokens=100),
        charge=Charge(cost_usd=0.75, assumed_usd=0.0),
    )
    ModelWorkStore(house.database).open_call(spent)
    assert values(metrics_of(house), "patrol_budget_used_ratio") == {("day",): 0.5, ("month",): 0.75}


def test_the_newest_sample_has_an_age_where_samples_are_taken(house: House) -> None:
    metrics = metrics_of(house)
    assert values(metrics, "patrol_sample_lag_seconds") == {}
    sample = Sample((HOST, "cpu", ""), house.clock(), 10.0, 0.0)
    house.database.transact(lambda connection: HistoryStore(connection).write([sample], house.clock()))
    house.clock.advance(seconds=90)
    assert values(metrics, "patrol_sample_lag_seconds") == {(): 90}
    house.settings = Settings.model_validate({"sampling": {"seconds": 0}})
    assert values(metrics, "patrol_sample_lag_seconds") == {}


@pytest.mark.parametrize(
    ("text", "ok"), [(None, 0), ("{", 0), ("{}", 1)], ids=["no file", "a broken file", "a good file"]
)
def test_broken_alert_settings_are_told_at_once(house: House, tmp_path: Path, text: str | None, ok: int) -> None:
    file = tmp_path / "alerts.json"
    if text is not None:
        file.write_text(text)
    assert values(metrics_of(house), "patrol_alert_settings_ok") == {(): 1}
    house.settings = Settings.model_validate({"alerts": {"file": str(file)}})
    assert values(metrics_of(house), "patrol_alert_settings_ok") == {(): ok}


class Busy(Database):
    """A database that another process does not let go of."""

    def read(self) -> AbstractContextManager[Connection]:
        raise DatabaseBusyError("patrol.db", "another process holds it", "Try again")


def test_what_cannot_be_read_is_absent_and_the_rest_is_told(house: House) -> None:
    busy = Busy(house.database.url)
    reader = StateReader(database=busy, settings=lambda: house.settings, clock=house.clock, subscribers=lambda: 7)
    metrics = Metrics(CollectorRegistry(), version="1", read_state=reader)
    assert values(metrics, "patrol_stream_subscribers") == {(): 7}
    assert values(metrics, "patrol_alert_settings_ok") == {(): 1}
    for name in ("patrol_database_bytes", "patrol_findings", "patrol_lease_age_seconds"):
        assert values(metrics, name) == {}
    assert ("critical", "manual", "full") in values(metrics, "patrol_runs_total")
    busy.close()


def test_a_database_has_a_size(house: House) -> None:
    [size] = values(metrics_of(house), "patrol_database_bytes").values()
    assert size > 0
