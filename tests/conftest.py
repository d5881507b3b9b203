"""What all tests share."""

import os
from pathlib import Path

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
