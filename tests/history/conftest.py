"""A database in a file: private ones keep no history."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from patrol.database import Database, open_database


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_database(f"sqlite:///{tmp_path / 'patrol.db'}")
    yield opened
    opened.close()
