"""Samples in the database: written, found again by block, handed over when a resource gets another id."""

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, func, select

from findings.model import DEFAULT_ORG, ResourceId
from findings.rows import storable
from patrol.database.inserts import insert_or_replace, insert_unless_there
from patrol.history.blocks import (
    MISSING,
    SHARD,
    Column,
    decode_block,
    empty,
    encode_block,
    pack,
    scaled,
    unpack_column,
    whole,
)
from patrol.history.model import FIVE_MINUTES, HOUR, RAW, Level, Sample
from patrol.history.tables import BLOCKS, PROGRESS, SERIES

FUTURE = timedelta(minutes=5)
"""A sample further ahead than this is of a wrong clock, and is not kept."""

_AT_ONCE = 500
_MINTING_ATTEMPTS = 3
_INSTANT = BLOCKS.c.begin_at.type

_BLOCKS_BETWEEN = (
    select(BLOCKS.c.begin_at, BLOCKS.c.data)
    .where(
        BLOCKS.c.org_id == bindparam("org_id"),
        BLOCKS.c.resolution == bindparam("resolution"),
        BLOCKS.c.shard == bindparam("shard"),
        BLOCKS.c.begin_at >= bindparam("since", type_=_INSTANT),
        BLOCKS.c.begin_at < bindparam("until", type_=_INSTANT),
    )
    .order_by(BLOCKS.c.begin_at)
)
_NEWEST = select(func.max(SERIES.c.number)).where(SERIES.c.org_id == bindparam("org_id"))
_SERIES = (
    select(SERIES.c.number, SERIES.c.resource_id, SERIES.c.subject)
    .where(SERIES.c.org_id == bindparam("org_id"))
    .order_by(SERIES.c.number)
)
_SERIES_OF = _SERIES.where(SERIES.c.resource_id.in_(bindparam("resource_ids", expanding=True)))

_SEEN = (
    SERIES.update()
    .where(SERIES.c.org_id == bindparam("at_org"), SERIES.c.number == bindparam("at_number"))
    .values(last_at=bindparam("seen_at", type_=_INSTANT))
)

_Thing = tuple[ResourceId, str]  # a resource and a subject of it
_Frame = dict[str, tuple["array[int]", "array[int]"]]  # values and windows of one instant and shard, by measure


class _Place(NamedTuple):
    at: datetime
    shard: int


