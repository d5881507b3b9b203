"""Settings that operators stored: the rest is known to whoever asks."""

import msgspec

from patrol.overrides.model import Acknowledgement, StoredSetting
from patrol.overrides.store import OverrideStore
from patrol.records.desk import Desk, Question


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """What is stored, and the acknowledgement of autonomy `full` that holds, None where none does."""

    settings: list[StoredSetting]
    acknowledgement: Acknowledgement | None


class ShowStored(Question, frozen=True, kw_only=True):
    """All of them: `patrol.overrides.overlay.in_force` lays them over settings that were read."""

    def answer(self, desk: Desk, /) -> Stored:
        """What is stored."""
        with desk.database.read() as connection:
            store = OverrideStore(connection, desk.org_id)
            return Stored(settings=store.list_settings(), acknowledgement=store.current_acknowledgement())
