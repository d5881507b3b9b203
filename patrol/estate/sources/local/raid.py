"""Software RAID arrays (md) of this host, from /proc/mdstat and sysfs: both are open to every user.

    md6 : active raid1 sdb2[2](F) sdc[1](S) sda2[0]
          195310144 blocks [2/1] [U_]
          [=>...................]  recovery =  8.5% (16775552/195310144) finish=17.0min speed=259783K/sec

[2/1]: made for two members, one of them in use. (F) failed, (S) spare. raid0 and linear print no such map: there
a lost member shows as (F) or as the state `broken` in sysfs. An array under `external:imsm` or `external:ddf`
is the container of firmware RAID: inactive by nature. What a row's `state` says is mdadm's vocabulary.
"""

import re
from collections.abc import Iterable, Iterator

from findings.identity import canonical_id
from findings.model import Gap, GapReason, Topic
from patrol.estate.model import Resource, ResourceType, Status
from patrol.estate.sources.local.host import Host, Part, Where, find_text, reason_of
from signals.storage_evidence import RaidDeviceRow, RaidRow

MDSTAT = "/proc/mdstat"

_ARRAY = re.compile(r"(?P<name>md\S*) : (?P<state>active|inactive)(?: \((?P<mode>[a-z-]+)\))?(?P<rest>.*)")
_MEMBER = re.compile(r"(?P<name>[^\s\[\]]+)\[(?P<number>\d{1,9})\](?P<flags>(?:\([A-Z]\))*)")
_MAP = re.compile(r"\[(\d{1,9})/(\d{1,9})\]")
_WORK = re.compile(r"(recovery|resync|check|reshape|repair)\s*=\s*(?:(\d{1,3}(?:\.\d+)?)%|(DELAYED|PENDING|REMOTE))")
_SPEED = re.compile(r"speed=(\S+)")
_CONTAINER = re.compile(r"super external:(?!/)\S+")

_AT_WORK = {
    "recovery": "recovering",
    "resync": "resyncing",
    "check": "checking",
    "reshape": "reshaping",
    "repair": "repairing",
}
_BROKEN = frozenset({"broken", "failed"})
_MEMBER_STATES = {"F": "faulty", "S": "spare", "J": "journal", "R": "replacement", "W": "write-mostly"}


def parse_mdstat(text: str) -> list[RaidRow]:
    """The arrays in /proc/mdstat. Counts that a line does not show are None."""
    return [_array(match, lines) for match, lines in _arrays(text)]


def read_raid(host: Host, where: Where) -> Part:
    """All md arrays. A kernel without md has none."""
    try:
        text = host.read_text(MDSTAT)
    except FileNotFoundError:
        return Part()
    except OSError as error:
        return Part(gaps=[_gap(where, error)], complete=False)
    resources = []
    for row in parse_mdstat(text):
        _add_sysfs(host, row)
        resources.append(_resource(where, row))
    return Part(resources=resources)


def _arrays(text: str) -> Iterator[tuple[re.Match[str], list[str]]]:
    head: re.Match[str] | None = None
    lines: list[str] = []
    for line in text.splitlines():
        match = _ARRAY.match(line)
        if match is None:
            lines.append(line)
            continue
        if head is not None:
            yield head, lines
        head, lines = match, []
    if head is not None:
        yield head, lines


def _array(head: re.Match[str], lines: Iterable[str]) -> RaidRow:
    below = "\n".join(lines)
    members = [_member(match) for match in _MEMBER.finditer(head["rest"])]
    words = head["rest"].split()
    failed = sum(member.state == "faulty" for member in members)
    spares = sum(member.state == "spare" for member in members)
    counts = _MAP.search(below)
    container = _CONTAINER.search(below) is not None
    row = RaidRow(
        device=f"/dev/{head['name']}",
        name=head["name"],
        level="container" if container else next((word for word in words[:1] if "[" not in word), ""),
        total_devices=len(members),
        working_devices=len(members) - failed,
        failed_devices=failed,
        spare_devices=spares,
        raid_devices=int(counts[1]) if counts else None,
        active_devices=int(counts[2]) if counts else None,
        devices=members,
    )
    row.state = ", ".join(_state_words(row, head["state"], head["mode"] or "", container=container))
    work = _WORK.search(below)
    if work:
        row.operation = work[1] if work[2] else f"{work[1]} {work[3].lower()}"
        row.rebuild_percent = float(work[2]) if work[2] else None
        row.state += f", {_AT_WORK[work[1]]}" if work[2] else ""
        speed = _SPEED.search(below, work.end())
        row.rebuild_speed = speed[1] if speed else None
    return row


def _state_words(row: RaidRow, state: str, mode: str, *, container: bool) -> Iterator[str]:
    yield "container" if container else state
    if row.raid_devices is not None and row.active_devices is not None and row.active_devices < row.raid_devices:
        yield "degraded"
    if mode:
        yield mode


def _member(match: re.Match[str]) -> RaidDeviceRow:
    flags = match["flags"]
    # A failed spare is failed first of all.
    state = next((word for flag, word in _MEMBER_STATES.items() if f"({flag})" in flags), "active")
    return RaidDeviceRow(device=f"/dev/{match['name']}", state=state)


def _add_sysfs(host: Host, row: RaidRow) -> None:
    """What mdstat leaves out: whether a raid0 is broken, and the counts of an array whose line shows no map."""
    directory = f"/sys/block/{row.name}/md"
    row.uuid = _attribute(host, f"{directory}/uuid") or None
    if _attribute(host, f"{directory}/array_state") in _BROKEN:
        row.state += ", broken"
    made_for = _attribute(host, f"{directory}/raid_disks").split(" ", maxsplit=1)[0]  # "4 (3)" during a reshape
    missing = _attribute(host, f"{directory}/degraded")
    if row.raid_devices is None and made_for.isdecimal() and missing.isdecimal() and row.level != "container":
        row.raid_devices = int(made_for)
        row.active_devices = max(0, int(made_for) - int(missing))
        row.state += ", degraded" if int(missing) else ""


def _attribute(host: Host, path: str) -> str:
    """A sysfs attribute; "" where this kernel or this array has none."""
    return (find_text(host, path) or "").strip()


def _resource(where: Where, row: RaidRow) -> Resource:
    name = row.name or ""
    row.id = canonical_id(ResourceType.RAID, where.hostname, name)
    return Resource(
        id=row.id,
        type=ResourceType.RAID,
        name=name,
        status=Status.OFFLINE if row.state.startswith("inactive") else Status.ONLINE,
        aliases=[row.device, *([row.uuid] if row.uuid else [])],
        parent=where.host_id,
        source=where.source,
        raid=row,
    )


def _gap(where: Where, error: OSError) -> Gap:
    reason = reason_of(error)
    return Gap(
        source=where.source,
        topic=Topic.RAID,
        reason=reason,
        detail=f"{MDSTAT} could not be read: {error.strerror or error}",
        fix=f"let this user read {MDSTAT}" if reason is GapReason.NO_PERMISSION else "",
    )
