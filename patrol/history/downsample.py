"""From samples to buckets of five minutes, from these to buckets of an hour; and deleting what has had its time.

Each step makes whole blocks anew from what is finer and then moves a mark, in the caller's transaction: it may be
broken off anywhere and be done twice. Late samples move the mark back (`HistoryStore.write`).
"""

from datetime import datetime, timedelta

from sqlalchemy import Connection, bindparam, func, select

from findings.model import DEFAULT_ORG
from patrol.database import Database
from patrol.history.blocks import (
    HIGHEST,
    MISSING,
    SHARD,
    Column,
    Unpacked,
    empty,
    known_measures,
    pack,
    unpack_column,
    whole,
)
from patrol.history.model import FIVE_MINUTES, HOUR, RAW, Level
from patrol.history.store import HistoryStore, floor, keeps_raw_since, slots_of
from patrol.history.tables import BLOCKS, SERIES
from patrol.history.view import keeps_history

GRACE = timedelta(minutes=10)
"""How long after its end a span is waited with: what comes later makes it be done again."""

EVERY = timedelta(hours=1)
STEPS_AT_ONCE = 50
"""Blocks made in one transaction, so that nobody waits long for it."""

PARTS_AT_ONCE = 10

BLOCKS_AT_ONCE = 500
"""Blocks of one level and shard deleted in one call."""

_INSTANT = BLOCKS.c.begin_at.type
_FIRST_FROM = select(func.min(BLOCKS.c.begin_at)).where(
    BLOCKS.c.org_id == bindparam("org_id"),
    BLOCKS.c.resolution == bindparam("resolution"),
    BLOCKS.c.shard == bindparam("shard"),
    BLOCKS.c.begin_at >= bindparam("since", type_=_INSTANT),
)
_IN_PLACE = (
    BLOCKS.c.org_id == bindparam("org_id"),
    BLOCKS.c.resolution == bindparam("resolution"),
    BLOCKS.c.shard == bindparam("shard"),
    BLOCKS.c.begin_at < bindparam("until", type_=_INSTANT),
)
_BLOCK_AFTER = (
    select(BLOCKS.c.begin_at).where(*_IN_PLACE).order_by(BLOCKS.c.begin_at).offset(bindparam("rows")).limit(1)
)
_DELETE = BLOCKS.delete().where(*_IN_PLACE)
_FORGOTTEN = SERIES.delete().where(
    SERIES.c.org_id == bindparam("org_id"), SERIES.c.last_at < bindparam("before", type_=_INSTANT)
)
_THE_BEGINNING = datetime.fromisoformat("1970-01-01T00:00:00Z")


def tidy_history(database: Database, now: datetime, org_id: str = DEFAULT_ORG) -> None:
    """Downsamples and prunes what is due, at most once an hour. Each part is a short transaction of its own.

    What is left after a number of parts is for the next call. Raises StorageError.
    """
    if not keeps_history(database):
        return
    with database.read() as connection:
        due = _is_due(HistoryStore(connection, org_id), now)
    for _ in range(PARTS_AT_ONCE if due else 0):
        if database.transact(lambda connection: tidy(connection, now, org_id)):
            return


def tidy(connection: Connection, now: datetime, org_id: str = DEFAULT_ORG) -> bool:
    """One part of it, in the caller's transaction. Returns whether that was the last one."""
    if downsample(connection, now, org_id) >= STEPS_AT_ONCE:
        return False
    prune(connection, now, org_id)
    HistoryStore(connection, org_id).note_progress(RAW, 0, now)
    return True


def _is_due(store: HistoryStore, now: datetime) -> bool:
    """Also where the last time lies ahead: a clock that was wrong must not stop it for ever."""
    last = store.progress(RAW).get(0)
    return last is None or not last <= now < last + EVERY


def downsample(connection: Connection, now: datetime, org_id: str = DEFAULT_ORG, *, steps: int = STEPS_AT_ONCE) -> int:
    """Makes at most `steps` blocks of buckets whose time is over, oldest first. Returns how many it made."""
    work = _Downsampling(HistoryStore(connection, org_id), connection, org_id)
    made = 0
    for level, finer in ((FIVE_MINUTES, RAW), (HOUR, FIVE_MINUTES)):
        done = work.store.progress(level)
        for shard in work.store.shards():
            since = done.get(shard, _THE_BEGINNING)
            while made < steps and (begin := work.next_span(level, finer, shard, since)) is not None:
                since = begin + level.span
                if since + GRACE > now or not work.is_made_until(finer, shard, since):
                    break
                work.make(level, finer, shard, begin)
                work.store.note_progress(level, shard, since)
                made += 1
    return made


