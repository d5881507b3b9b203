"""Pressure stall information: the share of time in which work waited (kernel: Documentation/accounting/psi)."""

import errno
import math

from findings.model import Gap, GapReason, Topic
from patrol.estate.model import Metric, Reading
from patrol.estate.sources.local.host import Host, Part, Where, find_text, reason_of

_WINDOW_SECONDS = 300

# Waiting for CPU is measured by "some": the system as a whole is never without a running task. For memory and I/O
# it is "full" that hurts: no task at all made progress.
_LINES = (
    (Metric.PRESSURE_CPU, "cpu", "some"),
    (Metric.PRESSURE_MEMORY, "memory", "full"),
    (Metric.PRESSURE_IO, "io", "full"),
)

# A kernel that was built with it but started without it answers so.
_SWITCHED_OFF = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EOPNOTSUPP})


# some avg10=0.18 avg60=0.34 avg300=0.10 total=159886802
# full avg10=0.18 avg60=0.34 avg300=0.10 total=159229614


def parse_pressure(text: str) -> dict[str, float]:
    """The average of the last 300 s in percent (0-100), by "some" and "full". What is no such number is left out."""
    averages: dict[str, float] = {}
    for line in text.splitlines():
        kind, _, rest = line.partition(" ")
        for word in rest.split():
            name, _, value = word.partition("=")
            if name == "avg300":
                percent = _percent(value)
                if percent is not None:
                    averages[kind] = percent
    return averages


def _percent(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and 0 <= number <= 100 else None


def read_pressure(host: Host, where: Where) -> Part:
    """Pressure on CPU, memory and I/O. A kernel without it has nothing to read, which is no gap."""
    metrics: dict[Metric, Reading] = {}
    gaps: list[Gap] = []
    contained = find_text(host, "/sys/fs/cgroup/cgroup.type") is not None  # the real root has no such file
    for metric, name, kind in _LINES:
        own = find_text(host, f"/sys/fs/cgroup/{name}.pressure") if contained else None
        try:
            text = host.read_text(f"/proc/pressure/{name}") if own is None else own
        except OSError as error:
            if error.errno not in _SWITCHED_OFF:
                gaps.append(where.gap(Topic.PRESSURE, reason_of(error), f"/proc/pressure/{name}: {error}"))
            continue
        average = parse_pressure(text).get(kind)
        if average is None:
            detail = f"no 300 s average in the line {kind!r} of {name} pressure"
            gaps.append(where.gap(Topic.PRESSURE, GapReason.UNREADABLE, detail))
        else:
            metrics[metric] = Reading(value=average, window_seconds=_WINDOW_SECONDS)
    return Part(metrics=metrics, gaps=gaps, complete=not gaps)
