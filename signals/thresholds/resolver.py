"""One resolver: resource and metric -> the limit in force and where it came from, or switched off and by what."""

from signals.alert_settings import AlertSettings
from signals.alert_settings.threshold import Threshold, ThresholdConfig
from signals.evidence import InventoryRow
from signals.inventory import Inventory
from signals.thresholds.backup_age import BACKUP_STALE_HOURS, backup_limit, by_age
from signals.thresholds.built_in import CPU_WINDOW_SECONDS, built_in
from signals.thresholds.connectivity import offline_expected
from signals.thresholds.delays import delay_seconds
from signals.thresholds.exclusions import Exclusions
from signals.thresholds.families import AGENT, DOCKER_HOST, NODE, Family, family_of_resource, override_keys
from signals.thresholds.limit import Limit, Limited, Off
from signals.thresholds.overrides import Override, Overrides, disabled_by
from signals.thresholds.snapshot_limits import snapshot_limit
from signals.thresholds.tiers import tiered
from signals.thresholds.type_limits import default_of, table_row

HEALTH = frozenset(
    {
        Limited.DISK_WEAR,
        Limited.BACKUP_AGE,
        Limited.SNAPSHOT_AGE,
        Limited.SNAPSHOT_SIZE,
        Limited.REPLICATION_LAG,
        Limited.NETWORK_ERRORS,
    }
)
"""All other metrics are usage: `"enabled": false` and the switches of a type silence them. Temperatures are
among these, as they are in the alert settings; what a drive itself calls a failure is no limit and stays on."""


