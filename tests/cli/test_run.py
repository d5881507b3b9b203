"""`patrol run` over estate documents: what it prints where, what it leaves, and how it ends."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from patrol.__main__ import main

Answer = tuple[int, str, str]

HOST = {
    "id": "agent:lab:web",
    "type": "agent",
    "name": "web[bold]\u001b[31m",
    "status": "online",
    "filesystems": [
        {
            "device": "/dev/sda1",
            "mountpoint": "/",
            "type": "ext4",
            "total_bytes": 1000,
            "used_bytes": 400,
            "free_bytes": 600,
            "usage_percent": 40,
        },
        {
            "device": "/dev/sdb1",
            "mountpoint": "/srv/data",
            "type": "ext4",
            "total_bytes": 1000,
            "used_bytes": 970,
            "free_bytes": 30,
            "usage_percent": 97,
        },
    ],
}
LOST_GAP = {
    "source": "lab",
    "topic": "inventory",
    "reason": "unreachable",
    "detail": "no answer",
    "fix": "ping lab",
    "sight": "lost",
}


@pytest.fixture(autouse=True)
def own_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("PATROL_CONFIG", "CREDENTIALS_DIRECTORY", "STATE_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def patrol(capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    def run(*arguments: str) -> Answer:
        code = main(arguments)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def estate(folder: Path, *resources: object, gaps: tuple[object, ...] = ()) -> str:
    path = folder / "estate.json"
    path.write_text(json.dumps({"version": 1, "resources": resources, "gaps": gaps}), encoding="utf-8")
    return str(path)


def healthy(folder: Path) -> str:
    return estate(folder, {**HOST, "filesystems": HOST["filesystems"][:1]})


def test_the_document_of_a_run_is_all_of_standard_output(patrol: Callable[..., Answer], tmp_path: Path) -> None:
    code, out, err = patrol("run", "--snapshot", estate(tmp_path, HOST), "--json")
    document = json.loads(out)
    assert code == 0
    assert {"run", "findings", "signals", "gaps"} <= set(document)
    assert {"id", "status", "model", "resources_checked"} <= set(document["run"])
    assert document["run"]["status"] == "critical"
    assert document["run"]["model"] == "none"
    assert document["run"]["investigations"] == "off (autonomy=monitor)"
    (finding,) = document["findings"]
    assert (finding["kind"], finding["subject"], finding["value"]) == ("high_disk", "/srv/data", 97.0)
    assert finding["limit_source"]
    assert "patrol: collect" in err


def test_the_report_says_what_is_wrong_by_which_limit_and_where_it_comes_from(
    patrol: Callable[..., Answer], tmp_path: Path
) -> None:
    code, out, _ = patrol("run", "--snapshot", estate(tmp_path, HOST))
    assert code == 0
    assert out.startswith("critical: 1 resource checked")
    assert r"web[bold]\x1b[31m" in out
    assert "\x1b" not in out
    assert "Space is running out: /srv/data  " in out
    assert "97 %" in out
    assert "built-in" in out
    assert '"mountpoint":"/srv/data"' in out
    assert "none (the checks run alone)" in out
    assert "off (autonomy=monitor)" in out


def test_a_healthy_estate_is_said_to_be_clear(patrol: Callable[..., Answer], tmp_path: Path) -> None:
    code, out, _ = patrol("run", "--snapshot", healthy(tmp_path))
    assert code == 0
    assert "all clear" in out
    assert "Findings: none." in out


@pytest.mark.parametrize(("fail_on", "code"), [("warning", 3), ("critical", 3)])
def test_a_finding_as_bad_as_asked_ends_with_three(
    patrol: Callable[..., Answer], tmp_path: Path, fail_on: str, code: int
) -> None:
    assert patrol("run", "--snapshot", estate(tmp_path, HOST), "--fail-on", fail_on)[0] == code
    assert patrol("run", "--snapshot", healthy(tmp_path), "--fail-on", fail_on)[0] == 0


def test_a_lost_gap_ends_with_four_unless_a_finding_is_worse(patrol: Callable[..., Answer], tmp_path: Path) -> None:
    lost = estate(tmp_path, {**HOST, "filesystems": HOST["filesystems"][:1]}, gaps=(LOST_GAP,))
    code, out, _ = patrol("run", "--snapshot", lost)
    assert code == 4
    assert "ping lab" in out
    assert "all clear" not in out
    worse = estate(tmp_path, HOST, gaps=(LOST_GAP,))
    assert patrol("run", "--snapshot", worse, "--fail-on", "critical")[0] == 3
    assert patrol("run", "--snapshot", worse)[0] == 4


def test_a_document_that_cannot_be_read_is_a_lost_source(patrol: Callable[..., Answer], tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    code, out, _ = patrol("run", "--snapshot", str(broken))
    assert code == 4
    assert "broken.json" in out


@pytest.mark.parametrize("name", ["none.json", "."])
def test_a_document_that_is_not_there_is_told_before_anything_is_looked_at(
    patrol: Callable[..., Answer], tmp_path: Path, name: str
) -> None:
    code, out, err = patrol("run", "--snapshot", str(tmp_path / name))
    assert (code, out) == (2, "")
    assert "--snapshot" in err


@pytest.mark.parametrize("arguments", [("--fail-on", "info"), ("--show-prompts",), ("--config", "none.toml")])
def test_wrong_use_ends_with_two_before_anything_is_looked_at(
    patrol: Callable[..., Answer], tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    code, out, err = patrol("run", "--snapshot", healthy(tmp_path), *arguments)
    assert (code, out) == (2, "")
    assert "patrol: collect" not in err


def test_a_name_that_is_no_resource_ends_with_two(patrol: Callable[..., Answer], tmp_path: Path) -> None:
    code, out, err = patrol("run", "--snapshot", healthy(tmp_path), "--scope", "nowhere")
    assert (code, out) == (2, "")
    assert "nowhere" in err


def test_a_snapshot_leaves_no_records_unless_it_is_told_where(patrol: Callable[..., Answer], tmp_path: Path) -> None:
    document = estate(tmp_path, HOST)
    patrol("run", "--snapshot", document)
    assert not (tmp_path / "home").exists()
    storage = f"sqlite:///{tmp_path}/records.db"
    assert patrol("run", "--snapshot", document, "--storage", storage)[0] == 0
    assert (tmp_path / "records.db").stat().st_mode & 0o777 == 0o600


def test_what_a_run_left_can_be_listed_and_shown(patrol: Callable[..., Answer], tmp_path: Path) -> None:
    storage = ("--storage", f"sqlite:///{tmp_path}/records.db")
    document = json.loads(patrol("run", "--snapshot", estate(tmp_path, HOST), *storage, "--json")[1])
    finding, run = document["findings"][0], document["run"]

    _, out, err = patrol("findings", "list", *storage)
    assert finding["id"] in out
    assert "records.db" in err
    _, out, _ = patrol("findings", "show", finding["id"][:8], *storage)
    assert "Space is running out: /srv/data" in out
    assert "filed" in out
    _, out, _ = patrol("findings", "show", finding["id"], *storage, "--json")
    assert json.loads(out)["transitions"][0]["reason"] == "filed"
    assert json.loads(patrol("findings", "list", "--severity", "critical", *storage, "--json")[1])["findings"]

    _, out, _ = patrol("runs", "list", *storage)
    assert run["id"] in out
    code, out, _ = patrol("runs", "show", run["id"][:6], "--tool-calls", *storage)
    assert code == 0
    assert "pulse_storage" in out
    _, out, _ = patrol("runs", "show", run["id"], "--tool-calls", *storage, "--json")
    assert json.loads(out)["run"]["status"] == "critical"
    assert json.loads(out)["tool_calls"]


def test_what_is_gone_is_listed_as_resolved(patrol: Callable[..., Answer], tmp_path: Path) -> None:
    storage = ("--storage", f"sqlite:///{tmp_path}/records.db")
    patrol("run", "--snapshot", estate(tmp_path, HOST), *storage)
    patrol("run", "--snapshot", healthy(tmp_path), *storage)
    assert "No findings." in patrol("findings", "list", *storage)[1]
    _, out, _ = patrol("findings", "list", "--state", "resolved", *storage)
    assert "Space is running out: /srv/data" in out


def test_the_limits_of_the_settings_are_used(patrol: Callable[..., Answer], tmp_path: Path) -> None:
    alerts = {"agentDefaults": {"disk": {"trigger": 99, "clear": 98}}}
    (tmp_path / "alerts.json").write_text(json.dumps(alerts), encoding="utf-8")
    settings = tmp_path / "settings.toml"
    settings.write_text('[alerts]\nfile = "alerts.json"\n', encoding="utf-8")
    code, out, _ = patrol("run", "--snapshot", estate(tmp_path, HOST), "--config", str(settings), "--json")
    assert code == 0
    assert json.loads(out)["findings"] == []


def test_alert_settings_that_are_broken_from_the_start_end_with_two(
    patrol: Callable[..., Answer], tmp_path: Path
) -> None:
    (tmp_path / "alerts.json").write_text("{", encoding="utf-8")
    settings = tmp_path / "settings.toml"
    settings.write_text('[alerts]\nfile = "alerts.json"\n', encoding="utf-8")
    code, out, err = patrol("run", "--snapshot", healthy(tmp_path), "--config", str(settings))
    assert (code, out) == (2, "")
    assert "alerts.json" in err


def test_doctor_says_what_patrol_would_be_blind_to(patrol: Callable[..., Answer], tmp_path: Path) -> None:
    settings = tmp_path / "settings.toml"
    document = estate(tmp_path, HOST, gaps=(LOST_GAP,))
    settings.write_text(f'[[sources]]\ntype = "snapshot"\nname = "lab"\nfile = "{document}"\n', encoding="utf-8")
    code, out, _ = patrol("doctor", "--config", str(settings))
    assert code == 4
    assert "none: the checks run alone" in out
    assert "off (autonomy=monitor)" in out
    assert "ping lab" in out
    assert "not there yet, the first run makes it" in out
    code, out, _ = patrol("doctor", "--config", str(settings), "--json")
    assert code == 4
    assert {"checks", "sources", "gaps"} == set(json.loads(out))
    assert not (tmp_path / "home").exists()


def test_doctor_ends_with_two_where_a_run_could_not_begin(patrol: Callable[..., Answer], tmp_path: Path) -> None:
    settings = tmp_path / "settings.toml"
    document = healthy(tmp_path)
    settings.write_text(
        f'[alerts]\nfile = "none.json"\n[storage]\nurl = "mysql://a:hush@b/c"\n'
        f'[[sources]]\ntype = "snapshot"\nfile = "{document}"\n',
        encoding="utf-8",
    )
    code, out, _ = patrol("doctor", "--config", str(settings))
    assert code == 2
    assert "PROBLEM" in out
    assert "none.json" in out
    assert "hush" not in out


def test_evidence_is_shown_whole_on_a_narrow_terminal(
    patrol: Callable[..., Answer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    _, out, _ = patrol("run", "--snapshot", estate(tmp_path, HOST))
    evidence = "".join(line.strip() for line in out.partition("Evidence")[2].splitlines())
    assert '"used_bytes":970,"free_bytes":30,"usage_percent":97' in evidence
