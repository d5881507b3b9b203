"""CPU use as a rate between two samples of the kernel's counters, at least 300 s apart.

Two samples are carried from collection to collection: `cpu`, taken at least 300 s after `cpu_earlier`. The newest of
them that is old enough is the base of the rate, so that someone who looks every minute has a window as well.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from findings.model import GapReason, Topic
from patrol.estate.model import Metric, Reading
from patrol.estate.sources.local.host import Host, Part, Where, find_text, reason_of
from patrol.estate.sources.local.identity import parse_cpu_list
from patrol.estate.sources.local.memory import parse_flat_keyed
from patrol.estate.sources.model import Counter

MIN_WINDOW_SECONDS = 300
"""Shorter peaks are work, not a condition."""

MAX_WINDOW_SECONDS = 24 * 3600
"""An average over more hides the present behind the past."""

NEWEST = "cpu"
EARLIER = "cpu_earlier"

_USER_HZ = 100  # ticks per second of /proc/stat: what the kernel shows to programs on every usual architecture
_BUSY = ("user", "nice", "system", "irq", "softirq")
_STAT_FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_FIX = (
    "with the daemon (patrol serve) it comes by itself after its next samples, within some minutes; "
    "without it: run patrol again in 5 minutes, or let a timer call patrol sample each minute"
)
_HEX_32 = re.compile(r"[0-9a-f]{32}")
_DECIMAL = re.compile(r"[0-9]+(?:\.[0-9]+)?")
# Less than this share of the time accounted for: the machine was asleep or paused in between.
_LEAST_AWAKE_RATIO = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuUse:
    """Use in percent (0-100) of all that was available, as the average over `window_seconds`."""

    percent: float
    window_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NoHistory:
    """Why two samples make no rate. `too_young`: the older one may still serve a later collection."""

    why: str
    too_young: bool = False


# --- /proc/stat (proc_stat(5)) ----------------------------------------------------------------------------------------
# cpu  301854 612 111922 8979004 3552 2 3944 0 44 36
# cpu0 44490 19 21045 1087069 220 1 3410 0 2 1
# btime 1418183276


def parse_stat(text: str) -> dict[str, float]:
    """Ticks of all CPUs by name, `cpus` and `btime`; empty where there is no line of totals.

    Time given to guests is not taken: the kernel counts it in `user` and `nice` already.
    """
    values: dict[str, float] = {}
    cpus = 0
    for line in text.splitlines():
        name, *words = line.split() or [""]
        if name == "cpu" and len(words) >= 4 and all(_is_count(word) for word in words):
            values.update(zip(_STAT_FIELDS, map(float, words), strict=False))
        elif name.startswith("cpu"):
            cpus += 1
        elif name == "btime" and words and _is_count(words[0]):
            values["btime"] = float(words[0])
    return {**values, "cpus": float(max(cpus, 1))} if "user" in values else {}


def _is_count(word: str) -> bool:
    return word.isascii() and word.isdecimal()


# --- the cgroup of a container with a quota ---------------------------------------------------------------------------
# cpu.max: "200000 100000" (microseconds of CPU in microseconds of time) or "max 100000"
# The line of cpu.stat that counts is "usage_usec 2154321".


def parse_quota_cpus(cpu_max: str) -> float | None:
    """How many CPUs a quota allows; None without one."""
    words = cpu_max.split()
    if len(words) != 2 or not all(_is_count(word) for word in words):
        return None
    quota, period = map(int, words)
    return quota / period if quota and period else None


# --- the rate ---------------------------------------------------------------------------------------------------------


def find_use(base: Counter, sample: Counter) -> CpuUse | NoHistory:
    """The average use between two samples, or why there is none.

    Busy is user, nice, system and interrupts; idle is idle and waiting for I/O. Time that the hypervisor gave to
    others (steal) was not available and counts as neither: 100 % means that nothing more was to be had.
    """
    elapsed = _elapsed_seconds(base, sample)
    old, new = base.values, sample.values
    if old.keys() != new.keys():
        return NoHistory(why="the earlier sample counts something else")
    if _is_other_boot(old, new):
        return NoHistory(why="the earlier sample is of another boot")
    if elapsed < 0:
        return NoHistory(why="the clock went back since the earlier sample")
    if elapsed > MAX_WINDOW_SECONDS:
        return NoHistory(why=f"the earlier sample is older than {MAX_WINDOW_SECONDS // 3600} h")
    use = _quota_use(old, new, elapsed) if "quota_cpus" in new else _host_use(old, new, elapsed)
    if isinstance(use, CpuUse) and use.window_seconds < MIN_WINDOW_SECONDS:
        why = f"{use.window_seconds:.0f} s of history, {MIN_WINDOW_SECONDS} s are needed"
        return NoHistory(why=why, too_young=True)
    return use


def _elapsed_seconds(base: Counter, sample: Counter) -> float:
    # The time since boot does not jump when the clock is set.
    old, new = base.values.get("uptime_seconds"), sample.values.get("uptime_seconds")
    if old is not None and new is not None:
        return new - old
    return (sample.at - base.at).total_seconds()


def _is_other_boot(old: Mapping[str, float], new: Mapping[str, float]) -> bool:
    if "boot" in new:
        return old["boot"] != new["boot"]
    return abs(new.get("btime", 0) - old.get("btime", 0)) > 5  # the kernel derives btime from a clock that is adjusted


def _host_use(old: Mapping[str, float], new: Mapping[str, float], elapsed: float) -> CpuUse | NoHistory:
    ticks = {name: new[name] - old[name] for name in _STAT_FIELDS if name in new}
    if any(count < 0 for name, count in ticks.items() if name != "iowait"):
        return NoHistory(why="the kernel's counters went back")
    ticks["iowait"] = max(ticks.get("iowait", 0), 0)  # proc_stat(5): this one may decrease
    busy = sum(ticks[name] for name in _BUSY if name in ticks)
    available = busy + ticks["idle"] + ticks["iowait"]
    if not available:
        return NoHistory(why="the kernel's counters stood still")
    awake = (available + ticks.get("steal", 0)) / _USER_HZ / new["cpus"]
    window = elapsed if awake >= _LEAST_AWAKE_RATIO * elapsed else awake
    return CpuUse(percent=100 * busy / available, window_seconds=window)


def _quota_use(old: Mapping[str, float], new: Mapping[str, float], elapsed: float) -> CpuUse | NoHistory:
    used = (new["usage_usec"] - old["usage_usec"]) / 1e6
    if used < 0:
        return NoHistory(why="the counter of the cgroup went back")
    if old["quota_cpus"] != new["quota_cpus"]:
        return NoHistory(why="the CPU quota was changed")
    if not elapsed:
        return CpuUse(percent=0, window_seconds=0)
    # A burst may go beyond the quota for a moment.
    return CpuUse(percent=min(100 * used / elapsed / new["quota_cpus"], 100), window_seconds=elapsed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One collection: the use, or why there is none, and the samples to carry on."""

    use: CpuUse | NoHistory
    counters: Mapping[str, Counter] = field(default_factory=dict)


