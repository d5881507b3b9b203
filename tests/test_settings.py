"""Settings: which file counts, what is refused and in which words, and where each value comes from."""

import contextlib
import tomllib
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patrol.logs import Redaction
from patrol.settings.durations import format_duration, parse_duration
from patrol.settings.load import LoadedSettings, OriginKind, load_settings, validate
from patrol.settings.model import Settings
from patrol.settings.places import default_database_url, find_settings_file, why_not_trusted
from patrol.settings.problems import SettingsProblemError, variable_name
from patrol.settings.sample import sample_text
from patrol.settings.schema import known_keys, lists, sections


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("PATROL_CONFIG", "CREDENTIALS_DIRECTORY", "STATE_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def write(folder: Path, text: str, name: str = "settings.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def load(folder: Path, text: str) -> LoadedSettings:
    return load_settings(write(folder, text))


def problems_of(folder: Path, text: str) -> list[str]:
    with pytest.raises(SettingsProblemError) as caught:
        load(folder, text)
    return [problem.removeprefix(f"{folder}/settings.toml: ") for problem in caught.value.problems]


# --- durations -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10m", 600),
        ("1h30m", 5_400),
        ("1h 30m", 5_400),
        ("48h", 172_800),
        ("7d", 604_800),
        ("2w", 1_209_600),
        ("90s", 90),
        ("PT1H30M", 5_400),
        ("P7D", 604_800),
        ("P1DT1H", 90_000),
        ("pt10m", 600),
        ("0", 0),
        ("0s", 0),
    ],
)
def test_a_duration_is_read_as_people_write_it(text: str, seconds: int) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "600",
        "10",
        "m",
        "10x",
        "1.5h",
        "-1h",
        "30m1h",
        "1h1h",
        "P",
        "PT",
        "P1",
        "10:00",
        "\u0661\u0660m",
        "999999999w",
    ],
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        parse_duration(text)


def test_a_bare_number_is_refused_with_the_way_to_write_it() -> None:
    with pytest.raises(ValueError, match=r'no unit.*"10m"'):
        parse_duration("600")


@given(st.timedeltas(min_value=timedelta(), max_value=timedelta(days=4000)))
def test_a_duration_that_was_written_is_read_back(duration: timedelta) -> None:
    whole = timedelta(seconds=int(duration.total_seconds()))
    assert parse_duration(format_duration(whole)) == whole


@given(st.text(max_size=20))
def test_any_text_is_a_duration_or_a_value_error(text: str) -> None:
    try:
        duration = parse_duration(text)
    except ValueError:
        return
    assert duration >= timedelta()


# --- which file ------------------------------------------------------------------------------------------------


def test_the_first_file_of_option_variable_folder_and_system_counts(tmp_path: Path) -> None:
    local = write(tmp_path, "", "patrol.toml")
    system = write(tmp_path, "", "system.toml")
    me = local.stat().st_uid or 1000
    option, variable = Path("option.toml"), "variable.toml"

    def found(option: Path | None, environment: dict[str, str], folder: Path) -> Path | None:
        return find_settings_file(option, environment, folder, me, system).path

    assert found(option, {"PATROL_CONFIG": variable}, tmp_path) == option
    assert found(None, {"PATROL_CONFIG": variable}, tmp_path) == Path(variable)
    assert found(None, {"PATROL_CONFIG": ""}, tmp_path / "empty") == system
    assert find_settings_file(None, {}, tmp_path / "empty", me, tmp_path / "none.toml").path is None


@pytest.mark.parametrize(
    ("owner", "mode", "user", "why"),
    [
        (1000, 0o100644, 1000, ""),
        (1000, 0o100600, 1000, ""),
        (1000, 0o100664, 1000, "others may write to it"),
        (1000, 0o100646, 1000, "others may write to it"),
        (1001, 0o100644, 1000, "it belongs to another user"),
        (0, 0o100644, 1000, "it belongs to another user"),
        (0, 0o100600, 0, "root takes no settings from the current folder"),
        (1000, 0o100600, 0, "root takes no settings from the current folder"),
    ],
)
def test_a_file_in_the_current_folder_counts_only_where_nobody_else_can_write_it(
    owner: int, mode: int, user: int, why: str
) -> None:
    assert why_not_trusted(owner, mode, user) == why


