"""Which limit holds for which resource, and which place of the alert settings it comes from."""

import json

import pytest

from signals.alert_settings import AlertSettings, parse_alert_settings
from signals.evidence import InventoryOutput, InventoryRow
from signals.inventory import Inventory
from signals.thresholds import AlertThresholds, Limit, Limited

VM = InventoryRow(id="vm:lab:101", type="vm", name="web", vmid=101, instance="lab", aliases=["pve1/qemu/101"])
CT = InventoryRow(id="system-container:lab:102", type="system-container", name="dns", vmid=102, tags=["Prod", "dmz"])
NODE = InventoryRow(id="node:lab:pve1", type="node", name="pve1")
AGENT = InventoryRow(id="agent:local:box", type="agent", name="box", aliases=["box.lan"])
PBS = InventoryRow(id="pbs:main:pbs1", type="pbs", name="pbs1")
NVR = InventoryRow(id="storage:lab:nvr", type="storage", name="nvr")
ROOT = InventoryRow(id="storage:lab:root", type="storage", name="root")
DISK = InventoryRow(id="disk:serial:S1", type="disk", name="sda", parent=AGENT.id)
NODE_DISK = InventoryRow(id="disk:serial:S2", type="disk", name="sdb", parent=NODE.id)
CONTAINER = InventoryRow(id="app-container:box:abc123", type="app-container", name="/Tmp-job")
DOCKER_HOST = InventoryRow(id="docker-host:x:dock", type="docker-host", name="dock")
POD = InventoryRow(id="pod:k:web-1", type="pod", name="web-1")
POOL = InventoryRow(id="truenas-pool:nas:tank", type="truenas-pool", name="tank")
NAS_DISK = InventoryRow(id="truenas-disk:nas:ada0", type="truenas-disk", name="ada0")
STRANGER = InventoryRow(id="what", type="teapot", name="what")

PATROL_TOML = "built-in ([patrol] backup_stale)"
BACKUP_DEFAULTS = "alerts.json: backupDefaults.warningDays"
OF_WEB = "alerts.json: overrides[web].backup.warningDays"
DAYS: dict[str, object] = {"backupDefaults": {"warningDays": 3}}
IGNORED: dict[str, object] = {"backupDefaults": {"ignoreVMIDs": ["10*"]}}

HEALTH = {
    *(Limited.DISK_WEAR, Limited.BACKUP_AGE, Limited.SNAPSHOT_AGE, Limited.REPLICATION_LAG, Limited.NETWORK_ERRORS),
}
USAGE = [metric for metric in Limited if metric not in HEALTH]
"""What a switch of alerting silences. The size of a snapshot is among them here only because nothing limits it."""


def settings(document: object) -> AlertSettings:
    return parse_alert_settings(json.dumps(document))


def thresholds(document: object = None, **options: object) -> AlertThresholds:
    return AlertThresholds(settings(document) if document is not None else None, **options)  # type: ignore[arg-type]


def pair(trigger: float, clear: float) -> dict[str, float]:
    return {"trigger": trigger, "clear": clear}


def found(
    document: object, resource: InventoryRow, metric: Limited, disk_type: str = ""
) -> tuple[float, float, str] | None:
    limit = thresholds(document).limit(resource, metric, disk_type=disk_type)
    return (limit.trigger, limit.clear, limit.provenance) if limit is not None else None


# --- without an alert file ---


@pytest.mark.parametrize(
    ("metric", "disk_type", "trigger", "critical"),
    [
        (Limited.CPU, "", 70, None),
        (Limited.MEMORY, "", 80, None),
        (Limited.STORAGE, "", 75, 95),
        (Limited.DISK, "nvme", 75, 95),
        (Limited.INODES, "", 90, 95),
        (Limited.SWAP, "", 80, None),
        (Limited.PRESSURE_CPU, "", 80, None),
        (Limited.PRESSURE_MEMORY, "", 10, None),
        (Limited.PRESSURE_IO, "", 40, None),
        (Limited.TEMPERATURE, "", 80, None),
        (Limited.DISK_TEMPERATURE, "nvme", 70, None),
        (Limited.DISK_TEMPERATURE, "SAS ", 65, None),
        (Limited.DISK_TEMPERATURE, "sata", 55, None),
        (Limited.DISK_TEMPERATURE, "hdd", 55, None),
        (Limited.DISK_TEMPERATURE, "", 55, None),
        (Limited.DISK_WEAR, "", 80, None),
        (Limited.REPLICATION_LAG, "", 24, None),
        (Limited.NETWORK_USE, "", 90, None),
    ],
)
def test_without_an_alert_file_the_built_in_limits_hold(
    metric: Limited, disk_type: str, trigger: float, critical: float | None
) -> None:
    limit = thresholds().limit(VM, metric, disk_type=disk_type)
    assert limit is not None
    assert (limit.trigger, limit.clear, limit.critical) == (trigger, trigger - 5, critical)
    assert limit.provenance == "built-in"


