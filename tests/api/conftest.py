"""An installation for each test."""

from collections.abc import Iterator

import pytest

from tests.api.builders import House, house


@pytest.fixture
def at_home() -> Iterator[House]:
    with house(trusted_proxies=["10.0.0.5"], organisations=["lab"]) as made:
        yield made
