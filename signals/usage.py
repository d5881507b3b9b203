"""Use of CPU, memory, swap and main disk, and pressure: what the performance page shows of each resource.

    {"period": "24h", "summary": {"node:lab:pve1": {"resource_name": "pve1", "resource_type": "node",
     "avg_cpu": 85.5, "avg_memory": 40.0, "cpu_window_seconds": 3600}}}

Percentages run from 0 to 100 of what the resource may use, for containers too. A value of CPU is judged only as an
average over the window that the thresholds ask for; the others are values of the moment.
"""

from collections.abc import Iterable
from typing import ClassVar, NamedTuple

from findings.kinds import Kind
from findings.model import Look
from signals.backups.owners import read_vmid
from signals.detector import Context, EvidencePage, Notes
from signals.evidence import InventoryRow, PerformanceOutput, PerformanceRow
from signals.filesystems import is_measured
from signals.guest_identity import Guests
from signals.model import Origin
from signals.pages import Id, Page
from signals.performance_rows import first_measured, memory_of, other_rows
from signals.readings import MOST_PERCENT
from signals.storage_evidence import ResourceDisksOutput
from signals.thresholds import Limit, Limited, special_test

MAIN_DISK = "main disk"
"""Subject of a guest's disk as its hypervisor sees it: what is fine about it says nothing of other file systems."""

SHORT_OF_MEMORY_PERCENT = 80.0
ENOUGH_MEMORY_PERCENT = 75.0
"""Full swap hurts where memory is short as well. Beside plenty of memory it holds old pages that nobody misses."""

_PRESSURES = (
    ("cpu", Limited.PRESSURE_CPU, "some work waited for CPU"),
    ("memory", Limited.PRESSURE_MEMORY, "all work waited for memory"),
    ("io", Limited.PRESSURE_IO, "all work waited for I/O"),
)
_LIMITED_PRESSURES = tuple(limited for _subject, limited, _what in _PRESSURES)


class _Limits(NamedTuple):
    """What holds for one resource. `pressures`: in the order of `_PRESSURES`.

    `below`: under which CPU, window, memory, swap and main disk need no closer look (-1: they always do);
    `pressures_below`: likewise.
    """

    cpu: Limit | None
    cpu_window_seconds: float
    memory: Limit | None
    swap: Limit | None
    disk: Limit | None
    pressures: tuple[Limit | None, ...]
    below: tuple[float, float, float, float, float]
    pressures_below: tuple[float, ...]


class _Fine(NamedTuple):
    """Ids of the resources of one page that are fine, by what was judged."""

    cpu: list[str]
    memory: list[str]
    swap: list[str]
    disk: list[str]
    busy: list[str]  # CPU and memory, at a glance
    pressed: list[str]  # all three pressures, at a glance


class _Case(NamedTuple):
    """One row and all that judging it needs."""

    page: EvidencePage[Page]
    row: PerformanceRow
    resource: InventoryRow
    limits: _Limits


class _AnyOfType(dict[str, InventoryRow]):
    """What stands for all resources of a type."""

    def __missing__(self, type_: str) -> InventoryRow:
        self[type_] = any_resource = InventoryRow(id="", type=type_)
        return any_resource


