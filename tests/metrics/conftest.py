"""A house whose runs are counted."""

from tests.run.conftest import house

__all__ = ["house"]
