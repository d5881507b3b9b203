"""ZFS pools of this host: state, vdevs, errors and space.

`zpool status` and `zfs list` work for any user where /dev/zfs is open to all, as packages leave it. They hang,
unkillably, on a pool whose I/O is suspended: the kernel's own word on each pool
(/proc/spl/kstat/zfs/POOL/state, which never blocks) is read first, and a suspended pool is not asked about.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from findings.identity import canonical_id
from findings.model import Gap, GapReason, Topic
from patrol.estate.model import Resource, ResourceType, Status
from patrol.estate.sources.local.host import Host, Part, ProgramMissingError, ProgramTimedOutError, Where, find_text
from patrol.estate.sources.local.root_command import run_as_root
from patrol.estate.sources.local.zfs_json import parse_status_json
from patrol.estate.sources.local.zfs_text import parse_number, parse_pool_list, parse_status
from signals.storage_evidence import PoolRow, ZfsRow

KSTAT = "/proc/spl/kstat/zfs"
SUSPENDED = "SUSPENDED"

_BOUND_SECONDS = 10
_GIB = 1 << 30
_FORMS = (("-j", "-p"), ("-p",), ())
"""Forms of `zpool status`, newest first: JSON since OpenZFS 2.3, exact numbers since 0.8."""

_LIST_COLUMNS = ("name", "size", "alloc", "free", "cap", "health", "frag")
_SPACE_COLUMNS = ("name", "used", "available")
_CONTAINER_MARKS = ("/.dockerenv", "/run/.containerenv", "/run/systemd/container")

_DENIED = ("ermission denied", "must be run as root", "/dev/zfs")
"""Signs in zpool's complaints that this process may not, or cannot, open /dev/zfs."""

_INSTALL = "install the ZFS tools (Debian, Ubuntu, Proxmox: apt install zfsutils-linux)"
_OWN_MODE = "or let this user open /dev/zfs, as packages leave it: sudo chmod 0666 /dev/zfs"


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSpace:
    """Bytes as `df` sees them at the top of a pool, after parity, reservations and slop."""

    used: int
    available: int

    @property
    def usage_percent(self) -> float | None:
        """Df's rule, used / (used + available); None for a pool without size."""
        whole = self.used + self.available
        return 100 * self.used / whole if whole > 0 else None


class _UnreadError(Exception):
    """A reading failed; carries its reason, detail and remedy for the gap."""

    def __init__(self, reason: GapReason, detail: str, fix: str = "") -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail
        self.fix = fix


def read_zfs(host: Host, where: Where) -> Part:
    """All imported pools. A host without ZFS, and a container that only sees its host's module, has nothing."""
    states = read_states(host)
    if states is None:
        return Part()
    asked = [name for name, state in states.items() if state != SUSPENDED]
    gaps = [_suspended_gap(where, name) for name in states if name not in asked]
    rows: list[ZfsRow] = []
    usage: Mapping[str, PoolRow] = {}
    try:
        # Without a suspended pool every pool is asked about: one that failed to import has no kernel state.
        rows = _read_status(host, asked if gaps else []) if asked or not gaps else []
        usage = _read_usage(host, [row.name for row in rows])
    except _UnreadError as error:
        if states or error.reason is not GapReason.TOOL_MISSING:
            gaps.append(_gap(where, error))
    known = {row.name for row in rows}
    rows += [ZfsRow(name=name, state=state) for name, state in states.items() if state and name not in known]
    resources = [_resource(where, row, usage.get(row.name)) for row in rows]
    return Part(resources=resources, gaps=gaps, complete=not gaps)


def read_states(host: Host) -> dict[str, str] | None:
    """The kernel's word on each pool, "" where it is too old to say; None where there is no ZFS to look at."""
    try:
        names = [name for name in host.list_names(KSTAT) if host.path(f"{KSTAT}/{name}").is_dir()]
    except OSError:
        return None
    if not host.path("/dev/zfs").exists() and any(host.path(mark).exists() for mark in _CONTAINER_MARKS):
        return None
    return {name: (find_text(host, f"{KSTAT}/{name}/state") or "").strip().upper() for name in names}


def read_space(host: Host, pools: Sequence[str]) -> dict[str, PoolSpace]:
    """Space of each named pool; {} where `zfs list` cannot say. Never name a suspended pool: the call would hang."""
    try:
        done = host.run(
            ["zfs", "list", "-Hp", "-d", "0", "-o", ",".join(_SPACE_COLUMNS), *pools], timeout_seconds=_BOUND_SECONDS
        )
    except (ProgramMissingError, ProgramTimedOutError, OSError):
        return {}
    space: dict[str, PoolSpace] = {}
    for name, row in parse_pool_list(done.stdout, _SPACE_COLUMNS).items():
        used, available = parse_number(row["used"]), parse_number(row["available"])
        if used is not None and available is not None:
            space[name] = PoolSpace(used=used, available=available)
    return space


