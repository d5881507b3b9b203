"""Metrics for Prometheus: what runs did is counted as it happens; what is so now is read when it is asked for."""

from patrol.metrics.counting import RunCounts, observe_run
from patrol.metrics.declared import Metrics
from patrol.metrics.exposition import exposition
from patrol.metrics.reading import StateReader
from patrol.metrics.state import State

__all__ = ["Metrics", "RunCounts", "State", "StateReader", "exposition", "observe_run"]
