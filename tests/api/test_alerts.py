"""Alerts over HTTP: delivered by token, placed, listed, looked into; a run each, and never a finding."""

import pytest
from structlog.testing import capture_logs

from patrol.accounts.model import Scope
from patrol.alerts.estate_alerts import add_alerts
from patrol.estate.model import Estate
from tests.alerts.test_formats import DELIVERY, FIRING
from tests.api.builders import START
from tests.api.filled import ORG, Filled

HOOK = "/api/alerts/webhook/{}"


def delivery(*, status: str = "firing", fingerprint: str = "fp1", **labels: str) -> dict[str, object]:
    said = {"alertname": "HighCpu", "severity": "critical", "name": "db", **labels}
    row = {**FIRING, "status": status, "fingerprint": fingerprint, "labels": said}
    return {**DELIVERY, "alerts": [{**row, "startsAt": START.isoformat()}]}


def deliver(api: Filled, **more: str) -> dict[str, object]:
    answer = api.post(HOOK.format("alertmanager"), delivery(**more))
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_new_alert_asks_for_a_quick_look_at_its_resource(api: Filled) -> None:
    assert deliver(api)["triggers"] == {"accepted": 1}
    [alert] = api.get("/api/alerts").json()["alerts"]
    assert (alert["resource_id"], alert["state"], alert["severity"]) == ("vm:lab:101", "firing", "critical")
    claim = api.claim()
    assert (claim.trigger.reason, claim.trigger.depth) == ("alert_fired", "quick")
    assert claim.trigger.scope.resource_ids == ("vm:lab:101",)


def test_an_alert_is_no_finding_and_part_of_the_estate(api: Filled) -> None:
    deliver(api)
    assert api.get("/api/ai/patrol/findings", params={"state": "all"}).json() == []
    estate = Estate()
    with api.house.database.read() as connection:
        add_alerts(connection, ORG, estate, api.house.now)
    assert [each.resource_id for each in estate.alerts] == ["vm:lab:101"]


@pytest.mark.parametrize("blank", ["", " ", "\t\n", "\x1c", "\u00a0\u3000"])
def test_a_blank_name_is_none(api: Filled, blank: str) -> None:
    deliver(api)
    [alert] = api.get("/api/alerts").json()["alerts"]
    for path in (f"/api/alerts/{alert['id']}/investigate", "/api/ai/patrol/run"):
        assert api.post(path, {"resource_ids": ["db", blank]}).status_code == 400
        assert api.post(path, {"resource_ids": [f"{blank}db{blank}"]}).status_code == 200


def test_an_end_asks_for_a_check_that_can_wait(api: Filled) -> None:
    deliver(api)
    api.finish(api.claim())
    assert deliver(api, status="resolved")["triggers"] == {"accepted": 1}
    assert api.get("/api/alerts").json()["alerts"] == []
    [over] = api.get("/api/alerts", params={"include_resolved": "1"}).json()["alerts"]
    assert over["state"] == "resolved"


@pytest.mark.parametrize(
    ("settings", "labels", "word"),
    [
        ({"triggers.min_severity": "critical"}, {"severity": "warning"}, "below_min_severity"),
        ({"triggers.alert_types": ["Other"]}, {}, "type_left_out"),
        ({"triggers.alerts": False}, {}, "alerts_off"),
        ({"paused": True}, {}, "paused"),
        ({"triggers.min_severity": "critical"}, {"severity": "P1"}, "accepted"),
    ],
)
def test_what_is_not_to_start_a_run_is_counted_with_its_reason(
    api: Filled, settings: dict[str, object], labels: dict[str, str], word: str
) -> None:
    api.call("PATCH", "/api/settings", json=settings)
    assert deliver(api, **labels)["triggers"] == {word: 1}
    assert len(api.get("/api/alerts").json()["alerts"]) == 1


def test_an_alert_that_could_be_about_two_starts_nothing_and_says_which(api: Filled) -> None:
    assert deliver(api, name="web")["triggers"] == {}
    [alert] = api.get("/api/alerts").json()["alerts"]
    assert (alert["resource_id"], alert["candidates"]) == ("", ["vm:lab:100", "vm:lab:200"])
    answer = api.post(f"/api/alerts/{alert['id']}/investigate")
    assert (answer.status_code, answer.json()["code"]) == (422, "patrol_scope_unresolved")
    assert answer.json()["details"]["candidates"] == {"web": ["vm:lab:100", "vm:lab:200"]}
    named = api.post(f"/api/alerts/{alert['id']}/investigate", {"resource_ids": ["vm:lab:200"]})
    assert named.status_code == 200


