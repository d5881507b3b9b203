"""Settings over HTTP: each with its origin, all of a change or nothing of it, and autonomy that somebody stands for."""

from datetime import timedelta

import pytest

from patrol.accounts.model import Role, Scope
from patrol.overrides.model import TERMS_VERSION
from tests.api.builders import START, cookies
from tests.api.filled import Filled

SETTINGS, AUTONOMY = "/api/settings", "/api/ai/patrol/autonomy"


def patch(api: Filled, body: object) -> object:
    return api.call("PATCH", SETTINGS, json=body)


def value(api: Filled, key: str) -> tuple[object, str]:
    found = api.get(SETTINGS).json()["settings"][key]
    return found["value"], found["origin"]


def test_everything_is_a_default_until_it_is_stored(api: Filled) -> None:
    assert value(api, "patrol.interval") == ("1h", "default")
    assert patch(api, {"patrol.interval": "30m"}).status_code == 200
    assert value(api, "patrol.interval") == ("30m", "stored")
    assert "token t" in api.get(SETTINGS).json()["settings"]["patrol.interval"]["place"]
    patch(api, {"patrol.interval": None})
    assert value(api, "patrol.interval") == ("1h", "default")


@pytest.mark.parametrize(
    ("body", "key", "stored"),
    [
        ({"interval": "2h"}, "patrol.interval", "2h"),
        ({"model": "ollama:qwen3"}, "model.name", "ollama:qwen3"),
        ({"model": {"every": "6h"}}, "model.every", "6h"),
        ({"budget": {"day_usd": 2.5}}, "budget.day_usd", 2.5),
        ({"budget.run_tokens": 0}, "budget.run_tokens", 0),
        ({"triggers": {"alerts": False}}, "triggers.alerts", False),
        ({"triggers.alert_types": ["cpu"]}, "triggers.alert_types", ["cpu"]),
        ({"triggers.min_severity": "critical"}, "triggers.min_severity", "critical"),
        ({"autonomy": "approval"}, "patrol.autonomy", "approval"),
    ],
)
def test_values_are_written_as_in_the_file(api: Filled, body: object, key: str, stored: object) -> None:
    assert patch(api, body).status_code == 200
    assert value(api, key) == (stored, "stored")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"patrol.interval": "1s"}, "patrol.interval"),
        ({"patrol.interval": 3600}, "patrol.interval"),
        ({"patrol.interval": {"a": 1}}, "patrol.interval"),
        ({"patrol.interval": "x" * 600}, "patrol.interval"),
        ({"model.api_key": "secret"}, "model.api_key"),
        ({"model.base_url": "http://elsewhere"}, "model.base_url"),
        ({"api.listen": "0.0.0.0:1"}, "api.listen"),
        ({"nonsense": 1}, "nonsense"),
        ({"patrol": {"nonsense": 1}}, "patrol.nonsense"),
        ({"budget.day_usd": -1}, "budget.day_usd"),
        ({"triggers.anomalies": "true"}, "triggers.anomalies"),
        ({"triggers.anomalies": 1}, "triggers.anomalies"),
        ({"budget.day_tokens": "5"}, "budget.day_tokens"),
        ({"budget.day_tokens": True}, "budget.day_tokens"),
        ({"budget.day_tokens": 5.5}, "budget.day_tokens"),
        ({"budget": None}, "budget"),
        ({"triggers.alert_types": "cpu"}, "triggers.alert_types"),
        ({"triggers.alert_types": ["c\0pu"]}, "triggers.alert_types"),
        ({"interval": "20m", "patrol": {"interval": "30m"}}, "patrol.interval"),
        ({"model": "a:b", "model.name": "a:b"}, "model.name"),
        ({"paused": "yes please"}, None),
        ({"paused": "true"}, None),
        ({"paused": 1}, None),
        ({"paused": {"until": 4102444800}}, None),
        ([], None),
        (None, None),
    ],
)
def test_what_does_not_fit_changes_nothing(api: Filled, body: object, field: str | None) -> None:
    wanted = {"triggers.alerts": False, **body} if isinstance(body, dict) else body
    answer = patch(api, wanted)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_settings")
    assert field is None or field in answer.json()["details"]["fields"]
    assert "secret" not in answer.text
    assert value(api, "triggers.alerts") == (True, "default")


