"""What all tests share."""

import os
import signal
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import settings

from patrol.database import Database
from tests.databases import ALL, fresh_database, fresh_url
from tests.postgresql import Server, find_programs, private_server

NO_SKIPS = os.environ.get("PATROL_CI") == "1"

# In CI the same examples each time, so that a red run is about the change; everywhere else new ones.
settings.register_profile("short", deadline=None, max_examples=25, print_blob=True, derandomize=NO_SKIPS)
settings.register_profile("long", settings.get_profile("short"), max_examples=200)
settings.load_profile("short")

REFERENCE = Path(os.environ.get("PATROL_REFERENCE", Path(__file__).resolve().parents[2] / "shared"))


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: many tests wait for a process, a socket or a disk."""
    return (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1) + 1


def pytest_configure(config: pytest.Config) -> None:
    """Where the long proofs run as well, every property is asked with as many examples as they are."""
    # Started in the background of a shell, tests are told to ignore interrupts, and what they start would as well.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.option.markexpr != "not long":
        settings.load_profile("long")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with real captures and their right readings, beside the checkout; skips where it is absent."""
    if not (REFERENCE / "data" / "expected.jsonl").is_file():
        pytest.skip("no folder with real captures (set PATROL_REFERENCE to one)")
    return REFERENCE


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Callable[[], Server]]:
    """A private PostgreSQL server, started when it is asked for; skips where none is installed."""
    with ExitStack() as stack:
        started: list[Server] = []

        def start() -> Server:
            programs = find_programs()
            if programs is None:
                pytest.skip("no PostgreSQL server is installed (Debian: apt install postgresql)")
            if not started:
                started.append(stack.enter_context(private_server(programs)))
            return started[0]

        yield start


@pytest.fixture(params=ALL)
def any_database(
    request: pytest.FixtureRequest, tmp_path: Path, postgresql: Callable[[], Server]
) -> Iterator[Database]:
    """A fresh database, open: of every sort that Patrol supports, one after the other."""
    with fresh_database(request.param, tmp_path, postgresql) as database:
        yield database


@pytest.fixture(params=ALL)
def any_url(request: pytest.FixtureRequest, tmp_path: Path, postgresql: Callable[[], Server]) -> Iterator[str]:
    """The URL of a database that holds nothing yet, of every sort."""
    with fresh_url(request.param, tmp_path, postgresql) as url:
        yield url


Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI everything that a test needs is there: a skip would be a check that silently does not happen."""
    return _no_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return _no_skip((yield))


def _no_skip(report: Report) -> Report:
    if NO_SKIPS and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI does not allow: {report.longrepr}"
    return report
