"""How long evidence is kept, what goes first, and that nothing is lost that something still needs."""

from contextlib import closing
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from findings.model import Topic
from findings.store import FindingStore
from patrol.database import Database, open_database
from patrol.estate.model import Estate
from patrol.run import RunReport, RunRequest, retention
from patrol.run.replay import ReplayOutcome, replay
from patrol.run.retention import EVERY, MOST_BATCHES, Pruned, bytes_used, prune_evidence
from patrol.run.store import RunStore
from patrol.run.tables import UPKEEP
from tests.run.builders import HOST, House, disk, estate, gap, host


class Hoarder(House):
    """A house whose runs delete nothing by themselves."""

    def run(self, *estates: Estate | Exception, request: RunRequest | None = None, name: str = "local") -> RunReport:
        row = {"org_id": "default", "name": "retention", "begun_at": self.clock.now + timedelta(minutes=1)}
        with self.database.write() as connection:
            connection.execute(UPKEEP.delete())
            connection.execute(UPKEEP.insert(), row)
        return super().run(*estates, request=request, name=name)


@pytest.fixture
def house(any_database: Database) -> House:
    return Hoarder(any_database)


def prune(house: House, batches: int = MOST_BATCHES) -> Pruned:
    pruned = prune_evidence(house.database, house.settings, house.clock.now, batches=batches, every=timedelta(0))
    assert pruned is not None
    return pruned


def outcome(house: House, run_id: str) -> ReplayOutcome:
    return replay(house.database, run_id).outcome


def quiet_run(house: House) -> str:
    """A run that changes nothing, with evidence of its own."""
    usages = range(10, 60)
    number = len(RunStore(house.database).list_runs(10_000))
    return house.run(estate(host(usage=usages[number % 50] + number / 1000))).run.id


def pages(house: House) -> int:
    with house.database.read() as connection:
        return int(connection.exec_driver_sql("SELECT count(*) FROM evidence_page").scalar_one())


def limited_to(house: House, max_bytes: int) -> None:
    """Less than the settings would take: a test makes no gigabytes."""
    storage = house.settings.storage.model_copy(update={"max_bytes": max_bytes})
    house.settings = house.settings.model_copy(update={"storage": storage})


def test_evidence_of_a_run_that_changed_nothing_is_kept_for_48_hours(house: House) -> None:
    run_id = quiet_run(house)
    house.clock.advance(hours=47)
    prune(house)
    assert outcome(house, run_id) is ReplayOutcome.IDENTICAL
    house.clock.advance(hours=2)
    assert prune(house).expired_runs == 1
    answer = replay(house.database, run_id)
    assert answer.outcome is ReplayOutcome.EXPIRED
    assert answer.expired_at == house.clock.now
    assert f"{house.clock.now:%Y-%m-%d %H:%M:%S} UTC" in answer.reason
    assert pages(house) == 0
    assert RunStore(house.database).tool_calls(run_id)


def test_evidence_of_a_run_that_changed_a_finding_is_kept_for_30_days(house: House) -> None:
    filed = house.run(estate(host(usage=80))).run.id
    closed = house.run(estate(host(usage=40))).run.id
    house.clock.advance(days=29)
    prune(house)
    assert {outcome(house, filed), outcome(house, closed)} == {ReplayOutcome.IDENTICAL}
    house.clock.advance(days=2)
    prune(house)
    assert {outcome(house, filed), outcome(house, closed)} == {ReplayOutcome.EXPIRED}
    assert pages(house) == 0


def test_the_page_that_an_open_finding_cites_is_kept_as_long_as_it_is_open(house: House) -> None:
    house.run(estate(host(usage=80)))
    # Blind from now on: the finding stays open, and nothing newer shows it.
    house.run(estate(host(usage=None), gaps=[gap(Topic.FILESYSTEMS, HOST)]))
    house.clock.advance(days=500)
    prune(house)
    with house.database.read() as connection:
        (finding,) = FindingStore(connection, "default").list_findings()
    runs = RunStore(house.database)
    (filed,) = runs.list_runs()
    (cited,) = [call for call in runs.tool_calls(filed.id) if call.id == finding.tool_call_id]
    assert b'"usage_percent":80' in (runs.find_page(cited.output_sha256) or b"")
    assert pages(house) == 1
    assert outcome(house, filed.id) is ReplayOutcome.EXPIRED


def test_a_page_that_younger_evidence_shares_is_kept(house: House) -> None:
    old = house.run(estate(host())).run.id
    house.clock.advance(hours=49)
    young = house.run(estate(host())).run.id
    prune(house)
    assert outcome(house, old) is ReplayOutcome.EXPIRED
    assert outcome(house, young) is ReplayOutcome.IDENTICAL


