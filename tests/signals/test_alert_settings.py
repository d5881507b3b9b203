"""The alerts.json format: defaults, normalisation, older forms, and what cannot be used."""

import json
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from signals.alert_settings import (
    AlertSettings,
    AlertSettingsError,
    dump_alert_settings,
    find_alert_settings,
    load_alert_settings,
    parse_alert_settings,
    save_alert_settings,
    settings_hash,
)

EXAMPLE = Path(__file__).resolve().parents[2] / "config" / "alerts.example.json"


def parse(document: object) -> AlertSettings:
    return parse_alert_settings(json.dumps(document))


def written(document: object) -> object:
    """What a document is saved as."""
    return json.loads(dump_alert_settings(parse(document)))


def in_force(document: object) -> dict[str, object]:
    """Every key with its value."""
    whole: dict[str, object] = json.loads(dump_alert_settings(parse(document), complete=True))
    return whole


def at(document: object, path: str) -> object:
    for key in path.split("."):
        assert isinstance(document, Mapping), path
        document = document.get(key)
    return document


def pair(trigger: float, clear: float) -> dict[str, float]:
    return {"trigger": trigger, "clear": clear}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("enabled", True),
        ("activationState", "pending_review"),
        ("observationWindowHours", 24),
        ("guestDefaults.cpu", pair(80, 75)),
        ("guestDefaults.memory", pair(85, 80)),
        ("guestDefaults.disk", pair(90, 85)),
        ("guestDefaults.diskRead", pair(0, 0)),
        ("guestDefaults.networkOut", pair(0, 0)),
        ("guestDefaults.poweredOffSeverity", "warning"),
        ("nodeDefaults.cpu", pair(80, 75)),
        ("nodeDefaults.temperature", pair(80, 75)),
        ("agentDefaults.disk", pair(90, 85)),
        ("agentDefaults.diskTemperature", pair(55, 50)),
        ("pbsDefaults.memory", pair(85, 80)),
        ("pbsDefaults.disk", None),
        ("kubernetesDefaults.disk", pair(90, 85)),
        ("truenasDefaults.disk", pair(85, 80)),
        ("truenasDefaults.usage", pair(85, 80)),
        ("truenasDiskDefaults.temperature", pair(55, 50)),
        ("vmwareDefaults.usage", pair(85, 80)),
        ("storageDefault", pair(85, 80)),
        ("diskFillByType", {"nvme": pair(92, 87), "sata": pair(90, 85), "hdd": pair(85, 80)}),
        ("diskTempByType", {"nvme": pair(70, 65), "sas": pair(65, 60), "sata": pair(55, 50)}),
        ("dockerDefaults.disk", pair(85, 80)),
        ("dockerDefaults.restartCount", 3),
        ("dockerDefaults.serviceCriticalGapPercent", 50),
        ("dockerDefaults.updateAlertDelayHours", 24),
        ("pmgDefaults.queueTotalWarning", 500),
        ("pmgDefaults.quarantineGrowthCritMin", 500),
        ("snapshotDefaults.enabled", False),
        ("snapshotDefaults.criticalDays", 45),
        ("backupDefaults.enabled", False),
        ("backupDefaults.warningDays", 7),
        ("backupDefaults.staleHours", 72),
        ("backupDefaults.alertOrphaned", True),
        ("backupDefaults.ignoreVMIDs", []),
        ("overrides", {}),
        ("customRules", None),
        ("schedule.quietHours.timezone", "America/New_York"),
        ("schedule.quietHours.days.saturday", False),
        ("schedule.cooldown", 5),
        ("schedule.initialNotify", "all"),
        (
            "schedule.escalation.levels",
            [{"after": n, "notify": t} for n, t in ((15, "email"), (30, "webhook"), (60, "all"))],
        ),
        ("schedule.grouping", {"enabled": True, "window": 30, "byNode": True, "byGuest": False}),
        ("disableAllPBS", False),
        ("disableAllTrueNAS", False),
        ("disableAllVMware", False),
        ("disableAllDockerHostsOffline", False),
        ("minimumDelta", 2),
        ("hysteresisMargin", 5),
        ("timeThresholds.k8s-namespace", 5),
        ("metricTimeThresholds", None),
        ("autoAcknowledgeAfterHours", 24),
        ("flappingCooldownMinutes", 15),
    ],
)
def test_an_absent_key_has_the_default_of_the_format(path: str, value: object) -> None:
    assert at(in_force({}), path) == value


