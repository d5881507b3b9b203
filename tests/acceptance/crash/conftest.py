"""A warm process for all proofs of one worker."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.acceptance.crash.estates import Place
from tests.acceptance.crash.warm import Warm, warm_process
from tests.databases import FILE, POSTGRESQL, fresh_url
from tests.postgresql import Server

ROOM_BYTES = 32 << 20


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    made = warm_process()
    yield made
    assert made.process.stdin is not None
    assert made.process.stdout is not None
    made.process.stdin.close()
    made.process.stdout.close()
    made.process.wait()


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    """Where the database goes: in memory, if there is room. What is killed here are processes, not this machine."""
    shared = Path("/dev/shm")
    roomy = shared.is_dir() and os.access(shared, os.W_OK) and shutil.disk_usage(shared).free > ROOM_BYTES
    with tempfile.TemporaryDirectory(dir=shared if roomy else tmp_path) as folder:
        yield Path(folder) / "patrol.db"


@pytest.fixture(params=[FILE, POSTGRESQL])
def place(
    request: pytest.FixtureRequest, file: Path, tmp_path: Path, postgresql: Callable[[], Server]
) -> Iterator[Place]:
    """Where the database goes: a file, and a server whose clients are killed."""
    if request.param == FILE:
        yield file
        return
    with fresh_url(POSTGRESQL, tmp_path, postgresql, made=True) as url:
        yield url