def test_without_an_alert_file_few_lost_packets_and_young_snapshots_are_fine() -> None:
    errors, age = (thresholds().limit(VM, metric) for metric in (Limited.NETWORK_ERRORS, Limited.SNAPSHOT_AGE))
    assert errors == Limit(trigger=1, clear=0.5, watch=0.5, provenance="built-in")
    assert age == Limit(trigger=720, clear=720, provenance="built-in")


def test_without_an_alert_file_a_backup_is_stale_after_what_patrol_toml_says() -> None:
    limit = thresholds(backup_stale_hours=30).limit(VM, Limited.BACKUP_AGE)
    assert limit == Limit(trigger=30, clear=30, provenance="patrol.toml: [patrol] backup_stale")
    assert thresholds().limit(VM, Limited.BACKUP_AGE).trigger == 48  # type: ignore[union-attr]
    assert thresholds(backup_stale_hours=0).limit(VM, Limited.BACKUP_AGE) is None


def test_without_an_alert_file_nothing_is_special_or_expected_to_be_away() -> None:
    limits = thresholds()
    assert not limits.is_special(VM)
    assert not limits.offline_expected(VM)
    assert limits.window_seconds(VM, Limited.CPU) == 300


# --- by type ---


@pytest.mark.parametrize(
    ("resource", "metric", "disk_type", "trigger", "place"),
    [
        (VM, Limited.CPU, "", 80, "guestDefaults.cpu"),
        (CT, Limited.MEMORY, "", 85, "guestDefaults.memory"),
        (VM, Limited.DISK, "nvme", 90, "guestDefaults.disk"),
        (NODE, Limited.CPU, "", 80, "nodeDefaults.cpu"),
        (NODE, Limited.TEMPERATURE, "", 80, "nodeDefaults.temperature"),
        (NODE, Limited.DISK, "", 90, "nodeDefaults.disk"),
        (AGENT, Limited.DISK, "", 90, "agentDefaults.disk"),
        (AGENT, Limited.DISK, "nvme", 92, "diskFillByType.nvme"),
        (AGENT, Limited.DISK, "ssd", 90, "diskFillByType.sata"),
        (AGENT, Limited.DISK, "hdd", 85, "diskFillByType.hdd"),
        (AGENT, Limited.DISK, "model_config", 90, "agentDefaults.disk"),
        (AGENT, Limited.TEMPERATURE, "", 80, "nodeDefaults.temperature"),
        (DISK, Limited.DISK_TEMPERATURE, "nvme", 70, "diskTempByType.nvme"),
        (DISK, Limited.DISK_TEMPERATURE, "hdd", 55, "diskTempByType.sata"),
        (DISK, Limited.DISK_TEMPERATURE, "", 55, "agentDefaults.diskTemperature"),
        (NODE_DISK, Limited.DISK_TEMPERATURE, "sas", 65, "diskTempByType.sas"),
        (NAS_DISK, Limited.DISK_TEMPERATURE, "nvme", 55, "truenasDiskDefaults.temperature"),
        (PBS, Limited.CPU, "", 80, "pbsDefaults.cpu"),
        (PBS, Limited.DISK, "", 90, "nodeDefaults.disk"),
        (NVR, Limited.STORAGE, "", 85, "storageDefault"),
        (NVR, Limited.DISK, "hdd", 85, "storageDefault"),
        (NVR, Limited.CPU, "", 80, "nodeDefaults.cpu"),
        (PBS, Limited.STORAGE, "", 85, "storageDefault"),
        (POOL, Limited.STORAGE, "", 85, "truenasDefaults.usage"),
        (CONTAINER, Limited.DISK, "", 85, "dockerDefaults.disk"),
        (DOCKER_HOST, Limited.CPU, "", 80, "agentDefaults.cpu"),
        (POD, Limited.MEMORY, "", 85, "kubernetesDefaults.memory"),
        (STRANGER, Limited.MEMORY, "", 85, "nodeDefaults.memory"),
    ],
)
def test_a_file_without_a_word_gives_the_defaults_of_the_format(
    resource: InventoryRow, metric: Limited, disk_type: str, trigger: float, place: str
) -> None:
    expected = (trigger, trigger - 5, f"alerts.json (format default): {place}")
    assert found({}, resource, metric, disk_type) == expected


@pytest.mark.parametrize("metric", [Limited.INODES, Limited.SWAP, Limited.PRESSURE_IO, Limited.DISK_WEAR])
def test_what_the_format_has_no_word_for_is_built_in(metric: Limited) -> None:
    limit = thresholds({}).limit(AGENT, metric)
    assert limit is not None
    assert limit.provenance == "built-in"


