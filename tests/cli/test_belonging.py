"""What operators read of findings that belong together, of storms, and of where each finding stands."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from patrol.__main__ import main

Answer = tuple[int, str, str]
Patrol = Callable[..., Answer]


@pytest.fixture
def patrol(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Patrol:
    for name in ("PATROL_CONFIG", "CREDENTIALS_DIRECTORY", "STATE_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "240")
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Answer:
        code = main([*arguments, "--storage", f"sqlite:///{tmp_path}/patrol.db"])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def look(patrol: Patrol, *resources: dict[str, Any]) -> dict[str, Any]:
    Path("estate.json").write_text(json.dumps({"version": 1, "resources": list(resources)}), encoding="utf-8")
    code, out, err = patrol("run", "--snapshot", "estate.json", "--json")
    assert code == 0, err
    document: dict[str, Any] = json.loads(out)
    return document


def node(name: str, status: str = "online") -> dict[str, Any]:
    return {"id": f"node:lab:{name}", "type": "node", "name": name, "status": status, "instance": "lab"}


def guest(**more: Any) -> dict[str, Any]:
    base = {"id": "vm:lab:101", "type": "vm", "name": "web", "vmid": 101, "instance": "lab", "parent": "node:lab:n1"}
    return {**base, "status": "running", **more}


def listed(patrol: Patrol) -> dict[str, dict[str, Any]]:
    return {each["kind"]: each for each in json.loads(patrol("findings", "list", "--json")[1])["findings"]}


def test_what_is_explained_is_listed_under_its_cause(patrol: Patrol) -> None:
    look(patrol, node("n1"), node("n2"), guest(metrics={"memory": {"value": 97}}))
    look(patrol, node("n1", "offline"), node("n2"), guest())
    known = listed(patrol)
    assert known["high_memory"]["parent_finding"] == known["node_offline"]["id"]
    lines = [line for line in patrol("findings", "list")[1].splitlines() if "offline" in line or "Memory" in line]
    assert "└ Memory use is high" in lines[1]
    shown = patrol("findings", "show", known["high_memory"]["id"])[1]
    assert known["node_offline"]["id"] in shown


def test_every_finding_says_where_it_stands_and_what_ended_it_last(patrol: Patrol) -> None:
    full = {"device": "/dev/sda1", "mountpoint": "/", "type": "ext4", "usage_percent": 97}
    host = {"id": "agent:lab:web", "type": "agent", "name": "web", "status": "online", "filesystems": [full]}
    look(patrol, host)
    finding = listed(patrol)["high_disk"]
    assert finding["loop_state"] == "detected"
    patrol("findings", "resolve", finding["id"], "--note", "removed old logs")
    shown = json.loads(patrol("findings", "show", finding["id"], "--json")[1])["finding"]
    assert shown["loop_state"] == "resolved"
    assert shown["previous_resolved_fix_summary"].endswith("removed old logs")
    patrol("findings", "suppress", finding["id"])
    assert json.loads(patrol("findings", "show", finding["id"], "--json")[1])["finding"]["loop_state"] == "resolved"
    assert "an operator resolved it: removed old logs" in patrol("findings", "show", finding["id"])[1]


def test_a_storm_is_told_by_the_run_and_by_its_record(patrol: Patrol) -> None:
    units = [{"name": f"unit{number}.service", "state": "failed"} for number in range(12)]
    host = {"id": "agent:lab:web", "type": "agent", "name": "web", "status": "online", "units": units}
    document = look(patrol, host)
    (storm,) = document["storms"]
    assert (storm["resource_id"], storm["count"], storm["worst"]) == ("agent:lab:web", 12, "warning")
    assert len(storm["finding_ids"]) == 8
    run_id = document["run"]["id"]
    assert json.loads(patrol("runs", "show", run_id, "--json")[1])["storms"] == [storm]
    assert "12 new findings at once from agent:lab:web" in patrol("runs", "show", run_id)[1]
