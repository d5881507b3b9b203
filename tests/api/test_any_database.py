"""The same routes over every sort of database that Patrol supports, also with characters that some of them refuse."""

from collections.abc import Iterator

import pytest

from tests.api.builders import House
from tests.api.filled import Filled
from tests.api.test_alerts import delivery
from tests.findings.builders import finding

NUL = "a%00b"


@pytest.fixture
def api(any_database) -> Iterator[Filled]:
    made = Filled.make(House(database=any_database))
    made.remember()
    made.file(*[finding(subject=f"/{number}", id=f"{number:032x}") for number in range(9)])
    made.ran("r1")
    return made


def test_everything_is_read_and_said(api: Filled) -> None:
    patrol = "/api/ai/patrol"
    accepted = api.post(f"{patrol}/run", {"resource_ids": ["db"]}).json()
    assert api.get(f"{patrol}/runs/{accepted['run_id']}").json()["state"] == "queued"
    assert api.post("/api/alerts/webhook/alertmanager", delivery()).json()["triggers"] == {"accepted": 1}
    assert len(api.get("/api/alerts", params={"include_resolved": "1"}).json()["alerts"]) == 1
    assert api.post("/api/alerts/fp1/investigate").status_code == 200
    first = api.get(f"{patrol}/findings", params={"limit": "5"})
    rest = api.get(f"{patrol}/findings", params={"limit": "5", "cursor": first.headers["x-next-cursor"]})
    assert len({each["id"] for each in (*first.json(), *rest.json())}) == 9
    assert api.post(f"{patrol}/snooze", {"finding_id": f"{1:032x}", "duration_hours": 2}).json()["changed"]
    assert [each["id"] for each in api.get(f"{patrol}/runs").json()] == ["r1"]
    assert api.get(f"{patrol}/findings", params={"run_id": "run-0"}).json()
    assert api.call("PATCH", "/api/settings", json={"interval": "30m", "paused": True}).json()["paused"]
    assert api.call("PUT", "/api/resources/db/operator-state", json={"intentionally_offline": True}).status_code == 200
    status = api.get(f"{patrol}/status").json()
    assert (status["findings_count"], status["interval_ms"], status["alerts_firing"]) == (8, 1_800_000, 1)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", f"/api/ai/patrol/runs/{NUL}", None),
        ("GET", f"/api/ai/patrol/findings/{NUL}", None),
        ("GET", f"/api/ai/patrol/findings?resource_id={NUL}&run_id={NUL}", None),
        ("GET", f"/api/ai/patrol/stream?run_id={NUL}", None),
        ("GET", f"/api/alerts/{NUL}", None),
        ("GET", f"/api/resources/{NUL}/operator-state", None),
        ("DELETE", f"/api/ai/patrol/suppressions/{NUL}", None),
        ("POST", "/api/ai/patrol/run", {"resource_ids": ["a\0b"], "alert_identifier": "\0", "alert_type": "\0"}),
        ("POST", "/api/ai/patrol/suppress", {"finding_id": f"{2:032x}", "note": "a\0b"}),
        ("POST", "/api/ai/patrol/suppressions", {"kind": "high_disk", "reason": "a\0b"}),
        ("POST", "/api/alerts/webhook/alertmanager", delivery(name="d\0b", alertname="\0x", severity="\0")),
        ("PATCH", "/api/settings", {"model": "a\0b"}),
        ("PATCH", "/api/settings", {"paused": {"reason": "a\0b"}}),
    ],
)
def test_a_character_that_no_database_takes_is_no_crash(api: Filled, method: str, path: str, body: object) -> None:
    answer = api.call(method, path, json=body) if body is not None else api.call(method, path)
    assert answer.status_code < 500, answer.text
