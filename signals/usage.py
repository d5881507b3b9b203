"""Use of CPU, memory, swap and main disk, and pressure: what the performance page shows of each resource.

    {"period": "24h", "summary": {"node:lab:pve1": {"resource_name": "pve1", "resource_type": "node",
     "avg_cpu": 85.5, "avg_memory": 40.0, "cpu_window_seconds": 3600}}}

Percentages run from 0 to 100 of what the resource may use, for containers too. A value of CPU is judged only as an
average over the window that the thresholds ask for; the others are values of the moment.
"""

from collections.abc import Iterator
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

from findings.kinds import Kind
from findings.model import Look
from signals.detector import Context, EvidencePage, Notes
from signals.evidence import InventoryRow, Page, PerformanceOutput, PerformanceRow, ResourceDisksOutput
from signals.thresholds import Limit, Limited

MAIN_DISK = "main disk"
"""Subject of a guest's disk as its hypervisor sees it: what is fine about it says nothing of other file systems."""

SHORT_OF_MEMORY_PERCENT = 80.0
ENOUGH_MEMORY_PERCENT = 75.0
"""Full swap hurts where memory is short as well. Beside plenty of memory it holds old pages that nobody misses."""

_MOST_PERCENT = 100.5  # rounding and sampling may go a little beyond 100; more is another unit

_PRESSURES = (
    ("cpu", Limited.PRESSURE_CPU, "some work waited for CPU"),
    ("memory", Limited.PRESSURE_MEMORY, "all work waited for memory"),
    ("io", Limited.PRESSURE_IO, "all work waited for I/O"),
)


@runtime_checkable
class _KnowsSpecial(Protocol):
    """Thresholds that know which resources have limits of their own."""

    def is_special(self, resource: InventoryRow) -> bool:
        """Whether something beside its type decides the limits of this resource."""
        ...


class _Limits(NamedTuple):
    """What holds for one resource.

    `below`: under which CPU, window, memory, swap and main disk need no closer look (-1: they always do).
    """

    cpu: Limit | None
    cpu_window_seconds: float
    memory: Limit | None
    swap: Limit | None
    disk: Limit | None
    below: tuple[float, float, float, float, float]


class _Fine(NamedTuple):
    """Ids of the resources of one page that are fine, by what was judged."""

    cpu: list[str]
    memory: list[str]
    swap: list[str]
    disk: list[str]


class _Case(NamedTuple):
    """One row and all that judging it needs."""

    page: EvidencePage[Page]
    row: PerformanceRow
    resource: InventoryRow
    limits: _Limits