def test_what_the_file_says_names_its_place_in_the_file() -> None:
    document = {
        "nodeDefaults": {"cpu": pair(60, 40)},
        "storageDefault": pair(50, 45),
        "hostDefaults": {"cpu": pair(91, 86)},
    }
    assert found(document, NODE, Limited.CPU) == (60, 40, "alerts.json: nodeDefaults.cpu")
    assert found(document, NODE, Limited.MEMORY) == (85, 80, "alerts.json (format default): nodeDefaults.memory")
    assert found(document, NVR, Limited.STORAGE) == (50, 45, "alerts.json: storageDefault")
    assert found(document, AGENT, Limited.CPU) == (91, 86, "alerts.json: hostDefaults.cpu")


def test_the_source_is_named_as_it_was_given() -> None:
    limit = thresholds({}, source="/etc/pulse/alerts.json").limit(NODE, Limited.CPU)
    assert limit is not None
    assert limit.provenance == "/etc/pulse/alerts.json (format default): nodeDefaults.cpu"


# --- tables by type of disk: a word of the operator is never beaten by a default of the format ---


@pytest.mark.parametrize(
    ("document", "answer"),
    [
        ({"diskFillByType": {"nvme": pair(70, 60)}}, (70, 60, "alerts.json: diskFillByType.nvme")),
        ({"agentDefaults": {"disk": pair(80, 70)}}, (80, 70, "alerts.json: agentDefaults.disk")),
        (
            {"agentDefaults": {"disk": pair(80, 70)}, "diskFillByType": {"NVMe": pair(95, 90)}},
            (95, 90, "alerts.json: diskFillByType.nvme"),
        ),
        (
            {"agentDefaults": {"disk": pair(80, 70)}, "diskFillByType": {"hdd": pair(95, 90)}},
            (80, 70, "alerts.json: agentDefaults.disk"),
        ),
        ({"agentDefaults": {"disk": pair(0, 0)}, "diskFillByType": {"nvme": pair(95, 90)}}, None),
        ({"diskFillByType": {"nvme": pair(0, 0)}}, None),
        (
            {"diskFillByType": {"nvme": pair(0, 0)}, "overrides": {"box": {"disk": pair(99, 90)}}},
            (99, 90, "alerts.json: overrides[box].disk"),
        ),
    ],
)
def test_the_fill_of_a_hosts_file_system(document: object, answer: object) -> None:
    assert found(document, AGENT, Limited.DISK, "nvme") == answer


def test_a_type_of_disk_of_ones_own_has_its_entry() -> None:
    document = {"diskTempByType": {"Optane": pair(80, 70)}}
    assert found(document, DISK, Limited.DISK_TEMPERATURE, "OPTANE") == (80, 70, "alerts.json: diskTempByType.optane")


def test_the_type_of_disk_may_stand_in_the_inventory() -> None:
    disk = InventoryRow(id="disk:serial:S3", type="disk", parent=AGENT.id, disk_type="nvme")
    assert found({}, disk, Limited.DISK_TEMPERATURE) == (70, 65, "alerts.json (format default): diskTempByType.nvme")


# --- overrides ---


@pytest.mark.parametrize("key", ["vm:lab:101", "pve1/qemu/101", "vm:101", "vm:web", "web"])
def test_an_override_is_found_under_any_id_or_name(key: str) -> None:
    document = {"overrides": {key: {"memory": pair(60, 50)}}}
    assert found(document, VM, Limited.MEMORY) == (60, 50, f"alerts.json: overrides[{key}].memory")
    assert found(document, CT, Limited.MEMORY) == (85, 80, "alerts.json (format default): guestDefaults.memory")
    assert thresholds(document).is_special(VM)
    assert not thresholds(document).is_special(CT)


def test_what_an_override_does_not_say_is_inherited() -> None:
    document = {"overrides": {VM.id: {"memory": pair(60, 50)}}, "guestDefaults": {"cpu": pair(50, 40)}}
    assert found(document, VM, Limited.CPU) == (50, 40, "alerts.json: guestDefaults.cpu")


def test_of_two_overrides_the_one_under_the_id_wins_and_the_other_fills_in() -> None:
    document = {"overrides": {"web": {"cpu": pair(50, 40), "disk": pair(40, 30)}, VM.id: {"cpu": pair(60, 50)}}}
    assert found(document, VM, Limited.CPU) == (60, 50, "alerts.json: overrides[vm:lab:101].cpu")
    assert found(document, VM, Limited.DISK) == (40, 30, "alerts.json: overrides[web].disk")


