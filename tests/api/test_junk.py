"""Whatever is sent to any route: it is answered, or refused in the one envelope. Nothing of it is a crash."""

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patrol.alerts.model import AlertSystem
from tests.api.builders import house, is_envelope
from tests.api.filled import Filled
from tests.findings.builders import finding

ENDLESS = ("/api/ai/patrol/stream",)
"""Routes whose answer does not end by itself: their own tests end it."""
WORDS = [
    *("", "0", "-1", "null", "x", "../..", "%00", "a" * 300, "r1", "db", "web", "vm:lab:101", "1e999", "é\u0000"),
    *("2026-11-29T12:00:00Z", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", "alertmanager", "\ud800"),
    *(f"{7:032x}", "full", "monitor", "not_an_issue", "will_fix_later", "high_disk", "node", "firing", "4", "all"),
]
FIELDS = [
    *("finding_id", "note", "reason", "until", "remind_at", "duration_hours", "resource_ids", "resource_types"),
    *("alert_identifier", "alert_type", "kind", "resource_id", "maintenance", "starts_at", "ends_at", "paused"),
    *("intentionally_offline", "autonomy_level", "acknowledgement_id", "investigation_budget", "terms_version"),
    *("patrol.interval", "patrol", "interval", "triggers", "triggers.alert_types", "budget.day_usd", "model"),
    *("alerts", "alert", "version", "status", "labels", "alertname", "startsAt", "id", "type", "fingerprint", "value"),
    *("username", "password", "investigation_timeout_sec"),
]
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(WORDS)
    | st.text(st.characters(codec=None), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=3),
    max_leaves=12,
)
BODIES = st.one_of(
    st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=5).map(lambda body: json.dumps(body).encode()),
    VALUES.map(lambda body: json.dumps(body).encode()),
    st.binary(max_size=60),
)
TEXTS = st.sampled_from(WORDS) | st.text(max_size=30)
QUERIES = st.dictionaries(
    st.sampled_from(
        [
            *("limit", "cursor", "state", "severity", "resource_id", "run_id", "include_resolved", "include"),
            *("start_time", "include_resolved", "junk"),
        ]
    ),
    TEXTS.filter(lambda text: "\ud800" not in text),
    max_size=4,
)


@pytest.fixture(scope="module")
def filled():
    with house(organisations=["lab"]) as made:
        api = Filled.make(made)
        api.remember()
        api.file(finding(id=f"{7:032x}"), finding(subject="/var", id=f"{8:032x}"))
        api.ran("r1")
        yield api


def routes() -> list[tuple[str, str]]:
    with house() as made:
        paths = made.app.openapi()["paths"]
    return [
        (method.upper(), path)
        for path, methods in paths.items()
        for method in methods
        if path.startswith("/api/") and path not in ENDLESS
    ]


def filled_in(path: str, names: list[str]) -> str:
    for name in names:
        before, _, rest = path.partition("{")
        path = before + name + rest.partition("}")[2]
    return path


BODILESS = {"/api/logout", "/api/ai/patrol/findings/{finding_id}/investigate"}
SAFE = st.sampled_from(
    ["r1", "db", "web", "vm:lab:101", "x" * 400, f"{7:032x}", "..", "%2e%2e", "%00", "%ff", "é", "*"]
)


@pytest.mark.parametrize(("method", "path"), routes())
@given(
    names=st.lists(SAFE | st.sampled_from([str(each) for each in AlertSystem]), min_size=2, max_size=2),
    query=QUERIES,
    body=BODIES,
    as_json=st.booleans(),
)
@settings(max_examples=25)
def test_nothing_that_is_sent_is_a_crash(
    filled: Filled,
    method: str,
    path: str,
    names: list[str],
    query: dict[str, str],
    body: bytes,
    as_json: bool,
) -> None:
    headers = {"Content-Type": "application/json"} if as_json else {}
    filled.house.pass_by(timedelta(seconds=1))  # so that nobody asks too often
    answer = filled.call(method, filled_in(path, names), params=query, content=body, headers=headers)
    assert answer.status_code < 500, answer.text
    assert answer.status_code < 400 or is_envelope(answer)


def described() -> dict[str, Any]:
    with house() as made:
        return made.app.openapi()


def test_every_route_is_described_with_what_it_answers_and_what_opens_it() -> None:
    for path, methods in described()["paths"].items():
        for method, operation in methods.items():
            where = f"{method} {path}"
            assert operation.get("description"), where
            success = [each for status, each in operation["responses"].items() if status.startswith("2")]
            [answer] = success
            [content] = answer["content"].values()
            assert content["schema"] or path == "/api/openapi.json", where
            assert operation["security"] or path in {"/healthz", "/readyz", "/api/login", "/api/security/status"}, where
            assert method in {"get", "delete"} or "requestBody" in operation or path in BODILESS, where


def test_every_reference_of_the_description_leads_somewhere() -> None:
    document = described()
    schemas = document["components"]["schemas"]
    for part in json.dumps(document).split('"$ref": "')[1:]:
        reference = part.partition('"')[0]
        assert reference.removeprefix("#/components/schemas/") in schemas, reference


def test_every_operation_has_a_name_of_its_own() -> None:
    names = [each["operationId"] for methods in described()["paths"].values() for each in methods.values()]
    assert len(names) == len(set(names))