def test_runs_are_kept_for_400_days_with_their_calls_and_what_they_detected(house: House) -> None:
    run_id = quiet_run(house)
    house.clock.advance(days=399)
    assert prune(house).runs == 0
    house.clock.advance(days=2)
    assert prune(house).runs == 1
    assert RunStore(house.database).find(run_id) is None
    with house.database.read() as connection:
        for table in ("tool_call", "detection", "evidence_page"):
            assert connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one() == 0


def test_findings_that_were_closed_long_ago_go_unless_an_operator_spoke(house: House) -> None:
    house.run(estate(host(usage=80), disk("FAILED")))
    for _ in range(2):
        house.run(estate(host(usage=40), disk()))
    with house.database.write() as connection:
        connection.exec_driver_sql("UPDATE finding SET suppressed = TRUE WHERE kind = 'smart_failure'")
    house.clock.advance(days=401)
    assert prune(house).findings == 1
    with house.database.read() as connection:
        assert [each.kind for each in FindingStore(connection, "default").list_findings()] == ["smart_failure"]


def test_an_open_finding_is_never_deleted(house: House) -> None:
    house.run(estate(host(usage=80)))
    house.clock.advance(days=4000)
    assert prune(house).findings == 0


def test_a_run_under_way_keeps_its_evidence(house: House) -> None:
    quiet_run(house)
    with house.database.write() as connection:
        connection.exec_driver_sql("UPDATE run SET status = 'running'")
    house.clock.advance(days=500)
    assert prune(house) == Pruned(bytes_used=bytes_used(house.database))


def test_runs_recorded_without_what_they_judged_by_age_too(house: House) -> None:
    run_id = quiet_run(house)
    with house.database.write() as connection:
        connection.exec_driver_sql("DELETE FROM detection")
    assert outcome(house, run_id) is ReplayOutcome.IMPOSSIBLE
    house.clock.advance(hours=49)
    prune(house)
    assert outcome(house, run_id) is ReplayOutcome.EXPIRED
    assert pages(house) == 0


def test_pages_that_nothing_cites_are_collected(house: House) -> None:
    run_id = quiet_run(house)
    before = pages(house)
    with house.database.write() as connection:
        connection.exec_driver_sql(
            "INSERT INTO evidence_page (org_id, sha256, stored_at, data) "
            "SELECT org_id, 'nobody', stored_at, data FROM evidence_page LIMIT 1"
        )
    assert prune(house).pages == 1
    assert pages(house) == before
    assert outcome(house, run_id) is ReplayOutcome.IDENTICAL


def test_another_organisation_is_left_alone(house: House) -> None:
    quiet_run(house)
    house.clock.advance(days=401)
    pruned = prune_evidence(house.database, house.settings, house.clock.now, org_id="other")
    assert pruned is not None
    assert (pruned.expired_runs, pruned.pages, pruned.runs) == (0, 0, 0)
    assert pages(house)


# --- the largest size -------------------------------------------------------------------------------------------------


def test_where_the_database_is_too_large_the_oldest_evidence_goes_first(house: House) -> None:
    ran = [quiet_run(house) for _ in range(45)]
    limited_to(house, bytes_used(house.database) - 1)
    pruned = prune(house)
    assert not pruned.is_too_large
    assert pruned.bytes_used <= house.settings.storage.max_bytes
    outcomes = [outcome(house, run_id) for run_id in ran]
    assert ReplayOutcome.EXPIRED in outcomes
    assert outcomes[-1] is ReplayOutcome.IDENTICAL
    assert all(
        not (one is ReplayOutcome.IDENTICAL and other is ReplayOutcome.EXPIRED) for one, other in pairwise(outcomes)
    )


def test_also_what_changed_a_finding_goes_but_not_the_page_of_an_open_one(house: House) -> None:
    filed = house.run(estate(host(usage=80))).run.id
    limited_to(house, 1)
    pruned = prune(house)
    assert pruned.is_too_large
    assert outcome(house, filed) is ReplayOutcome.EXPIRED
    assert pages(house) == 1


def test_the_space_of_deleted_pages_is_given_back_in_a_file(tmp_path: Path) -> None:
    with closing(open_database(f"sqlite:///{tmp_path}/patrol.db")) as database:
        house = Hoarder(database)
        with database.write() as connection:
            connection.exec_driver_sql(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 800) "
                "INSERT INTO evidence_page SELECT 'default', 'page' || i, '2026-01-01', randomblob(8000) FROM n"
            )
        size = size_of(database)
        pruned = prune(house)
        assert pruned.pages == 800
        assert pruned.finished
        assert size_of(database) < size / 3


