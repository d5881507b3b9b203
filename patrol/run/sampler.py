"""One sample between two runs: the light metrics of the sources that keep no history of their own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from findings.model import Gap
from patrol.database import Database
from patrol.estate.memory.follow import follow
from patrol.estate.memory.recognise import recognise
from patrol.estate.memory.store import ResourceMemory
from patrol.history.downsample import tidy_history
from patrol.history.sampling import samples_of
from patrol.history.store import HistoryStore
from patrol.run.collect import BoundedSource, collect
from patrol.run.memory import RunMemory


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """What one pass brought. `gaps`: what it could not read; a run tells of these, a sample only passes them over."""

    kept: int
    gaps: Sequence[Gap]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampler:
    """Takes samples. `sources` read only what is light: each pass is to be over before the next one."""

    database: Database
    sources: Sequence[BoundedSource]
    clock: Callable[[], datetime]

    def sample(self) -> Sampled:
        """One pass: collect, keep. Nothing is judged and nothing is filed. Raises StorageError."""
        now = self.clock()
        with self.database.read() as connection:
            previous = RunMemory(connection).counters()
        collection = collect(self.sources, now=now, previous=previous, progress=lambda _text: None)
        estate = collection.estate
        with self.database.read() as connection:
            # Samples belong to the ids that runs use, also after a host was renamed.
            follow(estate, recognise(estate, ResourceMemory(connection).load(), now, counts_absence=False))
        samples = tuple(samples_of(estate, now))

        def keep(connection: Connection) -> int:
            RunMemory(connection).keep_counters(collection.counters)
            return HistoryStore(connection).write(samples, now)

        kept = self.database.transact(keep)
        tidy_history(self.database, now)
        return Sampled(kept=kept, gaps=estate.gaps)