@pytest.mark.parametrize("metric", [Limited.CPU, Limited.DISK_WEAR, Limited.BACKUP_AGE, Limited.SNAPSHOT_AGE])
@pytest.mark.parametrize(
    ("by_id", "by_name", "is_off"), [(False, True, False), (True, False, True), (None, True, True)]
)
def test_of_two_words_about_disabled_that_under_the_id_holds(
    metric: Limited, *, by_id: bool | None, by_name: bool, is_off: bool
) -> None:
    limits = thresholds({"overrides": {"web": {"disabled": by_name}, VM.id: {"disabled": by_id}}})
    assert (limits.limit(VM, metric) is None) is is_off
    assert limits.offline_expected(VM) is is_off


@pytest.mark.parametrize("part", ["backup", "snapshot"])
@pytest.mark.parametrize(
    ("by_id", "by_name", "days"),
    [
        ({"enabled": True}, {"enabled": False}, {"backup": 7, "snapshot": 30}),
        ({"enabled": True}, {"enabled": False, "warningDays": 4}, 4),
        ({"warningDays": 4}, {"enabled": False}, None),
        ({"enabled": False}, {"enabled": True, "warningDays": 4}, None),
        ({"warningDays": 4}, {"warningDays": 5}, 4),
    ],
)
def test_of_two_overrides_of_recovery_that_under_the_id_wins_and_the_other_fills_in(
    part: str, by_id: object, by_name: object, days: object
) -> None:
    limits = thresholds({"overrides": {"web": {part: by_name}, VM.id: {part: by_id}}})
    limit = limits.limit(VM, Limited.BACKUP_AGE if part == "backup" else Limited.SNAPSHOT_AGE)
    expected = days[part] if isinstance(days, dict) else days
    assert (limit and limit.trigger / 24) == expected


def test_a_disk_that_is_not_disabled_by_its_own_word_is_not_disabled_by_its_host() -> None:
    limits = thresholds({"overrides": {AGENT.id: {"disabled": True}, DISK.id: {"disabled": False}}})
    assert limits.limit(DISK, Limited.DISK_TEMPERATURE) is not None
    assert limits.limit(AGENT, Limited.CPU) is None


@pytest.mark.parametrize("off", [0, -1])
@pytest.mark.parametrize("key", ["storage:nvr", "storage:lab:nvr", "nvr"])
@pytest.mark.parametrize("word", ["usage", "disk"])
def test_a_volume_that_is_full_by_design_can_be_left_alone(key: str, off: float, word: str) -> None:
    limits = thresholds({"overrides": {key: {word: {"trigger": off}}}})
    for resource in (NVR, InventoryRow(id="nvr", type="storage", name="nvr")):
        if key == "storage:lab:nvr" and resource is not NVR:
            continue
        assert limits.limit(resource, Limited.STORAGE) is None
        assert limits.switched_off_by(resource, Limited.STORAGE) == f"alerts.json: overrides[{key}].{word}"
    assert limits.limit(ROOT, Limited.STORAGE) is not None
    assert limits.switched_off_by(ROOT, Limited.STORAGE) == ""


def test_a_disabled_override_switches_everything_off_for_its_resource() -> None:
    limits = thresholds({"overrides": {VM.id: {"disabled": True}}})
    assert [metric for metric in Limited if limits.limit(VM, metric) is not None] == []
    assert limits.switched_off_by(VM, Limited.CPU) == "alerts.json: overrides[vm:lab:101].disabled"
    assert limits.switched_off_by(VM, Limited.BACKUP_AGE) == "alerts.json: overrides[vm:lab:101].disabled"
    assert limits.offline_expected(VM)


def test_a_disk_listens_to_its_own_override_and_then_to_its_hosts() -> None:
    document = {
        "overrides": {
            AGENT.id: {"diskTemperature": pair(45, 40), "temperature": pair(90, 80)},
            DISK.id: {"temperature": pair(50, 40)},
        }
    }
    other = InventoryRow(id="disk:serial:S9", type="disk", parent=AGENT.id)
    assert found(document, DISK, Limited.DISK_TEMPERATURE) == (
        50,
        40,
        "alerts.json: overrides[disk:serial:S1].temperature",
    )
    assert found(document, other, Limited.DISK_TEMPERATURE) == (
        45,
        40,
        "alerts.json: overrides[agent:local:box].diskTemperature",
    )
    assert found(document, other, Limited.DISK_WEAR) == (80, 75, "built-in")


def test_a_disabled_host_takes_the_usage_limits_of_its_disks_along_but_not_their_health() -> None:
    limits = thresholds({"overrides": {AGENT.id: {"disabled": True}}})
    assert limits.limit(DISK, Limited.DISK_TEMPERATURE) is None
    assert limits.limit(DISK, Limited.DISK_WEAR) is not None
    assert limits.limit(NODE_DISK, Limited.DISK_TEMPERATURE) is not None


