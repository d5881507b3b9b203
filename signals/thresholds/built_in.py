"""Limits that hold where no alert settings speak, each with its reason.

Storage, CPU and memory are the documented limits of Patrol without an alert file. The others have no key
in the alert settings format at all; they were chosen in 2025 to stay quiet on a machine that does its work.
"""

from typing import NamedTuple

from signals.thresholds.limit import Limit, Limited, Off
from signals.thresholds.snapshot_limits import built_in_snapshot
from signals.thresholds.tiers import MARGIN, watch_below

PROVENANCE = "built-in"
CPU_WINDOW_SECONDS = 300.0
"""A shorter average fires on every package update and every backup."""


class _BuiltIn(NamedTuple):
    trigger: float
    critical: float | None
    why: str


_LIMITS = {
    Limited.CPU: _BuiltIn(70, None, "documented; over 300 s"),
    Limited.MEMORY: _BuiltIn(80, None, "documented; caches do not count"),
    Limited.STORAGE: _BuiltIn(75, 95, "documented"),
    Limited.DISK: _BuiltIn(75, 95, "a file system fills up like a storage: the same documented pair"),
    Limited.INODES: _BuiltIn(
        90,
        95,
        "their number is fixed when the file system is made, and at 100 % no file can be created; few approach it",
    ),
    Limited.SWAP: _BuiltIn(80, None, "idle pages may live there for ever; only its end is dangerous, and needs a lead"),
    Limited.PRESSURE_CPU: _BuiltIn(
        80, None, "some task waited for a CPU in four fifths of five minutes: not just busy"
    ),
    Limited.PRESSURE_MEMORY: _BuiltIn(10, None, "all work stood still for half a minute of five: it is thrashing"),
    Limited.PRESSURE_IO: _BuiltIn(
        40, None, "all work waited for storage for two minutes of five; a backup stays below"
    ),
    Limited.TEMPERATURE: _BuiltIn(80, None, "the alert format's own default for nodes; CPUs slow down near 100 °C"),
    Limited.DISK_WEAR: _BuiltIn(
        80,
        None,
        "a fifth of the rated endurance is left: time to order. No critical tier: a worn disk is not a failing one",
    ),
    Limited.REPLICATION_LAG: _BuiltIn(
        24, None, "a long backup may hold a replication up for hours; after a day nobody waits for it any more"
    ),
    Limited.NETWORK_ERRORS: _BuiltIn(
        1, None, "node_exporter's own alert for receive and transmit errors; a sound cable has none at all"
    ),
    Limited.NETWORK_USE: _BuiltIn(90, None, "averaged over 300 s there is no room left for anything else"),
}

_RATES = frozenset({Limited.NETWORK_IN, Limited.NETWORK_OUT, Limited.DISK_READ, Limited.DISK_WRITE})
"""How much may go through is for an operator to say: without a word there is no limit."""

_DISK_CELSIUS = {"nvme": 70.0, "sas": 65.0, "sata": 55.0, "hdd": 55.0}
"""The alert format's own defaults by type; a spinning disk is rated for 60 °C, whatever its plug."""

_DISK_CELSIUS_UNKNOWN = 55.0


def built_in(metric: Limited, disk_type: str) -> Limit | Off:
    """The built-in limit of a metric. BACKUP_AGE has none here: `[patrol] backup_stale` holds it."""
    if metric in _RATES:
        return Off(PROVENANCE)
    if metric in (Limited.SNAPSHOT_AGE, Limited.SNAPSHOT_SIZE):
        return built_in_snapshot(metric)
    if metric is Limited.DISK_TEMPERATURE:
        return _limit(_DISK_CELSIUS.get(disk_type, _DISK_CELSIUS_UNKNOWN), None)
    known = _LIMITS[metric]
    return _limit(known.trigger, known.critical)


def _limit(trigger: float, critical: float | None) -> Limit:
    return Limit(
        trigger=float(trigger),
        clear=trigger - MARGIN if trigger > MARGIN else trigger / 2,
        critical=critical,
        watch=watch_below(trigger),
        provenance=PROVENANCE,
    )
