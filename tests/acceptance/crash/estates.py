"""One host whose failed units change from run to run, so that every run files, refreshes, closes and reopens."""

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import TypeAlias

from patrol.database import Database
from patrol.estate.model import Estate
from patrol.run import Patrol, RunReport, RunRequest
from tests.run.builders import GivenSource, House, estate, host

UNITS = 30
Place: TypeAlias = Path | str
"""Where a database is: its file, or the URL of a server's."""


def url_of(place: Place) -> str:
    return f"sqlite:///{place}" if isinstance(place, Path) else place


def failed_units(step: int) -> list[str]:
    """The units that are failed in this step: two thirds of all, others each time."""
    return [f"unit-{number:02}.service" for number in range(UNITS) if (number + step) % 3]


def estate_at(step: int) -> Estate:
    return estate(host(40, units=failed_units(step)))


def utc_now() -> datetime:
    return datetime.now(UTC)


def patrol_at(database: Database, step: int, name: str) -> Patrol:
    """What runs over the estate of this step, in the time of the world."""
    house = House(database)
    numbers = count(1)
    ids: Callable[[], str] = lambda: f"{name}-{next(numbers)}"  # noqa: E731 - one line says it all
    made = house.patrol(GivenSource([estate_at(step)]))
    return Patrol(
        database=database,
        settings=made.settings,
        sources=made.sources,
        clock=utc_now,
        ids=ids,
        progress=lambda _stage, _detail: None,
    )


def run_at(database: Database, step: int, name: str) -> RunReport:
    return patrol_at(database, step, name).run(RunRequest())
