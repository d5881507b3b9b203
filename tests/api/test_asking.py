"""Asking for a run: what is accepted, what is refused and why, and when two who ask get the same run."""

import pytest

from patrol.accounts.model import Scope
from tests.api.builders import is_envelope
from tests.api.filled import Filled
from tests.findings.builders import finding

RUN = "/api/ai/patrol/run"


def test_an_empty_body_is_a_run_over_everything(api: Filled) -> None:
    answer = api.call("POST", RUN)
    body = answer.json()
    assert answer.status_code == 200
    assert (body["success"], body["accepted"], body["state"]) == (True, True, "queued")
    assert "already_running" not in body
    assert body["findings_url"].endswith(f"/api/ai/patrol/findings?run_id={body['run_id']}")
    waiting = api.get(f"/api/ai/patrol/runs/{body['run_id']}").json()
    assert (waiting["state"], waiting["status"], waiting["type"]) == ("queued", "queued", "full")
    claim = api.claim()
    assert (claim.work.run_id, claim.trigger.scope.is_full) == (body["run_id"], True)


def test_null_is_no_empty_body(api: Filled) -> None:
    for path in (RUN, "/api/alerts/x/investigate"):
        assert api.call("POST", path, content=b"null").status_code == 400


@pytest.mark.parametrize("body", [{}, {"resource_ids": []}, {"resource_ids": [], "resource_types": []}])
def test_nothing_named_is_everything(api: Filled, body: dict[str, object]) -> None:
    api.post(RUN, body)
    assert api.claim().trigger.scope.is_full


@pytest.mark.parametrize(
    ("names", "effective"),
    [
        (["vm:lab:101"], ["vm:lab:101"]),
        (["DB"], ["vm:lab:101"]),
        (["101", "pve2/200"], ["vm:lab:101", "vm:lab:200"]),
        (["qemu/101", "vm:lab:101", " db "], ["vm:lab:101"]),
        (["nas", "db"], ["storage:lab:nas", "vm:lab:101"]),
    ],
)
def test_names_are_resolved_before_it_is_accepted(api: Filled, names: list[str], effective: list[str]) -> None:
    body = api.post(RUN, {"resource_ids": names}).json()
    assert body["scope_resolution"]["effective_resource_ids"] == effective
    claim = api.claim()
    assert list(claim.trigger.scope.resource_ids) == effective
    assert claim.work.run_id == body["run_id"]


def test_types_mean_all_of_their_resources(api: Filled) -> None:
    body = api.post(RUN, {"resource_types": ["node"]}).json()
    assert body["scope_resolution"]["effective_resource_ids"] == ["node:lab:pve1", "node:lab:pve2"]
    assert api.claim().trigger.scope.resource_types == ("node",)


def test_a_type_beside_a_name_says_which_one_is_meant(api: Filled) -> None:
    assert api.post(RUN, {"resource_ids": ["db"], "resource_types": ["vm"]}).status_code == 200
    assert api.post(RUN, {"resource_ids": ["db"], "resource_types": ["node"]}).status_code == 422


@pytest.mark.parametrize(
    ("body", "unmatched", "ambiguous"),
    [
        ({"resource_ids": ["nobody"]}, ["nobody"], []),
        ({"resource_ids": ["web"]}, [], ["web"]),
        ({"resource_ids": ["nobody", "web", "db"]}, ["nobody"], ["web"]),
        ({"resource_ids": ["gone"]}, ["gone"], []),
        ({"resource_types": ["toaster"]}, ["type toaster"], []),
    ],
)
def test_what_means_nothing_or_too_much_is_refused_and_nothing_waits(
    api: Filled, body: dict[str, object], unmatched: list[str], ambiguous: list[str]
) -> None:
    answer = api.post(RUN, body)
    assert (answer.status_code, answer.json()["code"]) == (422, "patrol_scope_unresolved")
    details = answer.json()["details"]
    assert (details["unmatched_resource_ids"], details["ambiguous_resource_ids"]) == (unmatched, ambiguous)
    assert details["candidates"] == {name: ["vm:lab:100", "vm:lab:200"] for name in ambiguous}
    assert api.get("/api/ai/patrol/status").json()["trigger_status"]["pending_triggers"] == 0


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"resources": ["db"]}, "resources"),
        ({"resource_ids": "db"}, "resource_ids"),
        ({"resource_ids": [7]}, "resource_ids.0"),
        ({"resource_ids": ["x" * 400]}, "resource_ids.0"),
        ({"alert_identifier": ["a"]}, None),
        ([], None),
        ("text", None),
    ],
)
def test_a_body_that_is_none_of_this_route_is_refused(api: Filled, body: object, field: str | None) -> None:
    answer = api.post(RUN, body)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_patrol_scope")
    assert is_envelope(answer)
    assert field is None or field in answer.json()["details"]["fields"]


