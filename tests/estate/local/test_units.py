"""Failed units: the whole list, with names as systemd writes them, or a gap that says how to mend it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.model import GapReason, Topic
from patrol.estate.sources.local.host import CommandResult, ProgramMissingError, ProgramTimedOutError
from patrol.estate.sources.local.units import parse_failed_units, parse_properties, read_units
from signals.evidence import UnitRow
from tests.estate.local.tree import WHERE, TreeHost, said

LISTED = (
    "backup-home.service                        loaded    failed failed Nightly copy of /home\n"
    "systemd-fsck@dev-disk-by\\x2duuid-7A\\x2d1.service loaded failed failed File System Check on /dev/sdb1\n"
    "-.mount loaded failed failed Root Mount\n"
    "old.timer                                  not-found failed failed old.timer\n"
)
SHOWN = (
    "Id=backup-home.service\nActiveState=failed\nResult=exit-code\nDescription=Nightly copy of /home\n\n"
    "Id=systemd-fsck@dev-disk-by\\x2duuid-7A\\x2d1.service\n"
    "ActiveState=failed\nResult=timeout\nDescription=Check a=b\n\n"
    "Result=success\nId=-.mount\nActiveState=active\nDescription=Root Mount\n"
)
BOOTED = {"/run/systemd/system/units": ""}


def names(rows: list[UnitRow]) -> list[str]:
    return [row.name for row in rows]


def test_names_keep_their_escapes() -> None:
    assert names(parse_failed_units(LISTED)) == [
        "backup-home.service",
        "systemd-fsck@dev-disk-by\\x2duuid-7A\\x2d1.service",
        "-.mount",
        "old.timer",
    ]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        pytest.param("nginx.service loaded failed failed A web server", "nginx.service", id="plain"),
        pytest.param("  nginx.service loaded failed failed A web server", "nginx.service", id="indented"),
        pytest.param("\u25cf nginx.service loaded failed failed A web server", "nginx.service", id="bullet"),
        pytest.param("\u00d7 nginx.service loaded failed failed A web server", "nginx.service", id="cross"),
        pytest.param("* nginx.service loaded failed failed A web server", "nginx.service", id="star of the C locale"),
        pytest.param("xrdp.service loaded failed failed", "xrdp.service", id="a name with x, without description"),
    ],
)
def test_a_mark_before_the_name_is_no_part_of_it(line: str, name: str) -> None:
    assert names(parse_failed_units(line)) == [name]


@pytest.mark.parametrize(
    "line",
    [
        "nginx.service loaded active running A web server",
        "nginx.service loaded activating auto-restart A web server",
        "0 loaded units listed.",
        "UNIT LOAD ACTIVE SUB DESCRIPTION",
        "",
    ],
)
def test_what_has_not_failed_is_no_row(line: str) -> None:
    assert parse_failed_units(line) == []


def test_a_failed_unit_carries_why(tmp_path: Path) -> None:
    host = TreeHost(tmp_path, BOOTED, {"systemctl list-units": said(LISTED), "systemctl show": said(SHOWN)})
    part = read_units(host, WHERE)
    assert part.units == [
        UnitRow(name="backup-home.service", state="failed", result="exit-code", description="Nightly copy of /home"),
        UnitRow(
            name="systemd-fsck@dev-disk-by\\x2duuid-7A\\x2d1.service",
            state="failed",
            result="timeout",
            description="Check a=b",
        ),
        UnitRow(name="old.timer", state="failed", result="", description="old.timer"),
    ]
    assert part.complete
    assert host.calls[1][-4:] == names(parse_failed_units(LISTED))
    assert "--" in host.calls[1]  # a unit may be called "-.mount"


@pytest.mark.parametrize("answer", [said("", returncode=1), ProgramTimedOutError("systemctl"), OSError("no")])
def test_the_list_is_complete_without_the_reasons(answer: CommandResult | Exception, tmp_path: Path) -> None:
    host = TreeHost(tmp_path, BOOTED, {"systemctl list-units": said(LISTED), "systemctl show": answer})
    part = read_units(host, WHERE)
    assert part.units is not None
    assert (len(part.units), part.complete) == (4, True)


def test_a_storm_of_failed_units_is_asked_about_in_bounded_calls(tmp_path: Path) -> None:
    storm = "".join(f"job@{number}.service loaded failed failed Job\n" for number in range(450))
    host = TreeHost(tmp_path, BOOTED, {"systemctl list-units": said(storm), "systemctl show": said("")})
    part = read_units(host, WHERE)
    assert len(part.units or ()) == 450
    assert [len(call) for call in host.calls[1:]] == [205, 205, 55]


def test_no_failed_unit_is_an_empty_list(tmp_path: Path) -> None:
    host = TreeHost(tmp_path, BOOTED, {"systemctl list-units": said("")})
    part = read_units(host, WHERE)
    assert (part.units, part.complete, len(host.calls)) == ([], True, 1)


def test_a_host_without_systemd_has_no_units_and_no_gap(tmp_path: Path) -> None:
    part = read_units(TreeHost(tmp_path, {}), WHERE)
    assert (part.units, part.gaps, part.complete) == ((), (), True)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        pytest.param(
            said("", returncode=1, stderr="Failed to connect to bus: No such file or directory\n"),
            GapReason.FAILED,
            id="no bus",
        ),
        pytest.param(
            said("", returncode=1, stderr="Failed to connect to bus: Operation not permitted\n"),
            GapReason.NO_PERMISSION,
            id="no right to the bus",
        ),
        pytest.param(
            said("", returncode=1, stderr="Failed to list units: Access denied\n"), GapReason.NO_PERMISSION, id="denied"
        ),
        pytest.param(said("", returncode=1), GapReason.FAILED, id="no word"),
        pytest.param(ProgramMissingError("systemctl"), GapReason.TOOL_MISSING, id="no systemctl"),
        pytest.param(ProgramTimedOutError("systemctl"), GapReason.TIMED_OUT, id="a manager that hangs"),
        pytest.param(PermissionError(13, "Permission denied"), GapReason.NO_PERMISSION, id="not executable"),
    ],
)
def test_a_manager_that_cannot_be_asked_is_a_gap_with_a_fix(
    answer: CommandResult | Exception, reason: GapReason, tmp_path: Path
) -> None:
    part = read_units(TreeHost(tmp_path, BOOTED, {"systemctl list-units": answer}), WHERE)
    (gap,) = part.gaps
    assert (gap.topic, gap.reason, gap.resource_id) == (Topic.UNITS, reason, WHERE.host_id)
    assert gap.detail
    assert gap.fix
    assert part.units is None
    assert not part.complete


unit_names = st.from_regex(r"[a-zA-Z0-9:_.\\@-]{1,40}\.(service|timer|mount)", fullmatch=True)


@given(st.lists(st.tuples(unit_names, st.text(st.characters(exclude_categories=("C", "Z"))))))
def test_every_failed_unit_is_found_whatever_its_name(units: list[tuple[str, str]]) -> None:
    text = "".join(f"{name} loaded failed failed {description}\n" for name, description in units)
    assert names(parse_failed_units(text)) == [name for name, _ in units]


@given(st.text())
def test_any_text_can_be_parsed(text: str) -> None:
    assert all(row.name and row.state == "failed" for row in parse_failed_units(text))
    assert all(parse_properties(text))
