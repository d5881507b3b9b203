"""A fresh private database for each test, of every sort that Patrol supports."""

import pytest

from patrol.database import Database
from tests.run.builders import House


@pytest.fixture
def house(any_database: Database) -> House:
    return House(any_database)
