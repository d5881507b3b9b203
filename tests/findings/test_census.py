"""Open findings counted in the database are those that are found by reading each of them."""

from collections import Counter as Count
from collections.abc import Sequence
from datetime import timedelta

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from findings.census import Standing, count_open
from findings.kinds import Kind
from findings.lifecycle import Advance, Change
from findings.model import DismissedReason, Finding, FindingState, Severity
from findings.silence import Silence, SilenceKind
from findings.store import FindingStore
from findings.tables import FINDINGS, TRANSITIONS, StoredRow
from patrol.database import Database
from tests.findings.builders import HOST, NOW, ORG, finding

SOON, EARLIER = NOW + timedelta(hours=1), NOW - timedelta(hours=1)
PLACES = (HOST, "vm:pve:101", "vm:pve:1", 'odd "name" %_\\')


def silence(kind: SilenceKind = SilenceKind.MAINTENANCE, **changes: object) -> Silence:
    given_values = {
        "org_id": ORG,
        "id": "s1",
        "kind": kind,
        "resource_id": HOST,
        "starts_at": EARLIER,
        "ends_at": SOON,
        "reason": "work",
        "author": "ada",
        "created_at": EARLIER,
        **changes,
    }
    return Silence(**given_values)  # type: ignore[arg-type]


def stored(connection: sa.Connection, findings: Sequence[Finding]) -> None:
    FindingStore(connection, ORG).apply(
        Advance(changes=tuple(Change(None, each) for each in findings), transitions=(), outcomes={})
    )


def one_by_one(findings: Sequence[Finding], silences: Sequence[Silence]) -> Count[tuple[Severity, Standing]]:
    counted: Count[tuple[Severity, Standing]] = Count()
    for each in findings:
        if each.is_open:
            told = Standing.EXPLAINED if each.parent_finding else Standing.ACTIVE
            counted[each.severity, told if each.is_active(NOW, silences) else Standing.SILENCED] += 1
    return counted


TIMES = st.sampled_from([None, EARLIER, NOW, SOON])
FINDINGS_OF_ALL_SORTS = st.lists(
    st.fixed_dictionaries(
        {
            "severity": st.sampled_from(Severity),
            "kind": st.sampled_from([Kind.HIGH_DISK, Kind.SMART_FAILURE, Kind.SOURCE_BLIND]),
            "resource_id": st.sampled_from(PLACES),
            "lives_on": st.sampled_from([(), (HOST,), PLACES[1:]]),
            "parent_finding": st.sampled_from(["", "another"]),
            "suppressed": st.booleans(),
            "dismissed_reason": st.sampled_from([None, DismissedReason.WILL_FIX_LATER]),
            "remind_at": TIMES,
            "snoozed_until": TIMES,
            "acknowledged_at": TIMES,
            "acknowledged_facts": st.sampled_from([{}, {"pending": 1.0}]),
            "facts": st.sampled_from([{}, {"verdict_failed": 1.0}]),
            "state": st.sampled_from(FindingState),
        }
    ),
    max_size=8,
)
SILENCES = st.lists(
    st.one_of(
        st.builds(silence, resource_id=st.sampled_from(PLACES), starts_at=st.sampled_from([EARLIER, NOW])),
        st.builds(silence, resource_id=st.sampled_from(PLACES), starts_at=st.just(NOW + timedelta(minutes=1))),
        st.builds(
            silence,
            kind=st.just(SilenceKind.SUPPRESSION),
            resource_id=st.sampled_from(["", HOST]),
            finding_kind=st.sampled_from([Kind.HIGH_DISK, Kind.SMART_FAILURE]),
        ),
    ),
    max_size=3,
)


@given(FINDINGS_OF_ALL_SORTS, SILENCES)
def test_the_count_is_that_of_reading_each(rows: list[dict[str, object]], silences: list[Silence]) -> None:
    findings = [finding(subject=f"/{number}", **row) for number, row in enumerate(rows)]  # type: ignore[arg-type]
    engine = sa.create_engine("sqlite://")
    StoredRow.metadata.create_all(engine, tables=[FINDINGS, TRANSITIONS])
    with engine.begin() as connection:
        stored(connection, findings)
        assert count_open(connection, ORG, silences, NOW) == one_by_one(findings, silences)
        assert not count_open(connection, "another", silences, NOW)
    engine.dispose()


@pytest.mark.parametrize("silences", [(), (silence(),)])
def test_every_database_counts_alike(any_database: Database, silences: Sequence[Silence]) -> None:
    findings = [
        finding(subject="/"),
        finding(subject="/a", snoozed_until=SOON),
        finding(subject="/b", resource_id="vm:pve:1", lives_on=(HOST,), severity=Severity.CRITICAL),
        finding(subject="/c", resource_id="vm:pve:1", parent_finding="x"),
    ]
    any_database.transact(lambda connection: stored(connection, findings))
    with any_database.read() as connection:
        assert count_open(connection, ORG, silences, NOW) == one_by_one(findings, silences)