class HistoryStore:
    """The history of one organisation, on a connection whose transaction the caller owns."""

    def __init__(self, connection: Connection, org_id: str = DEFAULT_ORG) -> None:
        self._connection = connection
        self._org_id = org_id
        self._upsert = insert_or_replace(connection.dialect.name, BLOCKS, ("data",))

    # --- writing

    def write(self, samples: Iterable[Sample], now: datetime) -> int:
        """Keeps samples, and returns how many. Of two samples of one series in one second the later given stays.

        Samples may come late and in any order. Those older than raw samples are kept, those of the future, and
        values that are no percentages are left out.
        """
        oldest, newest = keeps_raw_since(now), now + FUTURE
        wanted = [each for each in samples if oldest <= each.at <= newest]
        numbers = self._numbers({(resource_id, subject) for (resource_id, _, subject), _, _, _ in wanted}, now)
        frames: dict[_Place, _Frame] = {}
        kept = 0
        frame: _Frame = {}
        at, shard = None, -1
        for (resource_id, measure, subject), sampled_at, value, window in wanted:
            stored = scaled(measure, value)
            if stored is None:
                continue
            where, place = divmod(numbers[resource_id, subject], SHARD)
            if sampled_at != at or where != shard:  # nearly always the same as before
                at, shard = sampled_at, where
                frame = frames.setdefault(_Place(at.astimezone(UTC).replace(microsecond=0), shard), {})
            column = frame.get(measure)
            if column is None:
                column = frame[measure] = (empty(), array("h", [0]) * SHARD)
            column[0][place] = stored
            if window:
                column[1][place] = whole(window)
            kept += 1
        self._store(frames)
        return kept

    def _store(self, frames: Mapping[_Place, _Frame]) -> None:
        rows = []
        for place, frame in frames.items():
            block = self._block_at(place)
            for measure, column in frame.items():
                block[measure] = _column(_over(block.get(measure), *column))
            rows.append({**self._place(RAW, place.shard), "begin_at": place.at, "data": encode_block(block)})
        if rows:
            self._connection.execute(self._upsert, rows)
            self._reopen(frames)

    def _block_at(self, place: _Place) -> dict[str, Column]:
        found = self.blocks(RAW, place.shard, place.at, place.at + timedelta(seconds=1))
        return next((block for _, block in found), {})

    def _reopen(self, places: Iterable[_Place]) -> None:
        """Buckets that a late sample belongs to are made anew from there on."""
        first: dict[int, datetime] = {}
        for at, shard in places:
            first[shard] = min(at, first.get(shard, at))
        for level in (FIVE_MINUTES, HOUR):
            done = self.progress(level)
            for shard, at in first.items():
                if at < done.get(shard, at):
                    self.note_progress(level, shard, floor(at, level.span))

    # --- numbers

    def _numbers(self, things: AbstractSet[_Thing], now: datetime) -> dict[_Thing, int]:
        """The number of each thing; new ones get one. Texts that no database takes are stored mended."""
        mended = {thing: stored for thing in things if (stored := _stored(thing)) != thing}
        wanted = {*(things - mended.keys()), *mended.values()}
        known = self._known(wanted)
        for _ in range(_MINTING_ATTEMPTS):
            missing = sorted(wanted - known.keys())
            if not missing:
                return known | {thing: known[stored] for thing, stored in mended.items()}
            newest = self._connection.execute(_NEWEST, {"org_id": self._org_id}).scalar()
            first = 0 if newest is None else newest + 1
            rows = [
                {"org_id": self._org_id, "number": number, "resource_id": thing[0], "subject": thing[1], "last_at": now}
                for number, thing in enumerate(missing, start=first)
            ]
            # On a server another process may take the same numbers: then the rows that lost are asked for again.
            self._connection.execute(insert_unless_there(self._connection.dialect.name, SERIES), rows)
            known = self._known(wanted)
        raise RuntimeError("other processes took every new number of a series")

    def _known(self, things: Collection[_Thing]) -> dict[_Thing, int]:
        """Of several numbers of one thing the first one: it is the one that is written under."""
        known: dict[_Thing, int] = {}
        for number, resource_id, subject in self.series({resource_id for resource_id, _ in things}):
            known.setdefault((resource_id, subject), number)
        return known

    def series(self, resource_ids: Collection[ResourceId]) -> Iterator[tuple[int, ResourceId, str]]:
        """Numbers with what they stand for, the lowest first. The ids are given as they are stored."""
        if len(resource_ids) > 10 * _AT_ONCE:  # then reading the whole table is quicker
            for number, resource_id, subject in self._connection.execute(_SERIES, {"org_id": self._org_id}):
                if resource_id in resource_ids:
                    yield number, resource_id, subject
            return
        remaining = iter(resource_ids)
        while chunk := list(islice(remaining, _AT_ONCE)):
            values = {"org_id": self._org_id, "resource_ids": chunk}
            for number, resource_id, subject in self._connection.execute(_SERIES_OF, values):
                yield number, resource_id, subject

    def repoint(self, old_id: ResourceId, new_id: ResourceId) -> int:
        """Gives the history of one id to another one, where both turned out to be one resource. Returns how many
        series moved. Samples that both had stay, and are read as one series.
        """
        statement = SERIES.update().where(SERIES.c.org_id == self._org_id, SERIES.c.resource_id == storable(old_id))
        return self._connection.execute(statement.values(resource_id=storable(new_id))).rowcount

    # --- what reading and downsampling need

    def blocks(
        self, level: Level, shard: int, since: datetime, until: datetime
    ) -> Iterator[tuple[datetime, dict[str, Column]]]:
        """Stored blocks that begin in this time, with their columns still packed."""
        values = {**self._place(level, shard), "since": since, "until": until}
        for begin_at, data in self._connection.execute(_BLOCKS_BETWEEN, values):
            yield begin_at, decode_block(data)

    def put_block(self, level: Level, shard: int, begin_at: datetime, block: Mapping[str, Column]) -> None:
        """Stores a block whole, in place of an earlier one."""
        row = {**self._place(level, shard), "begin_at": begin_at, "data": encode_block(block)}
        self._connection.execute(self._upsert, [row])

    def progress(self, level: Level) -> dict[int, datetime]:
        """Up to when the buckets of a level are made, by shard."""
        statement = select(PROGRESS.c.shard, PROGRESS.c.done_until).where(
            PROGRESS.c.org_id == self._org_id, PROGRESS.c.resolution == level.seconds
        )
        return {row.shard: row.done_until for row in self._connection.execute(statement)}

    def note_progress(self, level: Level, shard: int, done_until: datetime) -> None:
        """Notes up to when they are made."""
        statement = insert_or_replace(self._connection.dialect.name, PROGRESS, ("done_until",))
        self._connection.execute(statement, [{**self._place(level, shard), "done_until": done_until}])

    def note_seen(self, numbers: Iterable[int], at: datetime) -> None:
        """Notes that there are samples of these series up to an instant, so that they are not forgotten."""
        rows = [{"at_org": self._org_id, "at_number": number, "seen_at": at} for number in numbers]
        if rows:
            self._connection.execute(_SEEN, rows)

    def shards(self) -> range:
        """All shards that there are."""
        newest = self._connection.execute(_NEWEST, {"org_id": self._org_id}).scalar()
        return range(0 if newest is None else newest // SHARD + 1)

    def newest_sample_at(self) -> datetime | None:
        """When the newest sample was taken, None if there is none: for each shard one look at the end of an index."""
        newest = select(func.max(BLOCKS.c.begin_at)).where(
            BLOCKS.c.org_id == self._org_id, BLOCKS.c.resolution == RAW.seconds, BLOCKS.c.shard == bindparam("shard")
        )
        found = (self._connection.execute(newest, {"shard": shard}).scalar() for shard in self.shards())
        return max((at for at in found if at is not None), default=None)

    def _place(self, level: Level, shard: int) -> dict[str, object]:
        return {"org_id": self._org_id, "resolution": level.seconds, "shard": shard}


def _stored(thing: _Thing) -> _Thing:
    resource_id, subject = thing
    return thing if resource_id.isprintable() and subject.isprintable() else (storable(resource_id), storable(subject))


def keeps_raw_since(now: datetime) -> datetime:
    """From when on raw samples are kept: whole hours, so that no bucket is ever made of a part of its samples."""
    return floor(now - RAW.kept, FIVE_MINUTES.span)


def floor(at: datetime, span: timedelta) -> datetime:
    """The beginning of the span that an instant lies in; spans are counted from 1970 UTC."""
    seconds = span.total_seconds()
    return datetime.fromtimestamp(at.timestamp() // seconds * seconds, UTC) if seconds else at


def slots_of(level: Level) -> int:
    """How many buckets a block of this level holds for each series."""
    return round(level.span.total_seconds()) // level.seconds if level.seconds else 1


def _over(known: Column | None, values: "array[int]", windows: "array[int]") -> tuple["array[int]", "array[int]"]:
    """New samples of an instant laid over those that are stored of it."""
    if known is None:
        return values, windows
    old = unpack_column(known)
    old_windows = old.windows or array("h", [0]) * SHARD
    laid = [
        (value, window) if value != MISSING else (old_value, old_window)
        for value, window, old_value, old_window in zip(values, windows, old.averages, old_windows, strict=True)
    ]
    return array("h", [value for value, _ in laid]), array("h", [window for _, window in laid])


def _column(sampled: tuple["array[int]", "array[int]"]) -> Column:
    values, windows = sampled
    return Column(averages=pack(values), windows=pack(windows) if max(windows) > 0 else b"")
