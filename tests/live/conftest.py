"""What needs a real model is collected only where it is asked for by its mark: `make test-live-model`."""

from pathlib import Path

import pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return None if "live_model" in str(config.getoption("markexpr")) else True
