"""What may start a run now: the settings, and an operator's pause."""

from patrol.schedule.pauses import Pause
from patrol.settings.model import TriggersSection
from patrol.triggers.queue import Gates


def gates_of(triggers: TriggersSection, pause: Pause | None, *, events_off: str = "") -> Gates:
    """The gates of the queue. `pause`: the one in force. `events_off`: why events may start nothing, "" if they may."""
    return Gates(
        is_paused=pause is not None,
        events_off=events_off,
        alerts=triggers.alerts,
        anomalies=triggers.anomalies,
        min_severity=triggers.min_severity,
        alert_types=frozenset(triggers.alert_types),
    )
