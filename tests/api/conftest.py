"""An installation for each test."""

from collections.abc import Iterator

import pytest

from tests.api.builders import House, house
from tests.api.filled import Filled


@pytest.fixture
def at_home() -> Iterator[House]:
    with house(trusted_proxies=["10.0.0.5"], organisations=["lab"]) as made:
        yield made


@pytest.fixture
def api(at_home: House) -> Filled:
    """An installation that knows some resources, and the client of its administrator."""
    made = Filled.make(at_home)
    made.remember()
    return made