# --- overrides among known resources ---


def known(*rows: InventoryRow) -> Inventory:
    return Inventory([InventoryOutput(resources=list(rows))])


def test_an_override_key_that_several_resources_answer_to_decides_nothing() -> None:
    twin = InventoryRow(id="vm:other:55", type="vm", name="web", vmid=55)
    other_nvr = InventoryRow(id="storage:other:nvr", type="storage", name="nvr")
    document = {
        "overrides": {
            "web": {"cpu": pair(50, 40)},
            "storage:nvr": {"usage": pair(0, 0)},
            "nobody": {"cpu": pair(1, 0)},
            "vm:nobody": {},
            "pve1/qemu/101": {"memory": pair(40, 30)},
            "system-container:dns": {"memory": pair(30, 20)},
        }
    }
    limits = thresholds(document).for_inventory(known(VM, CT, twin, NVR, other_nvr))
    for resource in (VM, twin):
        assert limits.limit(resource, Limited.CPU).provenance.endswith("guestDefaults.cpu")  # type: ignore[union-attr]
    for storage in (NVR, other_nvr):
        assert limits.limit(storage, Limited.STORAGE) is not None
    assert limits.limit(VM, Limited.MEMORY).trigger == 40  # type: ignore[union-attr]
    assert limits.limit(CT, Limited.MEMORY).trigger == 30  # type: ignore[union-attr]
    assert set(limits.overrides_without_target) == {"web", "storage:nvr", "nobody", "vm:nobody"}
    assert "several" in limits.overrides_without_target["web"]
    assert "no resource" in limits.overrides_without_target["vm:nobody"]
    assert thresholds(document).overrides_without_target == {}


def test_with_known_resources_a_disk_finds_its_host_by_any_name_of_the_host() -> None:
    limits = thresholds({"overrides": {"box.lan": {"diskTemperature": pair(45, 40)}}}).for_inventory(known(AGENT, DISK))
    assert limits.limit(DISK, Limited.DISK_TEMPERATURE).trigger == 45  # type: ignore[union-attr]


def test_a_resource_that_the_inventory_does_not_know_is_matched_by_itself() -> None:
    limits = thresholds({"overrides": {"box.lan": {"cpu": pair(45, 40)}}}).for_inventory(known(VM))
    assert limits.limit(AGENT, Limited.CPU).trigger == 45  # type: ignore[union-attr]
    assert limits.limit(DISK, Limited.DISK_TEMPERATURE) is not None


def test_for_inventory_keeps_the_other_options() -> None:
    limits = thresholds({}, source="x", proactive=True, backup_stale_hours=9).for_inventory(known(VM))
    assert limits.limit(VM, Limited.CPU) == thresholds({}, source="x", proactive=True).limit(VM, Limited.CPU)
    assert limits.limit(VM, Limited.BACKUP_AGE).trigger == 9  # type: ignore[union-attr]


# --- switches and lists ---


def test_alerting_switched_off_silences_usage_and_nothing_else() -> None:
    limits = thresholds({"enabled": False})
    for resource in (VM, NODE, AGENT, NVR, DISK, STRANGER):
        assert [metric for metric in Limited if limits.limit(resource, metric) is None] == USAGE
        assert not limits.offline_expected(resource)
    assert limits.switched_off_by(VM, Limited.SWAP) == "alerts.json: enabled"


@pytest.mark.parametrize(
    ("switch", "resource"),
    [
        ("disableAllGuests", VM),
        ("disableAllGuests", CT),
        ("disableAllNodes", NODE),
        ("disableAllNodes", NODE_DISK),
        ("disableAllAgents", AGENT),
        ("disableAllHosts", AGENT),
        ("disableAllAgents", DISK),
        ("disableAllStorage", NVR),
        ("disableAllPBS", PBS),
        ("disableAllDockerHosts", DOCKER_HOST),
        ("disableAllDockerContainers", CONTAINER),
        ("disableAllKubernetes", POD),
        ("disableAllTrueNAS", POOL),
    ],
)
def test_a_switch_of_a_type_silences_usage_and_connectivity_of_that_type_alone(
    switch: str, resource: InventoryRow
) -> None:
    limits = thresholds({switch: True})
    assert [metric for metric in Limited if limits.limit(resource, metric) is None] == USAGE
    assert limits.offline_expected(resource)
    assert limits.switched_off_by(resource, Limited.INODES) == f"alerts.json: {switch}"
    assert limits.limit(STRANGER, Limited.CPU) is not None
    assert not limits.offline_expected(STRANGER)


def test_disks_belong_to_the_host_they_are_in() -> None:
    limits = thresholds({"disableAllNodes": True})
    assert limits.limit(DISK, Limited.DISK_TEMPERATURE) is not None
    assert limits.is_special(NODE_DISK)
    assert not limits.is_special(DISK)