class UsageDetector:
    """high_cpu, high_memory, high_swap, high_pressure, and high_disk of a guest's main disk."""

    reads: ClassVar[tuple[type[Page], ...]] = (PerformanceOutput, ResourceDisksOutput)

    def __init__(self, context: Context, notes: Notes) -> None:
        self._thresholds = context.thresholds
        self._inventory = context.inventory
        self._notes = notes
        # Resources of one type share their limits, where the thresholds can say which ones do not.
        self._is_special = context.thresholds.is_special if isinstance(context.thresholds, _KnowsSpecial) else None
        self._by_type: dict[tuple[str, str], _Limits] = {}
        self._with_filesystems: set[str] = set()
        self._full_disks: list[tuple[_Case, float, Limit]] = []

    def read(self, page: EvidencePage[Page]) -> None:
        """Judges the rows of a performance page; keeps which guests have their file systems read elsewhere."""
        output = page.output
        if isinstance(output, PerformanceOutput):
            self._read_performance(page, output)
        elif isinstance(output, ResourceDisksOutput):
            for guest in output.resources:
                if any(disk.usage_percent is not None for disk in guest.disks):
                    name = str(guest.id or guest.vmid or guest.name or "")
                    self._with_filesystems.add(self._inventory.resolve(name).id)

    def finish(self) -> None:
        """Judges main disks that are too full. Where the guest's own file systems were read, they tell the story."""
        for case, percent, limit in self._full_disks:
            if case.resource.id in self._with_filesystems:
                self._notes.held(Kind.HIGH_DISK, case.resource.id, MAIN_DISK)
            else:
                summary = f"Main disk is {percent:.1f} % full (limit {limit.trigger:g} %)"
                self._signal(Kind.HIGH_DISK, case, percent, limit, summary, subject=MAIN_DISK)

    def _read_performance(self, page: EvidencePage[Page], output: PerformanceOutput) -> None:
        # Nearly all rows of a large estate are healthy. They cost one glance here, and the careful methods below
        # are for the rest; both must say the same of a healthy row (a property test holds them to it).
        fine = _Fine([], [], [], [])
        unremarkable: list[str] = []
        known, is_special = self._inventory.rows, self._is_special
        limits, limits_for = None, ("", "")
        for name, row in _rows(output):
            resource = known.get(name) or self._resolve(name, row)
            if is_special is None or is_special(resource):
                limits, limits_for = self._ask(resource), ("", "")
            elif limits is None or limits_for != (resource.type, resource.disk_type):
                limits_for = resource.type, resource.disk_type
                limits = self._by_type.get(limits_for) or self._by_type.setdefault(limits_for, self._ask(resource))
            if _is_fine_at_a_glance(row, limits):
                unremarkable.append(resource.id)
                if row.swap_percent is not None:
                    fine.swap.append(resource.id)
                if row.avg_disk is not None:
                    fine.disk.append(resource.id)
            else:
                self._look_closely(_Case(page, row, resource, limits), fine)
        self._notes.clear(page, Kind.HIGH_CPU, unremarkable)
        self._notes.clear(page, Kind.HIGH_MEMORY, unremarkable)
        self._notes.clear(page, Kind.HIGH_CPU, fine.cpu)
        self._notes.clear(page, Kind.HIGH_MEMORY, fine.memory)
        self._notes.clear(page, Kind.HIGH_SWAP, fine.swap)
        self._notes.clear_subjects(page, Kind.HIGH_DISK, fine.disk, MAIN_DISK)

    def _look_closely(self, case: _Case, fine: _Fine) -> None:
        if self._is_cpu_fine(case):
            fine.cpu.append(case.resource.id)
        if self._is_memory_fine(case):
            fine.memory.append(case.resource.id)
        if self._is_swap_fine(case):
            fine.swap.append(case.resource.id)
        if self._is_main_disk_fine(case):
            fine.disk.append(case.resource.id)
        self._judge_pressure(case)

    def _resolve(self, name: str, row: PerformanceRow) -> InventoryRow:
        return self._inventory.resolve(
            name,
            resource_type=row.resource_type or row.type or "",
            display_name=row.resource_name or row.name or "",
        )

    def _ask(self, resource: InventoryRow) -> _Limits:
        cpu, memory, swap, disk = (
            self._thresholds.limit(resource, limited)
            for limited in (Limited.CPU, Limited.MEMORY, Limited.SWAP, Limited.DISK)
        )
        window = self._thresholds.window_seconds(resource, Limited.CPU)
        return _Limits(
            cpu=cpu,
            cpu_window_seconds=window,
            memory=memory,
            swap=swap,
            disk=disk,
            below=(_below(cpu), window, _below(memory), _below(swap), _below(disk)),
        )

    # Each of these looks closely at one value, says what is to be said, and returns whether it is fine.

    def _is_cpu_fine(self, case: _Case) -> bool:
        limit, row = case.limits.cpu, case.row
        if limit is None:
            return False
        if _is_stopped(case.resource):
            return True
        value = _first_measured(row.avg_cpu, row.cpu_percent)
        if value is None:
            return self._blind(Kind.HIGH_CPU, case, "CPU use was not measured")
        if not 0 <= value <= _MOST_PERCENT:
            return self._blind(Kind.HIGH_CPU, case, f"{value:g} is no percentage of all CPUs")
        window = row.cpu_window_seconds
        if window is not None and window < case.limits.cpu_window_seconds:
            needed = f"{window:g} s of {case.limits.cpu_window_seconds:g} s needed"
            return self._blind(Kind.HIGH_CPU, case, f"no history yet: {needed}")
        summary = f"CPU use averaged {value:.1f} %{_over(case.page, window)} (limit {limit.trigger:g} %)"
        return self._judge(Kind.HIGH_CPU, case, value, limit, summary)

    def _is_memory_fine(self, case: _Case) -> bool:
        limit = case.limits.memory
        if limit is None:
            return False
        if _is_stopped(case.resource):
            return True
        value = _memory(case.row)
        if value is None:
            return self._blind(Kind.HIGH_MEMORY, case, "memory use was not measured")
        if not 0 < value <= _MOST_PERCENT:
            return self._blind(Kind.HIGH_MEMORY, case, f"{value:g} % of memory in use is no reading")
        summary = f"Memory use is {value:.1f} % without caches (limit {limit.trigger:g} %)"
        return self._judge(Kind.HIGH_MEMORY, case, value, limit, summary)

    def _is_swap_fine(self, case: _Case) -> bool:
        limit, value = case.limits.swap, case.row.swap_percent
        if limit is None or value is None:
            return False
        if not 0 <= value <= _MOST_PERCENT:
            return self._blind(Kind.HIGH_SWAP, case, f"{value:g} % of swap in use is no reading")
        look, shortage = limit.look(value), self._shortage(case)
        if look is Look.CLEAR or shortage is Look.CLEAR:
            return True
        if Look.HELD in (look, shortage):
            self._notes.held(Kind.HIGH_SWAP, case.resource.id)
            return False
        if shortage is Look.BLIND:
            return self._blind(Kind.HIGH_SWAP, case, "swap is full, but memory was not measured")
        summary = f"Swap is {value:.1f} % full while memory is short (limit {limit.trigger:g} %)"
        return self._judge(Kind.HIGH_SWAP, case, value, limit, summary)

    def _shortage(self, case: _Case) -> Look:
        """Whether memory is short: by its use, or by what work waits for it. The worse of the two counts."""
        looks: list[Look] = []
        memory = _memory(case.row)
        if memory is not None and 0 < memory <= _MOST_PERCENT:
            over = memory > ENOUGH_MEMORY_PERCENT
            looks.append(Look.PRESENT if memory > SHORT_OF_MEMORY_PERCENT else Look.HELD if over else Look.CLEAR)
        pressure = case.row.pressure_memory
        limit = self._thresholds.limit(case.resource, Limited.PRESSURE_MEMORY)
        if pressure is not None and limit is not None:
            looks.append(limit.look(pressure))
        return next((look for look in (Look.PRESENT, Look.HELD, Look.CLEAR) if look in looks), Look.BLIND)

    def _judge_pressure(self, case: _Case) -> None:
        fine: list[str] = []
        row = case.row
        values = (row.pressure_cpu, row.pressure_memory, row.pressure_io)
        for value, (subject, limited, what) in zip(values, _PRESSURES, strict=True):
            limit = self._thresholds.limit(case.resource, limited)
            if limit is None or value is None:
                continue
            if not 0 <= value <= _MOST_PERCENT:
                reason = f"{value:g} is no percentage of time"
                self._blind(Kind.HIGH_PRESSURE, case, reason, subject=subject)
                continue
            summary = f"{value:.1f} % of the last 5 min {what} (limit {limit.trigger:g} %)"
            if self._judge(Kind.HIGH_PRESSURE, case, value, limit, summary, subject=subject):
                fine.append(subject)
        for subject in fine:
            self._notes.clear_subject(case.page, Kind.HIGH_PRESSURE, case.resource.id, subject)

    def _is_main_disk_fine(self, case: _Case) -> bool:
        limit = case.limits.disk
        value = _first_measured(case.row.avg_disk, case.row.disk_percent)
        if limit is None or value is None:
            return False
        if not 0 < value <= _MOST_PERCENT:
            reason = f"{value:g} % of the main disk in use is no reading"
            return self._blind(Kind.HIGH_DISK, case, reason, subject=MAIN_DISK)
        look = limit.look(value)
        if look is Look.PRESENT:
            self._full_disks.append((case, value, limit))
        elif look is Look.HELD:
            self._notes.held(Kind.HIGH_DISK, case.resource.id, MAIN_DISK)
        return look is Look.CLEAR

    def _judge(self, kind: Kind, case: _Case, value: float, limit: Limit, summary: str, *, subject: str = "") -> bool:
        look = limit.look(value)
        if look is Look.PRESENT:
            self._signal(kind, case, value, limit, summary, subject=subject)
        elif look is Look.HELD:
            self._notes.held(kind, case.resource.id, subject)
        return look is Look.CLEAR

    def _signal(self, kind: Kind, case: _Case, value: float, limit: Limit, summary: str, *, subject: str = "") -> None:
        self._notes.signal(
            case.page,
            kind,
            case.resource,
            limit.severity(value),
            summary,
            row=case.row,
            subject=subject,
            value=value,
            limit=limit,
        )

    def _blind(self, kind: Kind, case: _Case, reason: str, *, subject: str = "") -> bool:
        """Says why, and that this is not fine."""
        self._notes.blind(kind, case.resource.id, reason, subject)
        return False


