"""Guests and containers that the alert settings leave out by name, tag or number."""

from collections.abc import Iterable
from typing import Self

from signals.alert_settings import AlertSettings
from signals.evidence import InventoryRow
from signals.thresholds.families import CONTAINER, Family


class Exclusions:
    """Lists of names and tags (compared without regard to case) and of VMIDs (exact, or a prefix ending in `*`)."""

    def __init__(
        self,
        *,
        guest_prefixes: Iterable[str] = (),
        container_prefixes: Iterable[str] = (),
        wanted_tags: Iterable[str] = (),
        unwanted_tags: Iterable[str] = (),
        vmids: Iterable[str] = (),
    ) -> None:
        """`wanted_tags` empty: tags select nothing."""
        self._guest_prefixes = tuple(map(str.lower, guest_prefixes))
        self._container_prefixes = tuple(map(str.lower, container_prefixes))
        self._wanted_tags = frozenset(map(str.lower, wanted_tags))
        self._unwanted_tags = frozenset(map(str.lower, unwanted_tags))
        patterns = tuple(vmids)
        self._vmids = frozenset(pattern for pattern in patterns if not pattern.endswith("*"))
        self._vmid_prefixes = tuple(pattern[:-1] for pattern in patterns if pattern.endswith("*"))

    @classmethod
    def of(cls, settings: AlertSettings) -> Self:
        return cls(
            guest_prefixes=settings.ignored_guest_prefixes or (),
            container_prefixes=settings.docker_ignored_container_prefixes or (),
            wanted_tags=settings.guest_tag_whitelist or (),
            unwanted_tags=settings.guest_tag_blacklist or (),
            vmids=settings.backup_defaults.ignore_vmids,
        )

    def __bool__(self) -> bool:
        by_name = self._guest_prefixes or self._container_prefixes
        return bool(by_name or self._wanted_tags or self._unwanted_tags or self._vmids or self._vmid_prefixes)

    def usage(self, resource: InventoryRow, family: Family) -> str:
        """The list (by its field) that takes a guest or container out of usage and connectivity checks, "" if none."""
        if family is CONTAINER:
            names = (resource.name.lower().removeprefix("/"), resource.id.lower().rpartition(":")[2])
            ignored = any(name.startswith(self._container_prefixes) for name in names)
            return "docker_ignored_container_prefixes" if ignored else ""
        if not family.is_guest:
            return ""
        if resource.name.lower().startswith(self._guest_prefixes):
            return "ignored_guest_prefixes"
        if not (self._wanted_tags or self._unwanted_tags):
            return ""
        tags = {tag.strip().lower() for tag in resource.tags}
        if self._wanted_tags and not (self._wanted_tags & tags):
            return "guest_tag_whitelist"
        return "guest_tag_blacklist" if self._unwanted_tags & tags else ""

    def backup(self, resource: InventoryRow) -> bool:
        """Whether `ignoreVMIDs` names a guest."""
        vmid = str(resource.vmid) if resource.vmid is not None else resource.id.rpartition(":")[2]
        return vmid in self._vmids or vmid.startswith(self._vmid_prefixes)
