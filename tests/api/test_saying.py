"""What operators say over HTTP: of findings, of kinds, of resources. The last word holds, and each has its author."""

from datetime import timedelta

import pytest

from findings.kinds import Kind
from findings.model import FindingState, ResolveReason
from patrol.accounts.model import Scope
from tests.api.builders import START
from tests.api.filled import Filled
from tests.findings.builders import finding

PATROL = "/api/ai/patrol"
ID = f"{7:032x}"
HOUR = timedelta(hours=1)


@pytest.fixture
def filed(api: Filled) -> Filled:
    api.file(finding(id=ID))
    return api


def listed(api: Filled, state: str = "active") -> list[str]:
    return [each["id"] for each in api.get(f"{PATROL}/findings", params={"state": state}).json()]


@pytest.mark.parametrize(
    ("verb", "body", "undo"),
    [
        ("snooze", {"duration_hours": 1}, "unsnooze"),
        ("snooze", {"until": (START + HOUR).isoformat(), "note": "later"}, "unsnooze"),
        ("dismiss", {"reason": "not_an_issue"}, "undismiss"),
        ("dismiss", {"reason": "will_fix_later", "remind_at": (START + HOUR).isoformat()}, "undismiss"),
        ("suppress", {"note": "known"}, "unsuppress"),
    ],
)
def test_what_is_said_holds_until_it_is_taken_back(
    filed: Filled, verb: str, body: dict[str, object], undo: str
) -> None:
    answer = filed.post(f"{PATROL}/{verb}", {"finding_id": ID, **body})
    assert answer.status_code == 200, answer.text
    assert (answer.json()["success"], answer.json()["changed"]) == (True, True)
    assert answer.json()["finding"]["silenced_by"] == "token t"
    assert (listed(filed), listed(filed, "silenced")) == ([], [ID])
    assert filed.post(f"{PATROL}/{undo}", {"finding_id": ID}).status_code == 200
    assert listed(filed) == [ID]


def test_acknowledge_resolve_and_note(filed: Filled) -> None:
    said = filed.post(f"{PATROL}/acknowledge", {"finding_id": ID[:10]}).json()
    assert said["finding"]["acknowledged_by"] == "token t"
    assert filed.post(f"{PATROL}/acknowledge", {"finding_id": ID}).json()["changed"] is False
    assert filed.post(f"{PATROL}/findings/note", {"finding_id": ID, "note": "disk ordered"}).json()["finding"][
        "user_note"
    ]
    resolved = filed.post(f"{PATROL}/resolve", {"finding_id": ID}).json()["finding"]
    assert (resolved["state"], resolved["auto_resolved"]) == ("resolved", False)


@pytest.mark.parametrize("hours", [0, -1, 169, 1e308, "x", None])
def test_a_snooze_lasts_an_hour_to_a_week(filed: Filled, hours: object) -> None:
    answer = filed.post(f"{PATROL}/snooze", {"finding_id": ID, "duration_hours": hours})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")


@pytest.mark.parametrize(
    ("verb", "body", "status", "code"),
    [
        ("snooze", {"until": (START - HOUR).isoformat()}, 400, "invalid_request"),
        ("snooze", {"until": (START + 200 * HOUR).isoformat()}, 400, "invalid_request"),
        ("snooze", {"until": "2026-11-30T00:00:00"}, 400, "invalid_request"),
        ("snooze", {"until": "9999-12-31T23:59:59-14:00"}, 400, "invalid_request"),
        ("snooze", {"duration_hours": 1, "until": (START + HOUR).isoformat()}, 400, "invalid_request"),
        ("dismiss", {"reason": "boring"}, 400, "invalid_request"),
        ("dismiss", {"reason": "not_an_issue", "remind_at": (START + HOUR).isoformat()}, 400, "invalid_request"),
        ("suppress", {"reasons": "x"}, 400, "invalid_request"),
        ("unsnooze", {}, 409, "finding_action_not_allowed"),
    ],
)
def test_what_cannot_be_said_is_refused(
    filed: Filled, verb: str, body: dict[str, object], status: int, code: str
) -> None:
    answer = filed.post(f"{PATROL}/{verb}", {"finding_id": ID, **body})
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert listed(filed) == [ID]


@pytest.mark.parametrize("verb", ["dismiss", "suppress"])
def test_nobody_silences_for_good_what_patrol_says_of_itself(api: Filled, verb: str) -> None:
    api.file(finding(kind=Kind.SOURCE_BLIND, id=ID))
    body = {"finding_id": ID, **({"reason": "not_an_issue"} if verb == "dismiss" else {})}
    answer = api.post(f"{PATROL}/{verb}", body)
    assert (answer.status_code, answer.json()["code"]) == (409, "finding_action_not_allowed")


def test_what_is_resolved_cannot_be_snoozed(api: Filled) -> None:
    resolved = {"state": FindingState.RESOLVED, "resolved_at": START, "resolve_reason": ResolveReason.CLEARED}
    api.file(finding(id=ID, **resolved))
    answer = api.post(f"{PATROL}/snooze", {"finding_id": ID, "duration_hours": 2})
    assert (answer.status_code, answer.json()["code"]) == (409, "finding_action_not_allowed")


def test_an_id_that_none_or_several_have(filed: Filled) -> None:
    assert filed.post(f"{PATROL}/resolve", {"finding_id": "f" * 32}).json()["code"] == "finding_not_found"
    filed.file(finding(subject="/var", id=f"{8:032x}"))
    answer = filed.post(f"{PATROL}/resolve", {"finding_id": "0" * 10})
    assert (answer.status_code, answer.json()["code"]) == (409, "ambiguous_id")
    assert answer.json()["details"]["candidates"] == [ID, f"{8:032x}"]