@pytest.mark.parametrize("content", [b"{", b"{} {}", b"\xff", b"[" * 100_000])
def test_what_is_no_json_is_refused(api: Filled, content: bytes) -> None:
    answer = api.call("POST", RUN, content=content)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_json")


def test_who_asks_the_same_again_gets_the_same_run(api: Filled) -> None:
    first = api.post(RUN, {"resource_ids": ["db"]}).json()
    waiting = api.post(RUN, {"resource_ids": ["vm:lab:101"]}).json()
    claim = api.claim()
    running = api.post(RUN, {"resource_ids": ["qemu/101"]}).json()
    assert first["run_id"] == waiting["run_id"] == running["run_id"]
    assert (waiting["already_running"], waiting["state"]) == (True, "queued")
    assert (running["already_running"], running["state"]) == (True, "running")
    api.finish(claim)
    after = api.post(RUN, {"resource_ids": ["db"]}).json()
    assert after["run_id"] != first["run_id"]
    assert "already_running" not in after


def test_another_scope_or_another_question_is_another_run(api: Filled) -> None:
    wishes = (
        {"resource_ids": ["db"]},
        {"resource_ids": ["nas"]},
        {"resource_ids": ["db"], "alert_identifier": "a1"},
        {"resource_ids": ["db"], "alert_identifier": "a1", "alert_type": "cpu"},
        {},
    )
    answers = [api.post(RUN, wish).json() for wish in wishes]
    assert len({each["run_id"] for each in answers}) == len(wishes)
    assert not any(each.get("already_running") for each in answers)


def test_only_a_queue_that_is_full_of_runs_that_were_asked_for_refuses_one(api: Filled) -> None:
    for number in range(10):
        assert api.post(RUN, {"resource_ids": ["db"], "alert_identifier": f"a{number}"}).status_code == 200
    answer = api.post(RUN, {"resource_ids": ["nas"]})
    assert (answer.status_code, answer.json()["code"]) == (409, "patrol_queue_full")
    again = api.post(RUN, {"resource_ids": ["db"], "alert_identifier": "a0"})
    assert again.json()["already_running"] is True


def test_an_unknown_alert_without_a_resource_never_becomes_a_run_over_everything(api: Filled) -> None:
    answer = api.post(RUN, {"alert_identifier": "nobody"})
    assert (answer.status_code, answer.json()["code"]) == (422, "patrol_scope_unresolved")
    accepted = api.post(RUN, {"alert_identifier": "nobody", "resource_ids": ["db"]})
    assert accepted.status_code == 200
    assert api.claim().trigger.leading.alert_id == "nobody"


def test_only_who_may_run_may_run(api: Filled) -> None:
    assert api.client.post(RUN).status_code == 401
    assert api.as_token(Scope.SETTINGS_WRITE).post(RUN, {}).status_code == 403
    assert api.as_token(Scope.AI_EXECUTE).post(RUN, {}).status_code == 200


def test_a_finding_is_looked_into_where_it_is(api: Filled) -> None:
    finding_id = f"{7:032x}"
    api.file(finding(resource_id="vm:lab:101", id=finding_id))
    path = f"/api/ai/patrol/findings/{finding_id}/investigate"
    first, again = api.post(path).json(), api.post(path).json()
    assert (again["run_id"], again["already_running"]) == (first["run_id"], True)
    claim = api.claim()
    assert claim.trigger.scope.resource_ids == ("vm:lab:101",)
    assert claim.trigger.leading.finding_id == finding_id
    assert api.post("/api/ai/patrol/findings/nobody/investigate").status_code == 404
