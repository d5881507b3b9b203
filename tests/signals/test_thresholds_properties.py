"""What holds for every set of alert settings and every resource."""

import json
import re
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from signals.alert_settings import AlertSettings, dump_alert_settings, parse_alert_settings
from signals.evidence import InventoryOutput, InventoryRow
from signals.inventory import Inventory
from signals.thresholds import AlertThresholds, Limited
from signals.thresholds.families import FAMILIES

PAIRS = st.fixed_dictionaries({"trigger": st.integers(-5, 100)}, optional={"clear": st.integers(-5, 100)})
CONFIGS = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("cpu", "memory", "disk", "usage", "temperature", "diskTemperature"), PAIRS),
        "disabled": st.booleans(),
        "disableConnectivity": st.booleans(),
        "backup": st.fixed_dictionaries({}, optional={"enabled": st.booleans(), "warningDays": st.integers(-2, 9)}),
    },
)
DEFAULTS = ("guestDefaults", "nodeDefaults", "agentDefaults", "hostDefaults", "pbsDefaults", "truenasDefaults")
NAMES = st.sampled_from(["a", "b", "vm:lab:1", "vm:1", "storage:a", "agent:local:a", "disk:serial:S", "1", "a.b/c"])
DOCUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "enabled": st.booleans(),
        **dict.fromkeys(
            ("guestDefaults", "nodeDefaults", "agentDefaults", "hostDefaults", "pbsDefaults", "truenasDefaults"),
            CONFIGS,
        ),
        "dockerDefaults": st.fixed_dictionaries({}, optional={"cpu": PAIRS, "memory": PAIRS, "disk": PAIRS}),
        "storageDefault": PAIRS,
        "diskFillByType": st.dictionaries(st.sampled_from(["nvme", "SATA", "hdd", "zip"]), PAIRS),
        "diskTempByType": st.dictionaries(st.sampled_from(["nvme", "sas", "sata", "zip"]), PAIRS),
        "overrides": st.dictionaries(NAMES, CONFIGS, max_size=4),
        "backupDefaults": st.fixed_dictionaries(
            {},
            optional={"enabled": st.booleans(), "warningDays": st.integers(-1, 9), "ignoreVMIDs": st.just(["1", "9*"])},
        ),
        "ignoredGuestPrefixes": st.just(["a"]),
        "guestTagBlacklist": st.just(["t"]),
        "guestTagWhitelist": st.just(["u", "t"]),
        "dockerIgnoredContainerPrefixes": st.just(["b"]),
        **{
            key: st.booleans()
            for key in ("disableAllGuests", "disableAllNodes", "disableAllHosts", "disableAllStorage")
        },
    },
)
ROWS = st.builds(
    InventoryRow,
    id=NAMES,
    type=st.sampled_from([*FAMILIES, "", "teapot"]),
    name=st.sampled_from(["a", "b", "", "/b1"]),
    aliases=st.lists(NAMES, max_size=2),
    parent=st.sampled_from(["", "agent:local:a", "node:lab:n"]),
    tags=st.lists(st.sampled_from(["t", "u", "v"]), max_size=2),
    vmid=st.sampled_from([None, 1, 99]),
)
DISK_TYPES = st.sampled_from(["", "nvme", "sas", "sata", "hdd", "ssd", "zip", "cpu"])
MODES = st.fixed_dictionaries({}, optional={"proactive": st.booleans(), "backup_stale_hours": st.integers(-1, 99)})


WITHOUT_HYSTERESIS = {Limited.BACKUP_AGE, Limited.SNAPSHOT_AGE, Limited.SNAPSHOT_SIZE}
RATES = {Limited.NETWORK_IN, Limited.NETWORK_OUT, Limited.DISK_READ, Limited.DISK_WRITE}


def settings_of(document: object) -> AlertSettings:
    return parse_alert_settings(json.dumps(document))


