"""In an organisation that nobody watches what is there can be read, and nothing is accepted that nobody carries out."""

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from patrol.accounts.model import Scope
from patrol.alerts.store import AlertStore
from patrol.overrides.store import OverrideStore
from patrol.schedule.pauses import find_pause
from patrol.work.model import WorkKind, WorkState
from patrol.work.store import WorkStore
from tests.api.builders import House, house

ALERT = {"status": "firing", "fingerprint": "f1", "labels": {"alertname": "X"}, "startsAt": "0001-01-01T00:00:00Z"}
DELIVERY = {"version": "4", "status": "firing", "alerts": [ALERT]}
ACTS = (
    ("POST", "/api/ai/patrol/run", {}),
    ("POST", "/api/alerts/webhook/alertmanager", DELIVERY),
    ("PATCH", "/api/settings", {"paused": True}),
    ("PATCH", "/api/settings", {"paused": False}),
    ("PATCH", "/api/settings", {"triggers.alerts": False}),
    ("PUT", "/api/ai/patrol/autonomy", {"autonomy_level": "approval"}),
    ("POST", "/api/ai/patrol/autonomy/acknowledgement", {"terms_version": 1}),
    ("POST", "/api/ai/patrol/suppressions", {"resource_id": "vm:lab:101", "kind": "high_cpu", "reason": "x"}),
)


@pytest.fixture
def made() -> Iterator[House]:
    with house(organisations=["acme"]) as found:
        yield found


def client(made: House, org: str) -> TestClient:
    found = made.client()
    found.headers["Authorization"] = f"Bearer {made.token(Scope.ALL, bound_to=org)}"
    return found


@pytest.mark.parametrize(("method", "path", "body"), ACTS)
def test_what_nobody_would_carry_out_is_refused_and_says_where_it_would_be(
    made: House, method: str, path: str, body: object
) -> None:
    answer = client(made, "acme").request(method, path, json=body)
    assert (answer.status_code, answer.json()["code"]) == (409, "organisation_not_watched")
    assert "acme" in answer.json()["message"]
    assert "default" in answer.json()["message"]


@pytest.mark.parametrize(("method", "path", "body"), [each for each in ACTS if each[1] != ACTS[-1][1]])
def test_the_same_is_accepted_where_runs_are_made(made: House, method: str, path: str, body: object) -> None:
    assert client(made, "default").request(method, path, json=body).is_success


def test_nothing_of_it_is_kept(made: House) -> None:
    acting = client(made, "acme")
    for method, path, body in ACTS:
        acting.request(method, path, json=body)
    with made.database.read() as connection:
        for org in ("acme", "default"):
            assert WorkStore(connection, org).list_work(WorkKind.RUN, tuple(WorkState)) == []
            assert AlertStore(connection, org).count() == 0
            assert find_pause(connection, org, made.now) is None
            assert OverrideStore(connection, org).current_acknowledgement() is None
    assert acting.get("/api/ai/patrol/suppressions").json() == []


@pytest.mark.parametrize(
    ("method", "path", "body", "code"),
    [
        ("POST", "/api/ai/patrol/findings/f1/investigate", None, "finding_not_found"),
        ("POST", "/api/alerts/a1/investigate", {}, "alert_not_found"),
        ("POST", "/api/ai/patrol/acknowledge", {"finding_id": "f1"}, "finding_not_found"),
        ("PUT", "/api/resources/vm:lab:101/operator-state", {"intentionally_offline": True}, "resource_not_found"),
    ],
)
def test_of_what_is_not_there_nothing_can_be_said(made: House, method: str, path: str, body: object, code: str) -> None:
    answer = client(made, "acme").request(method, path, json=body)
    assert (answer.status_code, answer.json()["code"]) == (404, code)


def test_what_is_there_can_be_read(made: House) -> None:
    reading = client(made, "acme")
    assert reading.get("/api/ai/patrol/findings").json() == []
    assert reading.get("/api/ai/patrol/runs").json() == []
    assert reading.get("/api/settings").is_success
    status = reading.get("/api/ai/patrol/status").json()
    assert (status["next_patrol_at"], status["running"]) == (None, False)


def test_its_stream_knows_no_run_of_others(made: House) -> None:
    run_id = client(made, "default").post("/api/ai/patrol/run", json={}).json()["run_id"]
    answer = client(made, "acme").get(f"/api/ai/patrol/stream?run_id={run_id}")
    assert (answer.status_code, answer.json()["code"]) == (404, "run_not_found")
