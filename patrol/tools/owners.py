"""Whose backup a row is about: the one guest that its ids, instance, namespace and comment leave, or nobody.

A VMID is unique inside one instance (cluster) only, and the node is no part of it: guests migrate. A backup
server stores groups by VMID, so that two clusters need a namespace each, or notes that name the guest's node.
What is still open then is ambiguous, and counts for none of them; and while a source that may list guests is out
of sight, so is what names no place: a guest there may have the same number.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from findings.model import Topic
from patrol.estate.identity import GUESTS, HOSTS
from patrol.estate.model import Resource, ResourceType
from patrol.tools.view import EstateView
from signals.backup_evidence import BackupTaskRow, PbsBackupRow, PveBackupRow
from signals.pages import Id

_KINDS = {
    "vm": ResourceType.VM,
    "qemu": ResourceType.VM,
    "ct": ResourceType.SYSTEM_CONTAINER,
    "lxc": ResourceType.SYSTEM_CONTAINER,
}
_WITHOUT_GUESTS = frozenset({"local", "docker", "kubernetes", "pbs"})
"""Types of sources that list no guests: their silence hides none."""

_VMID = re.compile(r"(?:(?P<kind>vm|ct|qemu|lxc)/)?(?P<vmid>[1-9]\d{0,9})\Z", re.ASCII | re.IGNORECASE)
_WORD = re.compile(r"[^\s,;/()\[\]|]+")

GuestRow = BackupTaskRow | PbsBackupRow | PveBackupRow


class Owner(NamedTuple):
    """The guest of a row, or the guests that it may be of (`candidates`), or neither: it is gone, or no guest's."""

    guest: Resource | None
    candidates: tuple[Resource, ...] = ()


_NOBODY = Owner(None)


class _Numbered(NamedTuple):
    """All guests of one VMID: dozens, where there are dozens of clusters.

    `elsewhere`: those whose host is none of their instance's nodes, so that its name tells nothing of the instance.
    """

    guests: list[Resource]
    by_instance: dict[str, list[Resource]]
    elsewhere: list[Resource]