def test_a_file_that_is_not_used_is_named_with_the_way_to_use_it(tmp_path: Path) -> None:
    write(tmp_path, "", "patrol.toml")
    answer = find_settings_file(None, {}, tmp_path, 0, tmp_path / "none.toml")
    assert answer.path is None
    assert "patrol.toml is not used" in answer.note
    assert "--config" in answer.note


def test_a_dangling_link_in_the_current_folder_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "patrol.toml").symlink_to("nowhere")
    assert find_settings_file(None, {}, tmp_path, 1000, tmp_path / "none.toml").path is None


def test_a_file_that_was_asked_for_must_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsProblemError, match=r"missing\.toml: cannot be read: No such file"):
        load_settings(tmp_path / "missing.toml")
    monkeypatch.setenv("PATROL_CONFIG", str(tmp_path / "also-missing.toml"))
    with pytest.raises(SettingsProblemError, match=r"also-missing\.toml: cannot be read"):
        load_settings()


def test_the_database_lies_in_the_state_directory_of_systemd_else_with_the_service_for_its_user_else_at_home(
    tmp_path: Path,
) -> None:
    def url(service: Path, user_id: int, **environment: str) -> str:
        return default_database_url(environment, Path("/home/a"), user_id, service)

    owner = tmp_path.stat().st_uid
    assert url(tmp_path, owner, STATE_DIRECTORY="/srv/patrol") == "sqlite:////srv/patrol/patrol.db"
    assert url(tmp_path, owner, STATE_DIRECTORY="/srv/patrol:/srv/x") == "sqlite:////srv/patrol/patrol.db"
    assert url(tmp_path, owner) == f"sqlite:///{tmp_path}/patrol.db"
    assert url(tmp_path, owner + 1) == "sqlite:////home/a/.local/state/patrol/patrol.db"
    assert url(tmp_path / "none", owner) == "sqlite:////home/a/.local/state/patrol/patrol.db"


# --- what is in force -------------------------------------------------------------------------------------------


def test_without_any_file_the_local_host_is_watched_with_no_model(tmp_path: Path) -> None:
    loaded = load(tmp_path, "")
    assert [source.type for source in loaded.settings.sources] == ["local"]
    assert loaded.settings.model.name == ""
    assert loaded.settings.patrol.interval == timedelta(hours=1)
    assert loaded.settings.patrol.backup_stale == timedelta(hours=48)
    assert loaded.settings.patrol.autonomy == "monitor"
    assert loaded.database_url == f"sqlite:///{tmp_path}/home/.local/state/patrol/patrol.db"


def test_the_environment_goes_before_the_file_and_leaves_the_other_keys_of_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATROL_PATROL__INTERVAL", "2h")
    loaded = load(tmp_path, '[patrol]\ninterval = "3h"\nbackup_stale = "24h"\n')
    assert loaded.settings.patrol.interval == timedelta(hours=2)
    assert loaded.settings.patrol.backup_stale == timedelta(hours=24)
    assert (loaded.origin("patrol.interval").kind, loaded.origin("patrol.interval").place) == (
        OriginKind.ENVIRONMENT,
        "PATROL_PATROL__INTERVAL",
    )
    assert loaded.origin("patrol.backup_stale").kind is OriginKind.FILE
    assert loaded.origin("patrol.run_deadline").kind is OriginKind.DEFAULT


def test_every_key_can_be_set_by_its_own_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATROL_BUDGET__DAY_USD", "1.5")
    monkeypatch.setenv("PATROL_TRIGGERS__ALERTS", "false")
    monkeypatch.setenv("PATROL_API__TRUSTED_PROXIES", '["10.0.0.0/8"]')
    monkeypatch.setenv("PATROL_SOURCES", '[{"type": "snapshot", "file": "/srv/estate.json"}]')
    settings = load(tmp_path, "").settings
    assert settings.budget.day_usd == 1.5
    assert settings.triggers.alerts is False
    assert settings.api.trusted_proxies == ("10.0.0.0/8",)
    assert [source.type for source in settings.sources] == ["snapshot"]


def test_relative_paths_are_taken_from_the_folder_of_the_file(tmp_path: Path) -> None:
    loaded = load(
        tmp_path, '[alerts]\nfile = "alerts.json"\n[[sources]]\ntype = "snapshot"\nfile = "lab/estate.json"\n'
    )
    assert loaded.settings.alerts.file == tmp_path / "alerts.json"
    assert getattr(loaded.settings.sources[0], "file", None) == tmp_path / "lab/estate.json"


