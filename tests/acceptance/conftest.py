"""A fresh private database for each test."""

from collections.abc import Iterator

import pytest

from patrol.database import open_database
from tests.run.builders import House


@pytest.fixture
def house() -> Iterator[House]:
    database = open_database("sqlite://")
    yield House(database)
    database.close()