def size_of(database: Database) -> int:
    with database.read() as connection:
        return int(connection.exec_driver_sql("PRAGMA page_count").scalar_one())


# --- in small steps ---------------------------------------------------------------------------------------------------


def test_it_is_done_once_an_hour(house: House) -> None:
    prune(house)
    house.clock.advance(minutes=59)
    assert prune_evidence(house.database, house.settings, house.clock.now) is None
    house.clock.advance(minutes=1)
    assert prune_evidence(house.database, house.settings, house.clock.now) is not None


def test_a_run_prunes_when_it_is_recorded(any_database: Database) -> None:
    house = House(any_database)
    run_id = quiet_run(house)
    house.clock.advance(hours=49)
    house.run(estate(host(usage=9)))
    assert outcome(house, run_id) is ReplayOutcome.EXPIRED


def test_a_clock_that_went_back_does_not_stop_it_for_good(house: House) -> None:
    prune(house)
    house.clock.advance(days=-3)
    assert prune_evidence(house.database, house.settings, house.clock.now) is not None


def test_a_call_does_a_bounded_number_of_batches_and_the_next_one_goes_on(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "PAGES_AT_ONCE", 5)
    monkeypatch.setattr(retention, "RUNS_AT_ONCE", 5)
    ran = [quiet_run(house) for _ in range(12)]
    house.clock.advance(hours=60)
    calls = 0
    while not prune(house, batches=3).finished:
        calls += 1
        outcomes = {outcome(house, run_id) for run_id in ran}
        assert outcomes <= {ReplayOutcome.IDENTICAL, ReplayOutcome.EXPIRED}
    assert calls > 3
    assert (outcomes, pages(house)) == ({ReplayOutcome.EXPIRED}, 0)


def test_progress_is_told(house: House) -> None:
    quiet_run(house)
    house.clock.advance(hours=60)
    told: list[str] = []

    def tell(stage: str, detail: str) -> None:
        del stage
        told.append(detail)

    prune_evidence(house.database, house.settings, house.clock.now, progress=tell)
    assert any("pages of evidence" in each for each in told)


class PowerLossError(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("batch", range(1, 6))
def test_an_end_at_any_moment_leaves_what_the_next_call_completes(house: House, batch: int) -> None:
    old = [quiet_run(house) for _ in range(3)]
    house.clock.advance(hours=49)
    young = quiet_run(house)
    count = 0

    def die(stage: str, detail: str) -> None:
        nonlocal count
        del stage, detail
        count += 1
        if count == batch:
            raise PowerLossError

    try:
        prune_evidence(house.database, house.settings, house.clock.now, progress=die)
    except PowerLossError:
        assert {outcome(house, each) for each in old} <= {ReplayOutcome.IDENTICAL, ReplayOutcome.EXPIRED}
    house.clock.now += EVERY
    prune(house)
    assert {outcome(house, each) for each in old} == {ReplayOutcome.EXPIRED}
    assert outcome(house, young) is ReplayOutcome.IDENTICAL


@given(
    st.lists(st.tuples(st.floats(0, 100), st.integers(0, 40)), min_size=1, max_size=8),
    st.integers(1, 400_000),
)
@hypothesis_settings(max_examples=20)
def test_after_any_pruning_a_replay_is_identical_or_says_expired(series: list[tuple[float, int]], most: int) -> None:
    with closing(open_database("sqlite://")) as database:
        house = Hoarder(database)
        ran = []
        for usage, hours in series:
            house.clock.advance(hours=hours)
            ran.append(house.run(estate(host(usage=usage), disk())).run.id)
        limited_to(house, most)
        house.clock.advance(hours=2)
        prune(house)
        outcomes = [outcome(house, run_id) for run_id in ran]
        assert set(outcomes) <= {ReplayOutcome.IDENTICAL, ReplayOutcome.EXPIRED}
        assert citations_found(house) == {True}


def citations_found(house: House) -> set[bool]:
    """Whether each open finding's page is there; True alone also where there is none."""
    runs = RunStore(house.database)
    cited = {call.id: call.output_sha256 for run in runs.list_runs() for call in runs.tool_calls(run.id)}
    with house.database.read() as connection:
        found = FindingStore(connection, "default").list_findings()
    return {True} | {runs.find_page(cited[each.tool_call_id]) is not None for each in found if each.is_open}


def test_ages_are_of_the_settings(house: House) -> None:
    storage = house.settings.storage.model_copy(update={"evidence_retention": timedelta(days=40)})
    house.settings = house.settings.model_copy(update={"storage": storage})
    run_id = quiet_run(house)
    house.clock.advance(days=39)
    prune(house)
    assert outcome(house, run_id) is ReplayOutcome.IDENTICAL
