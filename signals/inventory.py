"""The view of the world that a transcript carries: which id means which resource."""

from collections.abc import Iterable
from functools import cached_property

from signals.evidence import BackupStore, InventoryOutput, InventoryRow

UP = frozenset({"running", "online"})


def is_up(row: InventoryRow) -> bool:
    """Whether a resource runs. `running` and `online` are the same answer from different systems."""
    return row.status.lower() in UP


class Inventory:
    """Resources by canonical id and by alias. An alias of two resources names none of them."""

    def __init__(
        self, pages: Iterable[InventoryOutput] = (), *, complete: bool = False, has_holes: bool = False
    ) -> None:
        """`complete`: every page of the sweep was read, so that an absent resource is known to be absent.

        `has_holes`: it was read, and not wholly. What it does not list may exist, and be stopped or called otherwise.
        """
        self.complete = complete
        self.has_holes = has_holes
        self.rows: dict[str, InventoryRow] = {}
        self.stores: list[BackupStore] = []
        for page in pages:
            self.stores.extend(page.backup_stores)
            for row in page.resources:
                self.rows[row.id] = row

    @cached_property
    def _aliases(self) -> dict[str, str | None]:
        """What each alias and name means, None for several. On first use: rows of Patrol's own tools carry ids."""
        found: dict[str, str | None] = {}
        for row in self.rows.values():
            for alias in (*row.aliases, row.name) if row.name else row.aliases:
                known = found.setdefault(alias, row.id)
                if known != row.id:
                    found[alias] = None
        return found

    def __bool__(self) -> bool:
        return bool(self.rows)

    def find(self, name: str) -> InventoryRow | None:
        """The one resource that `name` means; None if it is unknown or ambiguous."""
        row = self.rows.get(name)
        if row is None:
            resource_id = self._aliases.get(name)
            row = self.rows.get(resource_id) if resource_id else None
        return row

    def may_hide(self, name: str) -> bool:
        """Whether `name` may be a resource in a hole: what it is and whether it runs is then not known."""
        return self.has_holes and self.find(name) is None

    def is_ambiguous(self, name: str) -> bool:
        """Whether several resources are called `name`, so that it decides nothing."""
        return name not in self.rows and name in self._aliases and self._aliases[name] is None

    def resolve(self, name: str, *, resource_type: str = "", display_name: str = "") -> InventoryRow:
        """The known resource, or a row for an id that no inventory explains: named as it came."""
        return self.find(name) or InventoryRow(id=name, type=resource_type, name=display_name or name)
