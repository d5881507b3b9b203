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

from collections.abc import Sequence
from typing import ClassVar

from findings.kinds import Kind
from findings.model import Look, Severity
from signals.detector import Context, EvidencePage, Notes
from signals.disk_identity import device_of, find_disk_id, serial_of
from signals.disk_trouble import has_failed, is_quiet, is_sound, trouble_of
from signals.evidence import DiskHealthOutput, DiskRow, DisksOutput, InventoryRow, Page
from signals.model import Origin
from signals.thresholds import Limit, Limited

HOTTEST_CELSIUS = 150.0
"""No disk reports more: beyond it the field was misread. 0 and less are disks without a sensor."""

_ANY = Limit(trigger=0, clear=0, provenance="built-in: any count above 0")
_OWN_LIMIT = "the disk's own operating limit"


class SmartDetector:
    """smart_failure, disk_wear, and high_temperature of disks."""

    reads: ClassVar[tuple[type[Page], ...]] = (DisksOutput, DiskHealthOutput)

    def __init__(self, context: Context, notes: Notes) -> None:
        self._thresholds = context.thresholds
        self._inventory = context.inventory
        self._notes = notes

    def read(self, page: EvidencePage[Page]) -> None:
        """Judges the disks of one page."""
        output = page.output
        if isinstance(output, DisksOutput):
            self._judge(page, output.disks, "")
        elif isinstance(output, DiskHealthOutput):
            for host in output.hosts:
                if host.smart:
                    self._judge(page, host.smart, host.hostname or str(host.target_id or ""))
            self._judge(page, output.disks, output.node or output.hostname or "")

    def finish(self) -> None:
        """Nothing is kept: every row is judged as it comes."""

    def _judge(self, page: EvidencePage[Page], rows: Sequence[DiskRow], host: str) -> None:
        known = self._inventory.rows
        sweep = page.origin is Origin.PATROL
        sound: list[str] = []
        unworn: list[str] = []
        cool: list[str] = []
        for row in rows:
            resource = known.get(row.id) if isinstance(row.id, str) else None
            if resource is None:
                resource = self._resource(row, host)
            used = row.life_used_percent
            if used is None:
                used = _life_used(row)
            # Most disks are well: they are let through on a few reads of fields.
            counters = row.attributes or row.smart_attributes or row.smartAttributes
            if row.health == "PASSED" and not row.failing and (counters is None or is_quiet(counters)) and _one(row):
                if row.smart_complete:
                    sound.append(resource.id)
                elif sweep:
                    self._notes.blind(Kind.SMART_FAILURE, resource.id, "not all of its counters were read")
            elif self._is_sound(page, row, resource, used):
                sound.append(resource.id)
            if used is not None:
                if self._is_unworn(page, row, resource, used):
                    unworn.append(resource.id)
            elif sweep:
                self._no_wear(row, resource, unworn)
            if self._is_cool(page, row, resource):
                cool.append(resource.id)
        self._notes.clear(page, Kind.SMART_FAILURE, sound)
        self._notes.clear(page, Kind.DISK_WEAR, unworn)
        self._notes.clear(page, Kind.HIGH_TEMPERATURE, cool)

    def _resource(self, row: DiskRow, host: str) -> InventoryRow:
        """The disk that a row means: by its id, serial number, WWN or place; else as the row names it."""
        host = row.node or host
        device = device_of(row)
        given = "" if row.id is None else str(row.id)
        serial, place = serial_of(row), f"{host}/{device}" if host and device else ""
        minted = find_disk_id(row, host)
        for name in (given, minted, serial, row.wwn, place):
            found = self._inventory.find(name) if name else None
            if found is not None and (name == given or found.type == "disk"):
                return found
        named = device or row.model or given or "disk"
        if given or minted:
            return InventoryRow(id=given or minted or "", type="disk", name=named)
        # Nothing tells this disk from others of its host: then it is the host that has a bad disk.
        return self._inventory.resolve(host or named, resource_type="node" if host else "disk")

    def _is_sound(self, page: EvidencePage[Page], row: DiskRow, resource: InventoryRow, used: float | None) -> bool:
        """Whether the disk is clear of failure; says what it is where it is not."""
        trouble = trouble_of(row, used)
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
        if row.smart_complete and is_sound(row.health):
            return True
        if page.origin is Origin.PATROL:
            given = is_sound(row.health) or has_failed(row)
            without = "not all of its counters were read" if given else "no verdict of the disk"
            self._notes.blind(Kind.SMART_FAILURE, resource.id, row.reasons[0] if row.reasons else without)
        return False

    def _is_unworn(self, page: EvidencePage[Page], row: DiskRow, resource: InventoryRow, used: float) -> bool:
        limit = self._thresholds.limit(resource, Limited.DISK_WEAR, disk_type=row.type or "")
        if limit is None:
            return False
        look = limit.look(used)
        if look is Look.PRESENT:
            self._notes.signal(
                page,
                Kind.DISK_WEAR,
                resource,
                limit.severity(used),
                f"{used:g} % of the rated endurance is used (limit {limit.trigger:g} %)",
                row=row,
                value=used,
                limit=limit,
            )
        elif look is Look.HELD:
            self._notes.held(Kind.DISK_WEAR, resource.id)
        return look is Look.CLEAR

    def _no_wear(self, row: DiskRow, resource: InventoryRow, unworn: list[str]) -> None:
        """A disk that spins cannot wear out this way; of another one that was read, it is simply not known."""
        if _spins(row):
            unworn.append(resource.id)
        else:
            self._notes.blind(Kind.DISK_WEAR, resource.id, "the disk does not tell its wear")

    def _is_cool(self, page: EvidencePage[Page], row: DiskRow, resource: InventoryRow) -> bool:
        celsius = row.temperature
        if celsius is None or not 0 < celsius <= HOTTEST_CELSIUS:
            if page.origin is Origin.PATROL:
                self._notes.blind(Kind.HIGH_TEMPERATURE, resource.id, "no temperature was read")
            return False
        limit = self._thresholds.limit(resource, Limited.DISK_TEMPERATURE, disk_type=row.type or "")
        if limit is None:
            return False
        look, severity = limit.look(celsius), limit.severity(celsius)
        own = row.temperature_limit
        if look is not Look.PRESENT and own is not None and 0 < own < celsius:
            # Whatever an operator tolerates, a disk beyond what it was made for is too hot.
            look, severity = Look.PRESENT, Severity.WARNING
            limit = Limit(trigger=own, clear=own, provenance=_OWN_LIMIT)
        if look is Look.PRESENT:
            self._notes.signal(
                page,
                Kind.HIGH_TEMPERATURE,
                resource,
                severity,
                f"Disk is at {celsius:g} °C (limit {limit.trigger:g} °C)",
                row=row,
                value=celsius,
                limit=limit,
            )
        elif look is Look.HELD:
            self._notes.held(Kind.HIGH_TEMPERATURE, resource.id)
        return look is Look.CLEAR


def _one(row: DiskRow) -> bool:
    """Whether the counters came in one spelling only, so that looking at it is looking at all of them."""
    return (row.attributes is None) + (row.smart_attributes is None) + (row.smartAttributes is None) >= 2


def _spins(row: DiskRow) -> bool:
    return row.type == "hdd" or (row.rpm is not None and row.rpm > 0)


def _life_used(row: DiskRow) -> float | None:
    """Rated endurance used where no attribute told it directly."""
    if _spins(row):
        return None
    counters = row.attributes or row.smart_attributes or row.smartAttributes
    if counters is not None and counters.percentage_used is not None:
        return counters.percentage_used
    left = row.wearout
    return 100 - left if left is not None and 0 < left <= 100 else None
