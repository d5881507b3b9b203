"""What `zpool status -j` prints (OpenZFS 2.3 and later), as rows. Pure parsing.

A pool is an object with `state`, `status`, `error_count`, `scan_stats {function, state, errors}` and `vdevs`:
its root vdev, whose own `vdevs` are the top-level ones, and so on. Vdevs of other roles stand beside it under
`logs`, `l2cache`, `spares`, `special` and `dedup`. Numbers are text unless asked for otherwise.
"""

from collections.abc import Iterator, Mapping

import msgspec

from patrol.estate.sources.local.zfs_text import ROLES, parse_number
from signals.storage_evidence import VdevRow, ZfsRow

_STATES = {"HEALTHY": "ONLINE", "CANT_OPEN": "UNAVAIL", "UNAVAILABLE": "UNAVAIL"}
"""Internal names of states that stand for the ones zpool prints in its table."""

_TOO_MANY = 1 << 63
"""No count of anything; no encoder takes it either."""

_DEEPEST = 8
"""Vdevs nest at most: root, top level, spare, replacing, disk. More is not a pool."""


def parse_status_json(text: str | bytes) -> list[ZfsRow]:
    """The pools of `zpool status -j`. Raises msgspec.DecodeError for text that is not such a document."""
    document = msgspec.json.decode(text)
    if not isinstance(document, dict) or not isinstance(document.get("pools"), dict):
        raise msgspec.DecodeError("there is no object `pools` in it")
    return [_pool(str(name), pool) for name, pool in document["pools"].items() if isinstance(pool, dict)]


def _pool(name: str, pool: Mapping[str, object]) -> ZfsRow:
    root, children = _root(name, pool)
    scan = _object(pool, "scan_stats") or _object(pool, "scan")
    resilvers = _word(scan, "function") == "RESILVER" and _word(scan, "state") == "SCANNING"
    vdevs = list(_vdevs(children, "data", "", resilvers=resilvers))
    for key, role in ROLES.items():
        vdevs += _vdevs(_object(pool, key), role, "", resilvers=resilvers)
    return ZfsRow(
        name=str(pool.get("name", name)),
        state=_state(pool),
        read_errors=_count(root, "read_errors"),
        write_errors=_count(root, "write_errors"),
        checksum_errors=_count(root, "checksum_errors"),
        scan=_scan(scan),
        data_errors=_number(pool, "error_count"),
        status=_text(pool, "status"),
        vdevs=vdevs,
    )


def _root(name: str, pool: Mapping[str, object]) -> tuple[Mapping[str, object], Mapping[str, object]]:
    """The pool's own counters and its top-level vdevs."""
    tree = _object(pool, "vdev_tree")
    if tree:
        return _object(tree, "stats"), _object(tree, "vdevs")
    vdevs = _object(pool, "vdevs")
    root = _object(vdevs, name)
    return (root, _object(root, "vdevs")) if root else ({}, vdevs)


def _vdevs(
    group: Mapping[str, object], role: str, parent: str, *, resilvers: bool, depth: int = 0
) -> Iterator[VdevRow]:
    for key, vdev in group.items():
        if not isinstance(vdev, dict) or depth > _DEEPEST:
            continue
        name = _text(vdev, "name") or str(key)
        children = _object(vdev, "vdevs")
        rebuilt = resilvers and not children and _count(vdev, "scan_processed") > 0
        own_role = role if parent else ROLES.get(_text(vdev, "class"), role)
        yield VdevRow(
            name=name,
            role=own_role,
            state=_state(vdev),
            path=_text(vdev, "path"),
            parent=parent,
            read_errors=_count(vdev, "read_errors"),
            write_errors=_count(vdev, "write_errors"),
            checksum_errors=_count(vdev, "checksum_errors"),
            note="resilvering" if rebuilt else _was(vdev),
        )
        yield from _vdevs(children, own_role, name, resilvers=resilvers, depth=depth + 1)


def _was(vdev: Mapping[str, object]) -> str:
    before = _text(vdev, "was")
    return f"was {before}" if before else ""


def _scan(scan: Mapping[str, object]) -> str:
    if not scan:
        return ""
    parts = [_text(scan, "function").lower() or "scan", _text(scan, "state").lower()]
    errors = _number(scan, "errors")
    if errors is not None:
        parts.append(f"with {errors} errors")
    ended = _text(scan, "end_time")
    if ended and ended != "-":
        parts.append(f"on {ended}")
    return " ".join(part for part in parts if part)


def _object(parent: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = parent.get(key)
    return value if isinstance(value, dict) else {}


def _text(parent: Mapping[str, object], key: str) -> str:
    value = parent.get(key)
    return value if isinstance(value, str) else ""


def _word(parent: Mapping[str, object], key: str) -> str:
    return _text(parent, key).upper()


def _state(parent: Mapping[str, object]) -> str:
    state = _word(parent, "state")
    return _STATES.get(state, state)


def _number(parent: Mapping[str, object], key: str) -> int | None:
    value = parent.get(key)
    if isinstance(value, str):
        return parse_number(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _TOO_MANY else None


def _count(parent: Mapping[str, object], key: str) -> int:
    return _number(parent, key) or 0
