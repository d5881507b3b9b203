"""Memory and swap in use: what cannot be given back at once. Caches are not use."""

from findings.model import Gap, GapReason, Topic
from patrol.estate.model import Metric, Reading
from patrol.estate.sources.local.host import Host, MemoryUse, Part, Where, find_text, reason_of

_KIB = 1024


# --- /proc/meminfo (proc_meminfo(5)) ----------------------------------------------------------------------------------
# MemTotal:       16201888 kB
# MemAvailable:   14221924 kB


def parse_meminfo(text: str) -> dict[str, int]:
    """Bytes by name. Lines without the unit kB are counts of pages and are left out."""
    sizes: dict[str, int] = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if len(words) == 2 and words[1] == "kB" and words[0].isascii() and words[0].isdecimal():
            sizes[name.strip()] = int(words[0]) * _KIB
    return sizes


def find_available(meminfo: dict[str, int], *, min_free_bytes: int = 0) -> int | None:
    """Bytes that programs could still get without swapping; None where the file does not tell.

    Kernels before 3.14 have no MemAvailable. The estimate is the kernel's own later formula: what is free above
    the low watermark (5/4 of the minimum that is kept free), plus the page cache and the reclaimable slab, each
    less a half or the watermark, whichever is smaller. The page cache is the file lists, or on still older
    kernels Buffers + Cached - Shmem: shared memory lies in Cached but cannot be dropped.
    """
    available = meminfo.get("MemAvailable")
    if available is not None:
        return available
    free = meminfo.get("MemFree")
    if free is None:
        return None
    if "Active(file)" in meminfo and "Inactive(file)" in meminfo:
        cache = meminfo["Active(file)"] + meminfo["Inactive(file)"]
    else:
        cache = max(meminfo.get("Buffers", 0) + meminfo.get("Cached", 0) - meminfo.get("Shmem", 0), 0)
    slab = meminfo.get("SReclaimable", 0)
    watermark = min_free_bytes * 5 // 4
    reclaimable = cache - min(cache // 2, watermark) + slab - min(slab // 2, watermark)
    return max(free - watermark + reclaimable, 0)


def find_memory_use(meminfo: dict[str, int], *, min_free_bytes: int = 0, arc_bytes: int = 0) -> MemoryUse | None:
    """Total less available less the ZFS cache that could shrink; None where that is unknown.

    Nothing in use, nothing in total or more available than there is are no readings: some virtual machines and
    broken drivers answer so.
    """
    total = meminfo.get("MemTotal", 0)
    available = find_available(meminfo, min_free_bytes=min_free_bytes)
    if available is None or not 0 <= available < total:
        return None
    used = total - available
    shrinkable = min(arc_bytes, used)
    if shrinkable == used:  # a cache that holds all that is used is a cache of another system
        shrinkable = 0
    return MemoryUse(total_bytes=total, used_bytes=used - shrinkable, arc_bytes=shrinkable)


def find_swap_percent(meminfo: dict[str, int]) -> float | None:
    """Share of swap in use (zram counts: it is swap); 0 without swap; None where the file does not tell."""
    total, free = meminfo.get("SwapTotal"), meminfo.get("SwapFree")
    if total == 0:
        return 0.0
    if total is None or free is None or free > total:
        return None
    return 100 * (total - free) / total


# --- /proc/spl/kstat/zfs/arcstats -------------------------------------------------------------------------------------
# name                            type data
# c_min                           4    33554432
# size                            4    1603939792


def parse_shrinkable_arc(arcstats: str) -> int:
    """Bytes of the ZFS cache above its minimum, which it gives back under pressure; 0 where it cannot shrink."""
    sizes: dict[str, int] = {}
    for line in arcstats.splitlines():
        words = line.split()
        if len(words) == 3 and words[0] in ("size", "c_min") and words[2].isascii() and words[2].isdecimal():
            sizes[words[0]] = int(words[2])
    if len(sizes) < 2:
        return 0
    return max(sizes["size"] - sizes["c_min"], 0)


# --- the cgroup that a container sees as its root (kernel: cgroup-v2, cgroup-v1/memory) -------------------------------
# The lines of memory.stat are like "inactive_file 477356032".


def parse_flat_keyed(text: str) -> dict[str, int]:
    """A flat keyed file of a cgroup: numbers by name. Other lines are left out."""
    numbers: dict[str, int] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 2 and words[1].isascii() and words[1].isdecimal():
            numbers[words[0]] = int(words[1])
    return numbers


def parse_size(text: str | None) -> int | None:
    """One number of bytes; None for `max`, no file or anything else."""
    text = (text or "").strip()
    return int(text) if text.isascii() and text.isdecimal() else None


def find_cgroup_memory_use(usage: int | None, limit: int | None, stat: dict[str, int]) -> MemoryUse | None:
    """Usage less the file cache that is dropped first, against the limit; None where one of them is unknown.

    Version 1 counts its subtree under `total_`. Where it does not tell inactive from active, the whole cache is
    taken off, as it can be dropped too.
    """
    cache = next(
        (stat[name] for name in ("inactive_file", "total_inactive_file", "total_cache", "cache") if name in stat), None
    )
    if not usage or not limit or cache is None:
        return None
    used = usage - cache
    return MemoryUse(total_bytes=limit, used_bytes=min(used, limit)) if used > 0 else None


# --- reading ----------------------------------------------------------------------------------------------------------

_CGROUPS = (
    # limit, usage, stat: version 2, then version 1
    ("memory.max", "memory.current", "memory.stat"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat"),
)
_LIMIT_ABOVE = "hierarchical_memory_limit"


def read_memory(host: Host, where: Where) -> Part:
    """Memory and swap of the host, or of the container that it is, against the limit that holds for it."""
    try:
        meminfo = parse_meminfo(host.read_text("/proc/meminfo"))
    except OSError as error:
        gaps = [
            where.gap(topic, reason_of(error), f"/proc/meminfo: {error}", fix="mount /proc for this process")
            for topic in (Topic.MEMORY, Topic.SWAP)
        ]
        return Part(gaps=gaps, complete=False)
    limit, use = _read_cgroup(host, total=meminfo.get("MemTotal", 0))
    if limit is None:
        use = find_memory_use(
            meminfo,
            min_free_bytes=(parse_size(find_text(host, "/proc/sys/vm/min_free_kbytes")) or 0) * _KIB,
            arc_bytes=_read_arc(host),
        )
    swap = _read_cgroup_swap(host) if limit is not None else None
    return _part(where, use, find_swap_percent(meminfo) if swap is None else swap)


def _part(where: Where, use: MemoryUse | None, swap_percent: float | None) -> Part:
    metrics: dict[Metric, Reading] = {}
    gaps: list[Gap] = []
    if use is None:
        gaps.append(where.gap(Topic.MEMORY, GapReason.UNREADABLE, "the kernel tells no plausible use of memory"))
    else:
        metrics[Metric.MEMORY] = Reading(value=use.percent)
    if swap_percent is None:
        gaps.append(where.gap(Topic.SWAP, GapReason.UNREADABLE, "the kernel tells no plausible use of swap"))
    else:
        metrics[Metric.SWAP] = Reading(value=swap_percent)
    return Part(metrics=metrics, gaps=gaps, memory=use, complete=not gaps)


def _read_cgroup(host: Host, *, total: int) -> tuple[int | None, MemoryUse | None]:
    """The limit of the cgroup where one below the host's memory is in force, and the use against it."""
    for limit_name, usage_name, stat_name in _CGROUPS:
        stat = parse_flat_keyed(find_text(host, f"/sys/fs/cgroup/{stat_name}") or "")
        own = parse_size(find_text(host, f"/sys/fs/cgroup/{limit_name}"))
        # Version 1 tells of a tighter limit above as well: a container in a pod that has one.
        limits = [limit for limit in (own, stat.get(_LIMIT_ABOVE)) if limit is not None and 0 < limit < total]
        if limits:
            usage = parse_size(find_text(host, f"/sys/fs/cgroup/{usage_name}"))
            return min(limits), find_cgroup_memory_use(usage, min(limits), stat)
    return None, None


def _read_cgroup_swap(host: Host) -> float | None:
    """Share of the container's own swap in use; None where it has no limit of its own."""
    limit = parse_size(find_text(host, "/sys/fs/cgroup/memory.swap.max"))
    usage = parse_size(find_text(host, "/sys/fs/cgroup/memory.swap.current"))
    if limit is None or usage is None:
        return None
    return min(100 * usage / limit, 100.0) if limit else 0.0


def _read_arc(host: Host) -> int:
    # Containers see the ARC of their host, which is not in their own meminfo where lxcfs puts one in its place.
    mounts = find_text(host, "/proc/self/mounts") or ""
    if any(line.split(" ")[1:2] == ["/proc/meminfo"] for line in mounts.splitlines()):
        return 0
    return parse_shrinkable_arc(find_text(host, "/proc/spl/kstat/zfs/arcstats") or "")
