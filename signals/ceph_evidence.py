"""Outputs about Ceph clusters: how they are, what they are made of, and how full their pools are."""

import msgspec

from signals.pages import Id, Page, Row, Time, Whole, always_list


class CephMessageRow(Row):
    severity: str = ""  # HEALTH_WARN | HEALTH_ERR
    message: str = ""


class CephHealthRow(Row):
    status: str = ""  # HEALTH_OK | HEALTH_WARN | HEALTH_ERR
    messages: list[CephMessageRow] = msgspec.field(default_factory=list)


class CephMonitorRow(Row):
    name: str = ""
    rank: Whole | None = None
    addr: str | None = None
    status: str | None = None


class CephMonMap(Row):
    num_mons: Whole | None = None
    monitors: list[CephMonitorRow] = msgspec.field(default_factory=list)


class CephMgrMap(Row):
    available: bool | None = None
    num_mgrs: Whole | None = None
    active_mgr: str | None = None
    standbys: Whole | None = None


class CephOsdMap(Row):
    """`num_in`: OSDs that should hold data; those of them that are not up hold none that can be read."""

    num_osds: Whole | None = None
    num_up: Whole | None = None
    num_in: Whole | None = None
    num_down: Whole | None = None
    num_out: Whole | None = None


class CephPgMap(Row):
    """Ratios run from 0 to 1: the share of objects with fewer copies than they should have, or in another place."""

    num_pgs: Whole | None = None
    bytes_total: Whole | None = None
    bytes_used: Whole | None = None
    bytes_available: Whole | None = None
    usage_percent: float | None = None
    degraded_ratio: float | None = None
    misplaced_ratio: float | None = None
    read_bytes_per_sec: float | None = None
    write_bytes_per_sec: float | None = None
    read_ops_per_sec: float | None = None
    write_ops_per_sec: float | None = None


class CephPoolRow(Row):
    """`percent_used`: stored / (stored + what can still be stored), both counted before replication."""

    id: Whole | None = None
    name: str = ""
    bytes_used: Whole | None = None
    bytes_available: Whole | None = None
    objects: Whole | None = None
    percent_used: float | None = None


class CephRow(Row):
    """One cluster, as one of its members tells. `target_id`: its canonical id."""

    hostname: str = ""
    target_id: Id = None
    fsid: str = ""
    health: CephHealthRow = msgspec.field(default_factory=CephHealthRow)
    mon_map: CephMonMap | None = None
    mgr_map: CephMgrMap | None = None
    osd_map: CephOsdMap | None = None
    pg_map: CephPgMap | None = None
    pools: list[CephPoolRow] | None = None
    collected_at: Time = None
    # Patrol adds
    name: str = ""


class CephDetailsOutput(Page):
    hosts: list[CephRow] = always_list()
    total: Whole | None = None


class CephSummaryDetails(Row):
    health_message: str = ""
    osd_count: Whole | None = None
    osds_up: Whole | None = None
    osds_in: Whole | None = None
    osds_down: Whole | None = None
    monitors: Whole | None = None
    total_bytes: Whole | None = None
    used_bytes: Whole | None = None
    available_bytes: Whole | None = None
    usage_percent: float | None = None
    pools: Whole | None = None


class CephSummaryRow(Row):
    """The short form of a cluster. `id` (Patrol adds): its canonical id."""

    name: str = ""
    health: str = ""
    details: CephSummaryDetails | None = None
    id: Id = None


class CephOutput(Page):
    """`clusters` is a bare array in documented recordings."""

    clusters: list[CephSummaryRow] = always_list()
    total: Whole | None = None
