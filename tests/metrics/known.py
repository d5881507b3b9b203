"""A state in which every gauge has a value."""

from findings.census import Standing
from findings.model import Severity, Sight
from patrol.agent.breaker import BreakerState
from patrol.run.record_model import RunType
from tests.run.builders import NOW

EVERYTHING: dict[str, object] = {
    "last_run_at": dict.fromkeys(RunType, NOW),
    "last_success_at": dict.fromkeys(RunType, NOW),
    "next_run_at": NOW,
    "runs_in_progress": 1,
    "lease_age_seconds": 2.0,
    "findings": {(Severity.CRITICAL, Standing.ACTIVE): 1},
    "resources": {"agent": 1},
    "gaps": {("local", Sight.LOST): 1, ("pve", Sight.STANDING): 2},
    "blind_sources": frozenset({"pve"}),
    "database_bytes": 4096,
    "sample_lag_seconds": 12.0,
    "alert_settings_ok": True,
    "breaker": BreakerState.CLOSED,
    "budget_used": {"day": 0.5, "month": 0.1},
    "stream_subscribers": 3,
}
