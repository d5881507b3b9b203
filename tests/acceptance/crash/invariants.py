"""What must hold of a database whatever happened to the processes that wrote it."""

import hashlib
from collections import defaultdict
from itertools import pairwise

from sqlalchemy import Connection, select

from findings.identity import finding_key
from findings.kinds import Kind
from findings.model import DEFAULT_ORG, Finding, FindingState, Transition, TransitionReason
from findings.rows import TRANSITION_COLUMNS, transition_of
from findings.store import FindingStore
from findings.tables import TRANSITIONS
from patrol.database import Database, open_database
from patrol.run.lease import LEASE
from patrol.run.record_model import RunRecord, RunStatus
from patrol.run.store import RunStore
from tests.acceptance.crash.estates import Place, failed_units, run_at, url_of, utc_now
from tests.run.builders import HOST

_LOOKED_INTO = 4
"""How many of the newest runs are looked into call by call: older ones were when they were new."""


def check(place: Place) -> list[RunRecord]:
    """Opens a database, checks that it holds no half run and nothing twice, and returns its runs, oldest first."""
    database = open_database(url_of(place))
    try:
        database.check()
        runs = RunStore(database)
        recorded = runs.list_runs(10_000)[::-1]
        with database.read() as connection:
            findings = FindingStore(connection, DEFAULT_ORG).list_findings()
            moves = _moves(connection)
        assert len({finding.key for finding in findings}) == len(findings)
        for finding in findings:
            _check_life(finding, moves[finding.id])
        _check_runs(recorded, findings, moves)
        for run in recorded[-_LOOKED_INTO:]:
            _check_evidence(runs, run)
        return recorded
    finally:
        database.close()


def _moves(connection: Connection) -> dict[str, list[Transition]]:
    """The changes of every finding, oldest first."""
    columns = [TRANSITIONS.c[name] for name in TRANSITION_COLUMNS]
    moves: dict[str, list[Transition]] = defaultdict(list)
    for row in connection.execute(select(*columns).order_by(TRANSITIONS.c.finding_id, TRANSITIONS.c.version)):
        moves[row.finding_id].append(transition_of(row))
    return moves


def _check_life(finding: Finding, moves: list[Transition]) -> None:
    assert moves[0].reason is TransitionReason.FILED
    assert all(later.old_state is earlier.new_state for earlier, later in pairwise(moves))
    assert finding.state is moves[-1].new_state
    assert finding.version >= moves[-1].version


def _check_runs(recorded: list[RunRecord], findings: list[Finding], moves: dict[str, list[Transition]]) -> None:
    by_run: dict[str, list[Transition]] = defaultdict(list)
    for transition in (each for life in moves.values() for each in life):
        by_run[transition.run_id].append(transition)
    touched = {finding.last_run_id for finding in findings}
    for run in recorded:
        if run.status in (RunStatus.RUNNING, RunStatus.CRASHED, RunStatus.ERROR):
            assert run.id not in touched
            assert not by_run[run.id]
            continue
        counts = (
            sum(each.reason is TransitionReason.FILED for each in by_run[run.id]),
            sum(each.reason is TransitionReason.REGRESSED for each in by_run[run.id]),
            sum(each.reason is TransitionReason.RESOLVED for each in by_run[run.id]),
        )
        assert counts == (run.new_findings, run.regressed_findings, run.resolved_findings), run
    assert touched <= {run.id for run in recorded}


def _check_evidence(runs: RunStore, run: RunRecord) -> None:
    calls = runs.tool_calls(run.id)
    assert [call.seq for call in calls] == list(range(1, len(calls) + 1))
    for call in calls:
        page = runs.find_page(call.output_sha256)
        assert page is not None
        assert hashlib.sha256(page).hexdigest() == call.output_sha256


def open_units(database: Database) -> set[str]:
    """The units that have an open finding."""
    with database.read() as connection:
        found = FindingStore(connection, DEFAULT_ORG).list_findings(state=FindingState.OPEN)
    return {finding.subject for finding in found if finding.kind == Kind.UNIT_FAILED}


def run_on(place: Place, step: int, name: str, *, lease_over: bool = False) -> None:
    """The next run: it closes what was left behind, and files what it should.

    `lease_over`: it comes so late that every lease ended.
    """
    database = open_database(url_of(place))
    try:
        if lease_over:
            RunStore(database).close_crashed(utc_now() + LEASE)
        report = run_at(database, step, name)
        assert report.run.status in (RunStatus.CRITICAL, RunStatus.ISSUES_FOUND)
        assert open_units(database) == set(failed_units(step))
        assert all(
            finding_key(HOST, Kind.UNIT_FAILED, unit) in {each.key for each in report.findings}
            for unit in failed_units(step)[:3]
        )
        left = [run for run in RunStore(database).list_runs(10_000) if run.status is RunStatus.RUNNING]
        assert left == []
        assert report.run.completed_at is not None
        assert report.run.completed_at <= utc_now()
    finally:
        database.close()