@pytest.mark.parametrize("text", ["{}", "{ }", "\ufeff{}\n", '{"note": 1}'])
def test_a_file_that_only_lacks_enabled_does_not_switch_alerting_off(text: str) -> None:
    assert parse_alert_settings(text).enabled


def test_only_an_explicit_false_switches_alerting_off() -> None:
    assert parse({"enabled": False}).enabled is False
    assert parse({"enabled": None}).enabled is True


@pytest.mark.parametrize(
    ("given", "normal"),
    [
        (pair(80, 75), pair(80, 75)),
        ({"trigger": 80}, pair(80, 75)),
        (pair(80, 0), pair(80, 75)),
        (pair(80, -3), pair(80, 75)),
        (pair(80, 80), pair(80, 75)),
        (pair(80, 95), pair(80, 75)),
        (pair(3, 0), pair(3, 0)),
        (pair(5, 5), pair(5, 0)),
        (pair(0, 40), pair(0, 0)),
        (pair(-1, 40), pair(0, 0)),
        (pair(100, 95), pair(100, 95)),
        ({"trigger": 80, "clear": None}, pair(80, 75)),
    ],
)
@pytest.mark.parametrize(
    "place", ["guestDefaults.cpu", "nodeDefaults.disk", "storageDefault", "dockerDefaults.cpu", "diskFillByType.nvme"]
)
def test_a_threshold_is_off_at_zero_or_below_and_clears_below_its_trigger(
    place: str, given: dict[str, float], normal: dict[str, float]
) -> None:
    document: object = given
    for key in reversed(place.split(".")):
        document = {key: document}
    assert at(written(document), place) == normal


@pytest.mark.parametrize(
    ("section", "given", "normal"),
    [
        ("dockerDefaults", {"restartCount": 0, "restartWindow": -5}, {}),
        (
            "dockerDefaults",
            {"serviceWarnGapPercent": 60},
            {"serviceWarnGapPercent": 60, "serviceCriticalGapPercent": 60},
        ),
        ("dockerDefaults", {"updateAlertDelayHours": 0}, {"updateAlertDelayHours": 24}),
        ("dockerDefaults", {"updateAlertDelayHours": -7}, {"updateAlertDelayHours": -1}),
        ("dockerDefaults", {"statePoweredOffSeverity": "loud"}, {"statePoweredOffSeverity": "warning"}),
        ("dockerDefaults", {"statePoweredOffSeverity": "critical"}, {"statePoweredOffSeverity": "critical"}),
        ("pmgDefaults", {"queueTotalWarning": 0, "holdQueueWarn": 7}, {"holdQueueWarn": 7}),
        ("snapshotDefaults", {"warningDays": -1, "criticalDays": 5}, {"warningDays": 0, "criticalDays": 5}),
        ("snapshotDefaults", {"warningDays": 9, "criticalDays": 5}, {"warningDays": 5, "criticalDays": 5}),
        ("snapshotDefaults", {"warningDays": 9, "criticalDays": 0}, {"warningDays": 9, "criticalDays": 9}),
        ("snapshotDefaults", {"warningDays": 60}, {"warningDays": 60, "criticalDays": 60}),
        ("snapshotDefaults", {"warningSizeGiB": 2.5}, {"warningSizeGiB": 2.5, "criticalSizeGiB": 2.5}),
        ("snapshotDefaults", {"warningDays": 9}, {"warningDays": 9}),
        ("snapshotDefaults", {"criticalDays": 9}, {"warningDays": 9, "criticalDays": 9}),
        ("snapshotDefaults", {"criticalSizeGiB": 9}, {"criticalSizeGiB": 9}),
        ("backupDefaults", {"criticalDays": 3}, {"warningDays": 3, "criticalDays": 3}),
        ("backupDefaults", {"criticalDays": 0}, {"criticalDays": 7}),
        ("backupDefaults", {"criticalDays": 9}, {"criticalDays": 9}),
        ("backupDefaults", {"freshHours": 100}, {"freshHours": 100, "staleHours": 100}),
        ("backupDefaults", {"freshHours": 30, "staleHours": 8}, {"freshHours": 30, "staleHours": 30}),
        ("backupDefaults", {"ignoreVMIDs": [" 101 ", 101, "9*", ""]}, {"ignoreVMIDs": ["101", "9*"]}),
        ("schedule", {"initialNotify": "Webhooks"}, {"initialNotify": "webhook"}),
        ("schedule", {"initialNotify": "pigeon"}, {"initialNotify": "all"}),
        ("schedule", {"cooldown": 0, "notifyOnResolve": False}, {"cooldown": 0, "notifyOnResolve": False}),
        ("guestDefaults", {"poweredOffSeverity": "Critical!"}, {"poweredOffSeverity": "warning"}),
        (
            "guestDefaults",
            {"diskRead": pair(150, 100), "networkIn": pair(200, 1)},
            {"diskRead": pair(0, 0), "networkIn": pair(0, 0)},
        ),
        ("guestDefaults", {"diskRead": pair(149, 100)}, {"diskRead": pair(149, 100)}),
        ("nodeDefaults", {"diskRead": pair(150, 100)}, {"diskRead": pair(150, 100)}),
        ("diskFillByType", {" NVMe ": pair(70, 60), "nvme": pair(80, 70)}, {"nvme": pair(80, 70)}),
        ("diskFillByType", {" NVMe ": pair(70, 60), "ssd": pair(60, 0)}, {"nvme": pair(70, 60), "ssd": pair(60, 55)}),
        ("timeThresholds", {"Guest": 600, "node": -1, "qemu": 9}, {"guest": 600, "node": 5}),
        ("timeThresholds", {"host": 42, "docker": 7, "k8s": 8}, None),
        ("metricTimeThresholds", {"guest": {"CPU": 600, "memory": -1}, "host": {"cpu": 1}}, {"guest": {"cpu": 600}}),
        ("metricTimeThresholds", {"guest": {"memory": -1}, "node": None}, None),
    ],
)
def test_values_that_mean_a_default_or_are_out_of_order_are_put_right(
    section: str, given: object, normal: object
) -> None:
    assert at(written({section: given}), section) == normal


