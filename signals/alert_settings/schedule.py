"""When and how alerts are told to people. Patrol's detectors read none of this; it is kept for notifications."""

from pydantic import Field

from signals.alert_settings.section import Document, Section


class QuietDays(Section):
    monday: bool = True
    tuesday: bool = True
    wednesday: bool = True
    thursday: bool = True
    friday: bool = True
    saturday: bool = False
    sunday: bool = False


class QuietSuppress(Section):
    """Kinds of critical alerts that quiet hours hold back as well."""

    performance: bool = False
    storage: bool = False
    offline: bool = False


class QuietHours(Section):
    """`start` and `end` are local times of `timezone`, the minute of `end` included."""

    enabled: bool = False
    start: str = "22:00"
    end: str = "08:00"
    timezone: str = "America/New_York"
    days: QuietDays = Field(default_factory=QuietDays)
    suppress: QuietSuppress = Field(default_factory=QuietSuppress)


class EscalationLevel(Section):
    after: int = 0  # minutes
    notify: str = "all"


class Escalation(Section):
    enabled: bool = False
    levels: list[EscalationLevel] = Field(
        default_factory=lambda: [
            EscalationLevel(after=15, notify="email"),
            EscalationLevel(after=30, notify="webhook"),
            EscalationLevel(after=60, notify="all"),
        ]
    )


class Grouping(Section):
    """`window` in seconds."""

    enabled: bool = True
    window: int = 30
    by_node: bool = True
    by_guest: bool = False


class Schedule(Section):
    """A file older than one of these fields lacks it: only absent ones are filled, an explicit 0 or false stays."""

    quiet_hours: QuietHours = Field(default_factory=QuietHours)
    cooldown: int = 5  # minutes
    max_alerts_hour: int = 10
    initial_notify: str = "all"
    notify_on_resolve: bool = True
    escalation: Escalation = Field(default_factory=Escalation)
    grouping: Grouping = Field(default_factory=Grouping)

    @classmethod
    def normalise(cls, document: Document) -> Document:
        notify = document.get("initialNotify")
        if isinstance(notify, str):
            spoken = {"email": "email", "webhook": "webhook", "webhooks": "webhook", "apprise": "apprise"}
            document["initialNotify"] = spoken.get(notify.strip().lower(), "all")
        return document