def test_investigate_is_one_run_however_often_it_is_pressed(api: Filled) -> None:
    deliver(api)
    first = api.post("/api/alerts/fp1/investigate").json()
    again = api.post("/api/alerts/alertmanager:fp1/investigate").json()
    assert first["accepted"] is True
    assert (again["run_id"], again["already_running"]) == (first["run_id"], True)
    same = {"alert_identifier": "fp1", "alert_type": "HighCpu", "resource_ids": ["db"]}
    assert api.post("/api/ai/patrol/run", same).json()["run_id"] == first["run_id"]
    document = api.get(f"/api/ai/patrol/runs/{first['run_id']}").json()
    assert (document["alert_identifier"], document["scope_resource_ids"]) == ("alertmanager:fp1", ["vm:lab:101"])
    assert api.post("/api/alerts/nobody/investigate").status_code == 404


def test_the_resource_of_a_run_can_be_that_of_its_alert(api: Filled) -> None:
    deliver(api)
    body = api.post("/api/ai/patrol/run", {"alert_identifier": "fp1"}).json()
    assert body["scope_resolution"]["effective_resource_ids"] == ["vm:lab:101"]


@pytest.mark.parametrize(
    ("system", "body", "code"),
    [
        ("alertmanager", {"version": "3"}, "invalid_webhook"),
        ("alertmanager", None, "invalid_webhook"),
        ("grafana", [], "invalid_webhook"),
        ("pulse", {}, "invalid_webhook"),
        ("pulse", {"alerts": 5}, "invalid_webhook"),
    ],
)
def test_another_format_is_refused(api: Filled, system: str, body: object, code: str) -> None:
    answer = api.post(HOOK.format(system), body)
    assert (answer.status_code, answer.json()["code"]) == (400, code)


def test_deliveries_come_by_token_alone(api: Filled) -> None:
    hook = api.as_token(Scope.ALERTS_WRITE)
    assert hook.post(HOOK.format("alertmanager"), delivery()).status_code == 200
    assert hook.get("/api/alerts").status_code == 403
    assert api.client.post(HOOK.format("alertmanager"), json=delivery()).status_code == 401
    assert api.as_token(Scope.MONITORING_READ).get("/api/alerts").status_code == 200


def test_a_group_is_taken_in_alert_by_alert_whatever_its_rows_lack(api: Filled) -> None:
    def row(key: str, **more: object) -> dict[str, object]:
        labels = {"alertname": "HighCpu", "severity": "critical", "name": "db"}
        return {**FIRING, "fingerprint": key, "labels": labels, "startsAt": "0001-01-01T00:00:00Z", **more}

    rows = [
        row("a", endsAt="1999-01-01T00:00:00Z"),
        row("b"),
        row("b", status="resolved"),  # the same again, over by now
        row("c", status="resolved", endsAt=START.isoformat()),
        {"labels": {"alertname": "HighCpu", "name": "db"}, "status": "firing"},
        {"status": "firing"},
    ]
    group = {"groupLabels": {"name": "db"}, "commonLabels": {}, "truncatedAlerts": 0, "groupKey": "{}:{}"}
    answer = api.post(HOOK.format("alertmanager"), {**DELIVERY, **group, "alerts": rows}).json()
    assert (answer["alerts"], answer["changes"]) == (5, {"fired": 3, "cleared": 2})
    assert answer["triggers"] == {"accepted": 1, "merged": 4}
    listed = api.get("/api/alerts", params={"include_resolved": "1"}).json()["alerts"]
    assert sorted((each["key"], each["state"]) for each in listed if len(each["key"]) == 1) == [
        ("a", "firing"),
        ("b", "resolved"),
        ("c", "resolved"),
    ]
    assert {each["since"] for each in listed} == {START.isoformat().replace("+00:00", "Z")}
    trigger = api.claim().trigger
    assert (trigger.reason, len(trigger.occasions)) == ("alert_fired", 5)


def test_a_storm_in_one_delivery_is_one_run_for_each_resource_and_what_is_left_out_is_told(
    api: Filled,
) -> None:
    names = ("db", "pve1", "nas")
    rows = [
        {"status": "firing", "fingerprint": f"fp{number}", "labels": {"alertname": "X", "name": names[number % 3]}}
        for number in range(1_020)
    ]
    with capture_logs() as told:
        answer = api.post(HOOK.format("alertmanager"), {**DELIVERY, "alerts": rows}).json()
    assert answer["triggers"] == {"accepted": 3, "merged": 997}
    assert (answer["alerts"], answer["left_out"]) == (1_000, 20)
    assert [(each["log_level"], each["left_out"]) for each in told] == [("warning", 20)]