def _read_status(host: Host, names: Sequence[str]) -> list[ZfsRow]:
    """The pools by `zpool status`, in the newest form that the installed release knows. Raises _UnreadError."""
    asked = ((form, _run(host, ["zpool", "status", *form, *names], has_older_form=bool(form))) for form in _FORMS)
    form, output = next((form, output) for form, output in asked if output is not None)  # the oldest form answers
    if output.strip() in {"", "no pools available"}:
        return []
    try:
        return parse_status_json(output) if "-j" in form else parse_status(output)
    except msgspec.DecodeError as error:
        detail = f"zpool status -j printed something else than its document: {error}"
        raise _UnreadError(GapReason.UNREADABLE, detail) from error


def _read_usage(host: Host, names: Sequence[str]) -> dict[str, PoolRow]:
    """Usage of pools as rows that carry nothing else.

    `zfs list` is preferred: `zpool list` counts parity, and leaves out what ZFS keeps for itself. Raises _UnreadError.
    """
    if not names:
        return {}
    space = read_space(host, names)
    usage = {
        name: PoolRow(
            usage_percent=pool.usage_percent,
            used_gb=pool.used / _GIB,
            free_gb=pool.available / _GIB,
            total_gb=(pool.used + pool.available) / _GIB,
        )
        for name, pool in space.items()
    }
    if all(name in usage for name in names):
        return usage
    output = _run(host, ["zpool", "list", "-Hp", "-o", ",".join(_LIST_COLUMNS), *names]) or ""
    for name, row in parse_pool_list(output, _LIST_COLUMNS).items():
        usage.setdefault(name, usage_of_list(row))
    return usage


def usage_of_list(row: Mapping[str, str]) -> PoolRow:
    """Usage from a row of `zpool list`, "-" is not measured (a pool that is UNAVAIL has no size)."""
    size, used, free = (parse_number(row.get(column, "")) for column in ("size", "alloc", "free"))
    return PoolRow(
        usage_percent=parse_number(row.get("cap", "")),
        used_gb=None if used is None else used / _GIB,
        free_gb=None if free is None else free / _GIB,
        total_gb=None if size is None else size / _GIB,
    )


def _run(host: Host, argv: Sequence[str], *, has_older_form: bool = False) -> str | None:
    """What a program printed; None where this release does not know an option. Raises _UnreadError."""
    try:
        done = host.run(argv, timeout_seconds=_BOUND_SECONDS)
    except ProgramMissingError as error:
        raise _UnreadError(GapReason.TOOL_MISSING, f"{argv[0]} is not installed", _INSTALL) from error
    except ProgramTimedOutError as error:
        detail = f"{' '.join(argv[:2])} did not answer within {_BOUND_SECONDS} s: a pool may hang"
        raise _UnreadError(GapReason.TIMED_OUT, detail, "look at `dmesg` for the devices of the pool") from error
    except OSError as error:
        raise _UnreadError(GapReason.FAILED, f"{argv[0]} could not be started: {error}") from error
    if done.returncode == 0:
        return done.stdout
    complaint = done.stderr.strip()
    if has_older_form and ("invalid option" in complaint or "unrecognized option" in complaint):
        return None
    first = complaint.splitlines()[0] if complaint else f"exit status {done.returncode}"
    if any(sign in complaint for sign in _DENIED):
        raise _UnreadError(GapReason.NO_PERMISSION, f"{' '.join(argv[:2])}: {first}", f"{run_as_root()}; {_OWN_MODE}")
    raise _UnreadError(GapReason.FAILED, f"{' '.join(argv[:2])}: {first}")


def _gap(where: Where, error: _UnreadError) -> Gap:
    return Gap(source=where.source, topic=Topic.POOLS, reason=error.reason, detail=error.detail, fix=error.fix)


def _suspended_gap(where: Where, name: str) -> Gap:
    return Gap(
        source=where.source,
        topic=Topic.POOLS,
        reason=GapReason.FAILED,
        detail=f"pool {name} is suspended: programs that ask about its devices would hang, so none was asked",
        resource_id=_pool_id(where, name),
        fix=f"reconnect the devices of the pool, then run: zpool clear {name}",
    )


def _pool_id(where: Where, name: str) -> str:
    return canonical_id(ResourceType.STORAGE, where.hostname, name)


def _resource(where: Where, row: ZfsRow, usage: PoolRow | None) -> Resource:
    pool = usage or PoolRow()
    pool.id = _pool_id(where, row.name)
    pool.name = row.name
    pool.node = where.hostname
    pool.type = "zfspool"
    pool.status = row.state.lower()
    pool.zfs = row
    return Resource(
        id=pool.id,
        type=ResourceType.STORAGE,
        name=row.name,
        status=Status.ONLINE if row.state in {"ONLINE", "DEGRADED"} else Status.OFFLINE,
        parent=where.host_id,
        source=where.source,
        pool=pool,
    )
