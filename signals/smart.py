"""Disks: failure, wear and heat, from the two pages that show physical disks.

    {"disks": [{"id": "disk:serial:S3Z8NB0K", "node": "pve1", "dev_path": "/dev/sda", "type": "sata",
     "health": "PASSED", "smart_attributes": {"pendingSectors": 2}, "life_used_percent": 12, "temperature": 34,
     "smart_complete": true}]}
    {"hosts": [{"hostname": "nas", "smart": [{"device": "sda", "model": "…", "health": "FAILED"}]}]}

One statement a disk, however many facts speak against it (`signals.disk_trouble` holds the rules), and none
without a fact. A disk is clear only where its verdict and every counter that it has were read; a disk that
could not be asked is blind, whatever word stands for its health. Wear is judged where it is known, and never
on a disk that spins: a remaining life of 0 without any other sign is a disk that does not tell.

Limits of it: counters of a vendor's own and trends are not read here; a disk behind a controller that does not
pass SMART through is blind for good.
"""

from collections.abc import Callable, Iterable
from itertools import chain, repeat
from typing import ClassVar, NamedTuple, cast

from findings.kinds import Kind
from findings.model import Look, Severity
from signals.detector import Context, EvidencePage, Notes
from signals.disk_identity import device_of, find_disk_id, serial_of
from signals.disk_trouble import has_failed, has_no_reading, is_quiet, is_sound, trouble_of
from signals.evidence import DiskRow, DisksOutput, InventoryRow
from signals.model import Origin
from signals.pages import Id, Page
from signals.storage_evidence import DiskHealthOutput
from signals.thresholds import Limit, Limited, special_test

HOTTEST_CELSIUS = 150.0
"""No disk reports more: beyond it the field was misread. 0 and less are disks without a sensor."""

_ANY = Limit(trigger=0, clear=0, provenance="built-in: any count above 0")
OWN_LIMIT = "the disk's own operating limit"
_ANY_DISK = InventoryRow(id="", type="disk")


class _Limits(NamedTuple):
    """What holds for one disk. `*_below`: less than it is fine without a closer look (-1: always look closer)."""

    wear: Limit | None
    heat: Limit | None
    wear_below: float
    heat_below: float


class _Fine(NamedTuple):
    """Ids of the disks of one page that are fine, by what was judged."""

    sound: list[str]
    unworn: list[str]
    cool: list[str]


_KINDS = (Kind.SMART_FAILURE, Kind.DISK_WEAR, Kind.HIGH_TEMPERATURE)
"""What is judged, in the order of `_Fine`."""


class _Case(NamedTuple):
    """One row, the disk it means, and what holds for it."""

    page: EvidencePage[Page]
    row: DiskRow
    resource: InventoryRow
    limits: _Limits
    used: float | None  # rated endurance, percent


