"""What all tests share."""

import os
from collections.abc import Generator
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import settings

settings.register_profile("patrol", deadline=None, max_examples=50, print_blob=True)
settings.load_profile("patrol")

REFERENCE = Path(os.environ.get("PATROL_REFERENCE", Path(__file__).resolve().parents[2] / "shared"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with real captures and their right readings, beside the checkout; skips where it is absent."""
    if not (REFERENCE / "data" / "expected.jsonl").is_file():
        pytest.skip("no folder with real captures (set PATROL_REFERENCE to one)")
    return REFERENCE


Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)

NO_SKIPS = os.environ.get("PATROL_CI") == "1"


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