class AlertThresholds:
    """The limits of one set of alert settings (None: no alert file, built-in limits). Immutable, knows no clock.

    The first that is set wins:

    1. `enabled`, the `disableAll...` switch of the type, a `disabled` override, lists of names and tags: off;
    2. `overrides[...]` of the resource (for the temperature of a disk, then of the host it is in);
    3. for file systems of hosts and for disk temperatures: the defaults object if it says off, then the entry
       of the table by type of disk (`diskFillByType`, `diskTempByType`) *that the file has*, then the defaults
       object *that the file has*, then the format's default of the table, then of the object: a word of the
       operator is never beaten by a default of the format;
    4. otherwise the defaults object of the type, from the file or by the format's default;
    5. the built-in limit, for metrics that the format has no word for.
    """

    def __init__(
        self,
        settings: AlertSettings | None = None,
        *,
        source: str = "alerts.json",
        proactive: bool = False,
        backup_stale_hours: float = BACKUP_STALE_HOURS,
        inventory: Inventory | None = None,
    ) -> None:
        """`backup_stale_hours` 0 or less: no staleness check except where the alert settings ask for one."""
        self.settings = settings
        self._source = source
        self._proactive = proactive
        self._backup_stale_hours = backup_stale_hours
        self._overrides = Overrides(settings.overrides if settings is not None else {}, inventory)
        self._has_overrides = settings is not None and bool(settings.overrides)
        self._exclusions = Exclusions.of(settings) if settings is not None else Exclusions()
        self._disks_by_owner = settings is not None and any(
            getattr(settings, host.switch) or getattr(settings, host.defaults).disabled
            for host in (AGENT, NODE, DOCKER_HOST)
        )
        self._has_exclusions = bool(self._exclusions)
        self.has_special = self._has_overrides or self._has_exclusions or self._disks_by_owner
        self._plain: dict[tuple[str, Limited, str], Limit | None] = {}

    def for_inventory(self, inventory: Inventory) -> "AlertThresholds":
        """The same limits, with the keys of overrides looked up among known resources.

        A key that several resources answer to then decides nothing (`overrides_without_target` names it), and
        a disk finds its host's override by any name of the host.
        """
        return AlertThresholds(
            self.settings,
            source=self._source,
            proactive=self._proactive,
            backup_stale_hours=self._backup_stale_hours,
            inventory=inventory,
        )

    @property
    def overrides_without_target(self) -> dict[str, str]:
        """Override key -> why it applies to nothing, after `for_inventory`."""
        return self._overrides.without_target

    def limit(self, resource: InventoryRow, metric: Limited, *, disk_type: str = "") -> Limit | None:
        """The limit in force, None if the operator switched this check off. Cheap enough for every row of a page."""
        if self.has_special and self.is_special(resource):
            answer = self._settle(resource, metric, disk_type or resource.disk_type)
            return answer if isinstance(answer, Limit) else None
        return self.plain_limit(resource.type, metric, disk_type or resource.disk_type)

    def plain_limit(self, resource_type: str, metric: Limited, disk_type: str = "") -> Limit | None:
        """The limit of every resource of a type that is not special: asked once, it serves a whole loop."""
        key = (resource_type, metric, disk_type)
        try:
            return self._plain[key]
        except KeyError:
            answer = self._settle(InventoryRow(id="", type=resource_type), metric, disk_type, plain=True)
            limit = self._plain[key] = answer if isinstance(answer, Limit) else None
            return limit

    def is_special(self, resource: InventoryRow) -> bool:
        """Whether an override, a list of names, tags or VMIDs, or the owner of a disk may change this one's limits."""
        if not self.has_special:
            return False
        if self._has_overrides and self._overrides_of(resource):
            return True
        if self._has_exclusions and (
            self._exclusions.usage(resource, family_of_resource(resource)) or self._exclusions.backup(resource)
        ):
            return True
        return self._disks_by_owner and resource.type == "disk" and family_of_resource(resource) is not AGENT

    def switched_off_by(self, resource: InventoryRow, metric: Limited, *, disk_type: str = "") -> str:
        """The place that switched this check off ("alerts.json: overrides[storage:nvr].usage"), "" while it is on."""
        answer = self._settle(resource, metric, disk_type or resource.disk_type)
        return answer.place if isinstance(answer, Off) else ""

    def backup_ignored(self, resource: InventoryRow) -> bool:
        """Whether the age of this resource's backups is not to be judged."""
        return self.limit(resource, Limited.BACKUP_AGE) is None

    def window_seconds(self, resource: InventoryRow, metric: Limited) -> float:
        """300 s for CPU, more where a delay of the alert settings asks for more; 0 for everything else.

        Pressure is the kernel's own 300 s average by its definition and needs no further window.
        """
        if metric is not Limited.CPU:
            return 0
        if self.settings is None:
            return CPU_WINDOW_SECONDS
        family = family_of_resource(resource)
        return max(CPU_WINDOW_SECONDS, delay_seconds(self.settings, (resource.type, family.delay_type), metric))

    def offline_expected(self, resource: InventoryRow) -> bool:
        """Whether connectivity checks are off: by override, defaults, list or switch. `enabled` does not matter."""
        settings = self.settings
        if settings is None:
            return False
        family = family_of_resource(resource)
        listed = bool(self._exclusions.usage(resource, family))
        return offline_expected(settings, family, self._overrides.of(resource), listed=listed)

    # --- how an answer is found, in the order of the class's docstring ---

    def _settle(self, resource: InventoryRow, metric: Limited, disk_type: str, *, plain: bool = False) -> Limit | Off:
        """`plain`: for the resources of a type that no override and no list touches."""
        settings = self.settings
        disk_type = disk_type.strip().lower()
        if settings is None:
            return by_age(self._backup_stale_hours) if metric is Limited.BACKUP_AGE else built_in(metric, disk_type)
        family = family_of_resource(resource)
        overrides = () if plain else self._overrides_of(resource)
        if metric is Limited.BACKUP_AGE:
            ignored = not plain and self._exclusions.backup(resource)
            return backup_limit(settings, overrides, self._backup_stale_hours, self._at, ignored=ignored)
        if metric in (Limited.SNAPSHOT_AGE, Limited.SNAPSHOT_SIZE):
            return snapshot_limit(settings, overrides, metric, self._at)
        listed_in = "" if plain else self._exclusions.usage(resource, family)
        return (
            self._switched_off(settings, family, metric, overrides, listed_in)
            or self._by_override(family, metric, overrides)
            or self._by_type(settings, family, metric, disk_type)
        )

    def _switched_off(
        self,
        settings: AlertSettings,
        family: Family,
        metric: Limited,
        overrides: tuple[Override, ...],
        listed_in: str,
    ) -> Off | None:
        is_usage = metric not in HEALTH
        if is_usage and not settings.enabled:
            return Off(self._at("enabled"))
        for switch in (family.switch, "disable_all_storage" if metric is Limited.STORAGE else ""):
            if is_usage and switch and getattr(settings, switch):
                return Off(self._at(settings.place(switch)))
        disabled = disabled_by(override for override in overrides if is_usage or not override.inherited)
        if disabled is not None:
            return Off(self._at(f"overrides[{disabled.key}].disabled"))
        return Off(self._at(settings.place(listed_in))) if is_usage and listed_in else None

    def _by_override(self, family: Family, metric: Limited, overrides: tuple[Override, ...]) -> Limit | Off | None:
        for override in overrides:
            for key in override_keys(metric, inherited=override.inherited):
                threshold = getattr(override.config, key)
                if threshold is not None:
                    wire = type(override.config).model_fields[key].alias
                    return self._limit(family, metric, threshold, self._at(f"overrides[{override.key}].{wire}"))
        return None

    def _by_type(self, settings: AlertSettings, family: Family, metric: Limited, disk_type: str) -> Limit | Off:
        config = settings.section_or_value(family.defaults)
        if isinstance(config, ThresholdConfig) and config.disabled and metric not in HEALTH:
            return Off(self._at(settings.place(family.defaults, "disabled")))
        default = default_of(settings, family, metric)
        if default is None:
            return built_in(metric, disk_type)
        if default.threshold.trigger > 0:
            row = table_row(settings, family, metric, disk_type)
            if row is not None and (row.is_written or not default.is_written):
                default = row
        provenance = self._at(default.place, is_written=default.is_written)
        return self._limit(family, metric, default.threshold, provenance)

    def _limit(self, family: Family, metric: Limited, threshold: Threshold, provenance: str) -> Limit | Off:
        if threshold.trigger <= 0:
            return Off(provenance)
        return tiered(
            metric,
            threshold.trigger,
            threshold.clear,
            provenance,
            guest=family.is_guest,
            proactive=self._proactive,
        )

    def _overrides_of(self, resource: InventoryRow) -> tuple[Override, ...]:
        """A disk also listens to the override of the host it is in, after its own."""
        own = self._overrides.of(resource)
        if resource.type != "disk" or not resource.parent:
            return own
        return own + tuple(override._replace(inherited=True) for override in self._overrides.of_id(resource.parent))

    def _at(self, place: str, *, is_written: bool = True) -> str:
        return f"{self._source}: {place}" if is_written else f"{self._source} (format default): {place}"
