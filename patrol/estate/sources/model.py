"""What every source is to the run: something that collects its part of the estate, within a bound."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from patrol.estate.model import Estate


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """A counter as it stood at an earlier collection, for rates. `values` keep the kernel's units."""

    at: datetime
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """A source's part of the estate, and the counters to hand to its next collection, by resource id and name.

    `is_merged`: it went through `merge_estates` by itself, which alone would change nothing in it any more.
    """

    estate: Estate
    counters: Mapping[tuple[str, str], Counter] = field(default_factory=dict)
    is_merged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectRequest:
    """What a collection gets from the run.

    `deadline_seconds`: when to give up, from the start. `previous`: counters of earlier collections, by
    resource id and name. `progress`: told what is being read, for people who wait.
    """

    now: datetime
    deadline_seconds: float
    previous: Mapping[tuple[str, str], Counter] = field(default_factory=dict)
    progress: Callable[[str], None] = lambda _text: None


class Source(Protocol):
    """One configured source. Collecting never raises for what it could not read: that is a gap."""

    name: str
    type: str

    def collect(self, request: CollectRequest) -> Collected:
        """Reads everything it can before the deadline."""
        ...
