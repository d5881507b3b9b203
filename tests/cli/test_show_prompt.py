"""`patrol run --show-prompt`: exactly what would leave the house, and nothing that does."""

import json
from pathlib import Path

import pytest

from patrol.__main__ import main

ESTATE = {
    "version": 1,
    "sources": [{"name": "lab", "type": "given", "connected": True, "read": ["inventory", "filesystems"]}],
    "resources": [
        {
            "id": "agent:lab:nas-prod-01",
            "type": "agent",
            "name": "nas-prod-01",
            "status": "online",
            "source": "lab",
            "filesystems": [{"device": "/dev/sda1", "mountpoint": "/", "type": "ext4", "usage_percent": 97}],
        }
    ],
}


@pytest.fixture
def snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    path = tmp_path / "estate.json"
    path.write_text(json.dumps(ESTATE))
    return path


def shown(snapshot: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(["run", "--snapshot", str(snapshot), "--show-prompt"])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_it_shows_the_system_prompt_the_seed_and_the_tools(
    snapshot: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATROL_MODEL__NAME", "ollama:qwen3")
    code, out, _ = shown(snapshot, capsys)
    assert code == 0
    assert all(part in out for part in ("=== system ===", "=== user ===", "=== tool pulse_query ===", "nas-prod-01"))
    assert "=== tool patrol_report_finding ===" in out


def test_a_model_elsewhere_hears_pseudonyms_and_no_key_is_needed_to_see_them(
    snapshot: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATROL_MODEL__NAME", "anthropic:claude-sonnet-4-5")
    code, out, _ = shown(snapshot, capsys)
    assert code == 0
    assert "nas-prod-01" not in out
    assert "host-1" in out


def test_without_a_model_it_says_how_to_name_one(snapshot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = shown(snapshot, capsys)
    assert (code, out) == (2, "")
    assert "PATROL_MODEL__NAME" in err


def test_a_model_that_cannot_be_meant_is_refused_by_name(
    snapshot: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATROL_MODEL__NAME", "qwen3")
    code, out, err = shown(snapshot, capsys)
    assert (code, out) == (2, "")
    assert "ollama:" in err
