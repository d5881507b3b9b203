"""Containers, container services and mail gateways: limits that are not only percentages."""

from pydantic import field_validator

from signals.alert_settings.section import Document, Section, is_number, positive_or_absent
from signals.alert_settings.threshold import Percent, percent


class DockerDefaults(Section):
    """`update_alert_delay_hours` -1: off. Numbers of 0 or less mean the default."""

    cpu: Percent = percent(80, 75)
    memory: Percent = percent(85, 80)
    disk: Percent = percent(85, 80)
    restart_count: int = 3
    restart_window: int = 300  # seconds
    memory_warn_pct: int = 90
    memory_critical_pct: int = 95
    service_warn_gap_percent: int = 10
    service_critical_gap_percent: int = 50
    state_disable_connectivity: bool = False
    state_powered_off_severity: str = "warning"
    update_alert_delay_hours: int = 24

    @classmethod
    def normalise(cls, document: Document) -> Document:
        document = positive_or_absent(
            document,
            "restartCount",
            "restartWindow",
            "memoryWarnPct",
            "memoryCriticalPct",
            "serviceWarnGapPercent",
            "serviceCriticalGapPercent",
        )
        warning, critical = document.get("serviceWarnGapPercent", 10), document.get("serviceCriticalGapPercent", 50)
        if is_number(warning) and is_number(critical) and critical < warning:
            document["serviceCriticalGapPercent"] = warning
        delay = document.get("updateAlertDelayHours")
        if is_number(delay) and delay <= 0:
            document["updateAlertDelayHours"] = 24 if delay == 0 else -1
        return document

    @field_validator("state_powered_off_severity")
    @classmethod
    def _is_known(cls, severity: str) -> str:
        return severity if severity in ("warning", "critical") else "warning"


class PmgDefaults(Section):
    """A mail gateway's queues. Numbers of 0 or less mean the default. Patrol reads no mail gateway yet."""

    queue_total_warning: int = 500
    queue_total_critical: int = 1000
    oldest_message_warn_mins: int = 30
    oldest_message_crit_mins: int = 60
    deferred_queue_warn: int = 200
    deferred_queue_critical: int = 500
    hold_queue_warn: int = 100
    hold_queue_critical: int = 300
    quarantine_spam_warn: int = 2000
    quarantine_spam_critical: int = 5000
    quarantine_virus_warn: int = 2000
    quarantine_virus_critical: int = 5000
    quarantine_growth_warn_pct: int = 25
    quarantine_growth_warn_min: int = 250
    quarantine_growth_crit_pct: int = 50
    quarantine_growth_crit_min: int = 500

    @classmethod
    def normalise(cls, document: Document) -> Document:
        return positive_or_absent(document, *cls.wire_names())