@pytest.mark.parametrize(
    ("given", "normal"),
    [
        ({"minimumDelta": 0, "suppressionWindow": -1, "hysteresisMargin": 0, "observationWindowHours": 0}, {}),
        ({"flappingWindowSeconds": 0, "flappingThreshold": 0, "flappingCooldownMinutes": 0}, {}),
        ({"maxAlertAgeDays": 0, "activationState": ""}, {"maxAlertAgeDays": 0}),
        ({"ignoredGuestPrefixes": [" dev-", "", "dev-"]}, {"ignoredGuestPrefixes": ["dev-"]}),
        ({"overrides": {"a": None}}, {"overrides": {}}),
    ],
)
def test_general_settings_of_zero_or_less_are_the_defaults(given: object, normal: object) -> None:
    assert written(given) == normal


def test_a_long_list_of_numbers_costs_no_more_than_its_length() -> None:
    started = time.perf_counter()
    settings = parse({"backupDefaults": {"ignoreVMIDs": [str(vmid) for vmid in range(100_000)] * 2}})
    assert len(settings.backup_defaults.ignore_vmids) == 100_000
    assert time.perf_counter() - started < 20  # half an hour if each is compared with all before it


def test_old_names_of_agents_are_read_as_agents() -> None:
    settings = parse({"hostDefaults": {"cpu": pair(91, 86)}, "disableAllHosts": True, "disableAllHostsOffline": True})
    assert settings.agent_defaults.cpu is not None
    assert settings.agent_defaults.cpu.trigger == 91
    assert settings.disable_all_agents
    assert settings.disable_all_agents_offline
    assert settings.place("agent_defaults", "cpu") == "hostDefaults.cpu"
    assert "hostDefaults" not in str(dump_alert_settings(settings))


def test_the_new_name_wins_over_the_old_one() -> None:
    settings = parse({"hostDefaults": {"cpu": pair(91, 86)}, "agentDefaults": {"cpu": pair(60, 50)}})
    assert settings.agent_defaults.cpu is not None
    assert settings.agent_defaults.cpu.trigger == 60
    assert settings.place("agent_defaults", "cpu") == "agentDefaults.cpu"


def test_the_recorded_file_with_old_keys_reads_as_its_modern_form(shared: Path) -> None:
    settings = load_alert_settings(shared / "data" / "pulse" / "alert_config_aliases.json")
    assert json.loads(dump_alert_settings(settings)) == {
        "agentDefaults": {"cpu": pair(91, 86)},
        "disableAllAgents": True,
        "disableAllAgentsOffline": True,
    }


