"""Stored settings and acknowledgements in a database."""

import json
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from datetime import datetime
from operator import attrgetter

from sqlalchemy import Connection, select

from findings.rows import storable
from patrol.overrides.model import TERMS_VERSION, Acknowledgement, StoredSetting
from patrol.overrides.overlay import in_force
from patrol.overrides.tables import ACKNOWLEDGEMENTS, SETTING_CHANGES, STORED_SETTINGS
from patrol.settings.load import LoadedSettings

_COLUMNS = tuple(field.name for field in fields(StoredSetting))
_ACKNOWLEDGED = tuple(field.name for field in fields(Acknowledgement))
_cells = attrgetter(*_ACKNOWLEDGED)


class OverrideStore:
    """The stored settings of one organisation, on a connection whose transaction the caller owns."""

    def __init__(self, connection: Connection, org_id: str) -> None:
        self._connection = connection
        self._org_id = org_id

    def in_force(self, loaded: LoadedSettings) -> LoadedSettings:
        """The settings of this process with what is stored (`patrol.overrides.overlay.in_force`)."""
        return in_force(loaded, self.list_settings(), self.current_acknowledgement())

    def list_settings(self) -> list[StoredSetting]:
        """All of them, by key."""
        statement = select(*(STORED_SETTINGS.c[name] for name in _COLUMNS))
        statement = statement.where(STORED_SETTINGS.c.org_id == self._org_id).order_by(STORED_SETTINGS.c.key)
        return [StoredSetting(**row._asdict()) for row in self._connection.execute(statement)]

    def change(
        self, values: Mapping[str, object], *, now: datetime, author: str, ids: Callable[[], str]
    ) -> list[StoredSetting]:
        """Stores values, None to store nothing for a key any more. What is so already is no change. Returns them all.

        The values have been checked (`patrol.overrides.overlay.overlaid`).
        """
        known = {each.key: each.value for each in self.list_settings()}
        author = storable(author)
        for key, value in values.items():
            old, new = known.get(key), None if value is None else json.dumps(value)
            if old == new:
                continue
            where = STORED_SETTINGS.c.org_id == self._org_id, STORED_SETTINGS.c.key == key
            self._connection.execute(STORED_SETTINGS.delete().where(*where))
            if new is not None:
                row = StoredSetting(org_id=self._org_id, key=key, value=new, set_at=now, author=author)
                self._connection.execute(STORED_SETTINGS.insert(), {name: getattr(row, name) for name in _COLUMNS})
            change = {"org_id": self._org_id, "id": ids(), "key": key, "old": old, "new": new}
            self._connection.execute(SETTING_CHANGES.insert(), {**change, "at": now, "author": author})
        return self.list_settings()

    def current_acknowledgement(self) -> Acknowledgement | None:
        """The newest acknowledgement that holds, or None."""
        statement = select(*(ACKNOWLEDGEMENTS.c[name] for name in _ACKNOWLEDGED))
        statement = statement.where(
            ACKNOWLEDGEMENTS.c.org_id == self._org_id,
            ACKNOWLEDGEMENTS.c.withdrawn_at.is_(None),
            ACKNOWLEDGEMENTS.c.terms_version == TERMS_VERSION,
        )
        newest = statement.order_by(ACKNOWLEDGEMENTS.c.given_at.desc(), ACKNOWLEDGEMENTS.c.id).limit(1)
        row = self._connection.execute(newest).first()
        return Acknowledgement(**row._asdict()) if row is not None else None

    def acknowledge(self, *, now: datetime, author: str, ids: Callable[[], str]) -> Acknowledgement:
        """Keeps somebody's word for the present terms."""
        made = Acknowledgement(
            org_id=self._org_id, id=ids(), terms_version=TERMS_VERSION, given_at=now, author=storable(author)
        )
        self._connection.execute(ACKNOWLEDGEMENTS.insert(), dict(zip(_ACKNOWLEDGED, _cells(made), strict=True)))
        return made

    def withdraw(self, *, now: datetime, author: str) -> Acknowledgement | None:
        """Takes every acknowledgement that holds back; returns the newest of them, None if there was none."""
        before = self.current_acknowledgement()
        if before is None:
            return None
        open_ones = ACKNOWLEDGEMENTS.c.org_id == self._org_id, ACKNOWLEDGEMENTS.c.withdrawn_at.is_(None)
        author = storable(author)
        statement = ACKNOWLEDGEMENTS.update().where(*open_ones).values(withdrawn_at=now, withdrawn_by=author)
        self._connection.execute(statement)
        return replace(before, withdrawn_at=now, withdrawn_by=author)
