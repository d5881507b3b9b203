"""What the devices of a ZFS pool say about it: which are lost, and whether redundancy is left. Pure.

tank        DEGRADED
  raidz2-0  DEGRADED      may lose two of its devices, has lost one: redundancy left
    sda     ONLINE
    spare-1 DEGRADED      a hot spare took over and holds a full copy: nothing lost, but a disk is dead
      sdb   FAULTED
      sde   INUSE
  logs
    sdf     UNAVAIL       no data is on it that the pool cannot do without
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from signals.storage_evidence import VdevRow

UNUSABLE = frozenset({"FAULTED", "UNAVAIL", "OFFLINE", "REMOVED", "SUSPENDED"})
"""States of a device from which nothing is read."""

_LOST = UNUSABLE | {"DEGRADED"}
"""A single device is DEGRADED where ZFS keeps it although it counts too many errors."""

HOLDS_DATA = frozenset({"data", "special", "dedup"})
"""Roles whose loss is the loss of the pool. Logs, caches and spares can be done without."""

_PARITY = re.compile(r"(?:raidz|draid)(\d?)")
_STAND_INS = ("spare-", "replacing-")


class Members(NamedTuple):
    """The devices of a pool as they are. `dead`: unusable, or kept with too many errors."""

    dead: list[VdevRow]
    without_redundancy: list[str]  # top-level vdevs that hold data and can lose nothing more


class _Node(NamedTuple):
    row: VdevRow
    children: "list[_Node]"


def judge_members(rows: Sequence[VdevRow]) -> Members:
    """What is wrong with the devices of a pool, from its vdevs in the order of the pool's own listing."""
    tops = _tree(rows)
    dead = [node.row for top in tops for node in _leaves(top) if _state(node.row) in _LOST]
    bare = [top.row.name for top in tops if top.row.role in HOLDS_DATA and _is_without_redundancy(top)]
    return Members(dead, bare)


def _tree(rows: Sequence[VdevRow]) -> list[_Node]:
    # Groups like spare-0 may repeat in a pool: the one listed last before a device is its own.
    latest: dict[str, _Node] = {}
    tops: list[_Node] = []
    for row in rows:
        node = _Node(row, [])
        above = latest.get(row.parent) if row.parent else None
        (above.children if above else tops).append(node)
        latest[row.name] = node
    return tops


def _leaves(node: _Node) -> Iterator[_Node]:
    if not node.children:
        yield node
    for child in node.children:
        yield from _leaves(child)


def _state(row: VdevRow) -> str:
    return row.state.strip().upper()  # ZFS writes capitals; a program in between may not


def _is_without_redundancy(top: _Node) -> bool:
    lost = sum(not _holds_copy(child) for child in top.children) if top.children else not _holds_copy(top)
    return lost > 0 and lost >= _may_lose(top)


def _may_lose(top: _Node) -> int:
    name = top.row.name
    parity = _PARITY.match(name)
    if parity:
        return int(parity[1] or 1)
    return len(top.children) - 1 if name.startswith("mirror") else 0


def _holds_copy(node: _Node) -> bool:
    if node.row.name.startswith(_STAND_INS) and node.children:
        return any(_holds_copy(child) and "resilvering" not in child.row.note for child in node.children)
    return _state(node.row) not in UNUSABLE
