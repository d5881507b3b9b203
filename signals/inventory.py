"""The view of the world that a transcript carries: which id means which resource."""

from collections.abc import Iterable

from signals.evidence import BackupStore, InventoryOutput, InventoryRow

UP = frozenset({"running", "online"})


def is_up(row: InventoryRow) -> bool:
    """Whether a resource runs. `running` and `online` are the same answer from different systems."""
    return row.status.lower() in UP


class Inventory:
    """Resources by canonical id and by alias. An alias of two resources names none of them."""

    def __init__(self, pages: Iterable[InventoryOutput] = (), *, complete: bool = False) -> None:
        """`complete`: every page of the sweep was read, so that an absent resource is known to be absent."""
        self.complete = complete
        self.rows: dict[str, InventoryRow] = {}
        self.stores: list[BackupStore] = []
        self._aliases: dict[str, str | None] = {}
        for page in pages:
            self.stores.extend(page.backup_stores)
            for row in page.resources:
                self.rows[row.id] = row
        for row in self.rows.values():
            for alias in row.aliases:
                self._learn(alias, row.id)
            if row.name:
                self._learn(row.name, row.id)

    def _learn(self, alias: str, resource_id: str) -> None:
        known = self._aliases.setdefault(alias, resource_id)
        if known != resource_id:
            self._aliases[alias] = None

    def __bool__(self) -> bool:
        return bool(self.rows)

    def find(self, name: str) -> InventoryRow | None:
        """The one resource that `name` means; None if it is unknown or ambiguous."""
        row = self.rows.get(name)
        if row is None:
            resource_id = self._aliases.get(name)
            row = self.rows.get(resource_id) if resource_id else None
        return row

    def is_ambiguous(self, name: str) -> bool:
        """Whether several resources are called `name`, so that it decides nothing."""
        return name not in self.rows and name in self._aliases and self._aliases[name] is None

    def resolve(self, name: str, *, resource_type: str = "", display_name: str = "") -> InventoryRow:
        """The known resource, or a row for an id that no inventory explains: named as it came."""
        return self.find(name) or InventoryRow(id=name, type=resource_type, name=display_name or name)