def _below(limit: Limit | None) -> float:
    return -1 if limit is None else limit.clear


def _is_fine_at_a_glance(row: PerformanceRow, limits: _Limits) -> bool:
    """Whether everything that the row shows is measured, and so low that no rule could say otherwise."""
    cpu_below, cpu_window_seconds, memory_below, swap_below, disk_below = limits.below
    cpu = row.avg_cpu
    if cpu is None or not 0 < cpu < cpu_below:
        return False
    memory = row.avg_memory
    if memory is None or not 0 < memory < memory_below:
        return False
    window = row.cpu_window_seconds
    if window is not None and window < cpu_window_seconds:
        return False
    swap = row.swap_percent
    if swap is not None and not 0 <= swap < swap_below:
        return False
    disk = row.avg_disk
    if not 0 < disk < disk_below if disk is not None else row.disk_percent is not None:
        return False
    return row.pressure_cpu is None and row.pressure_memory is None and row.pressure_io is None


def _rows(output: PerformanceOutput) -> Iterator[tuple[str, PerformanceRow]]:
    """The rows of all three shapes, each with the id or name that it goes by; rows without any are nobody's."""
    for key, row in output.summary.items():
        yield str(row.resource_id or key), row
    rows = output.resources
    if _has_flat_values(output):
        rows = [*rows, _flat_row(output)]
    for row in rows:
        name = row.resource_id or row.id or row.resource_name or row.name
        if name:
            yield str(name), row


