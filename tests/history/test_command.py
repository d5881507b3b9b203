"""`patrol sample` as a timer calls it."""

import json
from pathlib import Path

import pytest

from patrol.__main__ import main


@pytest.fixture(autouse=True)
def own_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("PATROL_CONFIG", "CREDENTIALS_DIRECTORY", "STATE_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def test_a_sample_is_taken_without_configuration(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'patrol.db'}"
    assert main(["sample", "--storage", url, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["samples"] >= 1
    assert main(["sample", "--storage", url]) == 0
    assert capsys.readouterr().out == ""  # a timer mails what a command prints


def test_sources_that_cannot_be_sampled_are_an_error_that_says_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    settings = tmp_path / "patrol.toml"
    settings.write_text('[[sources]]\ntype = "snapshot"\nfile = "/nowhere.json"\n')
    assert main(["sample", "--config", str(settings)]) == 2
    assert "only sources of the type local" in capsys.readouterr().err