@pytest.mark.parametrize(
    ("own", "kept"),
    [
        ({"enabled": True, "warningDays": 3, "criticalDays": 9}, {"enabled": True}),
        ({"enabled": False, "warningDays": 3}, {"enabled": False}),
        ({"warningDays": 3}, {"enabled": True}),
        ({"warningDays": 4, "criticalDays": 9}, {"warningDays": 4, "criticalDays": 9}),
        ({"enabled": True}, {"enabled": True}),
        ({"warningDays": -2}, {"warningDays": 0}),
        ({"enabled": True, "warningDays": 3, "freshHours": 24}, {"enabled": True}),
        ({"enabled": None, "warningDays": 3, "criticalDays": None, "why": None}, {"enabled": True, "why": None}),
        ({"freshHours": 24}, {"freshHours": 24}),
        ({"warningDays": 9, "criticalDays": 5}, {"warningDays": 5, "criticalDays": 5}),
        ({"warningDays": 4, "criticalDays": 0}, {"warningDays": 4, "criticalDays": 4}),
        ({"criticalDays": 2}, {"criticalDays": 2}),
        ({"warningSizeGiB": 9, "criticalSizeGiB": 5}, {"warningSizeGiB": 5, "criticalSizeGiB": 5}),
    ],
)
def test_a_recovery_override_that_repeats_the_globals_follows_them(own: object, kept: object) -> None:
    document = {"backupDefaults": {"warningDays": 3, "criticalDays": 9}, "overrides": {"vm:lab:1": {"backup": own}}}
    assert at(written(document), "overrides.vm:lab:1.backup") == kept
    assert written(written(document)) == written(document)


@pytest.mark.parametrize("general", [{}, {"warningDays": 7}, {"warningDays": 20, "criticalDays": 14}, None])
def test_the_globals_that_an_override_repeats_are_those_in_force(general: object) -> None:
    warning = 14 if general == {"warningDays": 20, "criticalDays": 14} else 7
    own = {"enabled": True, "warningDays": warning, "criticalDays": 14}
    document = {"backupDefaults": general, "overrides": {"vm:lab:1": {"backup": own}}}
    assert at(written(document), "overrides.vm:lab:1.backup") == {"enabled": True}


@pytest.mark.parametrize(
    ("general", "clear"),
    [
        ({}, 75),
        ({"minimumDelta": 1, "hysteresisMargin": 12}, 75),
        ({"minimumDelta": 0, "hysteresisMargin": 12}, 68),
        ({"minimumDelta": 0}, 75),
    ],
)
def test_an_override_of_usage_without_clear_takes_the_margin_of_old_files(
    general: dict[str, object], clear: float
) -> None:
    document = {**general, "overrides": {"storage:nvr": {"usage": {"trigger": 80}}}}
    assert at(written(document), "overrides.storage:nvr.usage") == pair(80, clear)


def test_an_override_keeps_its_own_clear_and_its_off() -> None:
    overrides = {"a": {"usage": pair(80, 60)}, "b": {"usage": pair(0, 0)}, "c": {"note": "x"}}
    assert at(written({"minimumDelta": 0, "overrides": overrides}), "overrides") == overrides


def test_unknown_keys_are_kept_at_every_depth() -> None:
    document = {
        "future": {"a": [1, {"b": None}], "c": 2.5},
        "guestDefaults": {"gpu": {"trigger": 3}, "cpu": {"trigger": 80, "clear": 70, "why": "x"}},
        "overrides": {"vm:lab:1": {"new": True, "backup": {"retain": 3}}},
        "schedule": {
            "quietHours": {"holidays": ["x"], "days": {"someday": True}},
            "escalation": {"levels": [{"after": 1, "notify": "all", "to": "me"}]},
        },
        "customRules": [
            {"id": "r", "filterConditions": {"filters": [{"type": "metric", "value": 3, "x": 1}]}, "y": {}}
        ],
        "diskTempByType": {"optane": {"trigger": 80, "clear": 70, "z": 1}},
        "backupDefaults": {"nightly": True},
    }
    assert written(document) == document


