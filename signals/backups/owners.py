"""Whose backup a row is about: from the ids that it carries to the one guest that it means.

A VMID is unique inside one instance (a cluster), never across them, and the node is no part of it: guests
migrate. Rows of Patrol's own tools carry the canonical id; for all others the inventory decides. Where
several guests fit, the row counts for none of them.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from findings.model import ResourceId
from signals.backup_evidence import BackupTaskRow, PbsBackupRow, PveBackupRow
from signals.evidence import InventoryRow
from signals.inventory import Inventory
from signals.pages import Id

GUEST_TYPES = frozenset({"vm", "system-container"})

GUEST_WORDS = {
    "vm": "vm",
    "qemu": "vm",
    "ct": "system-container",
    "lxc": "system-container",
    "system-container": "system-container",
}
"""The type of guest behind the words of hypervisors and backup servers, and behind our own."""

Claim = str | tuple[Id, str | None, str | None, str | None, str | None, str | None]
"""What a row says of its guest: an id, or the fields of `GuestClaim` as a plain tuple.

A plain tuple, as one is made for each of a hundred thousand rows; equal claims are looked up once.
"""


class GuestClaim(NamedTuple):
    """The fields of a claim. `server` and `namespace` are a backup server's: hints, no part of the identity."""

    vmid: Id
    instance: str | None = None
    node: str | None = None
    server: str | None = None
    namespace: str | None = None
    type: str | None = None  # vm | ct | qemu | lxc | host, or another word that tells nothing


_VMID = re.compile(r"\s*(?:(?:vm|ct|qemu|lxc)/)?(\d{1,10})\s*", re.ASCII | re.IGNORECASE)


