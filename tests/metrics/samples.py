"""What an exposition says, read with the parser of prometheus_client, as Prometheus would."""

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from patrol.metrics import Metrics, StateReader, exposition
from tests.run.builders import House


def families(metrics: Metrics) -> dict[str, Metric]:
    body, content_type = exposition(metrics)
    assert content_type.startswith("text/plain; version=0.0.4")
    return {family.name: family for family in text_string_to_metric_families(body.decode())}


def values(metrics: Metrics, name: str) -> dict[tuple[str, ...], float]:
    """The samples of one name, by the values of their labels in alphabetical order of the labels."""
    return {
        tuple(value for _, value in sorted(sample.labels.items())): sample.value
        for family in families(metrics).values()
        for sample in family.samples
        if sample.name == name
    }


def counted(metrics: Metrics, name: str) -> dict[tuple[str, ...], float]:
    """Only those that are not zero."""
    return {labels: value for labels, value in values(metrics, name).items() if value}


def metrics_of(house: House) -> Metrics:
    reader = StateReader(database=house.database, settings=lambda: house.settings, clock=house.clock)
    return Metrics(CollectorRegistry(), version="1.2.3", read_state=reader)
