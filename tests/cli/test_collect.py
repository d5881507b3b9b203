"""`patrol collect` where it cannot leave its answers: it says what helps."""

from pathlib import Path

import pytest

from patrol.__main__ import main
from patrol.cli.exit_codes import ExitCode


def test_a_folder_that_is_missing_is_made_by_systemd_or_another_one_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["collect", "--output", str(tmp_path / "run" / "local.json")]) == ExitCode.FAILED
    said = " ".join(capsys.readouterr().err.split())
    assert f"the folder {tmp_path}/run does not exist" in said
    assert "systemd-tmpfiles --create patrol.conf" in said
    assert "--output FILE" in said


def test_a_place_that_cannot_be_written_is_told_with_what_helps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "local.json").mkdir()
    assert main(["collect", "--output", str(tmp_path / "local.json")]) == ExitCode.FAILED
    said = " ".join(capsys.readouterr().err.split())
    assert "make it writable for this user" in said
    assert "--output FILE" in said
