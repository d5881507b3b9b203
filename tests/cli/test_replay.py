"""`patrol replay` as a user types it."""

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from patrol.__main__ import main
from patrol.database import open_database
from tests.run.builders import House, disk, estate, host

Answer = tuple[int, str, str]


@pytest.fixture
def patrol(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Answer]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("PATROL_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    storage = f"sqlite:///{tmp_path}/patrol.db"
    with closing(open_database(storage)) as database:
        House(database).run(estate(host(usage=96.5), disk("FAILED")))

    def run(*arguments: str) -> Answer:
        code = main([*arguments, "--storage", storage])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def change(folder: Path, statement: str) -> None:
    with closing(open_database(f"sqlite:///{folder}/patrol.db")) as database, database.write() as connection:
        connection.exec_driver_sql(statement)


def test_an_identical_replay_ends_with_0(patrol: Callable[..., Answer]) -> None:
    code, out, err = patrol("replay", "run-1")
    assert code == 0
    assert "identical: every signal and every look" in out
    assert "signals: 2" in out
    assert "patrol.db" in err


def test_as_json_it_is_one_document(patrol: Callable[..., Answer]) -> None:
    code, out, _ = patrol("replay", "run-1", "--json")
    document = json.loads(out)
    assert (code, document["outcome"], document["signals"], document["differences"]) == (0, "identical", 2, [])


def test_a_different_replay_ends_with_1_and_says_what_is_missing(patrol: Callable[..., Answer], tmp_path: Path) -> None:
    change(tmp_path, "UPDATE detection SET version = '0.0.1', options = replace(options, 'built-in', 'elsewhere')")
    change(tmp_path, "UPDATE tool_call SET input = replace(input, 'resource_disks', 'nothing')")
    code, out, _ = patrol("replay", "run-1")
    assert code == 1
    assert any(each.split()[:3] == ["signal", "missing", "high_disk"] for each in out.splitlines())
    assert "patrol 0.0.1" in out
    code, out, _ = patrol("replay", "run-1", "--json")
    assert (code, json.loads(out)["outcome"]) == (1, "different")


def test_expired_evidence_ends_with_1_and_says_since_when(patrol: Callable[..., Answer], tmp_path: Path) -> None:
    change(tmp_path, "UPDATE detection SET evidence_expired_at = '2027-01-02 03:04:05'")
    code, out, _ = patrol("replay", "run-1")
    assert code == 1
    assert "evidence expired" in out
    assert "since 2027-01-02 03:04:05 UTC" in out


def test_an_unknown_run_ends_with_1(patrol: Callable[..., Answer]) -> None:
    code, out, err = patrol("replay", "nobody")
    assert (code, out) == (1, "")
    assert "no run has the id nobody" in err