class SmartDetector:
    """smart_failure, disk_wear, and high_temperature of disks."""

    reads: ClassVar[tuple[type[Page], ...]] = (DisksOutput, DiskHealthOutput)

    def __init__(self, context: Context, notes: Notes) -> None:
        self._thresholds = context.thresholds
        self._inventory = context.inventory
        self._notes = notes
        self._is_special = special_test(context.thresholds)
        self._plain: dict[tuple[str, str | None], _Limits] = {}

    def read(self, page: EvidencePage[Page]) -> None:
        """Judges the disks of one page."""
        output = page.output
        if isinstance(output, DisksOutput):
            self._judge(page, zip(output.disks, repeat("")))
        elif isinstance(output, DiskHealthOutput):
            of_hosts = (
                zip(host.smart, repeat(host.hostname or str(host.target_id or "")))
                for host in output.hosts
                if host.smart
            )
            of_page = zip(output.disks, repeat(output.node or output.hostname or ""))
            self._judge(page, chain(chain.from_iterable(of_hosts), of_page))

    def finish(self) -> None:
        """Nothing is kept: every row is judged as it comes."""

    def _judge(self, page: EvidencePage[Page], rows: Iterable[tuple[DiskRow, str]]) -> None:
        """Judges rows, each with the host that the page names beside it."""
        # Nearly all disks of a large estate are well: they cost a few reads of fields and one append.
        is_special, shared = self._is_special, self._plain.get
        known = cast("Callable[[Id], InventoryRow | None]", self._inventory.rows.get)  # no number is known
        sweep = page.origin is Origin.PATROL
        well: list[str] = []
        fine = _Fine([], [], [])
        # Where nothing is cleared and no disk can have limits of its own, nobody asks whose a disk is that is well.
        unasked = is_special is None and not sweep and not self._inventory
        for row, host in rows:
            resource = _ANY_DISK if unasked and row.id else known(row.id) or self._resource(row, host)
            limits = shared((resource.type, row.type)) if is_special is None or not is_special(resource) else None
            if limits is None:
                limits = self._limits_of(resource, row.type)
            used = row.life_used_percent
            if used is None or used < 0:
                used = _life_used(row)
            if (row.smart_complete or not sweep) and _is_well_at_a_glance(row, limits, used, sweep=sweep):
                well.append(resource.id)
            else:
                resource = self._resource(row, host) if resource is _ANY_DISK else resource
                self._look_closely(_Case(page, row, resource, limits, used), fine)
        if sweep:
            for kind, ids in zip(_KINDS, fine, strict=True):
                self._notes.clear(page, kind, well)
                self._notes.clear(page, kind, ids)

    def _look_closely(self, case: _Case, fine: _Fine) -> None:
        if self._is_sound(case):
            fine.sound.append(case.resource.id)
        if self._is_unworn(case):
            fine.unworn.append(case.resource.id)
        if self._is_cool(case):
            fine.cool.append(case.resource.id)

    def _limits_of(self, resource: InventoryRow, disk_type: str | None) -> _Limits:
        limits = self._ask(resource, disk_type or "")
        if self._is_special is None or not self._is_special(resource):
            self._plain[resource.type, disk_type] = limits
        return limits

    def _ask(self, resource: InventoryRow, disk_type: str) -> _Limits:
        wear = self._thresholds.limit(resource, Limited.DISK_WEAR, disk_type=disk_type)
        heat = self._thresholds.limit(resource, Limited.DISK_TEMPERATURE, disk_type=disk_type)
        return _Limits(wear, heat, wear.clear if wear else -1, min(heat.clear, HOTTEST_CELSIUS) if heat else -1)

    def _resource(self, row: DiskRow, host: str) -> InventoryRow:
        """The disk that a row means: by its id, serial number, WWN or place; else as the row names it."""
        host = row.node or host
        device = device_of(row)
        given = "" if row.id is None else str(row.id)
        minted = find_disk_id(row, host) if self._inventory or not given else None
        if self._inventory:
            place = f"{host}/{device}" if host and device else ""
            for name in (given, serial_of(row), row.wwn, place, minted):
                found = self._inventory.find(name) if name else None
                if found is not None and (name == given or found.type == "disk"):
                    return found
        named = device or row.model or given or "disk"
        if given or minted:
            return InventoryRow(id=given or minted or "", type="disk", name=named)
        # Nothing tells this disk from others of its host: then it is the host that has a bad disk.
        return self._inventory.resolve(host or named, resource_type="node" if host else "disk")

    def _is_sound(self, case: _Case) -> bool:
        """Whether the disk is clear of failure; says what it is where it is not."""
        page, row, resource = case.page, case.row, case.resource
        trouble = trouble_of(row, case.used)
        if trouble is not None:
            self._notes.signal(
                page,
                Kind.SMART_FAILURE,
                resource,
                trouble.severity,
                f"Disk {device_of(row) or row.model or resource.name}: {trouble.summary}",
                row=row,
                value=trouble.value,
                limit=_ANY if trouble.value is not None else None,
                facts=trouble.facts,
            )
            return False
        if row.smart_complete and is_sound(row.health) and not has_no_reading(row):
            return True
        if page.origin is Origin.PATROL:
            given = is_sound(row.health) or has_failed(row)
            without = "not all of its counters were read" if given else "no verdict of the disk"
            self._notes.blind(Kind.SMART_FAILURE, resource.id, row.reasons[0] if row.reasons else without)
        return False

    def _is_unworn(self, case: _Case) -> bool:
        limit, used = case.limits.wear, case.used
        if limit is None:
            return False
        if used is None:
            return self._has_no_wear(case)
        look = limit.look(used)
        if look is Look.PRESENT:
            summary = f"{used:g} % of the rated endurance is used (limit {limit.trigger:g} %)"
            self._signal(case, Kind.DISK_WEAR, limit.severity(used), summary, used, limit)
        elif look is Look.HELD:
            self._notes.held(Kind.DISK_WEAR, case.resource.id)
        return look is Look.CLEAR

    def _has_no_wear(self, case: _Case) -> bool:
        """A disk that spins cannot wear out this way; of another one it is simply not known."""
        if _spins(case.row):
            return True
        if case.page.origin is Origin.PATROL:
            self._notes.blind(Kind.DISK_WEAR, case.resource.id, "the disk does not tell its wear")
        return False

    def _is_cool(self, case: _Case) -> bool:
        limit, celsius, own = case.limits.heat, case.row.temperature, case.row.temperature_limit
        if limit is None:
            return False
        if celsius is None or not 0 < celsius <= HOTTEST_CELSIUS:
            if case.page.origin is Origin.PATROL:
                self._notes.blind(Kind.HIGH_TEMPERATURE, case.resource.id, "no temperature was read")
            return False
        look, severity = limit.look(celsius), limit.severity(celsius)
        if look is not Look.PRESENT and own is not None and 0 < own < celsius:
            # Whatever an operator tolerates, a disk beyond what it was made for is too hot.
            look, severity = Look.PRESENT, Severity.WARNING
            limit = Limit(trigger=own, clear=own, provenance=OWN_LIMIT)
        if look is Look.PRESENT:
            summary = f"Disk is at {celsius:g} °C (limit {limit.trigger:g} °C)"
            self._signal(case, Kind.HIGH_TEMPERATURE, severity, summary, celsius, limit)
        elif look is Look.HELD:
            self._notes.held(Kind.HIGH_TEMPERATURE, case.resource.id)
        return look is Look.CLEAR

    def _signal(self, case: _Case, kind: Kind, severity: Severity, summary: str, value: float, limit: Limit) -> None:
        self._notes.signal(case.page, kind, case.resource, severity, summary, row=case.row, value=value, limit=limit)