@given(DOCUMENTS, ROWS, st.sampled_from(list(Limited)), DISK_TYPES, MODES)
def test_tiers_are_in_order_and_the_provenance_is_a_place(
    document: dict[str, object], row: InventoryRow, metric: Limited, disk_type: str, mode: dict[str, int]
) -> None:
    settings = settings_of(document)
    limits = AlertThresholds(settings, proactive=bool(mode.get("proactive")))
    limit = limits.limit(row, metric, disk_type=disk_type)
    if limit is None:
        assert is_place(limits.switched_off_by(row, metric, disk_type=disk_type), document, settings)
        return
    assert limits.switched_off_by(row, metric, disk_type=disk_type) == ""
    assert is_place(limit.provenance, document, settings)
    if metric in WITHOUT_HYSTERESIS:
        assert 0 < limit.clear == limit.trigger
    else:
        assert limit.watch is not None
        assert 0 < limit.watch < limit.trigger
        assert limit.trigger <= 100 or metric in RATES
        assert 0 < limit.clear < limit.trigger
    assert limit.critical is None or limit.trigger < limit.critical
    assert limit.critical is None or metric in WITHOUT_HYSTERESIS or limit.critical <= 100


def is_place(provenance: str, document: Mapping[str, object], settings: AlertSettings) -> bool:
    """Whether a provenance names a value that stands in the file, or a default of the format, or no place in it."""
    provenance = re.sub(r" \(proactive, ahead of [\d.]+\)$", "", provenance)
    if provenance in ("built-in", "built-in ([patrol] backup_stale)", "patrol.toml: [patrol] backup_stale"):
        return True
    if provenance.startswith("alerts.json (format default): "):
        whole = json.loads(dump_alert_settings(settings, complete=True))
        path = provenance.removeprefix("alerts.json (format default): ")
        today = re.sub(r"^hostDefaults\b", "agentDefaults", path)  # a file that uses the old name is shown its own word
        return stands_in(today, whole) and not stands_in(path, document)
    return stands_in(provenance.removeprefix("alerts.json: "), document)


def stands_in(path: str, document: object) -> bool:
    for step in re.findall(r"\[[^\]]*\]|[^.\[\]]+", path):
        key = step.strip("[]")
        entries = document if isinstance(document, Mapping) else {}
        spelt = next((each for each in entries if each == key or each.lower() == key), None)
        if spelt is None:
            return False
        document = entries[spelt]
    return True


@given(DOCUMENTS, ROWS, DISK_TYPES)
def test_what_is_not_special_has_the_limits_of_its_type(
    document: dict[str, object], row: InventoryRow, disk_type: str
) -> None:
    limits = AlertThresholds(settings_of(document))
    if not limits.is_special(row):
        for metric in Limited:
            assert limits.limit(row, metric, disk_type=disk_type) == limits.plain_limit(row.type, metric, disk_type)
            is_off = limits.switched_off_by(row, metric, disk_type=disk_type) != ""
            assert is_off == (limits.plain_limit(row.type, metric, disk_type) is None)


@given(row=ROWS, trigger=st.sampled_from([0, -1, -0.5]), proactive=st.booleans())
def test_off_is_off_for_every_resource(row: InventoryRow, trigger: float, *, proactive: bool) -> None:
    pair = {"trigger": trigger, "clear": 50}
    config = dict.fromkeys(("cpu", "memory", "disk", "usage", "temperature", "diskTemperature"), pair)
    sections = [key for key in AlertSettings.wire_names() if key.endswith("Defaults")]
    dropped = {"pmgDefaults", "snapshotDefaults", "backupDefaults"}
    tables = {"storageDefault": pair, **{section: config for section in sections if section not in dropped}}
    named = {"overrides": {row.id: config}}
    for document in (tables, named):
        limits = AlertThresholds(settings_of(document), proactive=proactive)
        for metric in (Limited.CPU, Limited.MEMORY, Limited.DISK, Limited.STORAGE, Limited.TEMPERATURE):
            assert limits.limit(row, metric, disk_type="nvme") is None


@given(DOCUMENTS, st.lists(ROWS, max_size=4, unique_by=lambda row: row.id))
def test_known_resources_never_gain_an_override_that_they_do_not_answer_to(
    document: dict[str, object], rows: list[InventoryRow]
) -> None:
    loose = AlertThresholds(settings_of(document))
    bound = loose.for_inventory(Inventory([InventoryOutput(resources=rows)]))
    for row in rows:
        for metric in Limited:
            limit = bound.limit(row, metric)
            if limit is not None and "overrides[" in limit.provenance and row.type != "disk":
                key = limit.provenance.partition("[")[2].partition("]")[0]
                names = {row.id, row.name, *row.aliases}
                assert key in names or key.partition(":")[0] == row.type
                assert key not in bound.overrides_without_target
        assert bound.window_seconds(row, Limited.CPU) >= 300
        assert bound.offline_expected(row) in (True, False)
