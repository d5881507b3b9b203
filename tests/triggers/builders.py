"""Triggers for tests, told by what matters in them."""

from datetime import UTC, datetime, timedelta

from findings.model import Severity
from patrol.triggers.model import Depth, Occasion, Trigger, TriggerReason, TriggerScope
from patrol.triggers.pacing import PastRun
from patrol.triggers.queue import Gates, Pending

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
OPEN = Gates()
VM, DISK, HOST = "vm:lab:100", "disk:serial:S3Z8NB0K", "host:lab:pve1"


def seconds(count: float) -> timedelta:
    return timedelta(seconds=count)


def scope(*ids: str) -> TriggerScope:
    return TriggerScope(resource_ids=ids)


def trigger(
    reason: TriggerReason = TriggerReason.ALERT_FIRED,
    *ids: str,
    at: datetime = NOW,
    depth: Depth = Depth.QUICK,
    severity: Severity | None = Severity.CRITICAL,
    alert_id: str = "",
    alert_type: str = "",
    missed: int = 0,
) -> Trigger:
    what = Occasion(reason=reason, at=at, severity=severity, alert_id=alert_id, alert_type=alert_type, missed=missed)
    return Trigger(scope=scope(*ids), occasions=(what,), depth=depth)


def alert(resource_id: str = VM, alert_type: str = "cpu", **more: object) -> Trigger:
    return trigger(TriggerReason.ALERT_FIRED, resource_id, alert_id=f"a-{alert_type}", alert_type=alert_type, **more)


def manual(*ids: str, alert_id: str = "") -> Trigger:
    return trigger(TriggerReason.MANUAL, *ids, alert_id=alert_id)


def scheduled(missed: int = 0) -> Trigger:
    return trigger(TriggerReason.SCHEDULED, missed=missed)


def pending(one: Trigger, name: str = "w1", *, waited: float = 0, not_before: datetime | None = None) -> Pending:
    return Pending(id=name, trigger=one, enqueued_at=NOW - seconds(waited), not_before=not_before)


def past_run(*ids: str, ended_ago: float | None) -> PastRun:
    """`ended_ago` in seconds; None for a run under way."""
    ended = None if ended_ago is None else NOW - seconds(ended_ago)
    return PastRun(scope=scope(*ids), started_at=(ended or NOW) - seconds(30), ended_at=ended)