def advance(previous: Mapping[str, Counter], sample: Counter) -> Step:
    """Uses the newest carried sample that is old enough, and decides which ones to carry on."""
    newest, earlier = previous.get(NEWEST), previous.get(EARLIER)
    if newest is None:
        return Step(use=NoHistory(why="no earlier sample"), counters={NEWEST: sample})
    use = find_use(newest, sample)
    if isinstance(use, CpuUse):
        return Step(use=use, counters={NEWEST: sample, EARLIER: newest})
    if not use.too_young:
        return Step(use=use, counters={NEWEST: sample})
    if earlier is None:
        return Step(use=use, counters={NEWEST: newest})
    longer = find_use(earlier, sample)
    if isinstance(longer, NoHistory):
        return Step(use=use, counters={NEWEST: newest})
    return Step(use=longer, counters={NEWEST: newest, EARLIER: earlier})


# --- reading ----------------------------------------------------------------------------------------------------------


def read_cpu(host: Host, where: Where, *, now: datetime, previous: Mapping[tuple[str, str], Counter]) -> Part:
    """CPU use since an earlier collection. Without one there is a gap that says when there will be."""
    try:
        values = read_sample(host)
    except OSError as error:
        gap = where.gap(Topic.CPU, reason_of(error), f"/proc/stat: {error}", fix="mount /proc for this process")
        return Part(gaps=[gap], complete=False)
    if not values:
        gap = where.gap(Topic.CPU, GapReason.UNREADABLE, "/proc/stat has no usable line of totals")
        return Part(gaps=[gap], complete=False)
    known = {name: previous[where.host_id, name] for name in (NEWEST, EARLIER) if (where.host_id, name) in previous}
    step = advance(known, Counter(at=now, values=values))
    if isinstance(step.use, NoHistory):
        gap = where.gap(Topic.CPU, GapReason.NO_HISTORY, f"no history yet: {step.use.why}", fix=_FIX)
        return Part(gaps=[gap], counters=step.counters, complete=False)
    reading = Reading(value=step.use.percent, window_seconds=step.use.window_seconds, at=now)
    return Part(metrics={Metric.CPU: reading}, counters=step.counters)


def read_sample(host: Host) -> dict[str, float]:
    """The counters of now: those of the cgroup where a quota is in force, else those of all CPUs. Raises OSError."""
    stat = parse_stat(host.read_text("/proc/stat"))
    values = _read_quota_sample(host, stat) or stat
    if values:
        values.update(read_boot(host))
    return values


def _read_quota_sample(host: Host, stat: Mapping[str, float]) -> dict[str, float]:
    quota = parse_quota_cpus(find_text(host, "/sys/fs/cgroup/cpu.max") or _version_1_quota(host))
    usage = parse_flat_keyed(find_text(host, "/sys/fs/cgroup/cpu.stat") or "").get("usage_usec")
    if usage is None:
        nanoseconds = (find_text(host, "/sys/fs/cgroup/cpuacct/cpuacct.usage") or "").strip()
        usage = int(nanoseconds) // 1000 if _is_count(nanoseconds) else None
    cpus = parse_cpu_list(find_text(host, "/sys/devices/system/cpu/online") or "")
    if quota is None or usage is None or (cpus is not None and quota >= cpus):
        return {}
    values = {"usage_usec": float(usage), "quota_cpus": quota}
    return {**values, "btime": stat["btime"]} if "btime" in stat else values


def _version_1_quota(host: Host) -> str:
    quota, period = (find_text(host, f"/sys/fs/cgroup/cpu/cpu.cfs_{name}_us") or "" for name in ("quota", "period"))
    return f"{quota} {period}"


def read_boot(host: Host) -> dict[str, float]:
    """Which boot counters are of, and how long ago it was: `boot` and `uptime_seconds`, as far as the kernel tells."""
    values: dict[str, float] = {}
    boot_id = (find_text(host, "/proc/sys/kernel/random/boot_id") or "").strip().replace("-", "")
    if _HEX_32.fullmatch(boot_id):
        values["boot"] = float(int(boot_id[:12], 16))  # 48 bits: exact in a float, and enough to tell two boots
    uptime = _DECIMAL.match(find_text(host, "/proc/uptime") or "")
    if uptime:
        values["uptime_seconds"] = float(uptime.group())
    return values
