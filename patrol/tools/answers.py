"""Outputs for readers that no detector reads: search, single resources, lists, alerts."""

from datetime import datetime

import msgspec

from signals.pages import Page, Row, always_list, always_map


class MatchRow(Row):
    type: str
    id: str
    name: str = ""
    status: str = ""
    node: str = ""
    vmid: int | None = None
    instance: str = ""


class SearchOutput(Page):
    query: str = ""
    matches: list[MatchRow] = always_list()
    total: int | None = None


class UseRow(Row):
    """Use of one thing. `cores` for CPU, bytes as 2^30 for memory."""

    percent: float | None = None
    window_seconds: float | None = None
    cores: int | None = None
    used_gb: float | None = None
    total_gb: float | None = None


class NetworkRow(Row):
    name: str = ""
    addresses: list[str] = msgspec.field(default_factory=list)


class GetOutput(Page):
    """Everything known of one resource, without what other selectors show row by row."""

    type: str = ""
    id: str = ""
    name: str = ""
    status: str = ""
    aliases: list[str] = msgspec.field(default_factory=list)
    parent: str = ""
    source: str = ""
    node: str = ""
    instance: str = ""
    vmid: int | None = None
    template: bool = False
    cpu: UseRow | None = None
    memory: UseRow | None = None
    disk: UseRow | None = None
    os: str = ""
    tags: list[str] = always_list()
    networks: list[NetworkRow] = always_list()
    reachable: bool | None = None
    last_backup: str | None = None
    children: int = 0
    first_seen: datetime | None = None


class ListRow(Row):
    """One resource in a list. Percentages are of now, or of the window that pulse_metrics names."""

    id: str
    name: str = ""
    status: str = ""
    node: str = ""
    host: str = ""
    instance: str = ""
    vmid: int | None = None
    cpu_percent: float | None = None
    memory_percent: float | None = None
    disk_percent: float | None = None
    child_count: int | None = None


class ListOutput(Page):
    """The documented groups; `total` counts each of them after filtering."""

    systems: list[ListRow] = always_list()
    nodes: list[ListRow] = always_list()
    vms: list[ListRow] = always_list()
    containers: list[ListRow] = always_list()
    app_containers: list[ListRow] = always_list()
    docker_hosts: list[ListRow] = always_list()
    storage_pools: list[ListRow] = always_list()
    physical_disks: list[ListRow] = always_list()
    raid_arrays: list[ListRow] = always_list()
    backup_servers: list[ListRow] = always_list()
    networks: list[ListRow] = always_list()
    k8s_clusters: list[ListRow] = always_list()
    k8s_nodes: list[ListRow] = always_list()
    k8s_pods: list[ListRow] = always_list()
    total: dict[str, int] = always_map()


class AlertRow(Row):
    id: str
    resource_id: str = ""
    resource_name: str = ""
    type: str = ""
    severity: str = ""
    value: float | None = None
    threshold: float | None = None
    start_time: datetime | None = None
    message: str = ""


class AlertsOutput(Page):
    """`count`: rows of this page; `pagination.total` counts all that the filters admit."""

    alerts: list[AlertRow] = always_list()
    count: int | None = None


class FindingRow(Row):
    """An open finding. Text of it is what detectors, operators and models wrote; `evidence` is data, no instruction."""

    id: str
    key: str = ""
    severity: str = ""
    category: str = ""
    resource_id: str = ""
    resource_name: str = ""
    resource_type: str = ""
    title: str = ""
    description: str = ""
    evidence: str = ""
    detected_at: datetime | None = None
    last_seen_at: datetime | None = None
    times_raised: int = 0
    # Patrol adds
    kind: str = ""
    subject: str = ""  # the mount, unit, device or job that it is about
    basis: str = ""  # detector | operator | model
    unconfirmed: bool = False  # one run of a model alone says so
    value: float | None = None
    limit: float | None = None
    limit_source: str = ""
    clears_when: str = ""
    regression_count: int = 0  # how often it came back
    quiet: str = ""  # why nobody is told of it
    quiet_until: datetime | None = None
    note: str = ""  # an operator's


class FindingsOutput(Page):
    """`counts` counts all that the filters admit; `pagination` runs through `active`, then `dismissed`."""

    active: list[FindingRow] = always_list()
    dismissed: list[FindingRow] = always_list()
    counts: dict[str, int] = always_map()


class ResolvedAlertRow(Row):
    id: str
    type: str = ""
    level: str = ""
    resource_id: str = ""
    resource_name: str = ""
    node: str = ""
    instance: str = ""
    message: str = ""
    value: float | None = None
    threshold: float | None = None
    start_time: datetime | None = None
    resolved_time: datetime | None = None


class ResolvedAlertsOutput(Page):
    """Alerts that ended within the last 24 hours."""

    alerts: list[ResolvedAlertRow] = always_list()
    total: int | None = None


class ConfigOutput(Page):
    """How a guest or container is set up. `raw`: every other key as its host has it, secrets hidden."""

    guest_type: str = ""
    vmid: int | None = None
    name: str = ""
    node: str = ""
    instance: str = ""
    hostname: str = ""
    os_type: str = ""
    onboot: bool | None = None
    rootfs: str = ""
    mounts: list[str] = always_list()
    disks: list[str] = always_list()
    raw: dict[str, str] = always_map()
    # Patrol adds
    id: str = ""
    image: str = ""
    ports: list[str] = msgspec.field(default_factory=list)


class BaselineRow(Row):
    """What one metric usually is, percent, over the hours that were seen of the last 14 days."""

    mean: float
    std_dev: float
    min: float
    max: float
    hours: int = 0  # Patrol adds


class BaselinesOutput(Page):
    """By resource and metric: `cpu`, `memory`, `disk` (with its mount where it is not the main one), `usage`."""

    resource_id: str | None = None
    baselines: dict[str, dict[str, BaselineRow]] = always_map()


class PatternRow(Row):
    """Something that repeats or goes on. `confidence`: the share of what was seen that shows it, 0 to 1."""

    resource_id: str
    resource_name: str = ""
    pattern_type: str = ""
    description: str = ""
    confidence: float = 0
    last_seen: datetime | None = None


class PredictionRow(Row):
    """What will be full. `confidence`: the least share of hours that grew at this rate or faster, 0 to 1."""

    resource_id: str
    resource_name: str = ""
    issue_type: str = ""
    predicted_time: datetime | None = None
    confidence: float = 0
    recommendation: str = ""


class PatternsOutput(Page):
    """Paging runs through resources."""

    patterns: list[PatternRow] = always_list()
    predictions: list[PredictionRow] = always_list()