def test_a_foreign_key_spelt_like_a_field_is_not_the_operators_word_for_that_field() -> None:
    settings = parse({"storage_default": 5, "agentDefaults": {"disk_temperature": 1}})
    assert not settings.is_written("storage_default")
    assert settings.is_written("agent_defaults")
    assert not settings.is_written("agent_defaults", "disk_temperature")
    assert '"storage_default": 5' in dump_alert_settings(settings)


@pytest.mark.parametrize(
    ("text", "path", "says"),
    [
        ('{"guestDefaults": {"cpu": {"trigger": "high"}}}', "guestDefaults.cpu.trigger", "number, not text"),
        ('{"guestDefaults": {"cpu": {"trigger": true}}}', "guestDefaults.cpu.trigger", "number, not true"),
        ('{"guestDefaults": {"cpu": 80}}', "guestDefaults.cpu", "object, not 80"),
        ('{"guestDefaults": {"cpu": {"clear": 70}}}', "guestDefaults.cpu.trigger", "needs a value"),
        ('{"guestDefaults": {"cpu": {"trigger": 101}}}', "guestDefaults.cpu.trigger", "101 percent is never reached"),
        ('{"diskTempByType": {"SAS": {"trigger": 700}}}', "diskTempByType.sas.trigger", "700 degrees Celsius is never"),
        ('{"hostDefaults": {"cpu": {"trigger": {}}}}', "hostDefaults.cpu.trigger", "number, not an object"),
        ('{"overrides": {"vm:lab:101": {"memory": []}}}', "overrides[vm:lab:101].memory", "object, not a list"),
        ('{"overrides": []}', "overrides", "object, not a list"),
        ('{"enabled": "no"}', "enabled", "true or false, not text"),
        ('{"enabled": 0, "disableAllPBS": 1}', "enabled", "and 1 more"),
        ('{"backupDefaults": {"warningDays": 1.5}}', "backupDefaults.warningDays", "whole number, not 1.5"),
        ('{"backupDefaults": {"ignoreVMIDs": [true]}}', "backupDefaults.ignoreVMIDs[0]", "text, not true"),
        ('{"backupDefaults": {"ignoreVMIDs": "101"}}', "backupDefaults.ignoreVMIDs", "list, not text"),
        ('{"snapshotDefaults": {"warningDays": "x", "criticalDays": 1}}', "snapshotDefaults.warningDays", "whole"),
        ('{"snapshotDefaults": {"warningDays": 1, "criticalDays": "x"}}', "snapshotDefaults.criticalDays", "whole"),
        ('{"timeThresholds": {"guest": "x"}}', "timeThresholds.guest", "whole"),
        ('{"timeThresholds": 5}', "timeThresholds", "object, not 5"),
        ('{"metricTimeThresholds": {"guest": 5}}', "metricTimeThresholds.guest", "object, not 5"),
        ('{"overrides": {"a": 1}}', "overrides.a", "object, not 1"),
        ('{"schedule": {"escalation": {"levels": [{"after": "x"}]}}}', "schedule.escalation.levels[0].after", "whole"),
        ('{"guestDefaults": {"cpu": {"trigger": NaN}}}', "guestDefaults.cpu.trigger", "finite"),
        ('{"x": [0, -Infinity]}', "x[1]", "finite"),
        ('{"x": 1e999}', "x", "finite"),
        ('{"x": ' + "9" * 5000 + "}", "x", "finite"),
        ("[]", "the whole document", "object"),
        ("null", "the whole document", "object"),
        ("[" * 200_000, "the whole document", "nested"),
        ('{"x": ' + '{"y":' * 100 + "1" + "}" * 101, "x", "nested"),
        ('{"\\ud800": 1}', "the whole document", "unicode"),
    ],
)
def test_a_file_that_cannot_be_used_names_the_place_and_the_fix(text: str, path: str, says: str) -> None:
    with pytest.raises(AlertSettingsError) as refused:
        parse_alert_settings(text, source="/etc/alerts.json")
    assert refused.value.path == path
    assert says in refused.value.problem
    assert refused.value.fix
    assert str(refused.value).startswith(f"/etc/alerts.json: {path}: ")


def test_what_is_nested_as_deep_as_is_read_can_be_written_back() -> None:
    text = '{"x": ' + '{"y":' * 98 + "[1]" + "}" * 99
    assert json.loads(dump_alert_settings(parse_alert_settings(text))) == json.loads(text)