class UsageDetector:
    """high_cpu, high_memory, high_swap, high_pressure, and high_disk of a guest's main disk."""

    reads: ClassVar[tuple[type[Page], ...]] = (PerformanceOutput, ResourceDisksOutput)

    def __init__(self, context: Context, notes: Notes) -> None:
        self._thresholds = context.thresholds
        self._inventory = context.inventory
        self._guests = Guests(context.inventory)
        self._notes = notes
        self._is_special = special_test(context.thresholds)
        self._by_type: dict[tuple[str, str], _Limits] = {}
        self._any_of_type = _AnyOfType()
        self._with_filesystems: set[str] = set()
        self._full_disks: list[tuple[_Case, float, Limit]] = []

    def read(self, page: EvidencePage[Page]) -> None:
        """Judges the rows of a performance page; keeps which guests have their file systems read elsewhere."""
        output = page.output
        if isinstance(output, PerformanceOutput):
            self._read_performance(page, output)
        elif isinstance(output, ResourceDisksOutput):
            known = self._inventory.rows.get
            for owner in output.resources:
                if any(map(is_measured, owner.disks)):
                    resource = known(owner.id) or self._guests.owner_of(owner)  # type: ignore[arg-type]  # as below
                    if resource is not None:
                        self._with_filesystems.add(resource.id)

    def finish(self) -> None:
        """Judges main disks that are too full. Where the guest's own file systems were read, they tell the story."""
        for case, percent, limit in self._full_disks:
            if case.resource.id in self._with_filesystems:
                self._notes.held(Kind.HIGH_DISK, case.resource.id, MAIN_DISK)
            else:
                summary = f"Main disk is {percent:.1f} % full (limit {limit.trigger:g} %)"
                self._signal(Kind.HIGH_DISK, case, percent, limit, summary, subject=MAIN_DISK)

    def _read_performance(self, page: EvidencePage[Page], output: PerformanceOutput) -> None:
        fine = _Fine([], [], [], [], [], [])
        by_id = output.summary
        self._judge_rows(page, by_id.items() if "" not in by_id else [each for each in by_id.items() if each[0]], fine)
        others = list(other_rows(output))
        if unnamed := sum(not name for name, _row in others):
            self._notes.problem(page.call_id, "resources", f"{unnamed} without id and name: they are nobody's")
        self._judge_rows(page, (each for each in others if each[0]), fine)
        for kind, ids in ((Kind.HIGH_CPU, fine.cpu), (Kind.HIGH_MEMORY, fine.memory)):
            self._notes.clear(page, kind, fine.busy)
            self._notes.clear(page, kind, ids)
        self._notes.clear(page, Kind.HIGH_SWAP, fine.swap)
        self._notes.clear_subjects(page, Kind.HIGH_DISK, fine.disk, MAIN_DISK)
        for subject, _limited, _what in _PRESSURES:
            self._notes.clear_subjects(page, Kind.HIGH_PRESSURE, fine.pressed, subject)

    def _judge_rows(self, page: EvidencePage[Page], rows: Iterable[tuple[Id, PerformanceRow]], fine: _Fine) -> None:
        # Nearly all rows of a large estate are healthy. They cost one glance here, written out because it is taken a
        # hundred thousand times, and the careful methods below are for the rest; both must say the same of a
        # healthy row (a property test holds them to it).
        known, is_special = self._inventory.rows.get, self._is_special
        # Where nothing is cleared and no resource can have limits of its own, nobody asks whose values are fine.
        unasked = is_special is None and page.origin is not Origin.PATROL and not self._inventory
        _, _, swaps, disks, busy, pressed = fine
        limits: _Limits | None = None
        type_: str | None = None  # None: the limits at hand are one resource's own
        disk_type = ""
        for key, row in rows:
            name = row.resource_id or key
            if unasked:
                resource = self._any_of_type[row.resource_type or row.type or ""]
            else:
                resource = known(name) or self._resolve(str(name), row)  # type: ignore[arg-type]  # no number is known
            if is_special is not None and is_special(resource):
                limits, type_ = self._ask(resource), None
                cpu_below, least_window, memory_below, swap_below, disk_below = limits.below
            elif limits is None or resource.type != type_ or resource.disk_type != disk_type:
                type_, disk_type = resource.type, resource.disk_type
                limits = self._by_type.get((type_, disk_type)) or self._ask_for_type(resource)
                cpu_below, least_window, memory_below, swap_below, disk_below = limits.below
            cpu, memory, swap, disk = row.avg_cpu, row.avg_memory, row.swap_percent, row.avg_disk
            if (
                cpu is not None
                and 0.0 < cpu < cpu_below
                and memory is not None
                and 0.0 < memory < memory_below
                and (row.disk_percent is None if disk is None else 0.0 < disk < disk_below)
                and (swap is None or 0.0 <= swap < swap_below)
                and ((window := row.cpu_window_seconds) is None or window >= least_window)
                and ((row.pressure_cpu is row.pressure_memory is row.pressure_io is None) or _is_unpressed(row, limits))
            ):
                busy.append(resource.id)
                if swap is not None:
                    swaps.append(resource.id)
                if disk is not None:
                    disks.append(resource.id)
                if row.pressure_cpu is not None:
                    pressed.append(resource.id)
            else:
                resource = self._resolve(str(name), row) if unasked else resource
                self._look_closely(_Case(page, row, resource, limits), fine)

    def _look_closely(self, case: _Case, fine: _Fine) -> None:
        if self._inventory.may_hide(case.resource.id):
            self._blind_of_status(case)
        else:
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
        type_ = row.resource_type or row.type or ""
        found = self._inventory.find(name) if self._inventory else None
        if found is None and self._inventory and read_vmid(name):
            found = self._guests.known_by_number(name, node=row.node, type_=type_)
        display_name = row.resource_name or row.name or ""
        return found or self._inventory.resolve(name, resource_type=type_, display_name=display_name)

    def _ask(self, resource: InventoryRow) -> _Limits:
        cpu, memory, swap, disk, *pressures = (
            self._thresholds.limit(resource, limited)
            for limited in (Limited.CPU, Limited.MEMORY, Limited.SWAP, Limited.DISK, *_LIMITED_PRESSURES)
        )
        window = self._thresholds.window_seconds(resource, Limited.CPU)
        return _Limits(
            cpu=cpu,
            cpu_window_seconds=window,
            memory=memory,
            swap=swap,
            disk=disk,
            pressures=tuple(pressures),
            below=(_below(cpu), window, _below(memory), _below(swap), _below(disk)),
            pressures_below=tuple(map(_below, pressures)),
        )

    def _ask_for_type(self, resource: InventoryRow) -> _Limits:
        limits = self._by_type[resource.type, resource.disk_type] = self._ask(resource)
        return limits

    def _blind_of_status(self, case: _Case) -> None:
        for kind, limit in ((Kind.HIGH_CPU, case.limits.cpu), (Kind.HIGH_MEMORY, case.limits.memory)):
            if limit is not None:
                self._blind(kind, case, "the inventory is incomplete: whether it runs is not known")

    # Each of these looks closely at one value, says what is to be said, and returns whether it is fine.

    def _is_cpu_fine(self, case: _Case) -> bool:
        limit, row = case.limits.cpu, case.row
        if limit is None:
            return False
        if _is_stopped(case.resource):
            return True
        value = first_measured(row.avg_cpu, row.cpu_percent)
        if value is None:
            return self._blind(Kind.HIGH_CPU, case, "CPU use was not measured")
        if not 0 <= value <= MOST_PERCENT:
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
        value = memory_of(case.row)
        if value is None:
            return self._blind(Kind.HIGH_MEMORY, case, "memory use was not measured")
        if not 0 < value <= MOST_PERCENT:
            return self._blind(Kind.HIGH_MEMORY, case, f"{value:g} % of memory in use is no reading")
        summary = f"Memory use is {value:.1f} % without caches (limit {limit.trigger:g} %)"
        return self._judge(Kind.HIGH_MEMORY, case, value, limit, summary)

    def _is_swap_fine(self, case: _Case) -> bool:
        limit, value = case.limits.swap, case.row.swap_percent
        if limit is None or value is None:
            return False
        if not 0 <= value <= MOST_PERCENT:
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
        """Whether memory is short: by its use, or by what work waits for it. The worse of the two counts.

        That nothing waits for memory is no answer where its use was not measured.
        """
        looks: list[Look] = []
        memory = memory_of(case.row)
        measured = memory is not None and 0 < memory <= MOST_PERCENT
        if memory is not None and measured:
            over = memory > ENOUGH_MEMORY_PERCENT
            looks.append(Look.PRESENT if memory > SHORT_OF_MEMORY_PERCENT else Look.HELD if over else Look.CLEAR)
        pressure = case.row.pressure_memory
        _cpu, limit, _io = case.limits.pressures
        if pressure is not None and limit is not None and 0 <= pressure <= MOST_PERCENT:
            looks.append(limit.look(pressure))
        worst = next((look for look in (Look.PRESENT, Look.HELD) if look in looks), None)
        return worst or (Look.CLEAR if measured else Look.BLIND)

    def _judge_pressure(self, case: _Case) -> None:
        fine: list[str] = []
        row = case.row
        values = (row.pressure_cpu, row.pressure_memory, row.pressure_io)
        for value, limit, (subject, _limited, what) in zip(values, case.limits.pressures, _PRESSURES, strict=True):
            if limit is None or value is None:
                continue
            if not 0 <= value <= MOST_PERCENT:
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
        value = first_measured(case.row.avg_disk, case.row.disk_percent)
        if limit is None or value is None:
            return False
        if not 0 < value <= MOST_PERCENT:
            reason = f"{value:g} % of the main disk in use is no reading"
            return self._blind(Kind.HIGH_DISK, case, reason, subject=MAIN_DISK)
        look = limit.look(value)
        if look is Look.PRESENT:
            self._full_disks.append((case._replace(page=case.page.without_rows()), value, limit))
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


def _is_unpressed(row: PerformanceRow, limits: _Limits) -> bool:
    """Whether all three pressures were measured, and are so low that no rule could say otherwise."""
    measured = (row.pressure_cpu, row.pressure_memory, row.pressure_io)
    return all(
        value is not None and 0 <= value < below for value, below in zip(measured, limits.pressures_below, strict=True)
    )


def _is_stopped(resource: InventoryRow) -> bool:
    """A stopped guest uses nothing, whatever its averages say. One that is offline or unknown is another matter."""
    return resource.status.lower() == "stopped"


def _over(page: EvidencePage[Page], window_seconds: float | None) -> str:
    output = page.output
    if window_seconds is not None:
        return f" over {window_seconds / 60:.0f} min"
    return f" over {output.period}" if isinstance(output, PerformanceOutput) and output.period else ""
