"""Commands as a user types them: what they print where, and how they end."""

import json
import os
import shlex
import subprocess
import sys
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import pytest

from findings.model import DEFAULT_ORG
from patrol.__main__ import main
from patrol.agent.budget import RUN_TOKENS
from patrol.cli.app import COMMANDS, build
from patrol.cli.exit_codes import ExitCode, exit_code
from patrol.database import open_database
from patrol.overrides.store import OverrideStore
from patrol.settings.schema import known_keys

PATROL = [sys.executable, "-m", "patrol"]


@pytest.fixture(autouse=True)
def own_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("PATROL_CONFIG", "CREDENTIALS_DIRECTORY", "STATE_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.chdir(tmp_path)


Answer = tuple[int, str, str]


@pytest.fixture
def patrol(capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    def run(*arguments: str) -> Answer:
        code = main(arguments)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_the_first_exit_code_that_holds_is_the_one() -> None:
    assert exit_code(failed=True, limit_met=True, incomplete=True) is ExitCode.FAILED
    assert exit_code(limit_met=True, incomplete=True) is ExitCode.LIMIT_MET
    assert exit_code(incomplete=True) is ExitCode.INCOMPLETE
    assert exit_code() is ExitCode.OK


@pytest.mark.parametrize("argument", ["version", "--version"])
def test_the_version_is_the_package_s(patrol: Callable[..., Answer], argument: str) -> None:
    assert patrol(argument) == (0, f"patrol {version('patrold')}\n", "")


def test_the_version_as_json(patrol: Callable[..., Answer]) -> None:
    code, out, _ = patrol("version", "--json")
    assert (code, json.loads(out)) == (0, {"version": version("patrold")})


def test_help_names_every_command(patrol: Callable[..., Answer]) -> None:
    code, out, _ = patrol("--help")
    assert code == 0
    assert all(f"\n  {name} " in out for name in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_line_in_the_same_process_finds_the_commands_as_the_first_one_did(command: str) -> None:
    first, later = (
        [
            [each.name for each in group.typer_instance.registered_commands]
            for group in build(command).registered_groups
            if group.typer_instance is not None
        ]
        for _ in range(2)
    )
    assert first == later
    assert all(len(names) == len(set(names)) for names in later)


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "version"])
def test_every_command_explains_itself(patrol: Callable[..., Answer], command: str) -> None:
    code, out, _ = patrol(command, "--help")
    assert code == 0
    assert f"patrol {command}" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("confg",), "Did you mean 'config'?"),
        (("config", "show", "--nope"), "No such option: --nope"),
        (("detect",), "Missing option"),
        (("schema", "nope"), "No such command"),
        (("findings", "list", "--state", "odd"), "Invalid value"),
        (("--nope",), "No such option"),
    ],
)
def test_wrong_arguments_end_with_two(patrol: Callable[..., Answer], arguments: tuple[str, ...], said: str) -> None:
    code, out, err = patrol(*arguments)
    assert (code, out) == (2, "")
    assert said in err


# --- config -------------------------------------------------------------------------------------------------------


