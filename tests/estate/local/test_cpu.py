"""CPU use: a rate over at least five minutes, from counters that are carried from collection to collection."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.model import GapReason, Sight, Topic
from patrol.estate.model import Metric
from patrol.estate.sources.local.cpu import (
    EARLIER,
    NEWEST,
    CpuUse,
    NoHistory,
    advance,
    find_use,
    parse_quota_cpus,
    parse_stat,
    read_cpu,
    read_sample,
)
from patrol.estate.sources.local.host import Part
from patrol.estate.sources.model import Counter
from tests.estate.local.tree import WHERE, DeniedHost, TreeHost

NOON = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
TICKS = 100  # of one CPU in one second


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def sample(seconds: float, *, boot: int = 1, cpus: int = 1, **spent: float) -> Counter:
    """A sample `seconds` after noon; `spent`: seconds of CPU time since then, idle for the rest of the time."""
    rest = seconds * cpus - sum(spent.values())
    ticks = dict.fromkeys(("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"), 5000.0)
    for name, share in {"idle": rest, **spent}.items():
        ticks[name] += share * TICKS
    values = {**ticks, "cpus": float(cpus), "btime": 1000.0, "boot": float(boot), "uptime_seconds": 900 + seconds}
    return Counter(at=at(seconds), values=values)


def without(counter: Counter, *names: str) -> Counter:
    values = {name: value for name, value in counter.values.items() if name not in names}
    return Counter(at=counter.at, values=values)


def percent(result: CpuUse | NoHistory) -> float | str:
    return round(result.percent, 2) if isinstance(result, CpuUse) else result.why


# --- the rate


@pytest.mark.parametrize(
    ("spent", "expected"),
    [
        pytest.param({"user": 300}, 50, id="user"),
        pytest.param({"user": 100, "nice": 100, "system": 50, "irq": 25, "softirq": 25}, 50, id="all that is work"),
        pytest.param({"user": 60, "iowait": 500}, 10, id="waiting for I/O is no use"),
        pytest.param({}, 0, id="idle"),
        pytest.param({"user": 600}, 100, id="full"),
        pytest.param({"user": 150, "steal": 300}, 50, id="stolen time was not available"),
        pytest.param({"user": 300, "steal": 300}, 100, id="all that the hypervisor left is used"),
    ],
)
def test_use_is_work_as_a_share_of_what_was_available(spent: dict[str, float], expected: float) -> None:
    use = find_use(sample(0), sample(600, **spent))
    assert isinstance(use, CpuUse)
    assert round(use.percent, 6) == expected
    assert use.window_seconds == 600


def test_use_is_of_all_cpus_together() -> None:
    assert percent(find_use(sample(0, cpus=8), sample(600, cpus=8, user=600))) == 12.5


def test_time_given_to_guests_is_inside_user_time_and_not_counted_twice() -> None:
    before = parse_stat("cpu 1000 0 0 1000 0 0 0 0 500 0\ncpu0 0 0 0 0\nbtime 5\n")
    after = parse_stat("cpu 31000 0 0 31000 0 0 0 0 30500 0\ncpu0 0 0 0 0\nbtime 5\n")
    assert "guest" not in after
    use = find_use(Counter(at=at(0), values=before), Counter(at=at(600), values=after))
    assert percent(use) == 50


@pytest.mark.parametrize(
    ("seconds", "has_rate"), [(0, False), (60, False), (299, False), (300, True), (86400, True), (86401, False)]
)
def test_a_rate_needs_five_minutes_and_no_more_than_a_day(seconds: float, *, has_rate: bool) -> None:
    use = find_use(sample(0), sample(seconds, user=seconds / 2))
    assert isinstance(use, CpuUse) is has_rate


def test_a_minute_of_full_load_is_not_a_condition_and_five_minutes_are() -> None:
    assert percent(find_use(sample(0), sample(360, user=60))) == 16.67
    assert percent(find_use(sample(0), sample(300, user=285))) == 95


@pytest.mark.parametrize(
    ("base", "now", "why"),
    [
        pytest.param(sample(0), sample(600, boot=2), "another boot", id="another boot"),
        pytest.param(sample(0, user=50), sample(600), "went back", id="a counter went back"),
        pytest.param(sample(600), sample(0), "clock went back", id="an uptime that went back"),
        pytest.param(without(sample(0), "steal"), sample(600), "something else", id="other fields"),
        pytest.param(
            sample(0),
            Counter(at=at(600), values={**sample(0).values, "uptime_seconds": 1500}),
            "stood still",
            id="frozen",
        ),
        pytest.param(
            without(sample(0), "boot"),
            Counter(at=at(600), values={**without(sample(600), "boot").values, "btime": 1006.0}),
            "another boot",
            id="another boot by its time",
        ),
    ],
)
def test_what_is_no_history(base: Counter, now: Counter, why: str) -> None:
    use = find_use(base, now)
    assert isinstance(use, NoHistory)
    assert why in use.why
    assert not use.too_young


def test_a_boot_time_that_the_clock_moves_a_little_is_the_same_boot() -> None:
    moved = Counter(at=at(600), values={**without(sample(600, user=60), "boot").values, "btime": 1002.0})
    assert percent(find_use(without(sample(0), "boot"), moved)) == 10


def test_waiting_for_io_may_count_backwards() -> None:
    shrunk = Counter(at=at(600), values={**sample(600, user=60).values, "iowait": 4000.0})
    assert percent(find_use(sample(0), shrunk)) == 10


def test_a_clock_that_is_set_forward_makes_no_window() -> None:
    jumped = Counter(at=at(7200), values=sample(30, user=30).values)
    use = find_use(sample(0), jumped)
    assert isinstance(use, NoHistory)
    assert use.too_young


def test_without_the_time_since_boot_the_clock_measures_the_window() -> None:
    use = find_use(without(sample(0), "uptime_seconds"), without(sample(600, user=60), "uptime_seconds"))
    assert use == CpuUse(percent=pytest.approx(10), window_seconds=600)


def test_time_asleep_is_no_part_of_the_window() -> None:
    woken = sample(400, user=400)
    slept = Counter(at=at(7600), values={**woken.values, "uptime_seconds": 900 + 7600})
    use = find_use(sample(0), slept)
    assert use == CpuUse(percent=pytest.approx(100), window_seconds=pytest.approx(400))


# --- the samples carried on


def after(*seconds: float) -> list[tuple[float | None, dict[str, Counter]]]:
    """Collections at these times of a host at half load: the window each had, and what each carried on."""
    carried: dict[str, Counter] = {}
    history: list[tuple[float | None, dict[str, Counter]]] = []
    for moment in seconds:
        step = advance(carried, sample(moment, user=moment / 2))
        carried = dict(step.counters)
        history.append((step.use.window_seconds if isinstance(step.use, CpuUse) else None, carried))
    return history


def windows(*seconds: float) -> list[float | None]:
    return [window for window, _ in after(*seconds)]


@pytest.mark.parametrize(
    ("moments", "expected"),
    [
        pytest.param((0, 3600, 7200), [None, 3600, 3600], id="hourly"),
        pytest.param((0, 60, 120, 180, 240, 300), [None] * 5 + [300], id="impatient: the first sample is kept"),
        pytest.param((0, 300, 360, 420, 599, 600), [None, 300, 360, 420, 599, 300], id="once there, always a window"),
        pytest.param((0, 90000, 90300), [None, None, 300], id="a day apart begins anew"),
    ],
)
def test_there_is_a_window_as_soon_and_as_long_as_possible(
    moments: tuple[float, ...], expected: list[float | None]
) -> None:
    assert windows(*moments) == expected


def test_a_new_boot_forgets_what_was_before() -> None:
    carried = after(0, 600)[-1][1]
    step = advance(carried, sample(1200, boot=2))
    assert isinstance(step.use, NoHistory)
    assert step.counters == {NEWEST: sample(1200, boot=2)}


def test_an_earlier_sample_of_another_boot_is_forgotten() -> None:
    step = advance({NEWEST: sample(600), EARLIER: sample(0, boot=2)}, sample(700))
    assert isinstance(step.use, NoHistory)
    assert step.use.too_young
    assert step.counters == {NEWEST: sample(600)}


@given(st.lists(st.floats(min_value=0.1, max_value=200_000), min_size=1, max_size=30))
def test_a_window_is_never_shorter_than_five_minutes_nor_longer_than_a_day(steps: list[float]) -> None:
    moment, moments = 0.0, [0.0]
    for step in steps:
        moment += step
        moments.append(moment)
    for window, carried in after(*moments):
        assert window is None or 300 <= window <= 86400
        assert NEWEST in carried


# --- the files


@pytest.mark.parametrize(
    ("text", "values"),
    [
        pytest.param("", {}, id="empty"),
        pytest.param("intr 1 2 3\n", {}, id="no line of totals"),
        pytest.param("cpu 1 2 three 4\n", {}, id="no numbers"),
        pytest.param("cpu 1 2\n", {}, id="too short"),
        pytest.param(
            "cpu 1 2 3 4\n", {"user": 1, "nice": 2, "system": 3, "idle": 4, "cpus": 1}, id="a very old kernel"
        ),
    ],
)
def test_the_line_of_totals(text: str, values: dict[str, float]) -> None:
    assert parse_stat(text) == values


@pytest.mark.parametrize(("name", "user", "cpus"), [("ne_stat.txt", 301854, 8), ("jc_stat.txt", 6002, 2)])
def test_real_stat(name: str, user: float, cpus: float, shared: Path) -> None:
    values = parse_stat((shared / "data/proc" / name).read_text())
    assert (values["user"], values["cpus"]) == (user, cpus)
    assert len(values) == 10


@given(st.text())
def test_any_text_can_be_parsed(text: str) -> None:
    assert all(value >= 0 for value in parse_stat(text).values())
    assert (parse_quota_cpus(text) or 1) > 0


STAT = "cpu  100 0 50 1000 10 0 5 0 0 0\ncpu0 50 0 25 500 5 0 2 0 0 0\ncpu1 50 0 25 500 5 0 3 0 0 0\nbtime 99\n"


def read(host: TreeHost, seconds: float, previous: Part | None = None) -> Part:
    known = {(WHERE.host_id, name): counter for name, counter in (previous.counters if previous else {}).items()}
    return read_cpu(host, WHERE, now=at(seconds), previous=known)


def test_the_first_look_has_no_history_and_says_what_to_do(tmp_path: Path) -> None:
    part = read(TreeHost(tmp_path, {"/proc/stat": STAT}), 0)
    assert part.metrics == {}
    assert not part.complete
    (gap,) = part.gaps
    assert (gap.topic, gap.reason, gap.sight) == (Topic.CPU, GapReason.NO_HISTORY, Sight.STANDING)
    assert gap.resource_id == WHERE.host_id
    assert "5 minutes" in gap.fix
    assert part.counters[NEWEST].at == NOON


def test_the_second_look_has_a_value_with_its_window(tmp_path: Path) -> None:
    files = {
        "/proc/stat": STAT,
        "/proc/uptime": "1000.50 4000.00\n",
        "/proc/sys/kernel/random/boot_id": "ccb98257-3f5a-4a16-8cff-455e476c478a\n",
    }
    host = TreeHost(tmp_path, files)
    first = read(host, 0)
    host.write("/proc/stat", STAT.replace("cpu  100 0 50 1000", "cpu  30100 0 50 91000"))
    host.write("/proc/uptime", "1600.50 9000.00\n")
    second = read(host, 600, first)
    assert second.complete
    assert second.gaps == ()
    reading = second.metrics[Metric.CPU]
    assert (reading.value, reading.window_seconds, reading.at) == (25, 600, at(600))
    assert set(second.counters) == {NEWEST, EARLIER}


def test_counters_of_another_host_are_not_used(tmp_path: Path) -> None:
    host = TreeHost(tmp_path, {"/proc/stat": STAT})
    other = {("agent:local:other", NEWEST): Counter(at=at(-600), values=parse_stat(STAT))}
    assert Metric.CPU not in read_cpu(host, WHERE, now=NOON, previous=other).metrics


@pytest.mark.parametrize(
    "usage",
    [
        pytest.param({"cpu.max": "200000 100000\n", "cpu.stat": "usage_usec 5000000\nuser_usec 1\n"}, id="version 2"),
        pytest.param(
            {
                "cpu/cpu.cfs_quota_us": "200000\n",
                "cpu/cpu.cfs_period_us": "100000\n",
                "cpuacct/cpuacct.usage": "5000000000\n",
            },
            id="version 1",
        ),
    ],
)
def test_a_container_with_a_quota_is_measured_against_it(usage: dict[str, str], tmp_path: Path) -> None:
    host = TreeHost(tmp_path, {f"/sys/fs/cgroup/{name}": text for name, text in usage.items()})
    host.write("/proc/stat", STAT)
    host.write("/sys/devices/system/cpu/online", "0-7\n")
    first = read(host, 0)
    assert first.counters[NEWEST].values == {"usage_usec": 5000000, "quota_cpus": 2, "btime": 99}
    for name, text in usage.items():
        if "quota" not in name and "max" not in name:
            host.write(f"/sys/fs/cgroup/{name}", text.replace("5000000", "905000000"))
    second = read(host, 600, first)
    assert second.metrics[Metric.CPU].value == 75  # 900 s of CPU in 600 s of two CPUs


@pytest.mark.parametrize(
    "cpu_max", ["max 100000\n", "800000 100000\n", "0 100000\n", "100000 0\n", "100000\n", "x y\n", ""]
)
def test_a_quota_that_allows_all_is_none(cpu_max: str, tmp_path: Path) -> None:
    files = {
        "/proc/stat": STAT,
        "/sys/fs/cgroup/cpu.max": cpu_max,
        "/sys/fs/cgroup/cpu.stat": "usage_usec 1\n",
        "/sys/devices/system/cpu/online": "0-7\n",
    }
    assert "user" in read_sample(TreeHost(tmp_path, files))


def quota_sample(seconds: float, used: float, cpus: float = 2) -> Counter:
    return Counter(at=at(seconds), values={"usage_usec": used * 1e6, "quota_cpus": cpus})


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        pytest.param(quota_sample(600, 300), 25, id="a quarter"),
        pytest.param(quota_sample(600, 1300), 100, id="a burst beyond the quota"),
        pytest.param(quota_sample(600, -1), "the counter of the cgroup went back", id="a new cgroup"),
        pytest.param(quota_sample(600, 300, cpus=4), "the CPU quota was changed", id="another quota"),
        pytest.param(quota_sample(0, 0), "0 s of history, 300 s are needed", id="at once"),
    ],
)
def test_use_of_a_quota(now: Counter, expected: float | str) -> None:
    assert percent(find_use(quota_sample(0, 0), now)) == expected


def test_a_host_whose_proc_is_closed_is_blind_with_a_fix() -> None:
    (gap,) = read_cpu(DeniedHost(), WHERE, now=NOON, previous={}).gaps
    assert (gap.topic, gap.reason) == (Topic.CPU, GapReason.NO_PERMISSION)
    assert gap.fix


def test_a_file_without_totals_is_unreadable(tmp_path: Path) -> None:
    part = read(TreeHost(tmp_path, {"/proc/stat": "nothing\n"}), 0)
    assert [gap.reason for gap in part.gaps] == [GapReason.UNREADABLE]
    assert not part.counters
