"""What Debian's Prometheus makes of the metrics, the scrape configuration, the rules and the dashboard."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from patrol.metrics import Metrics, State, exposition
from tests.daemon.supervisor import documented, supervised
from tests.metrics.known import EVERYTHING
from tests.metrics.prometheus import (
    CONFIG,
    ROOT,
    Prometheus,
    find_program,
    private_server,
    promtool,
    wait_for,
)
from tests.metrics.test_contract import CONTRACT
from tests.run.builders import disk, host

RULES = CONFIG / "patrol.rules.yml"
PROMISES = ("patrol.rules.test.yml", "patrol.rules.weekly.test.yml")
DASHBOARD = ROOT / "config/grafana/patrol.json"


@pytest.fixture(autouse=True, scope="module")
def installed() -> None:
    """Skips where there is no Prometheus."""
    if find_program("prometheus") is None or find_program("promtool") is None:
        pytest.skip("no Prometheus is installed (Debian: apt install prometheus)")


# --- promtool ------------------------------------------------------------------------------------------------------


def test_the_exposition_has_nothing_that_promtool_minds() -> None:
    metrics = Metrics(CollectorRegistry(), version="1", read_state=lambda: State(**EVERYTHING))  # type: ignore[arg-type]
    body, _ = exposition(metrics)
    assert promtool("check", "metrics", given=body) == ""


def test_the_scrape_configuration_and_the_rules_are_valid() -> None:
    assert "SUCCESS" in promtool("check", "config", CONFIG / "prometheus.yml")
    assert "FAILED" not in promtool("check", "rules", RULES)


@pytest.mark.parametrize("promises", PROMISES)
def test_the_rules_keep_what_they_promise(promises: str) -> None:
    assert "SUCCESS" in promtool("test", "rules", CONFIG / promises)


# --- names ---------------------------------------------------------------------------------------------------------


def exposed_names() -> set[str]:
    """Every name that a query may use."""
    suffixes = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count"), "gauge": ("",)}
    return {name + suffix for name, (kind, _) in CONTRACT.items() for suffix in suffixes[kind]}


def names_in(expression: str) -> set[str]:
    """The metrics that an expression asks for. Everything of Patrol's has its name before it."""
    without_texts = re.sub(r'"[^"]*"', "", expression)
    return set(re.findall(r"\b(?:patrol[_:]\w+(?::\w+)*|up)\b", without_texts))


def rules() -> tuple[set[str], dict[str, str]]:
    """The names that are recorded, and the expressions of all rules by their name."""
    text = RULES.read_text(encoding="utf-8")
    parts = re.split(r"^      - (?=record:|alert:)", text, flags=re.MULTILINE)[1:]
    found = {}
    recorded = set()
    for part in parts:
        kind, name = re.match(r"(record|alert): (\S+)", part).groups()  # type: ignore[union-attr]
        found[name] = re.search(r"expr: (.*?)(?=^        \w|\Z)", part, re.MULTILINE | re.DOTALL).group(1)  # type: ignore[union-attr]
        if kind == "record":
            recorded.add(name)
    return recorded, found


def test_every_rule_asks_for_metrics_that_exist() -> None:
    recorded, expressions = rules()
    known = exposed_names() | recorded | {"up"}
    assert {name: names_in(each) - known for name, each in expressions.items() if names_in(each) - known} == {}
    assert all(names_in(each) for each in expressions.values())


def test_every_alert_is_tested_and_documented() -> None:
    recorded, expressions = rules()
    alerts = set(expressions) - recorded
    promised = "".join((CONFIG / promises).read_text(encoding="utf-8") for promises in PROMISES)
    tested = set(re.findall(r"\bPatrol[A-Z]\w+", promised))
    documented = set(re.findall(r"^\| `(Patrol\w+)`", (ROOT / "docs/metrics.md").read_text(), re.MULTILINE))
    assert alerts == tested == documented


def panels() -> list[dict[str, Any]]:
    return [panel for panel in json.loads(DASHBOARD.read_text())["panels"] if panel["type"] != "row"]


def queries() -> list[str]:
    return [target["expr"] for panel in panels() for target in panel["targets"]]


