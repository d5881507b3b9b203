"""What one run remembers for the next: counters, when things were last read, and the last good alert settings."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import TypeAlias

import msgspec
from sqlalchemy import Connection, bindparam, select

from findings.bulk import execute_many
from findings.model import DEFAULT_ORG, ResourceId, Topic
from findings.rows import Cell, storable
from patrol.database.inserts import insert_or_replace
from patrol.estate.sources.model import Counter
from patrol.run.record_model import AlertSettingsMemory
from patrol.run.tables import ALERT_SETTINGS, COUNTERS, SIGHTS

ReadingKey: TypeAlias = tuple[str, Topic, ResourceId]
"""A source, a topic, and the resource it was read of ("": the topic as a whole)."""

Readings: TypeAlias = Mapping[tuple[str, Topic], Sequence[ResourceId]]
"""What was read: by source and topic the resources that it was read of, as in `ReadingKey`."""

SIGHT_STEP = timedelta(hours=1)
"""How exact the time of the last reading is kept: rewriting every row in every run would only wear the disk."""

_AT_ONCE = 500
_WRITTEN_AT_ONCE = 5000
_LAST_READ = select(SIGHTS.c.resource_id, SIGHTS.c.last_read_at).where(
    SIGHTS.c.org_id == bindparam("org_id"),
    SIGHTS.c.source == bindparam("source"),
    SIGHTS.c.topic == bindparam("topic"),
    SIGHTS.c.resource_id.in_(bindparam("resource_ids", expanding=True)),
)
_INSTANT = SIGHTS.c.last_read_at.type
_FRESH = select(SIGHTS.c.resource_id).where(
    SIGHTS.c.org_id == bindparam("org_id"),
    SIGHTS.c.source == bindparam("source"),
    SIGHTS.c.topic == bindparam("topic"),
    SIGHTS.c.last_read_at > bindparam("since", type_=_INSTANT),
    SIGHTS.c.last_read_at <= bindparam("until", type_=_INSTANT),  # one in the future is mended
)
_decode_counts = msgspec.json.Decoder(dict[str, float]).decode


class RunMemory:
    """The memory of one organisation, on a connection whose transaction the caller owns."""

    def __init__(self, connection: Connection, org_id: str = DEFAULT_ORG) -> None:
        self._connection = connection
        self._org_id = org_id

    def counters(self) -> dict[tuple[ResourceId, str], Counter]:
        """All counters of the last collections, by resource id and name."""
        statement = select(COUNTERS.c.resource_id, COUNTERS.c.name, COUNTERS.c.at, COUNTERS.c.counts)
        rows = self._connection.execute(statement.where(COUNTERS.c.org_id == self._org_id))
        return {(resource, name): Counter(at=at, values=_decode_counts(counts)) for resource, name, at, counts in rows}

    def keep_counters(self, counters: Mapping[tuple[ResourceId, str], Counter]) -> None:
        """Replaces the counters that are given; the others stay."""
        rows = [
            {
                "org_id": self._org_id,
                "resource_id": storable(resource_id),
                "name": storable(name),
                "at": counter.at,
                "counts": msgspec.json.encode(dict(counter.values)).decode(),
            }
            for (resource_id, name), counter in counters.items()
        ]
        if rows:
            statement = insert_or_replace(self._connection.dialect.name, COUNTERS, ("at", "counts"))
            self._connection.execute(statement, rows)

    def last_read(self, readings: Iterable[ReadingKey]) -> dict[ReadingKey, datetime]:
        """When each of these was last read, up to `SIGHT_STEP` too early; what was never read is missing."""
        found: dict[ReadingKey, datetime] = {}
        for (source, topic), resource_ids in _by_topic(readings).items():
            remaining = iter(resource_ids)
            while chunk := list(islice(remaining, _AT_ONCE)):
                values = {"org_id": self._org_id, "source": source, "topic": str(topic), "resource_ids": chunk}
                for resource_id, read_at in self._connection.execute(_LAST_READ, values):
                    found[source, topic, resource_id] = read_at
        return found

    def note_read(self, readings: Readings, at: datetime) -> None:
        """Notes that these were read. Times younger than `SIGHT_STEP` are left as they are."""
        statement = insert_or_replace(self._connection.dialect.name, SIGHTS, ("last_read_at",))
        for (source, topic), resource_ids in readings.items():
            place = {"org_id": self._org_id, "source": storable(source), "topic": str(topic)}
            fresh = set(self._connection.execute(_FRESH, {**place, "since": at - SIGHT_STEP, "until": at}).scalars())
            stale = [each for each in dict.fromkeys(map(storable, resource_ids)) if each not in fresh]
            for start in range(0, len(stale), _WRITTEN_AT_ONCE):
                rows: list[dict[str, Cell]] = [
                    {**place, "resource_id": each, "last_read_at": at}
                    for each in stale[start : start + _WRITTEN_AT_ONCE]
                ]
                execute_many(self._connection, statement, rows)

    def alert_settings(self) -> AlertSettingsMemory | None:
        """The last alert settings that could be read; None if there never were any."""
        table = ALERT_SETTINGS
        statement = select(table.c.text, table.c.sha256, table.c.stored_at).where(table.c.org_id == self._org_id)
        row = self._connection.execute(statement).first()
        return AlertSettingsMemory(text=row.text, sha256=row.sha256, stored_at=row.stored_at) if row else None

    def keep_alert_settings(self, text: str, now: datetime) -> AlertSettingsMemory:
        """Remembers settings that were read and understood. The time stays while the text does."""
        sha256 = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        known = self.alert_settings()
        if known is not None and known.sha256 == sha256:
            return known
        statement = insert_or_replace(self._connection.dialect.name, ALERT_SETTINGS, ("text", "sha256", "stored_at"))
        row = {"org_id": self._org_id, "text": storable(text), "sha256": sha256, "stored_at": now}
        self._connection.execute(statement, row)
        return AlertSettingsMemory(text=storable(text), sha256=sha256, stored_at=now)


def _by_topic(readings: Iterable[ReadingKey]) -> dict[tuple[str, Topic], list[ResourceId]]:
    by_topic: dict[tuple[str, Topic], dict[ResourceId, None]] = {}
    for source, topic, resource_id in readings:
        by_topic.setdefault((source, topic), {})[storable(resource_id)] = None
    return {place: list(resource_ids) for place, resource_ids in by_topic.items()}