def test_no_limit_and_nothing_to_spend_are_two_different_budgets(tmp_path: Path) -> None:
    assert load(tmp_path, "").settings.budget.day_tokens is None
    assert load(tmp_path, "[budget]\nday_tokens = 0\n").settings.budget.day_tokens == 0


# --- secrets ------------------------------------------------------------------------------------------------------


def test_a_secret_is_read_from_its_file_and_never_shown(tmp_path: Path) -> None:
    write(tmp_path, "sk-secret\n", "key")
    loaded = load(tmp_path, '[model]\napi_key_file = "key"\n')
    assert loaded.settings.model.api_key is not None
    assert loaded.settings.model.api_key.get_secret_value() == "sk-secret"
    assert loaded.origin("model.api_key").place == str(tmp_path / "key")
    assert "sk-secret" not in repr(loaded)


def test_systemd_hands_over_secrets_without_a_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "credentials"
    folder.mkdir()
    write(folder, "sk-credential", "model_api_key")
    write(folder, "postgresql://patrol:pw@db/patrol", "storage_url")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(folder))
    loaded = load(tmp_path, "")
    assert loaded.settings.model.api_key is not None
    assert loaded.settings.model.api_key.get_secret_value() == "sk-credential"
    assert loaded.database_url == "postgresql://patrol:pw@db/patrol"
    assert "pw@" not in repr(loaded)


def test_a_secret_named_in_the_environment_goes_before_one_of_systemd(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "sk-credential", "model_api_key")
    write(tmp_path, "sk-named", "named")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    monkeypatch.setenv("PATROL_MODEL__API_KEY_FILE", str(tmp_path / "named"))
    loaded = load(tmp_path, "")
    assert loaded.settings.model.api_key is not None
    assert loaded.settings.model.api_key.get_secret_value() == "sk-named"


@pytest.mark.parametrize(("content", "words"), [(None, "No such file"), (b" \n", "empty"), (b"\xff", "decode")])
def test_a_secret_that_cannot_be_read_is_a_mistake(tmp_path: Path, content: bytes | None, words: str) -> None:
    if content is not None:
        (tmp_path / "key").write_bytes(content)
    (problem,) = problems_of(tmp_path, '[model]\napi_key_file = "key"\n')
    assert problem.startswith("model.api_key_file: ")
    assert words in problem


def test_a_secret_and_its_file_together_are_a_mistake(tmp_path: Path) -> None:
    write(tmp_path, "x", "key")
    assert problems_of(tmp_path, '[model]\napi_key = "y"\napi_key_file = "key"\n') == [
        "model.api_key and model.api_key_file are both set; keep one"
    ]


def test_a_wrong_secret_is_not_repeated_in_the_answer(tmp_path: Path) -> None:
    assert "sk-secret" not in "".join(problems_of(tmp_path, '[model]\napi_key = ["sk-secret"]\n'))


# --- mistakes ------------------------------------------------------------------------------------------------------

