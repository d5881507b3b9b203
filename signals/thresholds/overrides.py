"""Which override of the alert settings speaks for which resource.

Keys of overrides were written by hand, or by another program whose ids have other forms: the canonical id,
any alias, `<type>:<name>` (`storage:nvr`) and the plain name all count, in this order.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from findings.model import ResourceId
from signals.alert_settings.threshold import ThresholdConfig
from signals.evidence import InventoryRow
from signals.inventory import Inventory

NO_SUCH_RESOURCE = "no resource has this id or name"


class Override(NamedTuple):
    """One entry of `overrides`, with the key it stands under. `inherited`: it is the host's, seen from its disk."""

    key: str
    config: ThresholdConfig
    inherited: bool = False


def disabled_by(overrides: Iterable[Override]) -> Override | None:
    """The override that switches its resource off: the first that has a word about it, if that word is yes."""
    said = next((override for override in overrides if override.config.says("disabled")), None)
    return said if said is not None and said.config.disabled else None


class Overrides:
    """Overrides by resource.

    With an inventory, a key that means several of its resources means none of them, and `without_target`
    names it. Without one, every resource that answers to a key has its override.
    """

    def __init__(self, overrides: Mapping[str, ThresholdConfig], inventory: Inventory | None = None) -> None:
        self._by_key = overrides
        self._known = inventory.rows if inventory is not None else {}
        self._words = {*overrides, *(key.partition(":")[2] for key in overrides), *map(_native, overrides)}
        self._by_id: dict[ResourceId, tuple[Override, ...]] = {}
        self.without_target: dict[str, str] = {}
        if inventory is not None:
            self._find_targets(inventory)

    def of(self, resource: InventoryRow) -> tuple[Override, ...]:
        """The overrides of a resource, the one with the strongest key first."""
        if resource.id in self._known:
            return self._by_id.get(resource.id, ())
        words = self._words
        if resource.name not in words and _native(resource.id) not in words and words.isdisjoint(resource.aliases):
            return ()  # nearly all resources end here, without a string being built
        return tuple(Override(key, self._by_key[key]) for key in dict.fromkeys(_keys(resource)) if key in self._by_key)

    def of_id(self, resource_id: ResourceId) -> tuple[Override, ...]:
        """The overrides of a resource of which only the id is known."""
        if resource_id in self._known:
            return self._by_id.get(resource_id, ())
        config = self._by_key.get(resource_id)
        return (Override(resource_id, config),) if config is not None else ()

    def _find_targets(self, inventory: Inventory) -> None:
        by_typed_name = _typed_names(inventory) if any(":" in key for key in self._by_key) else {}
        found: dict[ResourceId, list[str]] = {}
        for key in self._by_key:
            row = inventory.find(key)
            candidates = {row.id: None} if row is not None else by_typed_name.get(key, {})
            if inventory.is_ambiguous(key) or len(candidates) > 1:
                self.without_target[key] = "several resources are called so: write the full id of the one that is meant"
            elif not candidates:
                self.without_target[key] = NO_SUCH_RESOURCE
            else:
                found.setdefault(next(iter(candidates)), []).append(key)
        for resource_id, keys in found.items():
            order = [key for key in dict.fromkeys(_keys(inventory.rows[resource_id])) if key in keys]
            self._by_id[resource_id] = tuple(Override(key, self._by_key[key]) for key in order)


def _keys(resource: InventoryRow) -> Iterator[str]:
    yield resource.id
    yield from resource.aliases
    yield from _typed(resource)
    if resource.name:
        yield resource.name


def _typed(resource: InventoryRow) -> Iterator[str]:
    """`<type>:<native name>`: the short form of a canonical id, without its origin."""
    if not resource.type:
        return
    for name in dict.fromkeys((_native(resource.id), resource.name)):
        if name:
            yield f"{resource.type}:{name}"


def _native(resource_id: str) -> str:
    """The last part of a canonical id; all of any other."""
    return resource_id.split(":", 2)[2] if resource_id.count(":") >= 2 else resource_id


def _typed_names(inventory: Inventory) -> dict[str, dict[ResourceId, None]]:
    by_name: dict[str, dict[ResourceId, None]] = {}
    for row in inventory.rows.values():
        for name in _typed(row):
            by_name.setdefault(name, {})[row.id] = None
    return by_name
