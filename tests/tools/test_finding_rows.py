"""`pulse_alerts` action=findings: what earlier runs filed, the active ones before those that are kept quiet."""

from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest

from findings.kinds import Kind
from findings.model import DEFAULT_ORG, Finding, Severity
from findings.silence import Silence, SilenceKind
from patrol.database import open_database
from patrol.run.known import StoredFindings
from patrol.tools.registry import Toolbox
from tests.findings.builders import finding
from tests.tools.estates import NOW, GivenFindings, toolbox, two_nodes


def held(number: int, resource_id: str, severity: Severity = Severity.WARNING, **changes: object) -> Finding:
    return finding(Kind.HIGH_DISK, severity, id=f"f{number}", key=f"key-{number}", resource_id=resource_id, **changes)


DISK = held(1, "disk:pve1:sdb", Severity.CRITICAL, resource_type="disk")
POOL = held(2, "storage:pve1:local-lvm", lives_on=("node:a:pve1",))
SNOOZED = held(3, "vm:a:101", snoozed_until=NOW + timedelta(hours=1), silenced_by="ann", user_note="after the move")
GONE = held(4, "vm:a:999")
MAINTENANCE = Silence(
    org_id=DEFAULT_ORG,
    id="s1",
    kind=SilenceKind.MAINTENANCE,
    resource_id="node:a:pve1",
    starts_at=NOW - timedelta(hours=1),
    ends_at=NOW + timedelta(hours=2),
    reason="new disks",
    author="ann",
    created_at=NOW,
)


def answer(known: GivenFindings, **arguments: object) -> dict[str, list[dict[str, object]]]:
    page = toolbox(two_nodes(), known).call("pulse_alerts", {"action": "findings", **arguments})
    return msgspec.json.decode(msgspec.json.encode(page))


def ids(page: dict[str, list[dict[str, object]]], group: str) -> list[object]:
    return [row["id"] for row in page.get(group, [])]


ALL = GivenFindings(findings=[GONE, SNOOZED, POOL, DISK])


def test_active_findings_come_worst_first_and_quiet_ones_after_them_with_their_reason() -> None:
    page = answer(ALL)
    assert (ids(page, "active"), ids(page, "dismissed")) == (["f1", "f2", "f4"], ["f3"])
    assert page["counts"] == {"active": 3, "dismissed": 1}
    (quiet,) = page["dismissed"]
    assert (quiet["quiet"], quiet["note"]) == ("snoozed", "after the move")
    assert page["complete"]


def test_a_row_says_what_is_wrong_since_when_and_what_would_clear_it() -> None:
    row = answer(ALL)["active"][0]
    assert (row["key"], row["kind"], row["severity"], row["value"], row["limit"]) == (
        "key-1",
        "high_disk",
        "critical",
        91.0,
        90.0,
    )
    assert row["times_raised"] == 1
    assert row["detected_at"].endswith("Z")
    assert "below the clear mark of its limit" in row["clears_when"]


def test_a_silence_about_the_host_keeps_what_lives_on_it_quiet_until_its_end() -> None:
    page = answer(GivenFindings(findings=[POOL, DISK], quiet_by=[MAINTENANCE]))
    assert (ids(page, "active"), ids(page, "dismissed")) == (["f1"], ["f2"])
    assert page["dismissed"][0]["quiet_until"] == "2026-03-02T08:00:00Z"


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"severity": "critical"}, ["f1"]),
        ({"severity": "info"}, []),
        ({"resource_id": "disk:pve1:sdb"}, ["f1"]),
        ({"resource_id": "pve1"}, ["f2"]),  # it lives there
        ({"resource_id": "vm:a:999"}, ["f4"]),  # what it is about exists no more
        ({"resource_type": "disk"}, ["f1"]),
        ({"node": "pve1"}, ["f1", "f2"]),
        ({"limit": 1}, ["f1"]),
        ({"limit": 2, "offset": 1}, ["f2", "f4"]),
    ],
)
def test_filters_come_before_paging(arguments: dict[str, object], found: list[str]) -> None:
    assert ids(answer(ALL, **arguments), "active") == found


def test_a_kind_of_an_older_version_is_shown_all_the_same() -> None:
    page = answer(GivenFindings(findings=[replace(SNOOZED, kind="melted", snoozed_until=None)]))
    assert page["active"][0]["kind"] == "melted"


def test_without_a_record_of_findings_the_answer_is_no_all_clear() -> None:
    page = Toolbox(two_nodes(), NOW).call("pulse_alerts", {"action": "findings"})
    assert not page.complete
    assert [gap.detail for gap in page.gaps] == ["there is no record of findings here"]


def test_a_database_is_read_when_somebody_asks() -> None:
    known = StoredFindings(database=open_database("sqlite://"), now=NOW)
    page = Toolbox(two_nodes(), NOW, known=known).call("pulse_alerts", {"action": "findings"})
    assert page.complete
    assert page.counts == {"active": 0, "dismissed": 0}
