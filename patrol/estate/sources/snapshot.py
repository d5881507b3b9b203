"""The source `snapshot`: an estate document, written by another program or by Patrol itself."""

import dataclasses
import os
import select
import stat
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from findings.model import Gap, GapReason, Sight, Topic
from patrol.estate.collect import merge_estates
from patrol.estate.document import decode_estate
from patrol.estate.faults import EstateDocumentError
from patrol.estate.impossible import METRIC_TOPICS
from patrol.estate.inventory import inventory_of
from patrol.estate.model import Estate, Resource, SourceState
from patrol.estate.sources.model import Collected, CollectRequest
from signals.evidence import InventoryOutput
from signals.garbage import paused_garbage_collection

STDIN = "-"
MAX_BYTES = 1 << 30
_CHUNK_BYTES = 1 << 20


class SnapshotReadError(Exception):
    """The document could not be read at all. `reason`: why, as a gap says it."""

    def __init__(self, message: str, reason: GapReason) -> None:
        super().__init__(message)
        self.reason = reason


class SnapshotSource:
    """An estate document from a file, or from standard input (`-`).

    Standard input can be read once: a second collection answers from the same document. `max_age`: a document
    that was collected (or, where it does not say, written) longer ago tells nothing of today. None: any age.
    """

    type = "snapshot"

    def __init__(self, name: str, path: Path | str, *, max_age: timedelta | None = None) -> None:
        self.name = name
        self.path = str(path)
        self.max_age = max_age
        self._from_stdin: bytes | None = None

    def collect(self, request: CollectRequest) -> Collected:
        """Reads the document. One that cannot be read or understood is a gap of the whole source."""
        request.progress(f"reading {self.path}")
        try:
            estate = self.load(deadline_seconds=request.deadline_seconds)
        except SnapshotReadError as error:
            return Collected(estate=self._unread(error.reason, str(error)))
        except EstateDocumentError as error:
            return Collected(estate=self._unread(GapReason.UNREADABLE, str(error)))
        age = self._age(estate, request.now)
        if self.max_age is not None and age is not None and age > self.max_age:
            hours = age / timedelta(hours=1)
            detail = f"{self.path} is {hours:.1f} h old; what it says may not hold any more"
            return Collected(estate=self._unread(GapReason.OUTDATED, detail))
        return Collected(estate=estate, is_merged=True)

    def _age(self, estate: Estate, now: datetime) -> timedelta | None:
        if estate.collected_at is not None:
            return now - estate.collected_at
        if self.path == STDIN:
            return None
        try:
            written = Path(self.path).stat().st_mtime
        except OSError:
            return None  # it was read a moment ago; the next collection says what happened to it
        return now - datetime.fromtimestamp(written, UTC)

    def load(self, *, deadline_seconds: float | None = None) -> Estate:
        """The estate, with canonical ids. Raises SnapshotReadError and EstateDocumentError."""
        with paused_garbage_collection():
            estate = decode_estate(self._document(deadline_seconds))  # its text is gone before anything is made of it
            return merge_estates([self._owned(estate)])

    def _document(self, deadline_seconds: float | None) -> bytes:
        if self._from_stdin is not None:
            return self._from_stdin
        data = read_document(self.path, deadline_seconds=deadline_seconds)
        if self.path == STDIN:
            self._from_stdin = data
        return data

    def _owned(self, estate: Estate) -> Estate:
        """Names this source where the document names none. Topics that it does not carry were not read."""
        if not estate.sources:
            estate.sources = [SourceState(name=self.name, type=self.type, read=topics_of(estate))]
        owner = estate.sources[0].name if len(estate.sources) == 1 else self.name
        for resource in estate.resources:
            resource.source = resource.source or owner
        estate.gaps = [gap if gap.source else dataclasses.replace(gap, source=owner) for gap in estate.gaps]
        explained = {gap.source for gap in estate.gaps if gap.topic is Topic.INVENTORY and gap.resource_id is None}
        estate.gaps += [
            Gap(
                source=state.name,
                topic=Topic.INVENTORY,
                reason=GapReason.FAILED,
                detail=state.detail or f"{self.path} says that {state.name} was not connected",
                sight=Sight.LOST,
            )
            for state in estate.sources
            if not state.connected and state.name not in explained
        ]
        return estate

    def _unread(self, reason: GapReason, detail: str) -> Estate:
        gap = Gap(
            source=self.name,
            topic=Topic.INVENTORY,
            reason=reason,
            detail=detail,
            fix=self._fix(reason),
            sight=Sight.LOST,
        )
        state = SourceState(name=self.name, type=self.type, connected=False, detail=detail)
        return Estate(sources=[state], gaps=[gap])

    def _fix(self, reason: GapReason) -> str:
        if reason is GapReason.UNREADABLE:
            return f"patrol schema estate prints what {self.path} must look like"
        if reason is GapReason.OUTDATED:
            return f"see to it that {self.path} is written again, or raise max_age of the source {self.name}"
        return ""


