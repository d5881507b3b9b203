"""Backups and snapshots: how old they may become."""

from pydantic import Field

from signals.alert_settings.section import Document, Section, is_number, words


class RecoveryOverride(Section):
    """One resource's own words about its backups or snapshots; what is absent follows the globals.

    Numbers are put in order where the override has both.
    """

    enabled: bool | None = None
    warning_days: int | None = None
    critical_days: int | None = None
    fresh_hours: int | None = None
    stale_hours: int | None = None
    warning_size_gib: float | None = Field(default=None, alias="warningSizeGiB")
    critical_size_gib: float | None = Field(default=None, alias="criticalSizeGiB")
    alert_orphaned: bool | None = None

    @classmethod
    def normalise(cls, document: Document) -> Document:
        document = _not_negative(document)
        for warning, critical in (("warningDays", "criticalDays"), ("warningSizeGiB", "criticalSizeGiB")):
            if warning in document and critical in document:
                document = _ordered(document, (warning, 0), (critical, 0))
        return document


class SnapshotDefaults(Section):
    enabled: bool = False
    warning_days: int = 30
    critical_days: int = 45
    warning_size_gib: float = Field(default=0, alias="warningSizeGiB")
    critical_size_gib: float = Field(default=0, alias="criticalSizeGiB")

    @classmethod
    def normalise(cls, document: Document) -> Document:
        document = _ordered(_not_negative(document), ("warningDays", 30), ("criticalDays", 45))
        return _ordered(document, ("warningSizeGiB", 0), ("criticalSizeGiB", 0))


class BackupDefaults(Section):
    """Used for staleness where `enabled`. `ignore_vmids`: exact, or a prefix that ends in `*`."""

    enabled: bool = False
    warning_days: int = 7
    critical_days: int = 14
    fresh_hours: int = 24
    stale_hours: int = 72
    alert_orphaned: bool = True
    ignore_vmids: list[str] = Field(default=[], alias="ignoreVMIDs")

    @classmethod
    def normalise(cls, document: Document) -> Document:
        document = _ordered(_not_negative(document), ("warningDays", 7), ("criticalDays", 14))
        if "ignoreVMIDs" in document:
            document["ignoreVMIDs"] = words(document["ignoreVMIDs"])
        fresh, stale = document.get("freshHours", 24), document.get("staleHours", 72)
        if is_number(fresh) and is_number(stale) and stale < fresh:
            document["staleHours"] = fresh
        return document


def _not_negative(document: Document) -> Document:
    return {key: 0 if is_number(value) and value < 0 else value for key, value in document.items()}


def _ordered(document: Document, warning: tuple[str, float], critical: tuple[str, float]) -> Document:
    """Keeps the warning at or below the critical limit; a critical of 0 follows the warning.

    Each is a key and its default. A written warning above a critical limit that is only the format's default raises
    that default with it; a written critical limit below a warning that is only the default lowers that.
    """
    (warning_key, warning_default), (critical_key, critical_default) = warning, critical
    first, last = document.get(warning_key, warning_default), document.get(critical_key)
    if not is_number(first):
        return document
    if last is None:
        return {**document, critical_key: first} if first > critical_default else document
    if not is_number(last):
        return document
    if last == 0 < first:
        return {**document, critical_key: first}
    if first > last > 0:
        return {**document, warning_key: last}
    return document