SECRET_NAMES = ("key", "api-key", "token", "access_token", "secret", "password", "cookie", "credentials", "session_id")
MISTAKES = [
    ('[patrol]\nintervall = "1h"', "patrol.intervall: unknown key; did you mean patrol.interval?"),
    ('interval = "1h"', "interval: unknown key; did you mean patrol.interval?"),
    ('[storage]\ninterval = "1h"', "storage.interval: unknown key; did you mean patrol.interval?"),
    ("[patrl]\n", "patrl: unknown key; did you mean patrol?"),
    ('[[source]]\ntype = "local"', "source: unknown key; did you mean sources?"),
    ("[xyzzy]\nplugh = 1", "xyzzy: unknown key"),
    ('_env_file = "x"', "_env_file: unknown key; did you mean model.api_key_file?"),
    ("[patrol]\ninterval = 600", 'patrol.interval: not a duration: it has no unit; write it like "10m"'),
    ("[patrol]\ninterval = true", "patrol.interval: not a duration: write it like"),
    ('[patrol]\ninterval = "9m"', "patrol.interval: must be between 10m and 7d"),
    ('[patrol]\ninterval = "8d"', "patrol.interval: must be between 10m and 7d"),
    ('[patrol]\nbackup_stale = "30m"', 'patrol.backup_stale: must be "0" (off) or at least 1h'),
    ('[patrol]\nautonomy = "god"', "patrol.autonomy: should be 'monitor', 'approval', 'assisted' or 'full'"),
    ('[patrol]\ntime_zone = "Mars/Olympus"', "patrol.time_zone: no time zone has this name"),
    ('[patrol]\ntime_zone = "../../etc/passwd"', "patrol.time_zone: no time zone has this name"),
    ('[patrol]\ncron = "hourly"', "patrol.cron: not a cron expression of five fields"),
    ('[patrol]\ncron = "0 24 * * *"', "patrol.cron: not a cron expression: cannot read its hour"),
    ('[patrol]\ncron = "0 6 * * 8"', "patrol.cron: not a cron expression: cannot read its day-of-week"),
    ('[patrol]\ncron = "0 0 31 2 *"', "patrol.cron: not a cron expression: cannot read its day-of-month"),
    ('[patrol]\ncron = "0 0 */30 4 MON#5"', "patrol.cron: not a cron expression: there is no such day"),
    ("patrol = 3", "patrol: must be a table"),
    ("[budget]\nrun_usd = -1", "budget.run_usd: must be at least 0"),
    ("[budget]\nday_usd = nan", "budget.day_usd: should be a finite number"),
    ("[budget]\nrun_tokens = 1.5", "budget.run_tokens: should be a valid integer"),
    ("[sampling]\nseconds = 4000", "sampling.seconds: must be between 0 and 3600"),
    ('[[sources]]\ntype = "proxmox"', "sources[0].type: \"proxmox\" is none of 'local', 'snapshot'"),
    ("[[sources]]\n", 'sources[0]: needs a type, e.g. type = "local"'),
    ('[[sources]]\ntype = "snapshot"', "sources[0].file: is missing"),
    ('[[sources]]\ntype = "local"\nfile = "x"', "sources[0].file: unknown key"),
    ('[[sources]]\ntype = "local"\nname = "a b"', "sources[0].name: string should match pattern"),
    ('[[sources]]\ntype = "local"\n[[sources]]\ntype = "local"', "sources: two have the same name (local)"),
    ('[[accept_gap]]\nsource = "local"\ntopic = "smart"', "accept_gap[0].reason: is missing"),
    ('[patrol]\ninterval = "1h', "not valid TOML: Unterminated string"),
    ("[patrol]\n[patrol]\n", "not valid TOML: "),
    ("a = " + "[" * 5000, "not valid TOML: "),
]


@pytest.mark.parametrize(("text", "said"), MISTAKES, ids=[said[:50] for _, said in MISTAKES])
def test_a_mistake_is_named_by_its_key_with_the_way_out(tmp_path: Path, text: str, said: str) -> None:
    problems = problems_of(tmp_path, text)
    assert any(problem.startswith(said) for problem in problems), problems


@pytest.mark.parametrize(
    ("text", "said"),
    [
        *MISTAKES,
        ("[model]\napi_key = 3", "model.api_key (value not shown): should be a valid string"),
        ('token = "x"', "token (value not shown): unknown key"),
        *((f'[api]\n{name} = "x"', f"api.{name} (value not shown): unknown key") for name in SECRET_NAMES),
    ],
)
def test_the_log_of_a_refused_reload_shows_all_of_a_mistake(tmp_path: Path, text: str, said: str) -> None:
    problems = problems_of(tmp_path, text)
    assert any(problem.startswith(said) for problem in problems), problems
    assert Redaction()(None, "error", {"problems": problems}) == {"problems": problems}


def test_a_wrong_type_of_source_is_shown_with_its_beginning(tmp_path: Path) -> None:
    (problem,) = problems_of(tmp_path, f'[[sources]]\ntype = "{"x" * 60}"')
    assert problem == f"sources[0].type: \"{'x' * 40}...\" is none of 'local', 'snapshot'"


def test_broken_toml_is_told_with_its_line(tmp_path: Path) -> None:
    (problem,) = problems_of(tmp_path, '[patrol]\ninterval = "1h"\ncron = \n')
    assert "line 3" in problem


def test_a_file_that_is_not_text_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_bytes(b"[patrol]\n# \xff\n")
    with pytest.raises(SettingsProblemError, match="line 2: not UTF-8 text"):
        load_settings(tmp_path / "settings.toml")


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_bytes(b'\xef\xbb\xbf[patrol]\ninterval = "2h"\n')
    assert load_settings(tmp_path / "settings.toml").settings.patrol.interval == timedelta(hours=2)


def test_a_file_without_an_end_is_no_settings_file() -> None:
    with pytest.raises(SettingsProblemError, match="larger than 1048576 bytes: this is no settings file"):
        load_settings(Path("/dev/zero"))


