"""`/metrics` is for Prometheus: on this machine without more, from elsewhere with a token for it."""

from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from patrol.accounts.model import Scope
from patrol.api.app import create_app
from patrol.metrics import Metrics, exposition
from tests.api.builders import LOOPBACK, OUTSIDE, House, bearer, is_envelope


@pytest.fixture
def at_work(at_home: House) -> House:
    """An installation whose runs are counted."""
    metrics = Metrics(CollectorRegistry(), version="1.2.3")
    at_home.app = create_app(replace(at_home.services, exposition=lambda: exposition(metrics)))
    return at_home


def test_a_prometheus_of_this_machine_needs_no_credential(at_work: House) -> None:
    at_work.token()  # somebody is known: this machine is not let in for being alone any more
    answer = at_work.client(LOOPBACK, base_url="http://127.0.0.1:7667").get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    names = {family.name for family in text_string_to_metric_families(answer.text)}
    assert {"patrol_runs", "patrol_build_info"} <= names


@pytest.mark.parametrize(
    ("scopes", "status"), [((Scope.METRICS_READ,), 200), ((Scope.AI_EXECUTE, Scope.SETTINGS_WRITE), 403), ((), 403)]
)
def test_one_of_another_machine_needs_a_token_for_it(at_work: House, scopes: tuple[Scope, ...], status: int) -> None:
    client = at_work.client(OUTSIDE)
    assert client.get("/metrics", headers=bearer(at_work.token(*scopes))).status_code == status
    refused = client.get("/metrics")
    assert refused.status_code == 401
    assert is_envelope(refused)


def test_where_nothing_is_counted_there_is_nothing_to_scrape(at_home: House) -> None:
    answer = at_home.client(LOOPBACK, base_url="http://127.0.0.1:7667").get("/metrics")
    assert (answer.status_code, answer.text) == (200, "")