def load_inventory(path: Path | str) -> InventoryOutput:
    """The inventory that an estate document describes. Raises SnapshotReadError and EstateDocumentError."""
    return inventory_of(SnapshotSource("snapshot", path).load())


def topics_of(estate: Estate) -> list[Topic]:
    """What an estate carries readings of."""
    found = {Topic.INVENTORY} if estate.resources else set()
    for resource in estate.resources:
        found.update(_topics_on(resource))
    carried = (
        (Topic.ALERTS, estate.alerts or estate.resolved_alerts),
        (Topic.REPLICATION, estate.replication_jobs),
        (Topic.BACKUP_TASKS, estate.backup_tasks),
        (Topic.BACKUPS, estate.pbs_backups or estate.pve_backups or estate.backup_stores),
    )
    found.update(topic for topic, rows in carried if rows)
    return [topic for topic in Topic if topic in found]


def _topics_on(resource: Resource) -> set[Topic]:
    sections = (
        (Topic.FILESYSTEMS, resource.filesystems),
        (Topic.UNITS, resource.units),
        (Topic.TEMPERATURES, resource.sensors),
        (Topic.REACHABILITY, resource.probes),
        (Topic.SMART, resource.disk),
        (Topic.POOLS, resource.pool),
        (Topic.RAID, resource.raid),
        (Topic.CEPH, resource.ceph),
        (Topic.SNAPSHOTS, resource.snapshots),
        (Topic.NETWORK, resource.interfaces),
        (Topic.DISK_IO, resource.block_devices),
        (Topic.CONFIG, resource.config),
        (Topic.BTRFS, resource.pool.btrfs if resource.pool is not None else None),
    )
    topics = {topic for topic, section in sections if section is not None}
    if resource.metrics:
        topics.update(METRIC_TOPICS[metric] for metric in resource.metrics)
    return topics


def read_document(path: str, *, deadline_seconds: float | None = None, max_bytes: int = MAX_BYTES) -> bytes:
    """All bytes of a file, a pipe or standard input. Raises SnapshotReadError, also when it is too large or late."""
    try:
        if path == STDIN:
            return _read_all(sys.stdin.fileno(), "standard input", deadline_seconds, max_bytes)
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        reason = GapReason.NO_PERMISSION if isinstance(error, PermissionError) else GapReason.FAILED
        raise SnapshotReadError(f"{path} cannot be read: {error.strerror or error}", reason) from error
    except ValueError as error:  # a NUL in the name, or standard input that is closed
        raise SnapshotReadError(f"{path!r} cannot be read: {error}", GapReason.FAILED) from error
    try:
        return _read_all(descriptor, path, deadline_seconds, max_bytes)
    except OSError as error:
        raise SnapshotReadError(f"{path} cannot be read: {error.strerror or error}", GapReason.FAILED) from error
    finally:
        os.close(descriptor)


def _read_all(descriptor: int, name: str, deadline_seconds: float | None, max_bytes: int) -> bytes:
    until = None if deadline_seconds is None else time.monotonic() + deadline_seconds
    waits = not stat.S_ISREG(os.fstat(descriptor).st_mode)
    chunks = bytearray()
    while True:
        if waits and until is not None:
            ready, _, _ = select.select([descriptor], [], [], max(until - time.monotonic(), 0))
            if not ready:
                raise SnapshotReadError(f"{name} did not end within {deadline_seconds:g} s", GapReason.TIMED_OUT)
        chunk = os.read(descriptor, _CHUNK_BYTES)
        if not chunk:
            return bytes(chunks)
        chunks += chunk
        if len(chunks) > max_bytes:
            raise SnapshotReadError(f"{name} is larger than {max_bytes} bytes", GapReason.TOO_LARGE)