def _has_flat_values(output: PerformanceOutput) -> bool:
    values = (output.avg_cpu, output.avg_memory, output.cpu_percent, output.mem_percent, output.memory_percent)
    return any(value is not None for value in values)


def _flat_row(output: PerformanceOutput) -> PerformanceRow:
    return PerformanceRow(
        id=output.id,
        name=output.name,
        type=output.type,
        node=output.node,
        resource_id=output.resource_id,
        resource_name=output.resource_name,
        resource_type=output.resource_type,
        avg_cpu=output.avg_cpu,
        max_cpu=output.max_cpu,
        avg_memory=output.avg_memory,
        max_memory=output.max_memory,
        cpu_percent=output.cpu_percent,
        mem_percent=output.mem_percent,
        memory_percent=output.memory_percent,
    )


def _first_measured(average: float | None, *percents: float | None) -> float | None:
    """The average where there is one above 0, else the first percent field that has a value, else what there was."""
    if average is not None and average > 0:
        return average
    return next((percent for percent in percents if percent is not None), average)


def _memory(row: PerformanceRow) -> float | None:
    return _first_measured(row.avg_memory, row.mem_percent, row.memory_percent)


def _is_stopped(resource: InventoryRow) -> bool:
    """A stopped guest uses nothing, whatever its averages say. One that is offline or unknown is another matter."""
    return resource.status.lower() == "stopped"


def _over(page: EvidencePage[Page], window_seconds: float | None) -> str:
    output = page.output
    if window_seconds is not None:
        return f" over {window_seconds / 60:.0f} min"
    return f" over {output.period}" if isinstance(output, PerformanceOutput) and output.period else ""