def test_the_phone_acknowledges_and_does_not_suppress(filed: Filled) -> None:
    phone = filed.as_token(Scope.RELAY)
    assert phone.post(f"{PATROL}/acknowledge", {"finding_id": ID}).status_code == 200
    assert phone.post(f"{PATROL}/suppress", {"finding_id": ID}).status_code == 403


# --- rules ---


@pytest.mark.parametrize(
    ("method", "path", "body", "field", "text"),
    [
        ("POST", f"{PATROL}/snooze", {"duration_hour": 1}, "duration_hour", "nearest: duration_hours"),
        ("POST", f"{PATROL}/acknowledge", {"zzz": 1}, "zzz", "there is finding_id, note"),
        ("POST", f"{PATROL}/run", {"resource_id": ["nas"]}, "resource_id", "nearest: resource_ids"),
        (
            "PUT",
            "/api/resources/nas/operator-state",
            {"maintenance": {"end_at": "2027-01-01T00:00:00Z"}},
            "maintenance.end_at",
            "nearest: ends_at",
        ),
        ("POST", "/api/login", {"user": "ann"}, "user", "nearest: username"),
    ],
)
def test_a_field_that_there_is_not_is_told_with_the_one_that_was_meant(
    api: Filled, method: str, path: str, body: object, field: str, text: str
) -> None:
    answer = api.call(method, path, json=body)
    assert answer.status_code == 400
    assert answer.json()["details"]["fields"][field] == f"there is no such field; {text}"


def test_a_rule_holds_until_it_is_ended(filed: Filled) -> None:
    made = filed.post(f"{PATROL}/suppressions", {"kind": "high_disk", "reason": "scratch space"})
    assert made.status_code == 201
    assert listed(filed) == []
    [rule] = filed.get(f"{PATROL}/suppressions").json()
    assert (rule["finding_kind"], rule["author"], rule["state"]) == ("high_disk", "token t", "in_force")
    ended = filed.call("DELETE", f"{PATROL}/suppressions/{rule['id']}")
    assert (ended.status_code, ended.json()["ended_by"]) == (200, "token t")
    assert (listed(filed), filed.get(f"{PATROL}/suppressions").json()) == ([ID], [])
    assert filed.call("DELETE", f"{PATROL}/suppressions/{rule['id']}").json()["code"] == "suppression_ended"
    assert filed.call("DELETE", f"{PATROL}/suppressions/nobody").json()["code"] == "suppression_not_found"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"reason": "x"}, "resource"),
        ({"kind": "nothing_like_it", "reason": "x"}, "kind"),
        ({"kind": "source_blind", "reason": "x"}, "kind"),
        ({"resource_id": "web", "reason": "x"}, "resource"),
        ({"resource_id": "db", "reason": "x", "until": (START - HOUR).isoformat()}, "until"),
    ],
)
def test_a_rule_that_cannot_be(api: Filled, body: dict[str, object], field: str) -> None:
    answer = api.post(f"{PATROL}/suppressions", body)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_suppression")
    assert list(answer.json()["details"]["fields"]) == [field]


# --- resources ---

STATE = "/api/resources/{}/operator-state"


def test_what_is_said_of_a_resource_covers_all_that_lives_on_it(api: Filled) -> None:
    api.file(finding(resource_id="vm:lab:101", lives_on=("node:lab:pve1",), id=ID))
    path = STATE.format("pve1")
    assert api.get(path).json()["code"] == "operator_state_not_set"
    window = {"ends_at": (START + HOUR).isoformat()}
    said = api.call("PUT", path, json={"maintenance": window, "reason": "new RAM"})
    assert (said.status_code, said.json()["resource_id"]) == (200, "node:lab:pve1")
    assert listed(api) == []
    assert api.get(path).json()["maintenance"]["reason"] == "new RAM"
    said = api.call("PUT", path, json={"intentionally_offline": True})
    assert (said.json()["intentionally_offline"], said.json()["maintenance"]) == (True, None)
    assert api.call("DELETE", path).json()["intentionally_offline"] is True
    assert api.call("DELETE", path).json()["code"] == "operator_state_not_set"
    assert listed(api) == [ID]


@pytest.mark.parametrize(
    ("name", "body", "status", "code"),
    [
        ("nobody", {"intentionally_offline": True}, 404, "resource_not_found"),
        ("web", {"intentionally_offline": True}, 409, "resource_ambiguous"),
        ("db", {}, 400, "operator_state_invalid"),
        ("db", {"maintenance": {"ends_at": (START - HOUR).isoformat()}}, 400, "operator_state_invalid"),
        (
            "db",
            {"maintenance": {"starts_at": (START + 2 * HOUR).isoformat(), "ends_at": (START + HOUR).isoformat()}},
            400,
            "operator_state_invalid",
        ),
        ("db", {"offline": True}, 400, "invalid_request"),
    ],
)
def test_a_state_that_cannot_be(api: Filled, name: str, body: dict[str, object], status: int, code: str) -> None:
    answer = api.call("PUT", STATE.format(name), json=body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_reading_and_saying_have_scopes_of_their_own(api: Filled) -> None:
    reader, writer = api.as_token(Scope.MONITORING_READ), api.as_token(Scope.MONITORING_WRITE)
    path, body = STATE.format("db"), {"intentionally_offline": True}
    assert reader.call("PUT", path, json=body).status_code == 403
    assert writer.call("PUT", path, json=body).status_code == 200
    assert reader.get(path).status_code == 200