def test_all_storage_switched_off_covers_the_datastores_of_other_types() -> None:
    limits = thresholds({"disableAllStorage": True})
    assert limits.limit(PBS, Limited.STORAGE) is None
    assert limits.limit(PBS, Limited.CPU) is not None


def test_a_disabled_defaults_object_switches_its_type_off_except_where_an_override_speaks() -> None:
    limits = thresholds({"guestDefaults": {"disabled": True}, "overrides": {VM.id: {"cpu": pair(50, 40)}}})
    assert limits.limit(CT, Limited.CPU) is None
    assert limits.limit(CT, Limited.SWAP) is None
    assert limits.switched_off_by(CT, Limited.CPU) == "alerts.json: guestDefaults.disabled"
    assert limits.limit(VM, Limited.CPU) is not None
    assert limits.offline_expected(CT)


@pytest.mark.parametrize(
    ("document", "ignored", "kept", "place"),
    [
        ({"ignoredGuestPrefixes": ["WE"]}, VM, CT, "ignoredGuestPrefixes"),
        ({"guestTagWhitelist": ["prod"]}, VM, CT, "guestTagWhitelist"),
        ({"guestTagBlacklist": ["DMZ"]}, CT, VM, "guestTagBlacklist"),
        ({"guestTagBlacklist": ["dmz"], "guestTagWhitelist": ["prod"]}, CT, NODE, "guestTagBlacklist"),
        ({"dockerIgnoredContainerPrefixes": ["tmp-"]}, CONTAINER, VM, "dockerIgnoredContainerPrefixes"),
        ({"dockerIgnoredContainerPrefixes": ["abc"]}, CONTAINER, NODE, "dockerIgnoredContainerPrefixes"),
    ],
)
def test_lists_of_names_and_tags_leave_usage_and_connectivity_out_but_not_backups(
    document: object, ignored: InventoryRow, kept: InventoryRow, place: str
) -> None:
    limits = thresholds(document)
    assert [metric for metric in Limited if limits.limit(ignored, metric) is None] == USAGE
    assert limits.offline_expected(ignored)
    assert limits.switched_off_by(ignored, Limited.CPU) == f"alerts.json: {place}"
    assert limits.limit(kept, Limited.CPU) is not None
    assert not limits.offline_expected(kept)


def test_a_container_prefix_leaves_other_containers_alone() -> None:
    assert thresholds({"dockerIgnoredContainerPrefixes": ["x"]}).limit(CONTAINER, Limited.CPU) is not None


# --- what only an operator limits, and snapshots ---

RATES = [Limited.NETWORK_IN, Limited.NETWORK_OUT, Limited.DISK_READ, Limited.DISK_WRITE]
_WIRE = {
    Limited.NETWORK_IN: "networkIn",
    Limited.NETWORK_OUT: "networkOut",
    Limited.DISK_READ: "diskRead",
    Limited.DISK_WRITE: "diskWrite",
}


@pytest.mark.parametrize("metric", RATES)
def test_a_rate_has_no_limit_until_an_operator_sets_one(metric: Limited) -> None:
    for document in (None, {}):
        assert all(thresholds(document).limit(row, metric) is None for row in (VM, NODE, AGENT, STRANGER))
    document = {
        "guestDefaults": {_WIRE[metric]: pair(120, 100)},
        "overrides": {"pve1": {_WIRE[metric]: pair(300, 0)}},
    }
    assert found(document, VM, metric) == (120, 100, f"alerts.json: guestDefaults.{_WIRE[metric]}")
    assert found(document, AGENT, metric) is None
    limits = thresholds(document).for_inventory(Inventory([InventoryOutput(resources=[NODE])]))
    limit = limits.limit(NODE, metric)
    assert limit is not None
    assert (limit.trigger, limit.clear, limit.critical) == (300, 295, None)


AGE, SIZE = Limited.SNAPSHOT_AGE, Limited.SNAPSHOT_SIZE
SNAPSHOTS = "alerts.json: snapshotDefaults"