def test_a_level_of_escalation_without_a_time_costs_nobody_the_limits() -> None:
    document = {"schedule": {"escalation": {"levels": [{"notify": "email"}]}}}
    assert written(document) == document
    assert at(in_force(document), "schedule.escalation.levels") == [{"after": 0, "notify": "email"}]


def test_text_that_is_no_json_names_line_and_column() -> None:
    with pytest.raises(AlertSettingsError) as refused:
        parse_alert_settings('{\n  "enabled": true\n  "x": 1\n}')
    assert (refused.value.line, refused.value.column) == (3, 3)
    assert "alerts.json: line 3, column 3: " in str(refused.value)


def test_an_empty_file_is_broken_not_empty_settings() -> None:
    with pytest.raises(AlertSettingsError, match="is empty"):
        parse_alert_settings(" \n")


def test_equal_settings_have_equal_hashes_whatever_their_spelling() -> None:
    one = parse_alert_settings('{"nodeDefaults": {"cpu": {"trigger": 80, "clear": 75}}, "enabled": true, "note": null}')
    two = parse_alert_settings(
        '{"enabled":true,"note":null,"nodeDefaults":{"cpu":{"clear":75.0,"trigger":80.0},"disk":null}}'
    )
    assert settings_hash(one) == settings_hash(two)
    assert len(settings_hash(one)) == 64


@pytest.mark.parametrize("change", [{}, {"enabled": False}, {"nodeDefaults": {"cpu": pair(80, 74)}}])
def test_other_settings_have_another_hash(change: object) -> None:
    assert settings_hash(parse(change)) != settings_hash(parse({"nodeDefaults": {"cpu": pair(80, 75)}}))


def test_a_saved_file_is_private_and_read_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "alerts.json"
    path.write_text("old")
    path.chmod(0o644)
    settings = parse({"guestDefaults": {"note": "Käse \ud83d\ude00"}, "x": 1.5})
    save_alert_settings(settings, path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert settings_hash(load_alert_settings(path)) == settings_hash(settings)
    assert "Käse" in path.read_text(encoding="utf-8")
    assert [entry.name for entry in tmp_path.iterdir()] == ["alerts.json"]


def test_half_a_character_is_written_so_that_it_can_be_read_back(tmp_path: Path) -> None:
    settings = parse_alert_settings('{"x": {"y": "\\ud800"}}')
    save_alert_settings(settings, tmp_path / "alerts.json")
    assert settings_hash(load_alert_settings(tmp_path / "alerts.json")) == settings_hash(settings)


def test_a_failed_write_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    (tmp_path / "alerts.json").mkdir()
    with pytest.raises(OSError, match="directory"):
        save_alert_settings(parse({}), tmp_path / "alerts.json")
    assert [entry.name for entry in tmp_path.iterdir()] == ["alerts.json"]


def test_an_absent_file_is_no_settings_and_an_unreadable_one_is_an_error(tmp_path: Path) -> None:
    assert find_alert_settings(tmp_path / "alerts.json") is None
    with pytest.raises(AlertSettingsError, match="no such file"):
        load_alert_settings(tmp_path / "alerts.json")
    with pytest.raises(AlertSettingsError, match="cannot be read"):
        find_alert_settings(tmp_path)


@pytest.mark.parametrize(
    ("content", "says"), [(b'{"x": "\xff"}', "not UTF-8"), (b" " * (16 * 1024 * 1024 + 1), "larger")]
)
def test_a_file_of_other_content_is_an_error(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "alerts.json").write_bytes(content)
    with pytest.raises(AlertSettingsError, match=says):
        load_alert_settings(tmp_path / "alerts.json")


def test_the_example_is_the_format_with_its_defaults() -> None:
    # Written anew with: python -c 'from signals.alert_settings import *; print(dump_alert_settings(AlertSettings(),
    # complete=True), end="")' > config/alerts.example.json
    assert EXAMPLE.read_text(encoding="utf-8") == dump_alert_settings(AlertSettings(), complete=True)
    assert settings_hash(load_alert_settings(EXAMPLE)) == settings_hash(
        parse_alert_settings(dump_alert_settings(AlertSettings(), complete=True))
    )


def test_the_guide_names_every_key() -> None:
    guide = (EXAMPLE.parents[1] / "docs" / "alert-settings.md").read_text(encoding="utf-8")
    keys = {key for key in AlertSettings.wire_names() if f"`{key}`" not in guide}
    assert keys == set()