@pytest.mark.parametrize(
    ("body", "field", "text"),
    [
        ({"patrol.intervall": "2h"}, "patrol.intervall", "unknown key; nearest: patrol.interval"),
        ({"patrol": {"intervall": "2h"}}, "patrol.intervall", "unknown key; nearest: patrol.interval"),
        ({"intervall": "2h"}, "intervall", "unknown key; nearest: patrol.interval"),
        ({"zzzzzz": 1}, "zzzzzz", "unknown key; GET /api/settings lists those that can be changed"),
        (
            {"model.api_key": "secret"},
            "model.api_key",
            "cannot be changed here: it is set on the machine alone, in the settings file or the environment",
        ),
        ({"paused": {"untill": None}}, "paused.PauseWish.untill", "there is no such field; nearest: until"),
    ],
)
def test_a_key_that_cannot_be_is_told_with_the_one_that_was_meant(
    api: Filled, body: object, field: str, text: str
) -> None:
    assert patch(api, body).json()["details"]["fields"][field] == text


def test_a_pause_is_set_and_ended(api: Filled) -> None:
    until = (START + timedelta(hours=1)).isoformat()
    assert patch(api, {"paused": {"until": until, "reason": "moving"}}).json()["paused"]["reason"] == "moving"
    assert patch(api, {"paused": False}).json()["paused"] is None
    assert patch(api, {"paused": True}).json()["paused"]["until"] is None
    assert patch(api, {"paused": {"until": START.isoformat()}}).status_code == 400


def test_who_reads_settings_cannot_change_them_and_members_do_neither(api: Filled) -> None:
    reader = api.as_token(Scope.SETTINGS_READ)
    assert (reader.get(SETTINGS).status_code, patch(reader, {}).status_code) == (200, 403)
    member = api.house.user("mia", default=Role.MEMBER)
    headers = cookies(api.house.session(member))
    assert api.client.get(SETTINGS, headers=headers).status_code == 403


# --- autonomy ---


def acknowledge(api: Filled) -> str:
    return api.post(f"{AUTONOMY}/acknowledgement", {"terms_version": TERMS_VERSION}).json()["id"]


def test_full_needs_somebody_who_stands_for_it_now(api: Filled) -> None:
    full = {"autonomy_level": "full"}
    for body in (full, {**full, "acknowledgement_id": "made-up"}, {**full, "full_mode_unlocked": True}):
        answer = api.call("PUT", AUTONOMY, json=body)
        assert (answer.status_code, answer.json()["code"]) == (409, "autonomy_not_acknowledged")
    assert patch(api, {"autonomy": "full"}).json()["code"] == "autonomy_not_acknowledged"
    accepted = api.call("PUT", AUTONOMY, json={**full, "acknowledgement_id": acknowledge(api)}).json()
    assert (accepted["effective_autonomy_level"], accepted["full_mode_unlocked"]) == ("full", True)
    api.call("DELETE", f"{AUTONOMY}/acknowledgement")
    after = api.get(AUTONOMY).json()
    assert (after["requested_autonomy_level"], after["effective_autonomy_level"]) == ("full", "approval")


def test_nobody_acknowledges_other_words_than_those_that_stand(api: Filled) -> None:
    answer = api.post(f"{AUTONOMY}/acknowledgement", {"terms_version": TERMS_VERSION + 1})
    assert (answer.status_code, answer.json()["code"]) == (409, "terms_changed")
    assert answer.json()["details"]["terms"]


@pytest.mark.parametrize(
    ("budget", "timeout", "kept"),
    [(1, 1, (5, 60)), (12, 300, (12, 300)), (1000, 10**6, (30, 1800)), (None, None, (10, 600))],
)
def test_numbers_are_brought_inside_their_bounds(
    api: Filled, budget: int | None, timeout: int | None, kept: tuple[int, int]
) -> None:
    body = {"autonomy_level": "approval", "investigation_budget": budget, "investigation_timeout_sec": timeout}
    found = api.call("PUT", AUTONOMY, json=body).json()
    assert (found["investigation_budget"], found["investigation_timeout_sec"]) == kept
    assert found["origin"] == "stored"