def _is_well_at_a_glance(row: DiskRow, limits: _Limits, used: float | None, *, sweep: bool = True) -> bool:
    """Whether nothing about a disk needs a closer look: the way of nearly every row.

    `sweep`: it must be known to be fine. Of a model's look, which clears nothing, only what may be bad matters.
    """
    celsius, own = row.temperature, row.temperature_limit
    one, other = row.attributes, row.smart_attributes
    wear, _heat, wear_below, heat_below = limits
    return (
        row.health == "PASSED"
        and (0 < celsius < heat_below and (own is None or celsius <= own) if celsius is not None else not sweep)
        and (used < wear_below if used is not None else not sweep or (wear is not None and _spins(row)))
        and not row.failing
        and (one is None or (other is None and is_quiet(one)))
        and (other is None or is_quiet(other))
        and row.smartAttributes is None
    )


def _spins(row: DiskRow) -> bool:
    return row.type == "hdd" or (row.rpm is not None and row.rpm > 0)


def _life_used(row: DiskRow) -> float | None:
    """Rated endurance used where no attribute told it directly."""
    if _spins(row):
        return None
    counters = row.attributes or row.smart_attributes or row.smartAttributes
    if counters is not None and counters.percentage_used is not None and counters.percentage_used >= 0:
        return counters.percentage_used
    left = row.wearout
    return 100 - left if left is not None and 0 < left <= 100 else None
