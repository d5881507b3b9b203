"""Decoding an estate document: exact errors, raw smartctl output, times with their zone, nothing twice."""

from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from typing import TypeVar
from zoneinfo import ZoneInfo

import msgspec

from findings.model import Gap, Topic
from patrol.estate.faults import EstateDocumentError, Fault, find_fault
from patrol.estate.impossible import take_out_impossible
from patrol.estate.model import SCHEMA_VERSION, Estate, Resource
from patrol.estate.schema import fields_of, strict_type
from patrol.estate.sharing import SharedTexts
from patrol.estate.smartctl import parse_smartctl
from signals.backup_evidence import BackupTaskRow, PbsBackupRow, PveBackupRow
from signals.evidence import DiskRow, SmartAttributes
from signals.garbage import paused_garbage_collection

RowT = TypeVar("RowT", Resource, BackupTaskRow, PbsBackupRow, PveBackupRow)

_BOM = b"\xef\xbb\xbf"
_COUNTERS = ("attributes", "smart_attributes", "smartAttributes")
# Counters are documented in camel case and in snake case; a document may use either.
_CAMEL_COUNTERS = {
    field: item.key
    for field, item in zip(SmartAttributes.__struct_fields__, fields_of(SmartAttributes), strict=True)
    if field != item.key
}
_STRICT = strict_type(Estate)


class _Frame(Estate, kw_only=True):
    """An estate whose long lists are still text: made into structs one by one, they leave no holes in memory.

    It is never used as an estate.
    """

    resources: list[msgspec.Raw] = msgspec.field(default_factory=list)  # type: ignore[assignment]
    backup_tasks: list[msgspec.Raw] = msgspec.field(default_factory=list)  # type: ignore[assignment]
    pbs_backups: list[msgspec.Raw] = msgspec.field(default_factory=list)  # type: ignore[assignment]
    pve_backups: list[msgspec.Raw] = msgspec.field(default_factory=list)  # type: ignore[assignment]


_STRICT_FRAME = strict_type(_Frame)


def decode_estate(data: bytes) -> Estate:
    """The estate that a document describes. Ids are as given there (see `collect.canonicalise`).

    Raises EstateDocumentError, which names the place as a JSON path: not JSON, another version, an unknown
    key, a wrong type or value, a resource without id and name, one id for two different resources.
    """
    data = data.removeprefix(_BOM)
    with paused_garbage_collection():
        try:
            estate = _decode_quickly(data)
        except (msgspec.DecodeError, RecursionError):
            estate = _decode_slowly(data)
        _check_version(estate.version)
        _place_times(estate)
        estate.resources = _without_repeats(estate.resources)
        take_out_impossible(estate)
    return estate


def _decode_quickly(data: bytes) -> Estate:
    """A document without any fault. All passes run in C: checked and then built is still faster than walked here."""
    msgspec.json.decode(data, type=_STRICT_FRAME)
    frame = msgspec.json.decode(data, type=_Frame)
    estate = Estate(**{name: getattr(frame, name) for name in Estate.__struct_fields__})
    texts = SharedTexts()
    estate.resources = _rows(frame.resources, Resource, texts.share_in_resource)
    estate.backup_tasks = _rows(frame.backup_tasks, BackupTaskRow, texts.share_in_task)
    estate.pbs_backups = _rows(frame.pbs_backups, PbsBackupRow, texts.share_in_backup)
    estate.pve_backups = _rows(frame.pve_backups, PveBackupRow, texts.share_in_backup)
    return estate


def _rows(texts: list[msgspec.Raw], kind: type[RowT], share: Callable[[RowT], None]) -> list[RowT]:
    check, read = msgspec.json.Decoder(strict_type(kind)).decode, msgspec.json.Decoder(kind).decode
    rows: list[RowT] = []
    for text in texts:
        check(text)
        row = read(text)
        share(row)
        rows.append(row)
    texts.clear()
    return rows


def _decode_slowly(data: bytes) -> Estate:
    """Documents with smartctl's own output or snake-case counters, and those with a fault that must be named."""
    try:
        document = msgspec.json.decode(data)
    except RecursionError as error:
        raise EstateDocumentError(Fault("$", "the document is nested too deeply")) from error
    except msgspec.DecodeError as error:
        raise EstateDocumentError(Fault("$", f"not a JSON document: {error}")) from error
    if isinstance(document, dict):
        _check_version(document.get("version", SCHEMA_VERSION))
    read, gaps = _read_disks(document)
    try:
        msgspec.convert(document, type=_STRICT)
        estate = msgspec.convert(document, type=Estate)
    except (msgspec.ValidationError, RecursionError) as error:
        raise EstateDocumentError(find_fault(document, Estate) or Fault("$", str(error))) from error
    for position, row in read.items():
        estate.resources[position].disk = row
    estate.gaps.extend(gaps)
    return estate


