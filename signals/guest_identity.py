"""Which guest a row of a page means: by its id, by its number in its cluster, else by its name. No id is made up."""

from typing import NamedTuple

from findings.identity import canonical_id
from signals.backups.owners import GUEST_WORDS, Owners, read_vmid
from signals.evidence import InventoryRow
from signals.inventory import Inventory
from signals.pages import Id
from signals.storage_evidence import ResourceDisks

NO_GUESTS = frozenset(
    {"node", "host", "agent", "docker-host", "app-container", "k8s-cluster", "k8s-node", "pod"}
    | {"storage", "raid", "disk", "network", "pbs", "backup"}
)
"""Types of resources that have no VMID: one that is called 101 is another thing than the guest 101."""


class NamedGuest(NamedTuple):
    """What a row says of its guest."""

    resource_id: str = ""
    vmid: Id = None
    type: str | None = None
    instance: str | None = None
    node: str | None = None
    name: str | None = None

    @property
    def is_given(self) -> bool:
        """Whether it says anything that could be a guest."""
        return bool(self.resource_id or _number_text(self.vmid) or self.name)


class UnnamedGuestError(ValueError):
    """A row names no guest, or several; the message says why, in words for an operator."""


class Guests:
    """Finds the guests that rows name."""

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory
        self._explained = bool(inventory) or inventory.complete or inventory.has_holes
        self._owners = Owners(inventory)

    def find(self, said: NamedGuest) -> InventoryRow | None:
        """The guest that a row is about, None for one that is gone or out of sight.

        A guest that nothing explains goes by what the row calls it. Raises UnnamedGuestError.
        """
        kind = GUEST_WORDS.get((said.type or "").lower(), said.type or "vm")
        vmid = _number_text(said.vmid)
        place = said.instance or said.node
        number = read_vmid(vmid)
        native = canonical_id(kind, place, str(number)) if place and number else ""
        for name in (said.resource_id, native, vmid):
            found = self._inventory.find(name) if name else None
            if found is not None and (name != vmid or _may_be(found, said)):
                return found
        if said.resource_id or number:
            return self._find_by_number(said, kind, native or str(number))
        return self._find_by_name(said, kind)

    def _find_by_number(self, said: NamedGuest, kind: str, native: str) -> InventoryRow | None:
        # The instance or node that it names decides which of the guests with this number it is.
        claim = said.resource_id or (said.vmid, said.instance, said.node, None, None, said.type)
        guests = self._owners.find(claim)
        if len(guests) == 1 and guests[0] in self._inventory.rows:
            return self._inventory.rows[guests[0]]
        if not said.resource_id:
            if not guests and not said.type:
                return None  # its type would be a guess: an id that means another guest
            if len(guests) > 1 and not (said.instance or said.node):
                names = ", ".join(sorted(guests))
                raise UnnamedGuestError(f"ambiguous: it belongs to one of {names}, it is not told to which")
        return InventoryRow(id=said.resource_id or native, type=kind, name=said.name or native.rpartition(":")[2])

    def _find_by_name(self, said: NamedGuest, kind: str) -> InventoryRow | None:
        if not said.name:
            raise UnnamedGuestError("it names no guest")
        found = self._inventory.find(said.name)
        if found is not None and not _may_be(found, said):
            found = None
        if found is None and self._explained:
            if self._inventory.complete and not self._inventory.is_ambiguous(said.name):
                return None
            raise UnnamedGuestError("it names its guest by a name that does not tell which it is")
        return found or InventoryRow(id=said.name, type=kind, name=said.name)

    def known_by_number(
        self, vmid: Id, instance: str | None = None, node: str | None = None, type_: str | None = None
    ) -> InventoryRow | None:
        """The one known guest with this VMID, as far as the rest narrows it down; None if there is none or several."""
        if type_ in NO_GUESTS:
            return None
        guests = self._owners.find((vmid, instance, node, None, None, type_))
        return self._inventory.rows.get(guests[0]) if len(guests) == 1 else None

    def owner_of(self, disks: ResourceDisks) -> InventoryRow | None:
        """The host or guest whose file systems these are; None where it is not told."""
        if disks.vmid and not disks.id:
            known = self.known_by_number(disks.vmid, disks.instance, disks.node, disks.type)
            if known is not None:
                return known
        name = str(disks.id or disks.vmid or disks.name or "")
        if not disks.id and disks.vmid and disks.instance and disks.type:
            kind = "system-container" if disks.type == "lxc" else disks.type
            name = canonical_id(kind, disks.instance, str(disks.vmid))  # a VMID is unique inside its instance
        if not name:
            return None
        return self._inventory.resolve(name, resource_type=disks.type or "", display_name=disks.name or "")


def _may_be(known: InventoryRow, said: NamedGuest) -> bool:
    """Whether what is known under a number or name may be the guest that a row means: nothing speaks against it."""
    kind, wanted = GUEST_WORDS.get(known.type.lower()), GUEST_WORDS.get((said.type or "").lower())
    is_guest = known.type not in NO_GUESTS and (kind is None or wanted is None or kind == wanted)
    return is_guest and (not (known.instance and said.instance) or known.instance == said.instance)


def _number_text(vmid: Id) -> str:
    """A VMID as it came; "" where there is none, or 0 stands for none."""
    return "" if vmid in {None, 0, "0"} else str(vmid)