def read_vmid(value: object) -> int | None:
    """A VMID as number or text, `101` or `vm/101`. None for 0, for nothing, and for what is no VMID."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value if value > 0 else None
    number = _VMID.fullmatch(value) if isinstance(value, str) else None
    return (int(number[1]) or None) if number else None


class _Names(dict[Id, str]):
    """VMIDs as they come, by their plain text; "" for what is none. Each spelling is read once."""

    def __missing__(self, raw: Id) -> str:
        if isinstance(raw, str) and raw.isdigit() and raw.isascii() and raw[0] != "0" and len(raw) <= 10:
            name = raw  # the way of nearly all of them, as is the next
        elif type(raw) is int and raw > 0:
            name = str(raw)
        else:
            vmid = read_vmid(raw)
            name = "" if vmid is None else str(vmid)
        self[raw] = name
        return name


class Owners:
    """Says what rows claim, and finds the guests that are meant.

    Without an inventory a VMID stands for itself. As long as only one instance is spoken of, its text is
    the claim and the guest in one (`plain`), which spares a large recording most of the work.
    """

    def __init__(self, inventory: Inventory, tables: Iterable[Sequence[BackupTaskRow | PveBackupRow]] = ()) -> None:
        """`tables`: all rows that tell an instance. A VMID that two instances use is two guests."""
        self._inventory = inventory
        self._explained = bool(inventory) or inventory.complete or inventory.has_holes
        self._names = _Names()
        self._by_vmid: dict[int, list[InventoryRow]] | None = None
        self._places: dict[str, list[InventoryRow]] | None = None
        self._users: dict[int, set[str]] = {}
        self.plain = False
        if not self._explained:
            self._learn([table for table in tables if table])

    def _learn(self, tables: Sequence[Sequence[BackupTaskRow | PveBackupRow]]) -> None:
        self.plain = len({row.instance for table in tables for row in table} - {None, ""}) <= 1
        if not self.plain:
            for row in chain.from_iterable(tables):
                vmid = read_vmid(row.vmid)
                if vmid is not None and row.instance:
                    self._users.setdefault(vmid, set()).add(row.instance)

    # --- claims: one list for a table of rows, "" where a row names no guest -------------------------------------

    def server_claims(self, rows: Sequence[PbsBackupRow]) -> list[Claim]:
        """Of backups on a backup server. Its instance is the server's, so it identifies no guest."""
        if self.plain:
            names = self._names
            return [row.resource_id or ("" if row.backup_type == "host" else names[row.vmid]) for row in rows]
        return [row.resource_id or (row.vmid, None, None, row.instance, row.namespace, row.backup_type) for row in rows]

    def storage_claims(self, rows: Sequence[PveBackupRow]) -> list[Claim]:
        """Of backups on a hypervisor's storage."""
        if self.plain:
            names = self._names
            return [row.resource_id or names[row.vmid] for row in rows]
        return [row.resource_id or (row.vmid, row.instance, None, None, None, None) for row in rows]

    def task_claims(self, rows: Sequence[BackupTaskRow]) -> list[Claim]:
        """Of attempts."""
        names = self._names
        if self.plain:
            return [row.resource_id or names[row.vmid] for row in rows]
        return [
            row.resource_id or (names[row.vmid] and (row.vmid, row.instance, row.node, None, None, row.type))
            for row in rows
        ]

    def claim(self, vmid: int, task: BackupTaskRow, work: str | None = None) -> Claim:
        """Of a guest that a task names in its log or its id."""
        return str(vmid) if self.plain else (vmid, task.instance, task.node, None, None, work)

    # --- guests --------------------------------------------------------------------------------------------------

    def find(self, claim: Claim) -> tuple[ResourceId, ...]:
        """The ids of the guests that fit: none (it is gone, or never was one), the one, or several (ambiguous)."""
        if isinstance(claim, str):
            return self._find_id(claim)
        guest = GuestClaim(*claim)
        vmid = read_vmid(guest.vmid)
        if vmid is None or guest.type == "host":
            return ()
        return self._explain(vmid, guest) if self._explained else self._unexplained(vmid, guest.instance)

    def _explain(self, vmid: int, guest: GuestClaim) -> tuple[ResourceId, ...]:
        """The guests of the inventory that a claim fits."""
        candidates = self._guests(vmid)
        wanted = GUEST_WORDS.get((guest.type or "").lower())
        if wanted is not None:
            # A number that was a container and is a virtual machine now is another guest.
            candidates = [row for row in candidates if row.type == wanted]
        if guest.instance:
            exact = [row for row in candidates if row.instance == guest.instance]
            candidates = exact or [row for row in candidates if not row.instance]
        if self._inventory.has_holes:
            # A guest out of sight may have the same number: only what names the instance decides.
            return tuple(row.id for row in self._narrow(candidates, guest) if row.instance in self._hints(guest))
        if len(candidates) == 1:
            return (candidates[0].id,)
        if not candidates and not self._inventory.complete:
            return self._unexplained(vmid, guest.instance)
        return tuple(row.id for row in self._narrow(candidates, guest))

    def find_place(self, node: str | None, instance: str | None) -> InventoryRow | None:
        """The node or server that a job without a guest ran on; `backup` where the row names neither.

        None: it may be one of those that an inventory with holes does not list.
        """
        rows = self._named(node or "")
        if instance and (len(rows) > 1 or self._inventory.has_holes):
            rows = [row for row in rows if row.instance == instance]
        if self._inventory.has_holes:
            return rows[0] if len(rows) == 1 and instance else None
        if len(rows) == 1:
            return rows[0]
        if node:
            return self._inventory.resolve(node, resource_type="node")
        return self._inventory.resolve(instance or "backup")

    def _find_id(self, resource_id: str) -> tuple[ResourceId, ...]:
        if self.plain or not resource_id:
            return (resource_id,) if resource_id else ()
        row = self._inventory.find(resource_id)
        if row is not None:
            return (row.id,)
        vmid = read_vmid(resource_id)
        if vmid is not None:
            return self.find(GuestClaim(vmid))
        return () if self._inventory.complete else (resource_id,)

    def _unexplained(self, vmid: int, instance: str | None) -> tuple[ResourceId, ...]:
        users = self._users.get(vmid, set())
        if len(users) <= 1:
            return (str(vmid),)
        return tuple(f"{name}:{vmid}" for name in ([instance] if instance else sorted(users)))

    def _guests(self, vmid: int) -> list[InventoryRow]:
        if self._by_vmid is None:
            self._by_vmid = {}
            for row in self._inventory.rows.values():
                if row.vmid is not None and row.type in GUEST_TYPES:
                    self._by_vmid.setdefault(row.vmid, []).append(row)
        return self._by_vmid.get(vmid, [])

    def _narrow(self, candidates: list[InventoryRow], guest: GuestClaim) -> list[InventoryRow]:
        """Of guests with one VMID those that the row's place or path points to, if it points to just one."""
        hints = self._hints(guest)
        nodes = {row.instance for row in self._named(guest.node or "")}
        if len(nodes) == 1:
            hints |= nodes
        fitting = [row for row in candidates if row.instance in hints]
        return fitting if len(fitting) == 1 else candidates

    @staticmethod
    def _hints(guest: GuestClaim) -> set[str]:
        """Words of a claim that may be the name of an instance."""
        return {guest.instance or "", guest.server or "", *(guest.namespace or "").split("/")} - {""}

    def _named(self, name: str) -> list[InventoryRow]:
        """The nodes and servers of this name: two clusters may each have one."""
        if self._places is None:
            self._places = {}
            for row in self._inventory.rows.values():
                if row.type not in GUEST_TYPES and row.name:
                    self._places.setdefault(row.name, []).append(row)
        return self._places.get(name, [])
