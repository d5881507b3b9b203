"""What counts as memory in use, and what only looks like it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.model import GapReason, Topic
from patrol.estate.model import Metric
from patrol.estate.sources.local.host import MemoryUse
from patrol.estate.sources.local.memory import (
    find_available,
    find_cgroup_memory_use,
    find_memory_use,
    find_swap_percent,
    parse_flat_keyed,
    parse_meminfo,
    parse_shrinkable_arc,
    parse_size,
    read_memory,
)
from tests.estate.local.tree import WHERE, DeniedHost, TreeHost

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def meminfo(**kib: int) -> str:
    return "".join(f"{name}: {value:>12} kB\n" for name, value in kib.items())


HEALTHY = meminfo(MemTotal=32 << 20, MemFree=2 << 20, MemAvailable=24 << 20, SwapTotal=8 << 20, SwapFree=6 << 20)


def arcstats(size: int, minimum: int) -> str:
    return f"9 1 0x01 3 816 7 9\nname type data\nhits 4 12\nc_min 4 {minimum}\nsize 4 {size}\n"


def percent_of(use: MemoryUse | None) -> float | None:
    return None if use is None else round(use.percent, 1)


def test_use_is_what_is_not_available_so_that_page_cache_is_no_use() -> None:
    use = find_memory_use(parse_meminfo(HEALTHY))
    assert use == MemoryUse(total_bytes=32 * GIB, used_bytes=8 * GIB)
    assert percent_of(use) == 25.0


def test_counts_of_pages_are_not_sizes() -> None:
    assert parse_meminfo("HugePages_Total:  12\nMemTotal: 4 kB\nodd\nMemFree: -3 kB\nX: y kB\n") == {"MemTotal": 4096}


@pytest.mark.parametrize(
    ("fields", "available"),
    [
        pytest.param(
            {"MemFree": 1000, "Active(file)": 300, "Inactive(file)": 200, "SReclaimable": 100}, 1600, id="file lists"
        ),
        pytest.param(
            {"MemFree": 1000, "Buffers": 100, "Cached": 900, "Shmem": 500, "SReclaimable": 100}, 1600, id="no lists"
        ),
        pytest.param({"MemFree": 1000, "Buffers": 0, "Cached": 100, "Shmem": 500}, 1000, id="more shared than cached"),
        pytest.param({"MemFree": 1000}, 1000, id="nothing but free"),
        pytest.param({"MemAvailable": 7, "MemFree": 1000}, 7, id="the kernel's own word"),
    ],
)
def test_a_kernel_without_available_memory_is_estimated(fields: dict[str, int], available: int) -> None:
    assert find_available({name: kib * KIB for name, kib in fields.items()}) == available * KIB


def test_the_estimate_leaves_what_the_kernel_keeps_free() -> None:
    fields = {"MemFree": 1000, "Active(file)": 300, "Inactive(file)": 300, "SReclaimable": 100}
    assert find_available(fields, min_free_bytes=80) == 1000 - 100 + (600 - 100) + (100 - 50)
    assert find_available({"MemFree": 10}, min_free_bytes=80) == 0


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param(meminfo(MemTotal=0, MemAvailable=0), id="no memory at all"),
        pytest.param(meminfo(MemTotal=100, MemAvailable=100), id="nothing in use"),
        pytest.param(meminfo(MemTotal=100, MemAvailable=120), id="more available than there is"),
        pytest.param(meminfo(MemTotal=100), id="neither free nor available"),
        pytest.param(meminfo(MemAvailable=100), id="no total"),
    ],
)
def test_an_impossible_reading_is_unknown_and_never_zero_percent(text: str, tmp_path: Path) -> None:
    assert find_memory_use(parse_meminfo(text)) is None
    part = read_memory(TreeHost(tmp_path, {"/proc/meminfo": text}), WHERE)
    assert Metric.MEMORY not in part.metrics
    assert not part.complete
    assert (Topic.MEMORY, GapReason.UNREADABLE) in [(gap.topic, gap.reason) for gap in part.gaps]


@pytest.mark.parametrize(
    ("available_gib", "size_gib", "minimum_gib", "percent"),
    [
        pytest.param(3, 24, 1, 18.8, id="a large cache is no use"),
        pytest.param(3, 1, 1, 90.6, id="a cache at its minimum cannot shrink: memory is short"),
        pytest.param(3, 0.5, 1, 90.6, id="a cache below its minimum"),
        pytest.param(3, 29, 0, 90.6, id="a cache as large as all use is that of another system"),
        pytest.param(3, 400, 1, 90.6, id="a cache larger than the machine"),
    ],
)
def test_the_zfs_cache_above_its_minimum_is_not_use(
    available_gib: float, size_gib: float, minimum_gib: float, percent: float, tmp_path: Path
) -> None:
    files = {
        "/proc/meminfo": meminfo(MemTotal=32 << 20, MemAvailable=int(available_gib * (1 << 20)), SwapTotal=0),
        "/proc/spl/kstat/zfs/arcstats": arcstats(int(size_gib * GIB), int(minimum_gib * GIB)),
    }
    part = read_memory(TreeHost(tmp_path, files), WHERE)
    assert percent_of(part.memory) == percent
    assert round(part.metrics[Metric.MEMORY].value, 1) == percent


def test_the_zfs_cache_is_shown_beside_the_use(tmp_path: Path) -> None:
    files = {"/proc/meminfo": HEALTHY, "/proc/spl/kstat/zfs/arcstats": arcstats(5 * GIB, GIB)}
    assert read_memory(TreeHost(tmp_path, files), WHERE).memory == MemoryUse(
        total_bytes=32 * GIB, used_bytes=4 * GIB, arc_bytes=4 * GIB
    )


def test_a_container_with_its_own_meminfo_does_not_take_off_its_hosts_cache(tmp_path: Path) -> None:
    files = {
        "/proc/meminfo": HEALTHY,
        "/proc/spl/kstat/zfs/arcstats": arcstats(5 * GIB, GIB),
        "/proc/self/mounts": "lxcfs /proc/meminfo fuse.lxcfs rw 0 0\n",
    }
    assert percent_of(read_memory(TreeHost(tmp_path, files), WHERE).memory) == 25.0


@pytest.mark.parametrize("text", ["", "size 4 100\n", "c_min 4 100\n", "size 4 many\nc_min 4 1\n"])
def test_cache_figures_that_are_not_there_take_nothing_off(text: str) -> None:
    assert parse_shrinkable_arc(text) == 0


# --- swap


@pytest.mark.parametrize(
    ("fields", "percent"),
    [
        pytest.param({"SwapTotal": 0, "SwapFree": 0}, 0.0, id="a host without swap is clear"),
        pytest.param({"SwapTotal": 1000, "SwapFree": 1000}, 0.0, id="unused"),
        pytest.param({"SwapTotal": 1000, "SwapFree": 100}, 90.0, id="nearly full"),
        pytest.param({"SwapTotal": 1000, "SwapFree": 0}, 100.0, id="full"),
        pytest.param({"SwapTotal": 1000}, None, id="no figure of what is free"),
        pytest.param({"SwapFree": 1000}, None, id="no total"),
        pytest.param({"SwapTotal": 1000, "SwapFree": 2000}, None, id="more free than there is"),
    ],
)
def test_swap_use(fields: dict[str, int], percent: float | None) -> None:
    assert find_swap_percent(fields) == percent


def test_unreadable_swap_costs_swap_only(tmp_path: Path) -> None:
    part = read_memory(TreeHost(tmp_path, {"/proc/meminfo": meminfo(MemTotal=100, MemAvailable=50)}), WHERE)
    assert set(part.metrics) == {Metric.MEMORY}
    assert [gap.topic for gap in part.gaps] == [Topic.SWAP]


# --- containers

STAT = "anon 345579520\nfile 477356032\ninactive_file 477356032\nshmem 0\n"


@pytest.mark.parametrize(
    "files",
    [
        pytest.param(
            {"memory.max": "3079493591\n", "memory.current": "822935552\n", "memory.stat": STAT}, id="version 2"
        ),
        pytest.param(
            {
                "memory/memory.limit_in_bytes": "3079493591\n",
                "memory/memory.usage_in_bytes": "822935552\n",
                "memory/memory.stat": "cache 1\nrss 345579520\ntotal_inactive_file 477356032\n",
            },
            id="version 1",
        ),
        pytest.param(
            {
                "memory/memory.limit_in_bytes": "3079493591\n",
                "memory/memory.usage_in_bytes": "822935552\n",
                "memory/memory.stat": "cache 477356032\nrss 345579520\n",
            },
            id="version 1 that knows only the whole cache",
        ),
    ],
)
def test_a_container_is_measured_against_its_own_limit_without_page_cache(
    files: dict[str, str], tmp_path: Path
) -> None:
    host = TreeHost(tmp_path, {f"/sys/fs/cgroup/{name}": text for name, text in files.items()})
    host.write("/proc/meminfo", HEALTHY)
    part = read_memory(host, WHERE)
    assert percent_of(part.memory) == 11.2  # with its cache it would be 26.7
    assert part.memory is not None
    assert part.memory.total_bytes == 3079493591


@pytest.mark.parametrize(
    ("own", "above", "in_force"),
    [
        pytest.param(9223372036854771712, 3 * GIB, 3 * GIB, id="a pod limits a container that has no limit"),
        pytest.param(2 * GIB, 3 * GIB, 2 * GIB, id="the tighter one is its own"),
        pytest.param(2 * GIB, 9223372036854771712, 2 * GIB, id="nothing above"),
        pytest.param(9223372036854771712, 9223372036854771712, 64 * GIB, id="none at all: the host's memory"),
    ],
)
def test_the_tightest_limit_holds_where_cgroups_are_nested(own: int, above: int, in_force: int, tmp_path: Path) -> None:
    files = {
        "/proc/meminfo": f"MemTotal: {64 * GIB // 1024} kB\nMemAvailable: {60 * GIB // 1024} kB\n",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes": f"{own}\n",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes": f"{GIB}\n",
        "/sys/fs/cgroup/memory/memory.stat": f"hierarchical_memory_limit {above}\ntotal_inactive_file 0\n",
    }
    memory = read_memory(TreeHost(tmp_path, files), WHERE).memory
    assert memory is not None
    assert memory.total_bytes == in_force


@pytest.mark.parametrize("limit", ["max\n", "9223372036854771712\n", f"{64 * GIB}\n", "0\n"])
def test_a_limit_that_is_none_leaves_the_hosts_figures(limit: str, tmp_path: Path) -> None:
    files = {"/proc/meminfo": HEALTHY, "/sys/fs/cgroup/memory.max": limit, "/sys/fs/cgroup/memory.current": "1\n"}
    assert percent_of(read_memory(TreeHost(tmp_path, files), WHERE).memory) == 25.0


@pytest.mark.parametrize(
    ("usage", "limit", "stat"),
    [
        (0, 100, {"inactive_file": 0}),
        (None, 100, {"inactive_file": 0}),
        (50, None, {"inactive_file": 0}),
        (50, 100, {}),
        (50, 100, {"inactive_file": 50}),
    ],
)
def test_a_cgroup_without_a_plausible_figure_is_unknown(
    usage: int | None, limit: int | None, stat: dict[str, int]
) -> None:
    assert find_cgroup_memory_use(usage, limit, stat) is None


def test_an_unreadable_cgroup_is_not_replaced_by_the_hosts_memory(tmp_path: Path) -> None:
    files = {"/proc/meminfo": HEALTHY, "/sys/fs/cgroup/memory.max": f"{GIB}\n"}
    part = read_memory(TreeHost(tmp_path, files), WHERE)
    assert part.memory is None
    assert [gap.topic for gap in part.gaps] == [Topic.MEMORY]


@pytest.mark.parametrize(
    ("limit", "usage", "percent"),
    [("1000\n", "900\n", 90.0), ("0\n", "0\n", 0.0), ("1000\n", "1001\n", 100.0), ("max\n", "900\n", 25.0)],
)
def test_a_container_has_its_own_swap(limit: str, usage: str, percent: float, tmp_path: Path) -> None:
    files = {
        "/proc/meminfo": HEALTHY,
        "/sys/fs/cgroup/memory.max": f"{GIB}\n",
        "/sys/fs/cgroup/memory.current": f"{GIB // 2}\n",
        "/sys/fs/cgroup/memory.stat": "inactive_file 0\n",
        "/sys/fs/cgroup/memory.swap.max": limit,
        "/sys/fs/cgroup/memory.swap.current": usage,
    }
    part = read_memory(TreeHost(tmp_path, files), WHERE)
    assert part.metrics[Metric.SWAP].value == percent


# --- what cannot be read, and real files


def test_a_host_whose_proc_is_closed_is_blind_with_a_fix() -> None:
    part = read_memory(DeniedHost(), WHERE)
    assert [(gap.topic, gap.reason) for gap in part.gaps] == [
        (Topic.MEMORY, GapReason.NO_PERMISSION),
        (Topic.SWAP, GapReason.NO_PERMISSION),
    ]
    assert all(gap.fix and gap.resource_id == WHERE.host_id for gap in part.gaps)
    assert not part.metrics


@pytest.mark.parametrize(
    ("name", "percent", "swap"),
    [
        pytest.param("telegraf_meminfo_normal.txt", 12.2, 0.2, id="with available memory"),
        pytest.param("telegraf_meminfo_missing_fields.txt", 12.2, 0.2, id="with fields missing"),
        pytest.param("ne_meminfo.txt", 83.2, 24.8, id="an old kernel without available memory"),
        pytest.param("jc_meminfo.txt", 15.3, 0.0, id="a virtual machine"),
    ],
)
def test_real_meminfo(name: str, percent: float, swap: float, shared: Path) -> None:
    fields = parse_meminfo((shared / "data/proc" / name).read_text())
    assert percent_of(find_memory_use(fields)) == percent
    assert round(find_swap_percent(fields) or 0, 1) == swap


@pytest.mark.parametrize(
    ("name", "shrinkable"),
    [("ne_arcstats.txt", 1603939792 - 33554432), ("telegraf_arcstats_zfs23.txt", 14960038920 - 1047890560)],
)
def test_real_arcstats(name: str, shrinkable: int, shared: Path) -> None:
    assert parse_shrinkable_arc((shared / "data/zfs" / name).read_text()) == shrinkable


# --- whatever the files say

amounts = st.integers(min_value=0, max_value=1 << 44)
sources = st.sampled_from(["MemTotal", "MemFree", "MemAvailable", "Buffers", "Cached", "Shmem", "SReclaimable"])
names = sources | st.sampled_from(["Active(file)", "Inactive(file)", "SwapTotal", "SwapFree"])


@given(st.dictionaries(names, amounts), amounts, amounts)
def test_use_is_unknown_or_between_nothing_and_all(fields: dict[str, int], min_free: int, arc: int) -> None:
    use = find_memory_use(fields, min_free_bytes=min_free, arc_bytes=arc)
    assert use is None or (0 < use.used_bytes <= use.total_bytes and 0 < use.percent <= 100 and use.arc_bytes >= 0)
    swap = find_swap_percent(fields)
    assert swap is None or 0 <= swap <= 100


@given(st.none() | amounts, st.none() | amounts, st.dictionaries(st.sampled_from(["inactive_file", "cache"]), amounts))
def test_use_of_a_cgroup_is_unknown_or_between_nothing_and_all(
    usage: int | None, limit: int | None, stat: dict[str, int]
) -> None:
    use = find_cgroup_memory_use(usage, limit, stat)
    assert use is None or 0 < use.used_bytes <= use.total_bytes


@given(st.text())
def test_any_text_can_be_parsed(text: str) -> None:
    for sizes in (parse_meminfo(text), parse_flat_keyed(text)):
        assert all(size >= 0 for size in sizes.values())
    assert parse_shrinkable_arc(text) >= 0
    assert (parse_size(text) or 0) >= 0
