"""The outputs of `pulse_storage` about backups and the jobs that make them (see `signals.pages`)."""

import msgspec

from signals.pages import Id, Page, Row, Time, Whole, always_list


class BackupTaskRow(Row):
    """One attempt. `exitstatus` holds the result where `status` only says that the task has ended."""

    id: Id = None
    vmid: Id = None
    vm_name: str | None = None
    node: str | None = None
    instance: str | None = None
    type: str | None = None
    status: str | None = None
    exitstatus: str | None = None
    start_time: Time = None
    end_time: Time = None
    size_bytes: Whole | None = None
    error: str | int | None = None
    # Patrol adds
    resource_id: str = ""  # canonical id of the guest, where the tool could decide it
    log: list[str] = msgspec.field(default_factory=list)  # lines that name a failed guest


class BackupTasksOutput(Page):
    tasks: list[BackupTaskRow] = always_list()
    total: Whole | None = None
    filtered: Whole | None = None


class PbsBackupRow(Row):
    vmid: Id = None
    backup_type: str | None = None
    backup_time: Time = None
    instance: str | None = None
    datastore: str | None = None
    size_gb: float | None = None
    verified: bool | None = None
    protected: bool | None = None
    # Patrol adds
    namespace: str | None = None
    comment: str | None = None  # notes of the backup: by default the guest's name, often its node as well
    resource_id: str = ""


class PveBackupRow(Row):
    vmid: Id = None
    backup_time: Time = None
    size_gb: float | None = None
    storage: str | None = None
    # Patrol adds
    instance: str | None = None
    resource_id: str = ""


class DatastoreRow(Row):
    name: str = ""
    usage_percent: float | None = None
    free_gb: float | None = None


class PbsServerRow(Row):
    name: str = ""
    host: str = ""
    status: str = ""
    datastores: list[DatastoreRow] = always_list()


class BackupsOutput(Page):
    pbs: list[PbsBackupRow] = always_list()
    pve: list[PveBackupRow] = always_list()
    pbs_servers: list[PbsServerRow] = always_list()
    recent_tasks: list[BackupTaskRow] = always_list()


class PbsJobRow(Row):
    """A job of a backup server. Not OK, not WARNINGS, not empty = failed."""

    id: Id = None
    type: str = ""  # backup | sync | verify | prune | garbage
    store: str | None = None
    status: str | None = None
    last_run: Time = None
    next_run: Time = None
    error: str | None = None
    vmid: Id = None
    # Patrol adds
    resource_id: str = ""  # canonical id of the server or datastore it runs on
    instance: str | None = None


class PbsJobsOutput(Page):
    instance: str | None = None
    jobs: list[PbsJobRow] = always_list()
    total: Whole | None = None