def prune(connection: Connection, now: datetime, org_id: str = DEFAULT_ORG) -> int:
    """Deletes a bounded number of blocks that have had their time, oldest first, never one that a coarser one still
    has to be made of; and series that nothing is kept of any more. Returns how many blocks.
    """
    store = HistoryStore(connection, org_id)
    deleted = 0
    for level, coarser, end in (
        (RAW, FIVE_MINUTES, keeps_raw_since(now)),
        (FIVE_MINUTES, HOUR, floor(now - FIVE_MINUTES.kept, HOUR.span)),
        (HOUR, None, floor(now - HOUR.kept, HOUR.span)),
    ):
        done = store.progress(coarser) if coarser is not None else {}
        for shard in store.shards():
            until = end if coarser is None else min(end, done.get(shard, _THE_BEGINNING))
            deleted += _delete(connection, org_id, level, shard, until)
    connection.execute(_FORGOTTEN, {"org_id": org_id, "before": now - HOUR.kept - HOUR.span})
    return deleted


def _delete(connection: Connection, org_id: str, level: Level, shard: int, until: datetime) -> int:
    place = {"org_id": org_id, "resolution": level.seconds, "shard": shard}
    too_many = connection.execute(_BLOCK_AFTER, {**place, "until": until, "rows": BLOCKS_AT_ONCE}).scalar()
    return connection.execute(_DELETE, {**place, "until": until if too_many is None else too_many}).rowcount


class _Downsampling:
    """The downsampling of one organisation."""

    def __init__(self, store: HistoryStore, connection: Connection, org_id: str) -> None:
        self.store = store
        self._connection = connection
        self._org_id = org_id

    def next_span(self, level: Level, finer: Level, shard: int, since: datetime) -> datetime | None:
        """The first span from `since` on that there is something finer of."""
        first = self._first(finer, shard, since)
        return floor(first, level.span) if first is not None else None

    def is_made_until(self, level: Level, shard: int, until: datetime) -> bool:
        """Whether everything of a level is there up to an instant: buckets are made of samples first."""
        if level is RAW:
            return True
        waiting = self._first(RAW, shard, self.store.progress(level).get(shard, _THE_BEGINNING))
        return waiting is None or waiting >= until

    def make(self, level: Level, finer: Level, shard: int, begin: datetime) -> None:
        """Makes one block of buckets, in place of an earlier one."""
        slots, finer_slots = slots_of(level), slots_of(finer)
        buckets: dict[str, _Buckets] = {}
        for begin_at, block in self.store.blocks(finer, shard, begin, begin + level.span):
            offset = (begin_at - begin).total_seconds()
            slot_of = [int(offset + slot * finer.seconds) // level.seconds for slot in range(finer_slots)]
            for measure, column in known_measures(block):
                buckets.setdefault(measure, _Buckets(slots)).add(unpack_column(column), finer_slots, slot_of)
        self.store.put_block(level, shard, begin, {measure: each.column() for measure, each in buckets.items()})
        if level is HOUR:
            places = {place for each in buckets.values() for place in each.places()}
            self.store.note_seen((shard * SHARD + place for place in places), begin + level.span)

    def _first(self, level: Level, shard: int, since: datetime) -> datetime | None:
        values = {"org_id": self._org_id, "resolution": level.seconds, "shard": shard, "since": since}
        first: datetime | None = self._connection.execute(_FIRST_FROM, values).scalar()
        return first


class _Buckets:
    """Buckets of one measure under way. An average is the mean of the averages of what falls into the bucket."""

    def __init__(self, slots: int) -> None:
        length = SHARD * slots
        self._slots = slots
        self._sums = [0] * length
        self._parts = [0] * length
        self._counts = [0] * length
        self._minima = [HIGHEST] * length
        self._maxima = [MISSING] * length

    def add(self, column: Unpacked, slots: int, slot_of: list[int]) -> None:
        """Adds a finer column, whose slots fall into the slots `slot_of`."""
        sums, parts, counts, minima, maxima = self._sums, self._parts, self._counts, self._minima, self._maxima
        lowest, highest = column.minima or column.averages, column.maxima or column.averages
        for index, average in enumerate(column.averages):
            if average == MISSING:
                continue
            place, slot = divmod(index, slots)
            target = place * self._slots + slot_of[slot]
            sums[target] += average
            parts[target] += 1
            counts[target] += 1 if column.counts is None else column.counts[index]
            minima[target] = min(lowest[index], minima[target])
            maxima[target] = max(highest[index], maxima[target])

    def places(self) -> set[int]:
        """Which numbers of the shard have something."""
        return {index // self._slots for index, parts in enumerate(self._parts) if parts}

    def column(self) -> Column:
        """The buckets, packed."""
        averages, minima, maxima, counts = (empty(self._slots) for _ in range(4))
        for index, parts in enumerate(self._parts):
            if parts:
                averages[index] = round(self._sums[index] / parts)
                minima[index], maxima[index] = self._minima[index], self._maxima[index]
                counts[index] = whole(self._counts[index])
        flat = minima == averages == maxima
        return Column(
            averages=pack(averages),
            minima=b"" if flat else pack(minima),
            maxima=b"" if flat else pack(maxima),
            counts=pack(counts),
        )
