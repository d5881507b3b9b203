"""The edge to the host: programs with a bound, files below a root."""

import time
from pathlib import Path

import pytest

from findings.model import GapReason
from patrol.estate.sources.local import host as edge
from patrol.estate.sources.local.host import Host, ProgramMissingError, ProgramTimedOutError, find_text, reason_of


def test_a_program_says_what_it_printed_and_how_it_ended() -> None:
    done = Host().run(["sh", "-c", "echo out; echo err >&2; exit 3"])
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "err\n")


def test_a_program_speaks_the_c_locale_and_sees_nothing_else_of_the_environment() -> None:
    done = Host().run(["sh", "-c", "echo $LC_ALL $LANG $HOME"])
    assert done.stdout == "C C\n"


def test_bytes_that_are_no_text_are_marked() -> None:
    assert Host().run(["printf", r"a\377b"]).stdout == "a\N{REPLACEMENT CHARACTER}b"


def test_a_program_that_takes_too_long_is_ended() -> None:
    began = time.monotonic()
    with pytest.raises(ProgramTimedOutError, match="sleep"):
        Host().run(["sleep", "60"], timeout_seconds=0.1)
    assert time.monotonic() - began < 10


def test_a_program_whose_children_hold_on_to_its_output_is_left_behind() -> None:
    began = time.monotonic()
    with pytest.raises(ProgramTimedOutError):
        Host().run(["sh", "-c", "sleep 3 & sleep 3; true"], timeout_seconds=0.1)
    assert time.monotonic() - began < 2.5


def test_a_program_that_is_not_installed_is_missing() -> None:
    assert not Host().has_program("patrol-no-such-program")
    assert Host().has_program("sh")
    with pytest.raises(ProgramMissingError, match="patrol-no-such-program"):
        Host().run(["patrol-no-such-program"])


def test_a_program_that_prints_without_end_has_failed() -> None:
    count = edge.MAX_OUTPUT_BYTES + 1
    with pytest.raises(OSError, match="more than 16 MiB"):
        Host().run(["head", "-c", str(count), "/dev/zero"])


def test_files_are_read_below_the_root(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/hostname").write_bytes(b"n\xffas\n")
    host = Host(tmp_path)
    assert host.read_text("/etc/hostname") == "n\N{REPLACEMENT CHARACTER}as\n"
    assert find_text(host, "/etc/no-such-file") is None
    assert host.path("/etc/hostname") == tmp_path / "etc/hostname"


def test_names_of_a_folder_are_ordered_by_their_numbers(tmp_path: Path) -> None:
    for name in ("hwmon10", "hwmon2", "a", "2", "10", "hwmon"):
        (tmp_path / name).touch()
    assert Host(tmp_path).list_names("/") == ["2", "10", "a", "hwmon", "hwmon2", "hwmon10"]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (PermissionError(13, "Permission denied"), GapReason.NO_PERMISSION),
        (PermissionError(1, "Operation not permitted"), GapReason.NO_PERMISSION),
        (FileNotFoundError(2, "No such file"), GapReason.FAILED),
        (OSError(5, "Input/output error"), GapReason.FAILED),
    ],
)
def test_why_a_read_failed(error: OSError, reason: GapReason) -> None:
    assert reason_of(error) is reason