def test_all_mistakes_come_in_one_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATROL_INTERVAL", "1h")
    monkeypatch.setenv("PATROL_MODEL__NMAE", "x")
    monkeypatch.setenv("PATROL_PATROL__STARTUP_DELAY", "9d")
    assert problems_of(tmp_path, 'x = 1\n[patrol]\ninterval = "1s"\n') == [
        "x: unknown key",
        "environment variable PATROL_INTERVAL: unknown; nearest known variable: PATROL_PATROL__INTERVAL",
        "environment variable PATROL_MODEL__NMAE: unknown; nearest known variable: PATROL_MODEL__NAME",
        "patrol.interval: must be between 10m and 7d",
        "PATROL_PATROL__STARTUP_DELAY: patrol.startup_delay: must be between 0 and 1h",
    ]


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("PATROL_X", "", "environment variable PATROL_X: unknown"),
        ("PATROL_MODEL__NAME__X", "1", "nearest known variable: PATROL_MODEL__NAME"),
        ("PATROL_MODEL__", "1", "environment variable PATROL_MODEL__: unknown"),
        ("PATROL_SOURCES", "[{", "lists and tables are written as JSON"),
        ("PATROL_API__TRUSTED_PROXIES", "10.0.0.0/8", "lists and tables are written as JSON"),
        ("PATROL_MODEL", '{"nmae": "x"}', "model.nmae: unknown key; did you mean model.name?"),
        ("patrol_interval", "1h", "PATROL_INTERVAL: unknown"),
    ],
)
def test_a_wrong_variable_is_never_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, said: str
) -> None:
    monkeypatch.setenv(variable, value)
    assert any(said in problem for problem in problems_of(tmp_path, ""))


@pytest.mark.parametrize("variable", ["PATROL_SOURCES__NAME", "PATROL_SOURCES__0__NAME", "PATROL_SOURCE__FILE"])
def test_the_nearest_variable_of_a_key_in_a_list_is_the_one_that_sets_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "x")
    assert (
        problems_of(tmp_path, "")[0]
        == f"environment variable {variable}: unknown; nearest known variable: PATROL_SOURCES"
    )


TABLE_NAMES = st.sampled_from([*sections(), *lists(), "x", ""]) | st.text(max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(TABLE_NAMES, VALUES, max_size=4))
def test_any_table_gives_settings_or_told_mistakes(data: dict[str, object]) -> None:
    with contextlib.suppress(SettingsProblemError):
        assert isinstance(validate(dict(data), {}, None), Settings)


# --- the schema and its sample --------------------------------------------------------------------------------------


def uncommented(sample: str) -> str:
    return "\n".join(line.removeprefix("#") for line in sample.splitlines() if not line.startswith("# "))


def test_the_sample_says_nothing_until_a_line_is_uncommented(tmp_path: Path) -> None:
    assert load(tmp_path, sample_text()).settings == Settings()


def test_every_line_of_the_sample_is_right_when_uncommented(tmp_path: Path) -> None:
    text = uncommented(sample_text())
    (tmp_path / "key").write_text("x", encoding="utf-8")
    replaced = text.replace('"/etc/patrol/model.key"', '"key"').replace('url_file = "/etc/patrol/database.url"', "")
    assert load(tmp_path, replaced.replace('api_key = "..."', "")).settings.model.name == "ollama:qwen3"


def test_the_sample_names_every_key_and_gives_every_built_in_value() -> None:
    data = tomllib.loads(uncommented(sample_text()))
    keys = {f"{section}.{key}" for section, table in data.items() if isinstance(table, dict) for key in table}
    assert keys == set(known_keys())
    assert {name for name, table in data.items() if isinstance(table, list)} == set(lists())
    built_in: dict[str, dict[str, object]] = {
        "patrol": {"interval": "1h", "run_deadline": "30m", "backup_stale": "48h", "autonomy": "monitor"},
        "storage": {"retention": "400d", "max_bytes": 2 << 30},
        "investigation": {"evidence_calls": 10, "timeout": "10m", "at_once": 3, "attempts": 3, "cool_down": "1h"},
        "api": {"listen": "127.0.0.1:7667"},
    }
    for section, values in built_in.items():
        assert values.items() <= data[section].items()


def test_every_key_has_a_description() -> None:
    assert [key for key, field in known_keys().items() if not field.description] == []


def test_the_variable_of_a_key_is_its_path_in_capitals() -> None:
    assert variable_name("patrol.run_deadline") == "PATROL_PATROL__RUN_DEADLINE"
