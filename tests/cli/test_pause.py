"""What operators type to keep Patrol from starting runs by itself."""

import json
from pathlib import Path

import pytest

from patrol.__main__ import main
from patrol.cli.author import author


@pytest.fixture
def patrol(capsys, monkeypatch, tmp_path: Path):
    for name in ("PATROL_CONFIG", "CREDENTIALS_DIRECTORY", "STATE_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "estate.json").write_text(json.dumps({"version": 1, "resources": []}), encoding="utf-8")

    def run(*arguments: str):
        code = main([*arguments, "--storage", f"sqlite:///{tmp_path}/patrol.db"])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    run("run", "--snapshot", "estate.json")
    return run


def test_a_pause_says_since_when_until_when_by_whom_and_why_and_ends_by_resume(patrol):
    code, out, _ = patrol("pause", "--reason", "new\x1b[31m disks", "--until", "2998-01-01T00:00:00+00:00")
    assert code == 0
    assert out.startswith("Paused since 20")
    assert f"by {author()}, until 2998-01-01 00:00:00Z: new\\x1b[31m disks" in out
    assert patrol("pause", "--show")[1] == out
    assert patrol("resume")[1].startswith("Resumed. It was paused since ")
    assert patrol("resume")[:2] == (0, "Not paused: nothing to resume.\n")
    assert patrol("pause", "--show")[1] == "Not paused.\n"


def test_a_second_pause_says_what_it_replaces(patrol):
    patrol("pause", "--reason", "new disks", "--until", "2998-01-01T00:00:00+00:00")
    code, out, _ = patrol("pause", "--reason", "new cables")
    first, second = out.splitlines()
    assert (code, first.endswith("until `patrol resume`: new cables")) == (0, True)
    assert second == "It was paused already, until 2998-01-01 00:00:00Z: new disks. That does not hold any more."
    assert patrol("pause", "--show")[1] == f"{first}\n"


def test_scripts_read_the_same(patrol):
    made = json.loads(patrol("pause", "--json")[1])
    assert (made["paused"], made["pause"]["until"]) == (True, None)
    assert json.loads(patrol("pause", "--show", "--json")[1]) == made
    ended = json.loads(patrol("resume", "--json")[1])
    assert (ended["paused"], ended["pause"]["id"]) == (False, made["pause"]["id"])
    assert json.loads(patrol("pause", "--show", "--json")[1]) == {"paused": False, "pause": None}


def test_a_run_that_somebody_asks_for_runs_in_a_pause(patrol):
    patrol("pause")
    assert patrol("run", "--snapshot", "estate.json")[0] in {0, 4}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--until", "2001-01-01"), "--until: it would be over already"),
        (("--for", "2h", "--until", "2998-01-01"), "exclude each other"),
        (("--show", "--for", "2h"), "--show changes nothing"),
    ],
)
def test_a_pause_that_cannot_be_is_refused_with_the_option(patrol, arguments, said):
    code, _, err = patrol("pause", *arguments)
    assert (code, said in err) == (2, True)
    assert patrol("pause", "--show")[1] == "Not paused.\n"
