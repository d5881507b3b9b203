"""The text that Prometheus is answered with."""

from collections.abc import Iterator

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric

from patrol.metrics.declared import Metrics


def exposition(metrics: Metrics) -> tuple[bytes, str]:
    """The text and its content type. Reads the database: to be called in a thread, not in an event loop."""
    return generate_latest(_Plain(metrics.registry)), CONTENT_TYPE_PLAIN_0_0_4


class _Plain(CollectorRegistry):
    """A registry without the times at which counters were made: a series beside each one that nobody asks for."""

    def __init__(self, inner: CollectorRegistry) -> None:
        super().__init__()
        self._inner = inner

    def collect(self) -> Iterator[Metric]:
        for metric in self._inner.collect():
            metric.samples = [sample for sample in metric.samples if not sample.name.endswith("_created")]
            yield metric