def test_every_query_of_the_dashboard_asks_for_metrics_that_exist() -> None:
    assert {query: names_in(query) - exposed_names() for query in queries() if not names_in(query)} == {}
    assert {name for query in queries() for name in names_in(query)} <= exposed_names()


def test_the_dashboard_shows_everything_that_is_told() -> None:
    shown = {re.sub(r"_(total|bucket|sum|count)$", "", name) for query in queries() for name in names_in(query)}
    unseen = {name for name in CONTRACT if name not in shown}
    assert unseen == {"patrol_build_info", "patrol_last_success_timestamp_seconds"}


def test_every_panel_has_a_place_and_a_word_of_its_own() -> None:
    titles = [panel["title"] for panel in panels()]
    assert len(set(titles)) == len(titles)
    places = set()
    for panel in panels():
        grid = panel["gridPos"]
        assert panel["description"]
        assert grid["x"] + grid["w"] <= 24
        cells = {
            (x, y) for x in range(grid["x"], grid["x"] + grid["w"]) for y in range(grid["y"], grid["y"] + grid["h"])
        }
        assert not places & cells
        places |= cells


# --- a real server -------------------------------------------------------------------------------------------------


DAEMON = """
[patrol]
startup_delay = "0"
[api]
listen = "127.0.0.1:0"
"""


@pytest.fixture(scope="module")
def prometheus(installed: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A Prometheus that scrapes a daemon which has patrolled once."""
    home = tmp_path_factory.mktemp("scraped")
    sources = documented(home, host(97, units=["nginx.service"]), disk(read=False))
    with supervised(home, DAEMON + sources) as daemon:
        daemon.wait_for("run")
        [place] = daemon.wait_for("listening")[0]["places"]
        with private_server(place, home / "prometheus") as server:
            wait_for(lambda: server.query("patrol_run_duration_seconds_count == 1") or None, "the run, scraped")
            yield server


def test_the_target_is_up_and_nothing_of_it_was_refused(prometheus: Prometheus) -> None:
    [target] = prometheus.api("targets")["activeTargets"]
    assert (target["health"], target["lastError"], target["labels"]["job"]) == ("up", "", "patrol")


def test_the_figures_of_a_run_come_back_by_query(prometheus: Prometheus) -> None:
    assert prometheus.query("patrol_runs_total > 0") == {("critical", "startup", "full"): 1}
    assert prometheus.query("patrol_triggers_total > 0") == {("accepted", "startup"): 1}
    assert prometheus.query("sum by (severity) (patrol_findings) > 0") == {("critical",): 1, ("warning",): 1}
    assert prometheus.query("sum by (outcome) (patrol_signals_total) > 0") == {("filed",): 2}
    assert prometheus.query("patrol_source_up") == {("local",): 1}
    assert prometheus.query("patrol_run_duration_seconds_count") == {(): 1}
    [age] = prometheus.query('time() - patrol_last_run_timestamp_seconds{type="full"}').values()
    assert -1 < age < 300
    [left] = prometheus.query("patrol_next_run_timestamp_seconds - time()").values()
    assert 3300 < left <= 3600


def test_the_rules_are_loaded_and_record(prometheus: Prometheus) -> None:
    def without_error() -> bool | None:
        found = [rule for group in prometheus.api("rules")["groups"] for rule in group["rules"]]
        assert {rule["lastError"] for rule in found if "lastError" in rule} <= {""}
        return True if {rule["health"] for rule in found} == {"ok"} else None

    assert wait_for(without_error, "the first evaluation")
    assert wait_for(lambda: prometheus.query("patrol:full_run_age_seconds") or None, "a recorded series")
    alert = 'ALERTS{alertname="PatrolCriticalFindings"}'
    assert list(wait_for(lambda: prometheus.query(alert) or None, "the alert").values()) == [1]


def test_every_query_of_the_dashboard_is_one_that_the_server_understands(prometheus: Prometheus) -> None:
    [target] = prometheus.api("targets")["activeTargets"]
    instance = target["labels"]["instance"]
    filled = [query.replace("$job", "patrol").replace("$instance", instance) for query in queries()]
    silent = [query for query in filled if not prometheus.query(query) and ">" not in query]
    # Nothing is sampled here, and no time has passed in which anything could have increased.
    assert [query for query in silent if "sample_lag" not in query and "increase" not in query] == []