def test_config_show_gives_every_key_with_its_origin(
    patrol: Callable[..., Answer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('[patrol]\nbackup_stale = "24h"\n', encoding="utf-8")
    monkeypatch.setenv("PATROL_SAMPLING__SECONDS", "30")
    code, out, _ = patrol("config", "show", "--config", str(file), "--json")
    settings = json.loads(out)["settings"]
    assert code == 0
    assert set(known_keys()) <= set(settings)
    assert settings["patrol.backup_stale"] == {"value": "24h", "origin": "file", "place": str(file)}
    assert settings["sampling.seconds"] == {"value": 30, "origin": "environment", "place": "PATROL_SAMPLING__SECONDS"}
    assert settings["patrol.interval"] == {"value": "1h", "origin": "default", "place": ""}


def test_config_show_is_readable_too(patrol: Callable[..., Answer]) -> None:
    code, out, err = patrol("config", "show")
    assert (code, err) == (0, "")
    assert "no file: built-in values and the environment" in out
    assert any(line.split() == ["patrol.interval", "1h", "default"] for line in out.splitlines())


def test_config_show_tells_limits_that_hold_without_being_set(patrol: Callable[..., Answer]) -> None:
    settings = json.loads(patrol("config", "show", "--json")[1])["settings"]
    assert settings["budget.run_tokens"] == {"value": RUN_TOKENS, "origin": "default", "place": ""}
    assert settings["budget.run_usd"]["value"] is None


def test_config_show_tells_what_operators_stored_where_it_is_in_force(
    patrol: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/stored.db"
    monkeypatch.setenv("PATROL_STORAGE__URL", url)
    monkeypatch.setenv("PATROL_MODEL__EVERY", "3h")
    database, at = open_database(url), datetime(2026, 11, 30, tzinfo=UTC)
    values = {"patrol.interval": "2h", "model.every": "5h", "budget.run_tokens": 7}
    database.transact(
        lambda connection: OverrideStore(connection, DEFAULT_ORG).change(
            values, now=at, author="ann", ids=lambda: uuid.uuid4().hex
        )
    )
    database.close()
    settings = json.loads(patrol("config", "show", "--json")[1])["settings"]
    place = "ann, 2026-11-30 00:00 UTC"
    assert settings["patrol.interval"] == {"value": "2h", "origin": "stored", "place": place}
    assert settings["budget.run_tokens"] == {"value": 7, "origin": "stored", "place": place}
    assert (settings["model.every"]["value"], settings["model.every"]["origin"]) == ("3h", "environment")


def test_config_show_says_so_where_what_is_stored_cannot_be_read(
    patrol: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "broken.db").write_text("this is no database", encoding="utf-8")
    monkeypatch.setenv("PATROL_STORAGE__URL", f"sqlite:///{tmp_path}/broken.db")
    code, out, err = patrol("config", "show")
    assert (code, "patrol.interval" in out) == (0, True)
    assert "settings that operators stored are not shown, and may be in force" in err


@pytest.mark.parametrize("arguments", [(), ("--json",)])
def test_no_secret_is_ever_shown(
    patrol: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setenv("PATROL_MODEL__API_KEY", "sk-secret")
    monkeypatch.setenv("PATROL_STORAGE__URL", "postgresql://patrol:hush@db.lan/patrol?password=hush")
    _, out, err = patrol("config", "show", *arguments)
    assert "sk-secret" not in out + err
    assert "hush" not in out + err
    assert "postgresql://patrol:********@db.lan/patrol" in out


def test_config_validate_tells_all_mistakes_and_ends_with_two(patrol: Callable[..., Answer], tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('x = 1\n[patrol]\nintervall = "1h"\n', encoding="utf-8")
    code, out, err = patrol("config", "validate", str(file))
    assert (code, out) == (2, "")
    assert f"patrol: {file}: x: unknown key" in err
    assert f"patrol: {file}: patrol.intervall: unknown key; did you mean patrol.interval?" in err
    file.write_text("", encoding="utf-8")
    assert patrol("config", "validate", str(file)) == (0, f"{file}: no mistakes\n", "")


@pytest.mark.parametrize(("text", "said"), [(None, "there is no such file"), ("{", "line 1")])
def test_config_validate_reads_the_alert_settings_as_well(
    patrol: Callable[..., Answer], tmp_path: Path, text: str | None, said: str
) -> None:
    file, alerts = tmp_path / "settings.toml", tmp_path / "alerts.json"
    file.write_text(f'[alerts]\nfile = "{alerts}"\n', encoding="utf-8")
    if text is not None:
        alerts.write_text(text, encoding="utf-8")
    code, out, err = patrol("config", "validate", str(file))
    assert (code, out) == (2, "")
    assert f"[alerts] file: {alerts}: " in err
    assert said in err


def test_a_mistake_in_the_settings_is_shown_and_not_obeyed(patrol: Callable[..., Answer], tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('["\\u001b[31mred"]\n', encoding="utf-8")
    _, _, err = patrol("config", "validate", str(file))
    assert "\x1b" not in err
    assert r"\x1b[31mred" in err


# --- schema --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["estate", "tool-calls", "alerts", "config", "run"])
def test_every_schema_is_one_document_of_the_2020_dialect(patrol: Callable[..., Answer], name: str) -> None:
    code, out, err = patrol("schema", name)
    document = json.loads(out)
    assert (code, err) == (0, "")
    assert document["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_the_schema_of_a_tool_call_names_what_it_needs(patrol: Callable[..., Answer]) -> None:
    document = json.loads(patrol("schema", "tool-calls")[1])
    call = document["$defs"]["ToolCall"]
    assert call["required"] == ["id", "tool_name"]
    assert call["properties"]["output"] == {"type": ["object", "string", "null"]}


# --- records --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command", [("findings", "list"), ("runs", "list"), ("findings", "show", "x"), ("runs", "show", "x")]
)
def test_without_any_run_there_are_no_records_and_none_are_made(
    patrol: Callable[..., Answer], tmp_path: Path, command: tuple[str, ...]
) -> None:
    code, out, err = patrol(*command)
    assert (code, out) == (1, "")
    assert "does not exist yet: `patrol run` makes it" in err
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("command", ["findings", "runs"])
def test_an_empty_database_has_no_records_and_is_named_on_standard_error(
    patrol: Callable[..., Answer], tmp_path: Path, command: str
) -> None:
    storage = f"sqlite:///{tmp_path}/records.db"
    (tmp_path / "records.db").touch()
    code, out, err = patrol(command, "list", "--storage", storage)
    looked = "\nNo full run has ended yet: nothing was looked at so far (patrol runs list)\n"
    assert (code, out) == (0, f"No {command}.\n" + (looked if command == "findings" else ""))
    assert f"{tmp_path}/records.db" in err
    code, out, _ = patrol(command, "list", "--storage", storage, "--json")
    assert (code, json.loads(out)) == (0, {command: []})
    code, out, err = patrol(command, "show", "x", "--storage", storage)
    assert (code, out) == (1, "")
    assert "x" in err


def test_a_damaged_database_ends_with_two_and_the_remedy(patrol: Callable[..., Answer], tmp_path: Path) -> None:
    (tmp_path / "records.db").write_bytes(b"no database at all" * 100)
    code, _, err = patrol("findings", "list", "--storage", f"sqlite:///{tmp_path}/records.db")
    assert code == 2
    assert "mv " in err


def test_a_url_of_no_database_ends_with_two_and_repeats_no_password(patrol: Callable[..., Answer]) -> None:
    code, _, err = patrol("findings", "list", "--storage", "mysql://a:hush@b/c")
    assert code == 2
    assert "hush" not in err


# --- as a process ---------------------------------------------------------------------------------------------------


def test_a_reader_that_goes_away_is_no_error() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "wb") as closed:
        for arguments in (["config", "sample"], ["config", "show"], ["config", "show", "--json"]):
            done = subprocess.run([*PATROL, *arguments], stdout=closed, stderr=subprocess.PIPE, text=True, check=False)
            assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("command", ["config show", "schema run", "version"])
def test_a_stream_that_was_closed_before_the_start_costs_what_is_written_there_and_nothing_else(
    command: str, closed: str
) -> None:
    line = f"exec {shlex.join(PATROL)} {command} {closed}"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert bool(done.stdout) is (">&-" not in closed.replace("2>&-", ""))


def test_a_terminal_without_unicode_gets_codes_instead_of_a_crash(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('[alerts]\nfile = "/srv/größe.json"\n', encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    arguments = [*PATROL, "config", "show", "--config", str(file)]
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert r"gr\xf6\xdfe" in done.stdout


def test_config_show_hides_what_is_secret_in_an_address(
    patrol: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATROL_MODEL__NAME", "openai:x")
    monkeypatch.setenv("PATROL_MODEL__BASE_URL", "http://user:sk-SECRET-12345678@gw.lan/v1?key=sk-SECRET-12345678")
    for arguments in (("config", "show"), ("config", "show", "--json")):
        code, out, err = patrol(*arguments)
        assert code == 0
        assert "SECRET" not in out + err
        assert "gw.lan" in out


def test_config_validate_refuses_a_model_that_cannot_be_meant(
    patrol: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATROL_MODEL__NAME", "anthropic")
    code, out, err = patrol("config", "validate")
    assert (code, out) == (2, "")
    assert "[model]" in err
