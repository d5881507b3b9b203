"""Findings and runs, read: which ones, in which order, page by page, in documents that are as they are described."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from pydantic import TypeAdapter

from findings.model import DismissedReason, FindingState, ResolveReason, Severity
from findings.verbs import Suppress
from patrol.accounts.model import Scope
from patrol.api.documents.findings import FindingDocument, FindingHistoryDocument
from patrol.api.documents.runs import RunDocument
from patrol.operators.verbs import carry_out
from patrol.run.record_model import RunStatus, RunType
from patrol.run.store import RunStore
from patrol.schedule.pauses import pause
from tests.api.builders import START
from tests.api.filled import MINUTE, ORG, Filled
from tests.findings.builders import finding

FINDINGS, RUNS = "/api/ai/patrol/findings", "/api/ai/patrol/runs"
HOUR = timedelta(hours=1)


def some(count: int, **more: object) -> list:
    return [
        finding(subject=f"/mnt/{each:03}", id=f"{each:032x}", last_seen_at=START + each * MINUTE, **more)
        for each in range(count)
    ]


def pages(api: Filled, path: str, **query: str) -> Iterator[list]:
    cursor: str | None = ""
    while cursor is not None:
        answer = api.get(path, params={**query, "cursor": cursor} if cursor else query)
        assert answer.status_code == 200, answer.text
        cursor = answer.headers.get("x-next-cursor")
        assert ("link" in answer.headers) is (cursor is not None)
        yield answer.json()


# --- findings ---


def test_a_finding_is_served_as_it_is_described(api: Filled) -> None:
    api.file(*some(1), finding(subject="/", snoozed_until=START + HOUR, silenced_by="ann", silenced_at=START))
    documents = api.get(FINDINGS, params={"state": "all"}).json()
    assert all(set(each) == set(FindingDocument.model_fields) for each in documents)
    TypeAdapter(list[FindingDocument]).validate_python(documents)
    quiet = [each for each in documents if each["quiet"]]
    assert [(each["quiet"]["reason"], each["loop_state"]) for each in quiet] == [("snoozed", "snoozed")]
    assert documents[0]["detected_at"] == documents[0]["first_seen_at"]


def test_what_is_listed_is_active_unless_more_is_asked_for(api: Filled) -> None:
    api.file(
        finding(subject="active"),
        finding(subject="snoozed", snoozed_until=START + HOUR),
        finding(subject="dismissed", dismissed_reason=DismissedReason.NOT_AN_ISSUE),
        finding(subject="suppressed", suppressed=True),
        finding(
            subject="resolved",
            state=FindingState.RESOLVED,
            resolved_at=START,
            resolve_reason=ResolveReason.CLEARED,
        ),
    )

    def listed(**query: str) -> set[str]:
        return {each["subject"] for each in api.get(FINDINGS, params=query).json()}

    quiet = {"snoozed", "dismissed", "suppressed"}
    assert listed() == listed(state="active") == {"active"}
    assert listed(state="silenced") == quiet
    assert listed(state="open") == {"active", *quiet}
    assert listed(state="resolved") == {"resolved"}
    assert listed(include_resolved="1") == listed(state="all") == {"active", "resolved", *quiet}


def test_worst_first_and_newest_first(api: Filled) -> None:
    api.file(
        finding(subject="old", last_seen_at=START),
        finding(subject="new", last_seen_at=START + MINUTE),
        finding(subject="worst", severity=Severity.CRITICAL, last_seen_at=START),
        finding(subject="least", severity=Severity.INFO, last_seen_at=START),
    )
    assert [each["subject"] for each in api.get(FINDINGS).json()] == ["worst", "new", "old", "least"]
    assert [each["subject"] for each in api.get(FINDINGS, params={"severity": "critical"}).json()] == ["worst"]


@pytest.mark.parametrize(("limit", "count"), [("5", 5), ("0", 12), ("-3", 12), ("many", 12), ("", 12), ("9999", 12)])
def test_a_limit_that_is_none_counts_as_not_said(api: Filled, limit: str, count: int) -> None:
    api.file(*some(12))
    assert len(api.get(FINDINGS, params={"limit": limit}).json()) == count


@pytest.mark.parametrize("size", ["1", "4", "7", "50"])
def test_pages_hold_every_finding_once(api: Filled, size: str) -> None:
    api.file(*some(20), *some(0), *[finding(subject=f"q{n}", suppressed=True, id=f"q{n}") for n in range(9)])
    found = [each["id"] for page in pages(api, FINDINGS, limit=size) for each in page]
    assert found == [f"{each:032x}" for each in reversed(range(20))]


def test_what_is_silenced_between_two_pages_moves_no_other(api: Filled) -> None:
    api.file(*some(6))
    first = api.get(FINDINGS, params={"limit": "2"})
    carry_out(api.house.database, ORG, [f"{4:032x}"], Suppress(), now=START, author="ann")
    rest = api.get(FINDINGS, params={"cursor": first.headers["x-next-cursor"]}).json()
    assert [each["id"] for each in rest] == [f"{each:032x}" for each in (3, 2, 1, 0)]


@pytest.mark.parametrize("path", [FINDINGS, RUNS, "/api/ai/patrol/history"])
@pytest.mark.parametrize(
    "cursor", ["x", "bnVsbA", "W10", "W1tdLCJhIiwiYiJd", "é", "W1swLC0xXSwiMjAyNiIsImEiXQ", "e" * 900]
)
def test_a_cursor_of_something_else_is_refused(api: Filled, path: str, cursor: str) -> None:
    answer = api.get(path, params={"cursor": cursor})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_cursor")


def test_the_findings_of_a_run_are_those_it_changed_or_saw_last(api: Filled) -> None:
    api.file(finding(subject="/", last_run_id="r1"), finding(subject="/var", last_run_id="r2"))
    assert [each["subject"] for each in api.get(FINDINGS, params={"run_id": "r1"}).json()] == ["/"]
    assert api.get(FINDINGS, params={"run_id": "none"}).json() == []


def test_one_finding_has_its_history(api: Filled) -> None:
    api.file(*some(1))
    api.post("/api/ai/patrol/findings/note", {"finding_id": f"{0:032x}", "note": "look into it"})
    document = api.get(f"{FINDINGS}/{0:032x}").json()
    FindingHistoryDocument.model_validate(document)
    assert [each["reason"] for each in document["transitions"]] == ["noted"]
    assert api.get(f"{FINDINGS}/nobody").json()["code"] == "finding_not_found"


def test_the_phone_reads_findings_and_nothing_else(api: Filled) -> None:
    phone = api.as_token(Scope.RELAY)
    assert phone.get(FINDINGS).status_code == 200
    assert phone.get(RUNS).status_code == 403


# --- runs ---


def test_a_run_is_served_as_it_is_described(api: Filled) -> None:
    api.file(finding(subject="/", last_run_id="r1"))
    api.ran("r1", status=RunStatus.ISSUES_FOUND, status_text="one warning", resources_checked=7, complete=True)
    [listed] = api.get(RUNS).json()
    assert set(listed) == set(RunDocument.model_fields)
    RunDocument.model_validate(listed)
    assert (listed["finding_ids"], listed["duration_ms"], listed["status"]) == (
        [finding(subject="/").id],
        60_000,
        "issues_found",
    )
    one = api.get(f"{RUNS}/r1").json()
    assert (one["finding_assessments"], one["tool_calls"]) == ([], None)


def test_a_run_shows_its_calls_when_asked(api: Filled) -> None:
    api.ran("r1", status=RunStatus.RUNNING)
    RunStore(api.house.database, ORG).add_tool_call(
        "r1",
        seq=1,
        call_id="c1",
        tool_name="pulse_query",
        input_json="{}",
        output="{}",
        success=True,
        origin="patrol",
        started_at=START,
        duration_seconds=0.5,
    )
    document = api.get(f"{RUNS}/r1", params={"include": "tool_calls"}).json()
    RunDocument.model_validate(document)
    assert (document["state"], document["tool_call_count"]) == ("running", 1)
    assert [each["tool_name"] for each in document["tool_calls"]] == ["pulse_query"]


def test_runs_by_pages_the_newest_first(api: Filled) -> None:
    for number in range(10):
        api.ran(f"r{number}", at=START + number // 2 * MINUTE)  # two of them at each time
    found = [each["id"] for page in pages(api, RUNS, limit="3") for each in page]
    assert found == sorted(found, reverse=True)
    assert len(found) == 10


def test_history_begins_at_a_time(api: Filled) -> None:
    for number in range(5):
        api.ran(f"r{number}", at=START + number * HOUR)
    since = (START + 3 * HOUR).isoformat()
    assert [each["id"] for each in api.get("/api/ai/patrol/history", params={"start_time": since}).json()] == [
        "r4",
        "r3",
    ]
    for text in ("yesterday", "1764417600", "0.5", "2026-11-29", "2026-11-29T12:00:00", "2026-13-01T00:00:00Z"):
        assert api.get("/api/ai/patrol/history", params={"start_time": text}).status_code == 400


def test_a_run_that_nobody_knows(api: Filled) -> None:
    answer = api.get(f"{RUNS}/nobody")
    assert (answer.status_code, answer.json()["code"]) == (404, "run_not_found")


# --- status ---


def test_a_house_that_has_done_nothing_yet(api: Filled) -> None:
    status = api.get("/api/ai/patrol/status").json()
    assert (status["runtime_state"], status["running"], status["enabled"]) == ("active", False, True)
    assert (status["last_patrol_at"], status["healthy"], status["interval_ms"]) == (None, False, 3_600_000)


def test_status_tells_what_is_and_what_was(api: Filled) -> None:
    api.ran("r1", status=RunStatus.ISSUES_FOUND, status_text="two", resources_checked=7)
    api.ran("r2", at=START + HOUR, type=RunType.SCOPED)
    api.ran("r3", at=START + 2 * HOUR, status=RunStatus.DROPPED)
    api.ran("r4", at=START + 3 * HOUR, status=RunStatus.RUNNING)
    api.file(*some(2), finding(subject="x", severity=Severity.CRITICAL), finding(subject="y", suppressed=True))
    status = api.get("/api/ai/patrol/status").json()
    assert (status["runtime_state"], status["current_run_id"]) == ("running", "r4")
    assert (status["last_run_id"], status["last_status"], status["resources_checked"]) == ("r1", "issues_found", 7)
    assert status["last_activity_at"] == (START + HOUR + MINUTE).isoformat().replace("+00:00", "Z")
    assert status["summary"] == {"critical": 1, "warning": 2, "watch": 0, "info": 0}
    assert (status["findings_count"], status["silenced_count"], status["healthy"]) == (3, 1, False)


def test_healthy_is_the_word_of_a_full_run_and_of_nothing_active(api: Filled) -> None:
    api.ran("r1", status=RunStatus.HEALTHY, complete=True)
    assert api.get("/api/ai/patrol/status").json()["healthy"] is True
    api.file(*some(1))
    assert api.get("/api/ai/patrol/status").json()["healthy"] is False


def test_a_pause_is_told(api: Filled) -> None:
    house = api.house
    pause(house.database, ORG, now=START, until=None, reason="moving", author="ann", ids=lambda: "p1")
    status = api.get("/api/ai/patrol/status").json()
    assert (status["runtime_state"], status["enabled"], status["paused"]["reason"]) == ("disabled", False, "moving")
    assert status["trigger_status"]["event_triggers_blocked_reason"] == "paused"