class BackupOwners:
    """Finds the guest of each row of backups and attempts."""

    def __init__(self, view: EstateView) -> None:
        self._view = view
        self._places: dict[str, set[str]] = {}  # instances by what a namespace or comment may call them
        self._nodes: dict[str, list[Resource]] = {}
        for kind in HOSTS:
            for host in view.by_type[kind]:
                self._nodes.setdefault(_fold(host.name), []).append(host)
                if kind is ResourceType.NODE and host.instance:
                    self._places.setdefault(_fold(host.name), set()).add(host.instance)
        self._by_vmid: dict[int, _Numbered] = {}
        for kind in (ResourceType.VM, ResourceType.SYSTEM_CONTAINER):
            for guest in view.by_type[kind]:
                if guest.vmid is not None:
                    self._learn(guest, guest.vmid)
        self._instances = {name for numbered in self._by_vmid.values() for name in numbered.by_instance} - {""}
        for name in self._instances:
            self._places.setdefault(_fold(name), set()).add(name)
        self._labels = (self._nodes.keys() | self._places.keys()) - {""}
        types = {source.name: source.type for source in view.estate.sources}
        self._sees_all = not any(
            gap.topic is Topic.INVENTORY and types.get(gap.source, "") not in _WITHOUT_GUESTS for gap in view.whole_gaps
        )

    def _learn(self, guest: Resource, vmid: int) -> None:
        numbered = self._by_vmid.get(vmid)
        if numbered is None:
            numbered = self._by_vmid[vmid] = _Numbered([], {}, [])
        numbered.guests.append(guest)
        numbered.by_instance.setdefault(guest.instance, []).append(guest)
        if guest.instance not in self._places.get(_fold(self._view.host_name(guest)), ()):
            numbered.elsewhere.append(guest)

    def of(self, row: GuestRow) -> Owner:
        """The owner of one row. A canonical id that the row carries already decides."""
        return next(self.of_each([row]))

    def of_each(self, rows: Iterable[GuestRow]) -> Iterator[Owner]:
        """The owner of each row of one list. Equal claims are worked out once."""
        known: dict[tuple[object, ...], Owner] = {}
        for row in rows:
            if row.resource_id:
                named = self._view.names.find(row.resource_id)
                yield Owner(named) if named is not None and named.type in GUESTS else _NOBODY
                continue
            claim = self._claim(row)
            owner = known.get(claim)
            if owner is None:
                owner = known[claim] = self._decide(row)
            yield owner

    @staticmethod
    def _claim(row: GuestRow) -> tuple[object, ...]:
        if isinstance(row, PbsBackupRow):
            return row.vmid, row.backup_type, row.instance, row.datastore, row.namespace, row.comment
        if isinstance(row, BackupTaskRow):
            return row.vmid, row.type, row.instance, row.node
        return row.vmid, row.instance, row.storage

    def _decide(self, row: GuestRow) -> Owner:
        kind, vmid = read_vmid(row.vmid)
        if isinstance(row, PbsBackupRow):
            kind = kind or (row.backup_type or "").casefold()
            if kind == "host":
                return _NOBODY
        elif isinstance(row, BackupTaskRow) and not kind:
            kind = (row.type or "").casefold()
        numbered = self._by_vmid.get(vmid) if vmid is not None else None
        if numbered is None:
            return _NOBODY
        labels = _labels_of(row) if isinstance(row, PbsBackupRow) else set()
        if isinstance(row, PbsBackupRow):
            guests = self._called(numbered, labels)
        elif row.instance in self._instances:
            # Of a cluster that guests are known in only its own; another word tells nothing.
            guests = numbered.by_instance.get(row.instance, [])
        else:
            guests = numbered.guests
        wanted = _KINDS.get(kind)
        # A number that was a container and is a virtual machine now is another guest.
        guests = [guest for guest in guests if wanted is None or guest.type is wanted]
        if isinstance(row, PbsBackupRow):
            guests = self._at_backup_server(guests, row, labels)
        elif isinstance(row, BackupTaskRow):
            guests = self._of_node(guests, row.node) if row.node else guests
        elif len(guests) > 1:
            guests = self._with_storage(guests, row.storage or "")
        is_placed = bool(labels & self._labels) or row.instance in self._instances
        if len(guests) == 1 and (is_placed or self._sees_all):
            return Owner(guests[0])
        return Owner(None, tuple(guests))

    def _of_node(self, guests: list[Resource], node: str) -> list[Resource]:
        """Guests of the cluster that the node is in: it may have moved inside, never across."""
        hosts = self._nodes.get(_fold(node), [])
        clusters = {host.instance for host in hosts} - {""}
        if clusters:
            return [guest for guest in guests if not guest.instance or guest.instance in clusters]
        ids = {host.id for host in hosts}
        own = [guest for guest in guests if guest.parent in ids]
        return own or ([] if hosts and len(guests) > 1 else guests)

    def _with_storage(self, guests: list[Resource], storage: str) -> list[Resource]:
        places = {
            self._view.instance_of(each)
            for each in self._view.by_type[ResourceType.STORAGE]
            if storage and storage in {each.name, each.pool.name if each.pool is not None else None}
        }
        fitting = [guest for guest in guests if guest.instance in places]
        return fitting if len(fitting) == 1 else guests

    def _called(self, numbered: _Numbered, labels: set[str]) -> list[Resource]:
        """Guests from the clusters and nodes that the labels name, even if that leaves none; all, if they name none."""
        if not labels & self._labels:
            return numbered.guests
        instances = set(chain.from_iterable(self._places.get(label, ()) for label in labels))
        found = [guest for name in sorted(instances) for guest in numbered.by_instance.get(name, ())]
        return found + [
            guest
            for guest in numbered.elsewhere
            if guest.instance not in instances and _fold(self._view.host_name(guest)) in labels
        ]

    def _at_backup_server(self, guests: list[Resource], row: PbsBackupRow, labels: set[str]) -> list[Resource]:
        if len(guests) > 1:
            named = [guest for guest in guests if _fold(guest.name) in labels]
            guests = named if len(named) == 1 else guests
        return self._of_store(guests, row) if len(guests) > 1 else guests

    def _of_store(self, guests: list[Resource], row: PbsBackupRow) -> list[Resource]:
        """A store that only some instances back up to."""
        names = {row.datastore, row.instance} - {None}
        stores = [store for store in self._view.estate.backup_stores if {store.id, store.name} & names]
        served = {name for store in stores for name in store.instances}
        if not served or any(not store.instances for store in stores):
            return guests
        return [guest for guest in guests if guest.instance in served]


def _labels_of(row: PbsBackupRow) -> set[str]:
    """The words of a row that may name its guest, or the place of it."""
    return {_fold(word) for text in (row.namespace, row.comment) for word in _WORD.findall(text or "")} - {""}


def read_vmid(value: Id) -> tuple[str, int | None]:
    """The kind (`vm`, `ct`, "" if not said) and the VMID: 101, "101", "vm/101". None where it is none."""
    if isinstance(value, bool):
        return "", None
    if isinstance(value, int):
        return "", value if value > 0 else None
    match = _VMID.match(value.strip()) if value else None
    return ((match["kind"] or "").casefold(), int(match["vmid"])) if match else ("", None)


def undecided(owners: Sequence[Owner]) -> dict[str, tuple[Resource, ...]]:
    """Guests that some backup may belong to, though it cannot be decided, and that own none; by id."""
    owned = {owner.guest.id for owner in owners if owner.guest is not None}
    return {guest.id: owner.candidates for owner in owners for guest in owner.candidates if guest.id not in owned}


def _fold(text: str) -> str:
    return text.strip().casefold()
