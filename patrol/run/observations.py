"""From signals to what enters the findings."""

from findings.model import Observation
from signals.model import Signal


def observation_of(signal: Signal) -> Observation:
    """What a signal states, as it enters the findings."""
    return Observation(
        resource_id=signal.resource_id,
        resource_name=signal.resource_name,
        resource_type=signal.resource_type,
        kind=signal.signal_type,
        severity=signal.severity,
        category=signal.category,
        summary=signal.summary,
        subject=signal.subject,
        value=signal.value,
        limit=signal.limit,
        limit_source=signal.limit_source,
        evidence=signal.evidence,
        tool_call_id=signal.tool_call_id,
        facts=signal.facts,
    )
