"""Alerts in a database. Decides nothing: `patrol.alerts.lifecycle` decides, this reads and writes."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, Select, and_, or_, select

from findings.bulk import execute_many
from findings.model import Severity
from findings.rows import Cell
from patrol.alerts.model import AlertState, AlertSystem, StoredAlert
from patrol.alerts.tables import ALERTS
from patrol.database.inserts import insert_or_replace

KEPT = timedelta(days=7)
"""How long an alert that is over is kept."""
MOST_KEPT = 10_000
"""Alerts of one organisation. When there are so many, new ones are refused, and whoever sends them is told."""

_COLUMNS = tuple(field.name for field in fields(StoredAlert))
_KEY = ("org_id", "id")
_REPLACED = tuple(name for name in _COLUMNS if name not in _KEY)
_cells = attrgetter(*_COLUMNS)
_ALERT = [ALERTS.c[name] for name in _COLUMNS]
_AT_ONCE = 500


class AlertStore:
    """The alerts of one organisation, on a connection whose transaction the caller owns."""

    def __init__(self, connection: Connection, org_id: str) -> None:
        self._connection = connection
        self._org_id = org_id

    def find(self, text: str) -> StoredAlert | None:
        """The alert of this id, or else the one that is called so in its own system, if there is just one."""
        row = self._connection.execute(self._select().where(ALERTS.c.id == text)).first()
        if row is not None:
            return _alert(row)
        called = self._connection.execute(self._select().where(ALERTS.c.key == text).limit(2)).all()
        return _alert(called[0]) if len(called) == 1 else None

    def load(self, ids: Collection[str]) -> dict[str, StoredAlert]:
        """The alerts of these ids, by id, as far as there are any."""
        found: dict[str, StoredAlert] = {}
        wanted = list(ids)
        for start in range(0, len(wanted), _AT_ONCE):
            statement = self._select().where(ALERTS.c.id.in_(wanted[start : start + _AT_ONCE]))
            found.update((row.id, _alert(row)) for row in self._connection.execute(statement))
        return found

    def list_firing(self, now: datetime, most: int = MOST_KEPT) -> list[StoredAlert]:
        """The alerts that are there, those that began last first."""
        statement = self._select().where(_is_firing(now)).order_by(ALERTS.c.since.desc(), ALERTS.c.id).limit(most)
        return [_alert(row) for row in self._connection.execute(statement)]

    def list_over(self, now: datetime, since: datetime, most: int = MOST_KEPT) -> list[StoredAlert]:
        """The alerts that were over at some time after `since`, those reported last first."""
        expired = and_(ALERTS.c.state == str(AlertState.FIRING), ALERTS.c.expires_at <= now)  # and not yet taken down
        closed = and_(ALERTS.c.state != str(AlertState.FIRING), ALERTS.c.closed_at >= since)
        statement = self._select().where(or_(and_(expired, ALERTS.c.expires_at >= since), closed))
        statement = statement.order_by(ALERTS.c.reported_at.desc(), ALERTS.c.id).limit(most)
        return [_alert(row) for row in self._connection.execute(statement)]

    def list_expired(self, now: datetime, most: int) -> list[StoredAlert]:
        """Alerts whose time is over and of which nobody knows yet that it is, the first to end first."""
        over = and_(ALERTS.c.state == str(AlertState.FIRING), ALERTS.c.expires_at <= now)
        statement = self._select().where(over).order_by(ALERTS.c.expires_at, ALERTS.c.id).limit(most)
        return [_alert(row) for row in self._connection.execute(statement)]

    def count(self) -> int:
        """How many are kept."""
        return len(self._connection.execute(select(ALERTS.c.id).where(ALERTS.c.org_id == self._org_id)).all())

    def keep(self, alerts: Iterable[StoredAlert]) -> None:
        """Writes alerts, new ones and known ones. Raises ValueError for one of another organisation."""
        rows = [_row(alert) for alert in alerts]
        if any(row["org_id"] != self._org_id for row in rows):
            raise ValueError(f"an alert does not belong to {self._org_id}")
        if rows:
            execute_many(self._connection, insert_or_replace(self._connection.dialect.name, ALERTS, _REPLACED), rows)

    def forget(self, before: datetime) -> int:
        """Deletes what was over before; returns how many alerts."""
        over = or_(ALERTS.c.closed_at < before, and_(ALERTS.c.closed_at.is_(None), ALERTS.c.expires_at < before))
        return self._connection.execute(ALERTS.delete().where(ALERTS.c.org_id == self._org_id, over)).rowcount

    def _select(self) -> Select[*tuple[Cell, ...]]:
        return select(*_ALERT).where(ALERTS.c.org_id == self._org_id)


def _is_firing(now: datetime) -> ColumnElement[bool]:
    return and_(ALERTS.c.state == str(AlertState.FIRING), ALERTS.c.expires_at > now)


def _row(alert: StoredAlert) -> dict[str, Cell]:
    row: dict[str, Any] = dict(zip(_COLUMNS, _cells(alert), strict=True))
    for name in ("candidates", "changes"):
        row[name] = msgspec.json.encode(row[name]).decode()
    for name in ("system", "state"):
        row[name] = str(row[name])
    row["severity"] = str(alert.severity) if alert.severity is not None else None
    return row


def _alert(cells: Sequence[Cell]) -> StoredAlert:
    values: dict[str, Any] = dict(zip(_COLUMNS, cells, strict=True))
    values["candidates"] = msgspec.json.decode(values["candidates"], type=tuple[str, ...])
    values["changes"] = msgspec.json.decode(values["changes"], type=tuple[datetime, ...])
    values["system"], values["state"] = AlertSystem(values["system"]), AlertState(values["state"])
    values["severity"] = Severity(values["severity"]) if values["severity"] is not None else None
    return StoredAlert(**values)
