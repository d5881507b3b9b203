"""Older forms of the file, rewritten to today's before anything is checked. Pure; a second pass changes nothing."""

from collections.abc import Mapping

from signals.alert_settings.recovery import BackupDefaults, RecoveryOverride, SnapshotDefaults
from signals.alert_settings.section import Document, is_number

RENAMED = {
    "hostDefaults": "agentDefaults",
    "disableAllHosts": "disableAllAgents",
    "disableAllHostsOffline": "disableAllAgentsOffline",
}
"""Old key -> today's key. Today's key wins where a file has both."""

OLD_DELAY_TYPES = frozenset(
    {
        *("qemu", "lxc", "ct", "container", "host", "hosts"),
        *("docker", "dockerhost", "docker_host", "dockercontainer"),
        *("k8s", "kubernetes", "kubernetes-cluster", "kubernetes-node", "kubernetes-deployment"),
        *("kubernetes-namespace", "kubernetes-pod", "k8s-pod"),
    }
)
"""Type names in the delay tables that no version reads any more."""

_GLOBALS: dict[str, type[BackupDefaults | SnapshotDefaults]] = {"backup": BackupDefaults, "snapshot": SnapshotDefaults}
"""Part of an override -> what holds where it says nothing."""


def modernise(document: Document) -> tuple[Document, dict[str, str]]:
    """The document in today's words, and which old key each renamed key was written under."""
    modern: Document = {key: value for key, value in document.items() if key not in RENAMED}
    written_as = {}
    for old, new in RENAMED.items():
        if document.get(old) is not None and modern.get(new) is None:
            modern[new] = document[old]
            written_as[new] = old
    for key, rewrite in (("timeThresholds", _type_delays), ("metricTimeThresholds", _metric_delays)):
        table = modern.get(key)
        if isinstance(table, dict):
            modern[key] = rewrite(table)
            if not modern[key]:
                del modern[key]
    overrides = modern.get("overrides")
    if isinstance(overrides, dict):
        modern["overrides"] = _overrides(overrides, modern)
    return modern, written_as


def _type_delays(table: Document) -> Document:
    return {
        key.strip().lower(): 5 if is_number(seconds) and seconds < 0 else seconds
        for key, seconds in table.items()
        if key.strip().lower() not in OLD_DELAY_TYPES and seconds is not None
    }


def _metric_delays(table: Document) -> Document:
    modern: Document = {}
    for resource_type, delays in table.items():
        if resource_type.strip().lower() in OLD_DELAY_TYPES or delays is None:
            continue
        kept: object = delays
        if isinstance(delays, dict):
            kept = {
                metric.strip().lower(): seconds
                for metric, seconds in delays.items()
                if seconds is not None and not (is_number(seconds) and seconds < 0)
            }
        if kept != {}:
            modern[resource_type.strip().lower()] = kept
    return modern


def _overrides(overrides: Document, document: Document) -> Document:
    common = {part: _in_force(section, document.get(f"{part}Defaults")) for part, section in _GLOBALS.items()}
    return {
        key: _override(override, document, common) if isinstance(override, dict) else override
        for key, override in overrides.items()
        if override is not None
    }


def _in_force(section: type[BackupDefaults | SnapshotDefaults], written: object) -> Document:
    """The numbers that hold for all: what the file says in order, and the format's defaults."""
    said = _said(written) if isinstance(written, dict) else {}
    return section.of({}).model_dump(by_alias=True) | section.normalise(said)


def _said(document: Document) -> Document:
    return {key: value for key, value in document.items() if value is not None}


def _override(override: Document, document: Document, common: Mapping[str, Document]) -> Document:
    modern = dict(override)
    for part, numbers in common.items():
        own = modern.get(part)
        if isinstance(own, dict):
            modern[part] = _following(own, numbers)
    usage, margin = modern.get("usage"), document.get("hysteresisMargin")
    delta = document.get("minimumDelta")
    if isinstance(usage, dict) and is_number(delta) and delta <= 0:
        trigger, clear = usage.get("trigger"), usage.get("clear", 0)
        if is_number(trigger) and is_number(clear) and clear <= 0 < trigger:
            below = margin if is_number(margin) and margin > 0 else 5
            modern["usage"] = {**usage, "clear": max(0, trigger - below)}
    return modern


def _following(own: Document, common: Document) -> Document:
    """An override that only repeats the global numbers keeps `enabled` alone, so that it follows later edits.

    Without `enabled` it is the number of days for a warning that switches it on.
    """
    numbers = {key: value for key, value in RecoveryOverride.normalise(_said(own)).items() if is_number(value)}
    if not numbers or any(common.get(key) != value for key, value in numbers.items()):
        return own
    kept = {key: value for key, value in own.items() if key not in numbers}
    if kept.get("enabled") is None:
        if "warningDays" not in numbers:
            return own
        kept["enabled"] = True
    return kept
