"""Finding a resource by what people and other systems call it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from findings.model import ResourceId
from patrol.estate.identity import GUESTS, HOSTS, has_canonical_form
from patrol.estate.model import Resource, ResourceType

_GUEST_WORDS = {
    "vm": ResourceType.VM,
    "qemu": ResourceType.VM,
    "lxc": ResourceType.SYSTEM_CONTAINER,
    "ct": ResourceType.SYSTEM_CONTAINER,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """What names mean. All sorted; `effective`: the canonical ids to go on with, by identity only.

    `ambiguous` gives for each name the ids it could mean: never a choice of ours.
    """

    requested: tuple[str, ...]
    resolved: Mapping[str, ResourceId]
    effective: tuple[ResourceId, ...]
    unmatched: tuple[str, ...]
    ambiguous: Mapping[str, tuple[ResourceId, ...]] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        """Whether every name means exactly one resource."""
        return not (self.unmatched or self.ambiguous)


class AliasIndex:
    """Resources by id first, and only where no id matches by alias, name or VMID.

    Comparison trims and ignores case, an exact id excepted: it is found as it stands. Built on first use.
    """

    def __init__(self, resources: Iterable[Resource]) -> None:
        self._by_id = {resource.id: resource for resource in resources}

    def __len__(self) -> int:
        return len(self._by_id)

    def get(self, resource_id: ResourceId) -> Resource | None:
        """The resource with exactly this canonical id."""
        return self._by_id.get(resource_id)

    def candidates(self, name: str) -> tuple[Resource, ...]:
        """Every resource that `name` may mean, sorted by id; one: it means that."""
        exact = self._by_id.get(name)
        if exact is not None:
            return (exact,)
        token = _fold(name)
        found = self._ids.get(token) if token else ()
        if not found and token:
            found = [*self._names.get(token, ()), *self._guests_called(token)]
        return _unique(found or ())

    def find(self, name: str) -> Resource | None:
        """The one resource that `name` means; None if it is unknown or ambiguous."""
        found = self.candidates(name)
        return found[0] if len(found) == 1 else None

    def resolve(self, names: Iterable[str]) -> Resolution:
        """Resolves a scope. Blank names are dropped, repeated ones count once."""
        requested = sorted({name.strip() for name in names} - {""})
        resolved: dict[str, ResourceId] = {}
        unmatched: list[str] = []
        ambiguous: dict[str, tuple[ResourceId, ...]] = {}
        for name in requested:
            found = self.candidates(name)
            if len(found) == 1:
                resolved[name] = found[0].id
            elif found:
                ambiguous[name] = tuple(resource.id for resource in found)
            else:
                unmatched.append(name)
        return Resolution(
            requested=tuple(requested),
            resolved=resolved,
            effective=tuple(sorted(set(resolved.values()))),
            unmatched=tuple(unmatched),
            ambiguous=ambiguous,
        )

    @cached_property
    def _ids(self) -> dict[str, list[Resource]]:
        """Canonical ids, and ids that were superseded (aliases of canonical form), folded."""
        ids: dict[str, list[Resource]] = {}
        for resource in self._by_id.values():
            ids.setdefault(_fold(resource.id), []).append(resource)
        for resource in self._by_id.values():
            for alias in resource.aliases:
                if has_canonical_form(alias):
                    ids.setdefault(_fold(alias), []).append(resource)
        return ids

    @cached_property
    def _names(self) -> dict[str, list[Resource]]:
        names: dict[str, list[Resource]] = {}
        for resource in self._by_id.values():
            called = [alias for alias in resource.aliases if not has_canonical_form(alias)]
            called.append(resource.name)
            if resource.disk is not None:
                called.append(resource.disk.serial or "")
            for name in called:
                if token := _fold(name):
                    names.setdefault(token, []).append(resource)
        return names

    @cached_property
    def _guests(self) -> dict[str, list[Resource]]:
        guests: dict[str, list[Resource]] = {}
        for resource in self._by_id.values():
            if resource.type in GUESTS and resource.vmid is not None:
                guests.setdefault(str(resource.vmid), []).append(resource)
        return guests

    def _guests_called(self, token: str) -> list[Resource]:
        """Guests of `101`, `qemu/101`, `lxc/101`, `<cluster or node>/101` and `<node>/qemu/101`."""
        *places, vmid = token.replace(":", "/").split("/")
        found = self._guests.get(vmid, []) if vmid.isdecimal() else []
        for place in places:
            kind = _GUEST_WORDS.get(place)
            found = [
                guest for guest in found if (guest.type is kind if kind is not None else place in self._places(guest))
            ]
        return found

    def _places(self, guest: Resource) -> set[str]:
        host = self._by_id.get(guest.parent)
        return {_fold(text) for text in (guest.instance, guest.source, host.name if host else "") if text}


def find_host(index: AliasIndex, name: str, *, instance: str = "") -> Resource | None:
    """The host that `name` means; of several, the one in the same instance. None if that decides nothing."""
    hosts = [resource for resource in index.candidates(name) if resource.type in HOSTS]
    if len(hosts) > 1 and instance:
        hosts = [host for host in hosts if host.instance == instance]
    return hosts[0] if len(hosts) == 1 else None


def _fold(text: str) -> str:
    return text.strip().casefold()


def _unique(found: Sequence[Resource]) -> tuple[Resource, ...]:
    by_id = {resource.id: resource for resource in found}
    return tuple(by_id[resource_id] for resource_id in sorted(by_id))
