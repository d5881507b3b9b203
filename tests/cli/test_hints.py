"""What a command says beside the fact, for whoever meets it for the first time."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from findings.investigation import Refusal
from patrol.__main__ import main
from patrol.cli.model_work import refusal_text
from patrol.cli.records import this_command

Answer = tuple[int, str, str]


@pytest.fixture
def patrol(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Answer]:
    for name in ("PATROL_CONFIG", "CREDENTIALS_DIRECTORY", "STATE_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    host = {"id": "agent:lab:web", "type": "agent", "name": "web", "status": "online"}
    (tmp_path / "estate.json").write_text(json.dumps({"version": 1, "resources": [host]}), encoding="utf-8")

    def run(*arguments: str) -> Answer:
        code = main([*arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.mark.parametrize("command", [("run", "--snapshot", "estate.json"), ("token", "list")])
def test_a_place_that_was_typed_wrong_becomes_no_folder(
    patrol: Callable[..., Answer], tmp_path: Path, command: tuple[str, ...]
) -> None:
    code, _, err = patrol(*command, "--storage", f"sqlite:///{tmp_path}/nope/dir/x.db")
    assert code == 2
    assert f"the folder {tmp_path}/nope/dir does not exist. Make it: mkdir" in err
    assert not (tmp_path / "nope").exists()


def test_the_place_of_its_own_is_made(patrol: Callable[..., Answer], tmp_path: Path) -> None:
    code, _, _ = patrol("token", "list")
    assert code == 0
    assert (tmp_path / "home/.local/state/patrol/patrol.db").is_file()


def test_a_run_that_is_not_there_may_have_been_of_a_document(patrol: Callable[..., Answer], tmp_path: Path) -> None:
    (tmp_path / "records.db").touch()
    code, _, err = patrol("runs", "show", "abc", "--storage", f"sqlite:///{tmp_path}/records.db")
    assert code == 1
    assert "`patrol run --snapshot` is kept only with --storage" in err


@pytest.mark.parametrize("reason", Refusal)
def test_every_reason_not_to_look_into_a_finding_is_explained(reason: Refusal) -> None:
    assert refusal_text(reason).startswith(f"{reason}: ")


def test_a_reason_of_another_version_is_shown_as_it_is() -> None:
    assert refusal_text("day_is_full") == "day_is_full"


def test_the_command_for_another_user_keeps_the_settings_that_a_variable_names(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["/usr/bin/patrol", "runs", "list"])
    monkeypatch.delenv("PATROL_CONFIG", raising=False)
    assert this_command() == "patrol runs list"
    monkeypatch.setenv("PATROL_CONFIG", "my house.toml")
    assert this_command() == f"env 'PATROL_CONFIG={tmp_path}/my house.toml' patrol runs list"