@pytest.mark.parametrize(
    ("document", "metric", "expected"),
    [
        ({}, AGE, (720, None, "built-in")),
        ({"snapshotDefaults": {"warningDays": 3}}, AGE, (720, None, "built-in")),  # not enabled, and not switched off
        ({"snapshotDefaults": {"enabled": False}}, AGE, None),
        ({"snapshotDefaults": {"enabled": True, "warningDays": 3}}, AGE, (72, 1080, f"{SNAPSHOTS}.warningDays")),
        (
            {"snapshotDefaults": {"enabled": True}},
            AGE,
            (720, 1080, "alerts.json (format default): snapshotDefaults.warningDays"),
        ),
        ({"snapshotDefaults": {"enabled": True, "warningDays": 0}}, AGE, None),
        ({"enabled": False}, AGE, (720, None, "built-in")),
        ({}, SIZE, None),
        (
            {"snapshotDefaults": {"enabled": True, "warningSizeGiB": 50, "criticalSizeGiB": 80}},
            SIZE,
            (50, 80, f"{SNAPSHOTS}.warningSizeGiB"),
        ),
        (
            {"overrides": {"web": {"snapshot": {"warningDays": 7, "criticalDays": 7}}}},
            AGE,
            (168, None, "alerts.json: overrides[web].snapshot.warningDays"),
        ),
        ({"overrides": {"web": {"snapshot": {"enabled": False}}}}, AGE, None),
        (
            {"overrides": {"web": {"snapshot": {"enabled": True}}}, "snapshotDefaults": {"warningDays": 5}},
            AGE,
            (120, 1080, f"{SNAPSHOTS}.warningDays"),
        ),
        ({"overrides": {"web": {"note": "x"}}}, AGE, (720, None, "built-in")),
        ({"overrides": {"web": {"disabled": True}}}, AGE, None),
    ],
)
def test_the_limits_of_snapshots(document: object, metric: Limited, expected: tuple | None) -> None:
    limit = thresholds(document).for_inventory(Inventory([InventoryOutput(resources=[VM])])).limit(VM, metric)
    assert (limit and (limit.trigger, limit.critical, limit.provenance)) == expected
    assert limit is None or limit.clear == limit.trigger


# --- connectivity ---


@pytest.mark.parametrize(
    ("document", "resource", "expected"),
    [
        ({"overrides": {"pbs1": {"disableConnectivity": True}}}, PBS, True),
        ({"overrides": {"pbs1": {"disableConnectivity": False}}}, PBS, False),
        ({"overrides": {"pbs1": {"note": "cold"}}}, PBS, False),
        ({"pbsDefaults": {"disableConnectivity": True}}, PBS, True),
        (
            {"pbsDefaults": {"disableConnectivity": True}, "overrides": {"pbs1": {"disableConnectivity": False}}},
            PBS,
            False,
        ),
        ({"disableAllPBSOffline": True}, PBS, True),
        ({"disableAllHostsOffline": True}, AGENT, True),
        ({"disableAllGuestsOffline": True}, PBS, False),
        ({"dockerDefaults": {"stateDisableConnectivity": True}}, CONTAINER, True),
        ({}, CONTAINER, False),
        ({}, NVR, False),
        ({"enabled": False}, PBS, False),
    ],
)
def test_a_resource_may_be_away_where_the_operator_said_so(
    document: object, resource: InventoryRow, *, expected: bool
) -> None:
    assert thresholds(document).offline_expected(resource) is expected


def test_connectivity_off_leaves_usage_limits_on() -> None:
    limits = thresholds({"disableAllPBSOffline": True, "overrides": {"pbs1": {"disableConnectivity": True}}})
    assert limits.limit(PBS, Limited.CPU) is not None


# --- windows ---


@pytest.mark.parametrize(
    ("document", "seconds"),
    [
        ({}, 300),
        ({"timeThresholds": {"guest": 20}}, 300),
        ({"timeThresholds": {"guest": 900}}, 900),
        ({"timeThresholds": {"vm": 800, "guest": 900}}, 800),
        ({"timeThresholds": {"all": 700}}, 700),
        ({"timeThresholds": {"node": 900}}, 300),
        ({"metricTimeThresholds": {"guest": {"CPU": 600}}, "timeThresholds": {"guest": 900}}, 600),
        ({"metricTimeThresholds": {"guest": {"cpu": 0}}, "timeThresholds": {"guest": 900}}, 300),
        ({"metricTimeThresholds": {"guest": {"*": 500}}}, 500),
        ({"metricTimeThresholds": {"guest": {"default": 500}}}, 500),
        ({"metricTimeThresholds": {"all": {"_default": 500}}}, 500),
        ({"metricTimeThresholds": {"guest": {"memory": 500}}}, 300),
    ],
)
def test_delays_may_lengthen_the_window_of_cpu_and_never_shorten_it(document: object, seconds: float) -> None:
    limits = thresholds(document)
    assert limits.window_seconds(VM, Limited.CPU) == seconds
    assert limits.window_seconds(VM, Limited.MEMORY) == 0
    assert limits.window_seconds(VM, Limited.PRESSURE_IO) == 0


# --- backups ---


