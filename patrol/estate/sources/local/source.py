"""The source `local`: everything that is read of this host, put together."""

import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TypeVar

import msgspec

from findings.model import Topic
from patrol.estate.model import Estate, Metric, Reading, Resource, ResourceType, SourceState, Status
from patrol.estate.sources.local.btrfs import read_btrfs
from patrol.estate.sources.local.cpu import read_cpu
from patrol.estate.sources.local.disk_io import read_disk_io
from patrol.estate.sources.local.disks import read_disks
from patrol.estate.sources.local.filesystems import read_filesystems
from patrol.estate.sources.local.host import Host, Part, Where
from patrol.estate.sources.local.identity import Identity, read_identity
from patrol.estate.sources.local.memory import read_memory
from patrol.estate.sources.local.network import read_network
from patrol.estate.sources.local.parallel import ParallelReaders, Reader
from patrol.estate.sources.local.pressure import read_pressure
from patrol.estate.sources.local.privileged import AnsweredHost
from patrol.estate.sources.local.privileged_file import Found
from patrol.estate.sources.local.raid import read_raid
from patrol.estate.sources.local.temperatures import read_temperatures
from patrol.estate.sources.local.units import read_units
from patrol.estate.sources.local.zfs import read_zfs
from patrol.estate.sources.model import Collected, CollectRequest

Row = TypeVar("Row")


def _plain(read: Callable[[Host, Where], Part]) -> Callable[[Host, Where, CollectRequest], Part]:
    return lambda host, where, _request: read(host, where)


def _read_cpu(host: Host, where: Where, request: CollectRequest) -> Part:
    return read_cpu(host, where, now=request.now, previous=request.previous)


def _read_network(host: Host, where: Where, request: CollectRequest) -> Part:
    return read_network(host, where, now=request.now, previous=request.previous)


def _read_disk_io(host: Host, where: Where, request: CollectRequest) -> Part:
    return read_disk_io(host, where, now=request.now, previous=request.previous)


def _read_disks(host: Host, where: Where, request: CollectRequest) -> Part:
    return read_disks(host, where, progress=request.progress)


# What cannot hang comes first: a dead pool may keep every thread that touches disks until the deadline.
READERS = (
    Reader(label="CPU", topics=(Topic.CPU,), read=_read_cpu),
    Reader(label="memory", topics=(Topic.MEMORY, Topic.SWAP), read=_plain(read_memory)),
    Reader(label="pressure", topics=(Topic.PRESSURE,), read=_plain(read_pressure)),
    Reader(label="network", topics=(Topic.NETWORK,), read=_read_network),
    Reader(label="disk input/output", topics=(Topic.DISK_IO,), read=_read_disk_io),
    Reader(label="temperatures", topics=(Topic.TEMPERATURES,), read=_plain(read_temperatures)),
    Reader(label="units", topics=(Topic.UNITS,), read=_plain(read_units)),
    Reader(label="RAID arrays", topics=(Topic.RAID,), read=_plain(read_raid)),
    Reader(label="file systems", topics=(Topic.FILESYSTEMS,), read=_plain(read_filesystems)),
    Reader(label="btrfs", topics=(Topic.BTRFS,), read=_plain(read_btrfs)),
    Reader(label="ZFS pools", topics=(Topic.POOLS,), read=_plain(read_zfs)),
    Reader(label="disks", topics=(Topic.SMART,), read=_read_disks),
)

LIGHT_TOPICS = frozenset({Topic.CPU, Topic.MEMORY, Topic.SWAP, Topic.PRESSURE})
LIGHT_READERS = tuple(reader for reader in READERS if LIGHT_TOPICS.issuperset(reader.topics))
"""What can be read each minute: files of the kernel, no disk and no program."""


class LocalSource:
    """This host, read without root as far as that goes. `answers`: finds what root has read of it."""

    type = "local"

    def __init__(
        self,
        name: str = "local",
        host: Host | None = None,
        readers: Sequence[Reader] = READERS,
        answers: Callable[[Host, datetime], Found] = lambda _host, _now: Found(),
    ) -> None:
        self.name = name
        self._host = host or Host()
        self._readers = ParallelReaders(readers)
        self._answers = answers

    def collect(self, request: CollectRequest) -> Collected:
        """Reads everything it can before the deadline. Never raises for what could not be read."""
        began = time.monotonic()
        identity = read_identity(self._host)
        where = Where(source=self.name, host_id=identity.host_id, hostname=identity.hostname)
        found = self._answers(self._host, request.now)
        host = self._host if found.answers is None else AnsweredHost(self._host, found.answers)
        parts = self._readers.read(host, where, request)
        state = SourceState(
            name=self.name,
            type=self.type,
            detail="; ".join(filter(None, (identity.surroundings, found.said))),
            duration_seconds=round(time.monotonic() - began, 3),
            read=[Topic.INVENTORY, *(topic for reader, part in parts for topic in _topics_read(reader, part))],
        )
        return _assemble(identity, state, [part for _, part in parts], request)


def _topics_read(reader: Reader, part: Part) -> list[Topic]:
    """The topics read completely: where a part is not complete, those of its topics that no gap names."""
    if part.complete:
        return list(reader.topics)
    with_gap = {gap.topic for gap in part.gaps}
    return [topic for topic in reader.topics if with_gap and topic not in with_gap]


def _assemble(identity: Identity, state: SourceState, parts: Sequence[Part], request: CollectRequest) -> Collected:
    hung_on = [resource for part in parts for resource in part.resources]
    for resource in hung_on:
        resource.source = resource.source or state.name
        resource.parent = resource.parent or identity.host_id
    estate = Estate(
        collected_at=request.now,
        resources=[_host_resource(identity, state.name, parts, request), *hung_on],
        gaps=[gap for part in parts for gap in part.gaps],
        sources=[state],
    )
    counters = {(identity.host_id, name): counter for part in parts for name, counter in part.counters.items()}
    return Collected(estate=estate, counters=counters)


def _host_resource(identity: Identity, source: str, parts: Sequence[Part], request: CollectRequest) -> Resource:
    memory = next((part.memory for part in parts if part.memory is not None), None)
    metrics: dict[Metric, Reading] = {}
    for part in parts:
        for metric, reading in part.metrics.items():
            metrics[metric] = msgspec.structs.replace(reading, at=reading.at or request.now)
    return Resource(
        id=identity.host_id,
        type=ResourceType.AGENT,
        name=identity.hostname,
        status=Status.ONLINE,
        aliases=list(identity.aliases),
        source=source,
        os=identity.os,
        cores=identity.cores,
        memory_total_bytes=memory.total_bytes if memory else None,
        memory_used_bytes=memory.used_bytes if memory else None,
        memory_arc_bytes=(memory.arc_bytes or None) if memory else None,
        metrics=metrics,
        filesystems=_joined(part.filesystems for part in parts),
        units=_joined(part.units for part in parts),
        sensors=_joined(part.sensors for part in parts),
        interfaces=_joined(part.interfaces for part in parts),
        block_devices=_joined(part.block_devices for part in parts),
    )


def _joined(sections: Iterable[Sequence[Row] | None]) -> list[Row] | None:
    """One list of what was read; None where nothing was: an empty list says that nothing is there."""
    known = [section for section in sections if section is not None]
    return [row for section in known for row in section] if known else None
