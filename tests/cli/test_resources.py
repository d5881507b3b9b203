"""What operators type about resources, and what they read back."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from patrol.__main__ import main

Answer = tuple[int, str, str]
Patrol = Callable[..., Answer]


def mount(usage: int) -> dict[str, Any]:
    return {"device": "/dev/sda1", "mountpoint": "/", "type": "ext4", "usage_percent": usage}


HOSTS = [
    {"id": f"agent:lab:{name}", "type": "agent", "name": name, "status": "online", "filesystems": [mount(97)]}
    for name in ("web", "mail")
]
POOL = {"id": "storage:web:tank", "type": "storage", "name": "web", "parent": "agent:lab:web"}


@pytest.fixture
def patrol(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Patrol:
    """A command on a database that knows two full hosts and a pool."""
    for name in ("PATROL_CONFIG", "CREDENTIALS_DIRECTORY", "STATE_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "240")
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Answer:
        code = main([*arguments, "--storage", f"sqlite:///{tmp_path}/patrol.db"])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    look(run, *HOSTS, POOL)
    return run


def look(patrol: Patrol, *resources: dict[str, Any]) -> None:
    Path("estate.json").write_text(json.dumps({"version": 1, "resources": resources}), encoding="utf-8")
    patrol("run", "--snapshot", "estate.json")


def listed(patrol: Patrol, *options: str) -> dict[str, str]:
    code, out, _ = patrol("resources", "list", "--json", *options)
    assert code == 0
    return {each["id"]: each["presence"] for each in json.loads(out)["resources"]}


def test_runs_remember_what_they_saw(patrol: Patrol) -> None:
    expected = dict.fromkeys(("agent:lab:mail", "agent:lab:web", "storage:web:tank"), "present")
    assert listed(patrol) == expected
    assert listed(patrol, "--removed") == {}
    assert patrol("resources", "list", "--removed")[1] == "No resources.\n"


def test_what_an_operator_removes_takes_its_findings_with_it(patrol: Patrol) -> None:
    code, out, _ = patrol("resources", "remove", "mail", "--json")
    removed = json.loads(out)
    assert (code, removed["resource"]["removed_by"]) == (0, "operator")
    assert listed(patrol, "--removed") == {"agent:lab:mail": "removed"}
    assert "agent:lab:mail" not in listed(patrol)
    (finding_id,) = removed["closed_findings"]
    found = json.loads(patrol("findings", "show", finding_id, "--json")[1])
    assert found["finding"]["resolve_reason"] == "resource_removed"
    assert found["transitions"][-1]["author"] != ""
    assert found["transitions"][-1]["run_id"] == ""


def test_what_is_seen_again_is_there_again_and_so_is_its_finding(patrol: Patrol) -> None:
    patrol("resources", "remove", "agent:lab:mail")
    look(patrol, *HOSTS, POOL)
    assert listed(patrol)["agent:lab:mail"] == "present"
    assert len(json.loads(patrol("findings", "list", "--json")[1])["findings"]) == 2


def test_people_read_a_table_and_what_is_left_behind(patrol: Patrol) -> None:
    code, out, err = patrol("resources", "remove", "agent:lab:web")
    assert code == 0
    assert "removed (operator)" in out
    assert "1 findings closed." in out
    assert "1 resources that live on it are not touched" in err
    assert "storage:web:tank" in patrol("resources", "list")[1]


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("nobody", 1, "no resource is called nobody; `patrol resources list`"),
        ("web", 2, "2 resources are called web: agent:lab:web, storage:web:tank; give the id"),
    ],
)
def test_a_name_must_mean_one(patrol: Patrol, name: str, code: int, said: str) -> None:
    answer = patrol("resources", "remove", name)
    assert answer[0] == code
    assert said in answer[2]


def test_removing_twice_is_an_error_that_says_since_when(patrol: Patrol) -> None:
    patrol("resources", "remove", "mail")
    code, _, err = patrol("resources", "remove", "mail")
    assert code == 1
    assert "agent:lab:mail is removed already, since 20" in err
