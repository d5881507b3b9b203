"""The units of systemd/: verified, closed enough, every line of the sandbox explained, and true of the daemon."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from patrol.cli.app import COMMANDS
from patrol.cli.exit_codes import ExitCode
from patrol.daemon.life import Bounds
from patrol.estate.sources.local.privileged_file import PLACE

ROOT = Path(__file__).resolve().parents[1]
UNITS = ROOT / "systemd"
PLAIN = {
    *("Type", "NotifyAccess", "ExecStart", "ExecReload", "Restart", "RestartSec", "RestartPreventExitStatus"),
    *("WatchdogSec", "TimeoutStartSec", "TimeoutStopSec", "KillMode", "StateDirectory", "StateDirectoryMode"),
    *("ConfigurationDirectory", "ConfigurationDirectoryMode"),
}
"""What the service does, and not what it may not do."""


def section(unit: str, name: str) -> dict[str, list[str]]:
    """The lines of a section by their names; a name may come several times."""
    found: dict[str, list[str]] = {}
    current = ""
    for line in (UNITS / unit).read_text().splitlines():
        if line.startswith("["):
            current = line.strip("[]")
        elif current == name and "=" in line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found


def seconds(text: str) -> float:
    number, unit = re.fullmatch(r"(\d+)(s|min)", text).groups()
    return int(number) * {"s": 1, "min": 60}[unit]


def test_systemd_finds_nothing_wrong_and_the_sandbox_is_tight() -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not installed")
    done = subprocess.run([UNITS / "check.sh"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    scores = dict(re.findall(r"^(\S+\.service): ([\d.]+)", done.stdout, re.MULTILINE))
    assert float(scores["patrol.service"]) <= 2.0


def test_every_line_of_the_sandbox_is_explained() -> None:
    text = (ROOT / "docs/operations.md").read_text()
    lines = section("patrol.service", "Service").keys() - PLAIN
    assert len(lines) > 20
    assert {name for name in lines if not re.search(rf"`{name}\b", text)} == set()


def test_it_is_started_again_without_end_but_where_that_mends_nothing() -> None:
    assert section("patrol.service", "Unit")["StartLimitIntervalSec"] == ["0"]
    service = section("patrol.service", "Service")
    assert service["Restart"] == ["on-failure"]
    assert service["RestartPreventExitStatus"] == [str(int(ExitCode.USAGE))]


@pytest.mark.parametrize("unit", ["patrol.service", "patrol-collect.service"])
def test_no_line_mounts_proc_anew(unit: str) -> None:
    """In a container with lxcfs the new one tells memory, CPU and the boot of the host, and not of the container."""
    assert not section(unit, "Service").keys() & {
        "ProtectKernelTunables",
        "ProtectControlGroups",
        "ProtectProc",
        "ProcSubset",
    }


@pytest.mark.parametrize("unit", ["patrol.service", "patrol-collect.service"])
def test_the_page_that_a_unit_names_is_installed_there(unit: str) -> None:
    (page,) = section(unit, "Unit")["Documentation"]
    (installed,) = re.fullmatch(r"file:/opt/patrol/(.+)", page).groups()
    built = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    (folder,) = (here for here, there in built["shared-data"].items() if installed.startswith(f"{there}/"))
    assert (ROOT / folder / Path(installed).name).is_file()


def test_the_units_start_commands_that_exist() -> None:
    for unit in ("patrol.service", "patrol-collect.service"):
        (line,) = section(unit, "Service")["ExecStart"]
        assert line.split()[1] in COMMANDS


def test_the_end_has_more_time_than_the_daemon_takes_for_it() -> None:
    bounds = Bounds()
    needed = bounds.finish + bounds.cancel + bounds.jobs + bounds.http
    assert seconds(section("patrol.service", "Service")["TimeoutStopSec"][0]) > needed


def test_root_writes_where_the_daemon_reads_and_only_there() -> None:
    lines = section("patrol-collect.service", "Service")
    assert lines["ReadWritePaths"] == [str(PLACE.parent)]
    assert lines["PrivateNetwork"] == ["yes"]
    assert str(PLACE.parent) in (UNITS / "patrol.tmpfiles").read_text()
