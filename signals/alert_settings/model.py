"""The alert settings of the monitoring system, whole: `alerts.json`.

Patrol takes its limits from it (`signals.thresholds`). What concerns only notifications is kept, not used.
"""

from collections.abc import Mapping

from pydantic import Field, PrivateAttr

from signals.alert_settings.custom_rules import CustomRule
from signals.alert_settings.recovery import BackupDefaults, SnapshotDefaults
from signals.alert_settings.schedule import Schedule
from signals.alert_settings.section import Document, Section, positive_or_absent, words
from signals.alert_settings.services import DockerDefaults, PmgDefaults
from signals.alert_settings.threshold import (
    AgentDefaults,
    DiskFillByType,
    DiskTempByType,
    GuestDefaults,
    KubernetesDefaults,
    NodeDefaults,
    PbsDefaults,
    Percent,
    ThresholdConfig,
    TruenasDefaults,
    TruenasDiskDefaults,
    VmwareDefaults,
    percent,
)

DELAY_TYPES = (
    *("guest", "node", "agent", "storage", "pbs"),
    *("k8s-cluster", "k8s-node", "k8s-deployment", "k8s-namespace", "pod"),
    *("truenas-system", "truenas-pool", "truenas-dataset", "truenas-disk"),
    *("vmware-host", "vmware-vm", "vmware-datastore", "vmware-network"),
)
"""Types of the delay tables, as this format spells them."""

_DEFAULT_IF_NOT_POSITIVE = (
    "minimumDelta",
    "suppressionWindow",
    "hysteresisMargin",
    "observationWindowHours",
    "flappingWindowSeconds",
    "flappingThreshold",
    "flappingCooldownMinutes",
)
_WORD_LISTS = ("dockerIgnoredContainerPrefixes", "ignoredGuestPrefixes", "guestTagWhitelist", "guestTagBlacklist")


class AlertSettings(Section):
    """A complete alert settings file. Only an explicit `"enabled": false` switches alerting off."""

    enabled: bool = True
    activation_state: str = "pending_review"  # notifications only, as are the next two
    observation_window_hours: int = 24
    activation_time: str | None = None

    guest_defaults: GuestDefaults = Field(default_factory=GuestDefaults)
    node_defaults: NodeDefaults = Field(default_factory=NodeDefaults)
    agent_defaults: AgentDefaults = Field(default_factory=AgentDefaults)
    pbs_defaults: PbsDefaults = Field(default_factory=PbsDefaults)
    kubernetes_defaults: KubernetesDefaults = Field(default_factory=KubernetesDefaults)
    truenas_defaults: TruenasDefaults = Field(default_factory=TruenasDefaults)
    truenas_disk_defaults: TruenasDiskDefaults = Field(default_factory=TruenasDiskDefaults)
    vmware_defaults: VmwareDefaults = Field(default_factory=VmwareDefaults)
    docker_defaults: DockerDefaults = Field(default_factory=DockerDefaults)
    pmg_defaults: PmgDefaults = Field(default_factory=PmgDefaults)
    storage_default: Percent = percent(85, 80)
    disk_fill_by_type: DiskFillByType = Field(default_factory=DiskFillByType)
    disk_temp_by_type: DiskTempByType = Field(default_factory=DiskTempByType)
    snapshot_defaults: SnapshotDefaults = Field(default_factory=SnapshotDefaults)
    backup_defaults: BackupDefaults = Field(default_factory=BackupDefaults)
    overrides: dict[str, ThresholdConfig] = Field(default={})

    docker_ignored_container_prefixes: list[str] | None = None
    ignored_guest_prefixes: list[str] | None = None
    guest_tag_whitelist: list[str] | None = None
    guest_tag_blacklist: list[str] | None = None

    custom_rules: list[CustomRule] | None = None
    schedule: Schedule = Field(default_factory=Schedule)

    disable_all_nodes: bool = False
    disable_all_guests: bool = False
    disable_all_agents: bool = False
    disable_all_storage: bool = False
    disable_all_pbs: bool = Field(default=False, alias="disableAllPBS")
    disable_all_pmg: bool = Field(default=False, alias="disableAllPMG")
    disable_all_docker_hosts: bool = False
    disable_all_docker_containers: bool = False
    disable_all_docker_services: bool = False
    disable_all_kubernetes: bool = False
    disable_all_truenas: bool = Field(default=False, alias="disableAllTrueNAS")
    disable_all_vmware: bool = Field(default=False, alias="disableAllVMware")
    disable_all_nodes_offline: bool = False
    disable_all_guests_offline: bool = False
    disable_all_agents_offline: bool = False
    disable_all_pbs_offline: bool = Field(default=False, alias="disableAllPBSOffline")
    disable_all_pmg_offline: bool = Field(default=False, alias="disableAllPMGOffline")
    disable_all_docker_hosts_offline: bool = False

    minimum_delta: float = 2
    suppression_window: int = 5  # minutes
    hysteresis_margin: float = 5
    time_thresholds: dict[str, int] = dict.fromkeys(DELAY_TYPES, 5)  # seconds
    metric_time_thresholds: dict[str, dict[str, int]] | None = None

    max_alert_age_days: int = 7
    max_acknowledged_age_days: int = 1
    auto_acknowledge_after_hours: int = 24
    flapping_enabled: bool = True
    flapping_window_seconds: int = 300
    flapping_threshold: int = 5
    flapping_cooldown_minutes: int = 15

    _written_as: Mapping[str, str] = PrivateAttr(default_factory=dict)

    @classmethod
    def normalise(cls, document: Document) -> Document:
        document = positive_or_absent(document, *_DEFAULT_IF_NOT_POSITIVE)
        for key in _WORD_LISTS:
            if key in document:
                document[key] = words(document[key])
        if document.get("activationState") == "":
            del document["activationState"]
        return document

    def is_written(self, section: str, key: str = "") -> bool:
        """Whether the file itself says `section` (and `key` in it), both in the names of the class."""
        value = self.section_or_value(section)
        return self.says(section) and (not key or (isinstance(value, Section) and value.says(key)))

    def section_or_value(self, field: str) -> object:
        """What stands under a field of this class."""
        value: object = getattr(self, field)
        return value

    def place(self, section: str, key: str = "") -> str:
        """Where the file has, or would have, this value: `nodeDefaults.cpu`."""
        wire = type(self).model_fields[section].alias or section
        wire = self._written_as.get(wire, wire)
        if not key:
            return wire
        value = self.section_or_value(section)
        field = type(value).model_fields[key] if isinstance(value, Section) else None
        return f"{wire}.{(field.alias if field is not None else None) or key}"