def _read_disks(document: object) -> tuple[dict[int, DiskRow], list[Gap]]:
    """Takes smartctl's documents out of their resources, read; what they lack is a gap each."""
    read: dict[int, DiskRow] = {}
    gaps: list[Gap] = []
    resources = document.get("resources") if isinstance(document, dict) else None
    for position, resource in enumerate(resources if isinstance(resources, list) else ()):
        disk = resource.get("disk") if isinstance(resource, dict) else None
        if not isinstance(disk, dict):
            continue
        if not is_smartctl_document(disk):
            for key in _COUNTERS:
                _respell(disk.get(key))
            continue
        del resource["disk"]
        reading = parse_smartctl(disk)
        read[position] = reading.row
        if reading.shortfall is not None:
            gap = Gap(
                source=_text(resource.get("source")),
                topic=Topic.SMART,
                reason=reading.shortfall.reason,
                detail=reading.shortfall.detail,
                resource_id=_text(resource.get("id")) or _text(resource.get("name")) or f"$.resources[{position}]",
            )
            gaps.append(gap)
    return read, gaps


def is_smartctl_document(disk: dict[str, object]) -> bool:
    """Whether a `disk` is what `smartctl --json` printed, and no row of ours."""
    return "smartctl" in disk or "smart_status" in disk or isinstance(disk.get("device"), dict)


def _respell(counters: object) -> None:
    if isinstance(counters, dict):
        for snake, camel in _CAMEL_COUNTERS.items():
            if snake in counters and camel not in counters:
                counters[camel] = counters.pop(snake)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _check_version(version: object) -> None:
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise EstateDocumentError(Fault("$.version", f"expected a number from 1 to {SCHEMA_VERSION}, got {version!r}"))
    if version > SCHEMA_VERSION:
        raise EstateDocumentError(
            Fault(
                "$.version",
                f"the document has version {version}, this Patrol reads up to version {SCHEMA_VERSION}",
                remedy="upgrade patrold here, or write the document with the version that is installed here",
            )
        )


def _place_times(estate: Estate) -> None:
    """Gives times without a zone the zone of their instance, else UTC."""
    zones = {name: _zone(name, zone) for name, zone in estate.zones.items()}
    if estate.collected_at is not None:
        estate.collected_at = _placed(estate.collected_at, UTC)
    for alert in (*estate.alerts, *estate.resolved_alerts):
        if alert.start_time is not None:
            alert.start_time = _placed(alert.start_time, UTC)
    for over in estate.resolved_alerts:
        if over.resolved_time is not None:
            over.resolved_time = _placed(over.resolved_time, UTC)
    for resource in estate.resources:
        zone = zones.get(resource.instance, UTC)
        if resource.first_seen is not None:
            resource.first_seen = _placed(resource.first_seen, zone)
        for metric, reading in resource.metrics.items():
            if reading.at is not None and reading.at.tzinfo is None:
                resource.metrics[metric] = msgspec.structs.replace(reading, at=_placed(reading.at, zone))


def _zone(instance: str, name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (ValueError, OSError) as error:  # not a name, or ZoneInfoNotFoundError (a KeyError) below
        raise _unknown_zone(instance, name) from error
    except KeyError as error:
        raise _unknown_zone(instance, name) from error


def _unknown_zone(instance: str, name: str) -> EstateDocumentError:
    place = f"$.zones[{msgspec.json.encode(instance).decode()}]"
    return EstateDocumentError(Fault(place, f"unknown time zone {name!r}", remedy="use an IANA name: Europe/Berlin"))


def _placed(at: datetime, zone: tzinfo) -> datetime:
    if at.tzinfo is None:
        at = at.replace(tzinfo=zone)
    try:
        return at.astimezone(UTC)
    except OverflowError:  # the first or the last day that can be written
        return at.replace(tzinfo=UTC)


def _without_repeats(resources: list[Resource]) -> list[Resource]:
    """Drops repeats of equal content. Rows of two sources are two observations and both stay."""
    first: dict[str, int] = {}
    kept: list[Resource] = []
    for position, resource in enumerate(resources):
        if not (resource.id.strip() or resource.name.strip()):
            raise EstateDocumentError(Fault(f"$.resources[{position}].id", "a resource needs an id or a name"))
        earlier = first.setdefault(resource.id, position) if resource.id else position
        other_observer = bool(resource.source) and resource.source != resources[earlier].source
        if earlier == position or other_observer:
            kept.append(resource)
        elif resource != resources[earlier]:
            raise EstateDocumentError(
                Fault(
                    f"$.resources[{position}].id",
                    f"{resource.id!r} is the id of $.resources[{earlier}] as well, with other content",
                    remedy="give each resource its own id, or name the `source` of each observation",
                )
            )
    return kept
