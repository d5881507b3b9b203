"""Outputs about what protects guests beside backups: their snapshots, and their replication to another node."""

import msgspec

from signals.pages import Id, Page, Row, Time, Whole, always_list


class SnapshotRow(Row):
    """One snapshot of a guest. `current` is what Proxmox calls the running state; it is no snapshot."""

    id: Id = None
    vmid: Id = None
    vm_name: str | None = None
    type: str | None = None  # vm | lxc
    node: str | None = None
    instance: str | None = None
    snapshot_name: str = ""
    description: str | None = None
    time: Time = None
    vm_state: bool | None = None  # holds the memory of the guest as well
    size_bytes: Whole | None = None
    # Patrol adds
    resource_id: str = ""  # canonical id of the guest


class SnapshotsOutput(Page):
    """`total` counts snapshots; `pagination` runs through guests, each with all of its snapshots.

    `guests` (Patrol adds): every guest of this page whose snapshots were read, also one that has none.
    """

    snapshots: list[SnapshotRow] = always_list()
    total: Whole | None = None
    filtered: Whole | None = None
    guests: list[str] = msgspec.field(default_factory=list)


class ReplicationRow(Row):
    """One job that copies a guest to another node. `status` is free text; `error` is what the last run ended with."""

    id: Id = None
    guest_id: Id = None
    guest_name: str | None = None
    guest_type: str | None = None
    source_node: str | None = None
    target_node: str | None = None
    schedule: str | None = None
    status: str | None = None
    last_sync: Time = None
    next_sync: Time = None
    last_duration: float | str | None = None
    error: str | None = None
    # Patrol adds
    enabled: bool | None = None
    fail_count: Whole | None = None  # runs that failed in a row
    instance: str | None = None
    resource_id: str = ""  # canonical id of the guest


class ReplicationOutput(Page):
    """`jobs` is a bare array in documented recordings."""

    jobs: list[ReplicationRow] = always_list()
    total: Whole | None = None
    sources: list[str] = msgspec.field(default_factory=list)  # Patrol adds: all jobs of these sources were read
