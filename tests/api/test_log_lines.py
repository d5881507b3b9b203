"""The log of the interface: who changed what, what was delivered, who was refused; and never a secret or a flood."""

import io
import json
import logging
from datetime import timedelta

import structlog
from structlog.testing import capture_logs

from patrol.accounts.model import Scope
from patrol.logs import Redaction, configure_logs
from patrol.records.wire import PATH
from tests.alerts.test_formats import DELIVERY, FIRING
from tests.api.builders import OUTSIDE, START, House, bearer
from tests.api.filled import Filled
from tests.api.test_local import ROOT, ask, asked

SETTINGS, FINDINGS = "/api/settings", "/api/ai/patrol/findings"
OLD = bearer("an-old-token-of-somebody")


def test_a_delivery_is_told_with_what_became_of_it(api: Filled) -> None:
    labels = {"alertname": "HighCpu", "severity": "critical"}
    rows = [
        {**FIRING, "fingerprint": name, "labels": {**labels, "name": name}, "startsAt": START.isoformat()}
        for name in ("db", "nobody-knows")
    ]
    with capture_logs() as told:
        api.post("/api/alerts/webhook/alertmanager", {**DELIVERY, "alerts": rows})
    [line] = told
    assert line == {
        "event": "alerts delivered",
        "log_level": "info",
        "system": "alertmanager",
        "alerts": 2,
        "changes": {"fired": 2},
        "unplaced": 1,
        "left_out": 0,
        "runs": {"accepted": 1},
    }


def test_settings_are_told_by_their_keys_and_their_author(api: Filled) -> None:
    with capture_logs() as told:
        api.call("PATCH", SETTINGS, json={"patrol.interval": "30m", "budget.day_usd": None})
        api.call("PATCH", SETTINGS, json={"patrol.interval": "1s"})
        api.call("PUT", "/api/ai/patrol/autonomy", json={"autonomy_level": "approval"})
    assert [(each["event"], each["settings"], each["author"]) for each in told] == [
        ("settings stored", ["budget.day_usd", "patrol.interval"], "token t"),
        ("settings stored", ["patrol.autonomy"], "token t"),
    ]
    assert "30m" not in str(told)


def test_a_pause_and_its_end_are_told_however_they_are_asked_for(api: Filled) -> None:
    until = START + timedelta(hours=2)
    with capture_logs() as told:
        api.call("PATCH", SETTINGS, json={"paused": {"until": until.isoformat(), "reason": "disks"}})
        api.call("PATCH", SETTINGS, json={"paused": False})
        ask(api.house, ROOT, asked({"type": "PauseRuns"}))
        ask(api.house, ROOT, asked({"type": "ResumeRuns"}))
    assert [(each["event"], each.get("until"), each["author"]) for each in told] == [
        ("paused", until.isoformat(), "token t"),
        ("resumed", None, "token t"),
        ("paused", "somebody resumes", "root"),
        ("resumed", None, "root"),
    ]


def test_tokens_are_told_and_their_secrets_are_in_no_line(at_home: House) -> None:
    root, stream = logging.getLogger(), io.StringIO()
    before, level = root.handlers[:], root.level
    try:
        configure_logs(stream, as_json=True, redaction=Redaction([]))
        wish = {"type": "CreateToken", "name": "grafana", "scopes": ["alerts:write"], "org": "default"}
        answer = ask(at_home, ROOT, asked(wish)).json()["answer"]
        secret, begins = answer["secret"], answer["token"]["prefix"]
        ask(at_home, ROOT, asked({"type": "ListTokens"}))
        ask(at_home, ROOT, asked({"type": "RevokeToken", "token_id": begins}))
        at_home.client().get(FINDINGS, headers=bearer(secret))
    finally:
        root.handlers[:] = before
        root.setLevel(level)
        logging.captureWarnings(capture=False)
        structlog.reset_defaults()
    made, revoked, refused = map(json.loads, stream.getvalue().splitlines())
    assert (made["event"], made["name"], made["scopes"]) == ("token made", "grafana", ["alerts:write"])
    assert (revoked["event"], revoked["id"], revoked["author"]) == ("token revoked", made["id"], "root")
    assert (refused["event"], refused["level"]) == ("credential refused", "warning")
    assert begins not in stream.getvalue()


def test_a_refused_credential_is_told_with_who_sent_it_from_where_for_what(api: Filled) -> None:
    reader = api.as_token(Scope.MONITORING_READ)
    with capture_logs() as told:
        reader.get(f"{FINDINGS}/5f3a9c01")
        api.client.get(FINDINGS, headers=OLD)
        api.client.get("/api/nothing", headers=OLD)
    assert [(each["code"], each["path"], each["address"], each["principal"]) for each in told] == [
        ("missing_scope", f"{FINDINGS}/{{finding_id}}", OUTSIDE, "token t"),
        ("invalid_credentials", FINDINGS, OUTSIDE, ""),
        ("invalid_credentials", "unknown", OUTSIDE, ""),
    ]


def test_who_sends_no_credential_or_may_not_for_another_reason_is_not_told_of(at_home: House) -> None:
    at_home.token(Scope.ALL)
    with capture_logs() as told:
        assert at_home.client().get(FINDINGS).status_code == 401
        assert at_home.client().post(PATH, headers=bearer(at_home.token(Scope.ALL))).status_code == 403
    assert told == []


def test_one_line_a_minute_for_each_address_and_route(api: Filled) -> None:
    with capture_logs() as told:
        for number in range(20):
            api.client.get(f"{FINDINGS}/{number}", headers=OLD)
            api.client.get(f"/api/{number}", headers=OLD)
            api.house.client("198.51.100.7").get(FINDINGS, headers=OLD)
            api.house.pass_by(timedelta(seconds=2))
        assert len(told) == 3
        api.house.pass_by(timedelta(minutes=1))
        api.client.get(f"{FINDINGS}/1", headers=OLD)
    assert len(told) == 4