@pytest.mark.parametrize(
    ("document", "hours", "critical", "place"),
    [
        ({}, 48, None, PATROL_TOML),
        ({"backupDefaults": {"warningDays": 3}}, 48, None, PATROL_TOML),
        ({"backupDefaults": {"enabled": True}}, 168, 336, "alerts.json (format default): backupDefaults.warningDays"),
        ({"backupDefaults": {"enabled": True, "warningDays": 8, "criticalDays": 8}}, 192, None, BACKUP_DEFAULTS),
        ({"overrides": {"web": {"backup": {"warningDays": 2}}}}, 48, 336, OF_WEB),
        ({"overrides": {"web": {"backup": {"warningDays": 2, "criticalDays": 3}}}}, 48, 72, OF_WEB),
        (
            DAYS | {"overrides": {"web": {"backup": {"enabled": True}}}},
            72,
            336,
            BACKUP_DEFAULTS,
        ),
        ({"overrides": {"web": {"cpu": {"trigger": 9}}}}, 48, None, PATROL_TOML),
        (
            {
                "backupDefaults": {"enabled": True, "warningDays": 8},
                "overrides": {"web": {"backup": {"criticalDays": 9}}},
            },
            192,
            216,
            BACKUP_DEFAULTS,
        ),
        (
            {"backupDefaults": {"enabled": True}, "overrides": {"web": {"backup": {"criticalDays": 3}}}},
            72,
            None,
            "alerts.json: overrides[web].backup.criticalDays",
        ),
        (
            {"backupDefaults": {"enabled": True}, "overrides": {"web": {"backup": {"criticalDays": 0}}}},
            168,
            None,
            "alerts.json (format default): backupDefaults.warningDays",
        ),
        ({"overrides": {"web": {"backup": {"criticalDays": 3}}}}, 48, 72, PATROL_TOML),
        ({"overrides": {"web": {"backup": {"warningDays": 20}}}}, 480, None, OF_WEB),
        ({"backupDefaults": {"enabled": True, "criticalDays": 3}}, 72, None, BACKUP_DEFAULTS),
        ({"disableAllGuests": True, "enabled": False}, 48, None, PATROL_TOML),
    ],
)
def test_the_age_of_a_backup(document: object, hours: float, critical: float | None, place: str) -> None:
    limits = thresholds(document)
    assert limits.limit(VM, Limited.BACKUP_AGE) == Limit(
        trigger=hours, clear=hours, critical=critical, provenance=place
    )
    assert not limits.backup_ignored(VM)


@pytest.mark.parametrize(
    ("document", "place"),
    [
        ({"backupDefaults": {"ignoreVMIDs": ["101"]}}, "backupDefaults.ignoreVMIDs"),
        (
            {"backupDefaults": {"ignoreVMIDs": ["10*"]}, "overrides": {"web": {"backup": {"warningDays": 1}}}},
            "backupDefaults.ignoreVMIDs",
        ),
        ({"backupDefaults": {"enabled": True, "warningDays": 0}}, "backupDefaults.warningDays"),
        ({"overrides": {"web": {"backup": {"warningDays": 0}}}}, "overrides[web].backup.warningDays"),
        ({"overrides": {"web": {"backup": {"enabled": False, "warningDays": 3}}}}, "overrides[web].backup.enabled"),
        ({"overrides": {"web": {"disabled": True}}}, "overrides[web].disabled"),
        (
            {
                "backupDefaults": {"enabled": True, "warningDays": 0},
                "overrides": {"web": {"backup": {"criticalDays": 3}}},
            },
            "backupDefaults.warningDays",
        ),
    ],
)
def test_the_age_of_a_backup_can_be_left_alone(document: object, place: str) -> None:
    limits = thresholds(document)
    assert limits.backup_ignored(VM)
    assert limits.switched_off_by(VM, Limited.BACKUP_AGE) == f"alerts.json: {place}"
    assert limits.limit(VM, Limited.CPU) is not None or "disabled" in place


def test_ignored_numbers_match_whole_or_by_prefix_also_without_an_inventory() -> None:
    limits = thresholds({"backupDefaults": {"ignoreVMIDs": ["10", "2*"]}})
    assert not limits.backup_ignored(VM)
    assert limits.backup_ignored(InventoryRow(id="10"))
    assert limits.backup_ignored(InventoryRow(id="vm:lab:277", type="vm"))
    assert not limits.backup_ignored(InventoryRow(id="vm:lab:1", type="vm"))


# --- hot loops ---


def test_plain_limits_are_those_of_every_resource_that_is_not_special() -> None:
    limits = thresholds({"overrides": {"web": {"cpu": pair(50, 40)}}, "guestTagBlacklist": ["dmz"]})
    plain = limits.plain_limit("vm", Limited.CPU)
    assert plain is not None
    assert plain is limits.plain_limit("vm", Limited.CPU)
    other = InventoryRow(id="vm:lab:9", type="vm", name="other")
    assert not limits.is_special(other)
    assert limits.limit(other, Limited.CPU) is plain
    assert limits.is_special(VM)
    assert limits.is_special(CT)
