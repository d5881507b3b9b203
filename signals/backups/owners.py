"""Whose backup a row is about: from the ids that it carries to the one guest that it means.

A VMID is unique inside one instance (a cluster), never across them, and the node is no part of it: guests
migrate. Rows of Patrol's own tools carry the canonical id; for all others the inventory decides. Where
several guests fit, the row counts for none of them.
"""

from collections.abc import Iterable
from typing import NamedTuple

from findings.model import ResourceId
from signals.evidence import BackupTaskRow, Id, InventoryRow
from signals.inventory import Inventory

GUEST_TYPES = frozenset({"vm", "system-container"})

GUEST_WORDS = {"vm": "vm", "qemu": "vm", "ct": "system-container", "lxc": "system-container"}
"""The type of guest behind the words of hypervisors and backup servers."""

Claim = str | tuple[Id, str | None, str | None, str | None, str | None, str | None]
"""What a row says of its guest: the canonical id, or the fields of `GuestClaim` as a plain tuple.

Plain, as one is made for each of a hundred thousand rows; equal claims are looked up once.
"""


class GuestClaim(NamedTuple):
    """The fields of a claim. `server` and `namespace` are a backup server's: hints, no part of the identity."""

    vmid: Id
    instance: str | None = None
    node: str | None = None
    server: str | None = None
    namespace: str | None = None
    type: str | None = None  # vm | ct | qemu | lxc | host, or another word that tells nothing


def read_vmid(value: object) -> int | None:
    """A VMID as number or text. None for 0, for nothing, and for what is no VMID."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value if value > 0 else None
    if isinstance(value, str):
        text = value.strip()
        if text.isascii() and text.isdigit() and len(text) <= 10:
            return int(text) or None
    return None


def task_claim(row: BackupTaskRow) -> Claim:
    """What a task says of its guest."""
    return row.resource_id or (row.vmid, row.instance, row.node, None, None, row.type)


class Owners:
    """Finds the guests that claims mean. Without an inventory a VMID stands for itself."""

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory
        self._explained = bool(inventory) or inventory.complete
        self._by_vmid: dict[int, list[InventoryRow]] | None = None
        self._places: dict[str, list[InventoryRow]] | None = None
        self._instances: dict[int, set[str]] = {}

    def learn(self, claims: Iterable[Claim]) -> None:
        """Takes note of the instances that a transcript without an inventory speaks of.

        To be called with all claims before the first `find`: a VMID that two instances use is two guests.
        """
        if self._explained:
            return
        for claim in claims:
            vmid = None if isinstance(claim, str) else read_vmid(claim[0])
            if vmid is not None:
                self._instances.setdefault(vmid, set()).update({claim[1]} if claim[1] else ())

    def find(self, claim: Claim) -> tuple[ResourceId, ...]:
        """The ids of the guests that fit: none (it is gone, or never was one), the one, or several (ambiguous)."""
        if isinstance(claim, str):
            return self._find_id(claim)
        guest = GuestClaim(*claim)
        vmid = read_vmid(guest.vmid)
        if vmid is None or guest.type == "host":
            return ()
        if not self._explained:
            return self._unexplained(vmid, guest.instance)
        candidates = self._guests(vmid)
        wanted = GUEST_WORDS.get(guest.type or "")
        # A number that was a container and is a virtual machine now is another guest.
        candidates = [row for row in candidates if wanted is None or row.type == wanted]
        if guest.instance:
            exact = [row for row in candidates if row.instance == guest.instance]
            candidates = exact or [row for row in candidates if not row.instance]
        if not candidates and not self._inventory.complete:
            return self._unexplained(vmid, guest.instance)
        return tuple(row.id for row in self._narrow(candidates, guest))

    def find_place(self, node: str | None, instance: str | None) -> InventoryRow:
        """The node or server that a job without a guest ran on; `backup` where the row names neither."""
        rows = self._named(node or "")
        if len(rows) > 1 and instance:
            rows = [row for row in rows if row.instance == instance]
        if len(rows) == 1:
            return rows[0]
        if node:
            return self._inventory.resolve(node, resource_type="node")
        return self._inventory.resolve(instance or "backup")

    def _find_id(self, resource_id: str) -> tuple[ResourceId, ...]:
        row = self._inventory.find(resource_id)
        if row is not None:
            return (row.id,)
        vmid = read_vmid(resource_id)
        if vmid is not None:
            return self.find(GuestClaim(vmid))
        return () if self._inventory.complete else (resource_id,)

    def _unexplained(self, vmid: int, instance: str | None) -> tuple[ResourceId, ...]:
        instances = self._instances.get(vmid, set())
        if len(instances) <= 1:
            return (str(vmid),)
        return tuple(f"{name}:{vmid}" for name in ([instance] if instance else sorted(instances)))

    def _guests(self, vmid: int) -> list[InventoryRow]:
        if self._by_vmid is None:
            self._by_vmid = {}
            for row in self._inventory.rows.values():
                if row.vmid is not None and row.type in GUEST_TYPES:
                    self._by_vmid.setdefault(row.vmid, []).append(row)
        return self._by_vmid.get(vmid, [])

    def _narrow(self, candidates: list[InventoryRow], guest: GuestClaim) -> list[InventoryRow]:
        """Of guests with one VMID those that the row's place or path points to, if it points to just one."""
        if len(candidates) <= 1:
            return candidates
        hints = {guest.server or "", *(guest.namespace or "").split("/")} - {""}
        nodes = {row.instance for row in self._named(guest.node or "")}
        if len(nodes) == 1:
            hints |= nodes
        fitting = [row for row in candidates if row.instance in hints]
        return fitting if len(fitting) == 1 else candidates

    def _named(self, name: str) -> list[InventoryRow]:
        """The nodes and servers of this name: two clusters may each have one."""
        if self._places is None:
            self._places = {}
            for row in self._inventory.rows.values():
                if row.type not in GUEST_TYPES and row.name:
                    self._places.setdefault(row.name, []).append(row)
        return self._places.get(name, [])
