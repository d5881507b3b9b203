"""The names, types and labels of all metrics: a contract with whoever wrote a query or a rule."""

import re
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from patrol.metrics import Metrics, State
from patrol.metrics.declared import ClosedCounter
from patrol.run.collect import SourceRead
from tests.metrics.known import EVERYTHING
from tests.metrics.samples import families

CONTRACT = {
    "patrol_runs": ("counter", {"trigger", "type", "status"}),
    "patrol_run_duration_seconds": ("histogram", set()),
    "patrol_run_stage_duration_seconds": ("histogram", {"stage"}),
    "patrol_last_run_timestamp_seconds": ("gauge", {"type"}),
    "patrol_last_success_timestamp_seconds": ("gauge", {"type"}),
    "patrol_next_run_timestamp_seconds": ("gauge", set()),
    "patrol_run_in_progress": ("gauge", set()),
    "patrol_signals": ("counter", {"signal_type", "outcome"}),
    "patrol_findings": ("gauge", {"severity", "state"}),
    "patrol_findings_rejected": ("counter", {"reason"}),
    "patrol_investigations": ("counter", {"outcome"}),
    "patrol_actions": ("counter", {"outcome"}),
    "patrol_model_requests": ("counter", {"outcome"}),
    "patrol_model_tokens": ("counter", {"direction"}),
    "patrol_model_cost_usd": ("counter", set()),
    "patrol_tool_calls": ("counter", {"tool", "outcome"}),
    "patrol_triggers": ("counter", {"reason", "outcome"}),
    "patrol_source_up": ("gauge", {"source"}),
    "patrol_source_collect_duration_seconds": ("gauge", {"source"}),
    "patrol_resources": ("gauge", {"type"}),
    "patrol_gaps": ("gauge", {"source", "kind"}),
    "patrol_lease_age_seconds": ("gauge", set()),
    "patrol_database_bytes": ("gauge", set()),
    "patrol_sample_lag_seconds": ("gauge", set()),
    "patrol_alert_settings_ok": ("gauge", set()),
    "patrol_notifications": ("counter", {"channel_type", "outcome"}),
    "patrol_circuit_breaker_state": ("gauge", set()),
    "patrol_budget_used_ratio": ("gauge", {"window"}),
    "patrol_stream_subscribers": ("gauge", set()),
    "patrol_build_info": ("gauge", {"version"}),
}
WITHOUT_SERIES = {"patrol_notifications"}
"""There is nothing yet that they could count."""

MOST_SERIES = 1_500
"""Of a house with two sources. A scrape of ten thousand takes a tenth of a second."""


@pytest.fixture(scope="module")
def metrics() -> Metrics:
    """All of them, with every gauge known."""
    made = Metrics(CollectorRegistry(), version="1.2.3", read_state=lambda: State(**EVERYTHING))
    made.source_reads = {"pve": SourceRead(name="pve", is_up=True, seconds=1.5)}
    return made


def test_every_metric_has_its_name_its_type_and_its_labels(metrics: Metrics) -> None:
    found = {
        name: (family.type, {label for sample in family.samples for label in sample.labels} - {"le"})
        for name, family in families(metrics).items()
    }
    assert {name: kind for name, (kind, _) in found.items()} == {name: kind for name, (kind, _) in CONTRACT.items()}
    without = {name for name, family in families(metrics).items() if not family.samples}
    assert without == WITHOUT_SERIES
    assert {name: labels for name, (_, labels) in found.items() if name not in without} == {
        name: labels for name, (_, labels) in CONTRACT.items() if name not in without
    }


def test_every_metric_says_what_it_is(metrics: Metrics) -> None:
    assert [name for name, family in families(metrics).items() if not family.documentation.endswith(".")] == []


def test_every_series_is_there_before_anything_happened(metrics: Metrics) -> None:
    counters = [family for family in families(metrics).values() if family.type == "counter"]
    assert {sample.value for family in counters for sample in family.samples} == {0.0}
    assert all(family.samples for family in counters if family.name not in WITHOUT_SERIES)


def test_there_are_few_series_and_no_times_at_which_they_were_made(metrics: Metrics) -> None:
    samples = [sample for family in families(metrics).values() for sample in family.samples]
    assert len(samples) < MOST_SERIES
    assert [sample.name for sample in samples if sample.name.endswith("_created")] == []


def test_a_registry_has_one_set_of_metrics() -> None:
    registry = CollectorRegistry()
    Metrics(registry, version="1")
    with pytest.raises(ValueError, match="patrol_findings"):
        Metrics(registry, version="1")


def test_a_word_outside_a_closed_set_counts_as_other_or_not_at_all() -> None:
    registry = CollectorRegistry()
    open_end = ClosedCounter(registry, "a_total", "A.", tool=("known", "other"))
    closed = ClosedCounter(registry, "b_total", "B.", tool=("known",))
    open_end.inc("invented")
    with pytest.raises(KeyError):
        closed.inc("invented")
    assert registry.get_sample_value("a_total", {"tool": "other"}) == 1
    assert registry.get_sample_value("b_total", {"tool": "known"}) == 0


def test_the_documentation_names_every_metric_and_no_other() -> None:
    text = (Path(__file__).parents[2] / "docs/metrics.md").read_text(encoding="utf-8")
    suffixed = {f"{name}_total" if kind == "counter" else name for name, (kind, _) in CONTRACT.items()}
    rows = set(re.findall(r"^\| `(patrol_\w+)", text, re.MULTILINE))
    assert rows == suffixed
