"""A small world that changes for months: what is true in it, what each of its sources can see, and what that means."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

import msgspec

from findings.kinds import Kind
from findings.model import Finding, Gap, GapReason, Look, Topic
from patrol.estate.model import Estate, Metric, Reading, Resource, ResourceType, SourceState, Status
from signals.evidence import DiskRow, UnitRow
from signals.storage_evidence import FilesystemRow

USAGES = (None, 40.0, 72.0, 80.0, 88.0, 96.0)
UNITS = ("nginx.service", "cron.service", "db.service")
LAB, LOCAL = "lab", "local"
NODE, PEER, GUEST = "node:lab:n1", "node:lab:n2", "vm:lab:101"

FILES = {
    "higher": '{"agentDefaults": {"disk": {"trigger": 90, "clear": 85}, "memory": {"trigger": 80, "clear": 75}}}',
    "off": '{"agentDefaults": {"disk": {"trigger": 0, "clear": 0}, "memory": {"trigger": 80, "clear": 75}}}',
    "broken": '{"agentDefaults": {"disk": ',
}
PAIRS: dict[str, tuple[float, float] | None] = {"built-in": (75, 70), "higher": (90, 85), "off": None}
"""Trigger and clear of a file system on the host, by what is in force; None: not checked."""


class Condition(NamedTuple):
    """Something that can be wrong with one thing, whatever the thing is called at the time."""

    thing: str
    kind: str
    subject: str = ""


@dataclass
class World:
    """What is true. A value that is None cannot be measured at the moment."""

    host_name: str = "hosta"
    usage: float | None = 40.0
    memory: float | None = 30.0
    units: frozenset[str] | None = frozenset()
    disk_there: bool = True
    serial_known: bool = True
    verdict: str | None = "PASSED"
    node_online: bool = True
    guest_memory: float = 30.0
    in_force: str = "built-in"
    down: dict[str, int] = field(default_factory=lambda: {LOCAL: 0, LAB: 0})  # runs in a row without each source
    without_disk: int = 0  # complete runs in a row

    def parts(self, at: datetime, blind: frozenset[str]) -> dict[str, Estate | Exception]:
        """What each source brings. A source that is blind raises, or says that it could not connect."""
        parts: dict[str, Estate | Exception] = {LOCAL: self._local(at), LAB: self._lab(at)}
        for name in blind:
            parts[name] = RuntimeError("no route to host")
        return parts

    def seen(self, blind: frozenset[str], *, full: bool) -> None:
        """Counts what lasts from run to run."""
        for name in self.down:
            self.down[name] = self.down[name] + 1 if name in blind else 0
        if LOCAL not in blind and self.disk_there:
            self.without_disk = 0
        elif LOCAL not in blind and full:
            self.without_disk += 1

    def _local(self, at: datetime) -> Estate:
        gaps = []
        host = Resource(
            id=f"agent:local:{self.host_name}",
            type=ResourceType.AGENT,
            name=self.host_name,
            aliases=["machine-id:m1"],
            status=Status.ONLINE,
            source=LOCAL,
            metrics={} if self.memory is None else {Metric.MEMORY: Reading(value=self.memory)},
            filesystems=None if self.usage is None else [_root(self.usage)],
            units=None if self.units is None else [UnitRow(name=each, state="failed") for each in sorted(self.units)],
            sensors=[],
        )
        if self.usage is None:
            gaps.append(_gap(Topic.FILESYSTEMS, host.id))
        resources = [host]
        if self.disk_there:
            resources.append(self._disk(host.id))
            if self.verdict is None:
                gaps.append(_gap(Topic.SMART, resources[1].id))
        return _estate(LOCAL, at, resources, gaps)

    def _disk(self, host_id: str) -> Resource:
        serial = "S1" if self.serial_known else None
        return Resource(
            id="disk:serial:S1" if serial else f"disk:{self.host_name}:sda",
            type=ResourceType.DISK,
            name="sda",
            source=LOCAL,
            parent=host_id,
            disk=DiskRow(
                device="sda",
                dev_path="/dev/sda",
                serial=serial,
                health=self.verdict,
                type="sata",
                smart_complete=self.verdict is not None,
            ),
        )

    def _lab(self, at: datetime) -> Estate:
        up = self.node_online
        guest = _in_lab(GUEST, ResourceType.VM, "web", Status.RUNNING if up else Status.UNKNOWN)
        guest = msgspec.structs.replace(guest, vmid=101, parent=NODE)
        guest.metrics = {Metric.MEMORY: Reading(value=self.guest_memory)} if up else {}
        node = _in_lab(NODE, ResourceType.NODE, "n1", Status.ONLINE if up else Status.OFFLINE)
        return _estate(LAB, at, [node, _in_lab(PEER, ResourceType.NODE, "n2", Status.ONLINE), guest], [])

    def looks(self, blind: frozenset[str]) -> dict[Condition, Look]:
        """What a full run can see of each condition: to be asked after `seen`."""
        looks = {}
        if LOCAL not in blind:
            looks[Condition("host", Kind.HIGH_DISK, "/")] = self._usage_look()
            looks[Condition("host", Kind.HIGH_MEMORY)] = _either(self.memory, 80)
            for unit in UNITS:
                looks[Condition("host", Kind.UNIT_FAILED, unit)] = (
                    Look.BLIND if self.units is None else Look.PRESENT if unit in self.units else Look.CLEAR
                )
            if self.disk_there:
                looks[Condition("disk", Kind.SMART_FAILURE)] = _VERDICTS[self.verdict]
        if LAB not in blind:
            looks[Condition("node", Kind.NODE_OFFLINE)] = Look.CLEAR if self.node_online else Look.PRESENT
            looks[Condition("guest", Kind.HIGH_MEMORY)] = (
                _either(self.guest_memory, 80) if self.node_online else Look.BLIND
            )
        for name, runs in self.down.items():
            looks[Condition(name, Kind.SOURCE_BLIND)] = (Look.CLEAR, Look.HELD, Look.PRESENT)[min(runs, 2)]
        return looks

    def _usage_look(self) -> Look:
        pair = PAIRS[self.in_force]
        if self.usage is None or pair is None:
            return Look.BLIND
        trigger, clear = pair
        return Look.PRESENT if self.usage > trigger else Look.CLEAR if self.usage < clear else Look.HELD

    @property
    def disk_checked(self) -> bool:
        """Whether file systems on the host are checked at all."""
        return PAIRS[self.in_force] is not None


_VERDICTS = {None: Look.BLIND, "PASSED": Look.CLEAR, "FAILED": Look.PRESENT}
_THINGS = {"agent": "host", "disk": "disk", "vm": "guest", "node": "node"}


def condition_of(finding: Finding) -> Condition:
    """What a finding is about, whatever its resource is called."""
    kind, _, native = finding.resource_id.partition(":")
    thing = native.rpartition(":")[2] if kind == "source" else _THINGS[kind]
    return Condition(thing, finding.kind, finding.subject)


def _either(value: float | None, limit: float) -> Look:
    return Look.BLIND if value is None else Look.PRESENT if value > limit else Look.CLEAR


def _root(usage: float) -> FilesystemRow:
    return FilesystemRow(device="/dev/sda1", mountpoint="/", type="ext4", usage_percent=usage)


def _gap(topic: Topic, resource_id: str) -> Gap:
    return Gap(source=LOCAL, topic=topic, reason=GapReason.FAILED, detail="it failed", resource_id=resource_id)


def _in_lab(resource_id: str, kind: ResourceType, name: str, status: Status) -> Resource:
    return Resource(id=resource_id, type=kind, name=name, status=status, source=LAB, instance=LAB)


def _estate(source: str, at: datetime, resources: list[Resource], gaps: list[Gap]) -> Estate:
    state = SourceState(name=source, type="given", read=list(Topic))
    return Estate(collected_at=at, resources=resources, gaps=gaps, sources=[state])
