"""What the model may cost, in tokens and in money, for one run, a day and a month. Decided before spending. Pure.

Counted is all that is sent and all that is received: the whole conversation anew with each request, cached or not, and
what a model thinks without showing it. Days and months are those of the calendar in UTC; a request belongs to the
day that it was sent on.
"""

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from patrol.settings.model import BudgetSection

RUN_TOKENS = 300_000
DAY_TOKENS = 3_000_000
MONTH_TOKENS = 60_000_000
"""Where nothing is set. A run over some hundred resources takes about 100,000: room for three times that."""


class Window(StrEnum):
    """What a limit is about."""

    RUN = "run"
    DAY = "day"
    MONTH = "month"


class Unit(StrEnum):
    """What a limit counts."""

    TOKENS = "tokens"
    USD = "usd"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What was spent, or will be. Invariant: numbers that can be added, none below zero. Raises ValueError."""

    tokens: int = 0
    usd: float = 0.0

    def __post_init__(self) -> None:
        """Refuses what would poison a sum."""
        if self.tokens < 0 or not math.isfinite(self.usd) or self.usd < 0:
            raise ValueError(f"nothing that can be spent: {self.tokens} tokens, {self.usd} USD")

    def __add__(self, other: "Spent") -> "Spent":
        """Both together."""
        return Spent(tokens=self.tokens + other.tokens, usd=self.usd + other.usd)


NOTHING = Spent()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """The limit of one window. 0: nothing may be spent. `usd` None: money is not limited there; tokens always are."""

    tokens: int
    usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """All limits."""

    run: Cap = Cap(tokens=RUN_TOKENS)
    day: Cap = Cap(tokens=DAY_TOKENS)
    month: Cap = Cap(tokens=MONTH_TOKENS)


def limits_text(limits: Limits) -> str:
    """What may be spent, as it is in force, in one line."""
    told = ((limits.run, "in a run"), (limits.day, "a day"), (limits.month, "a month"))
    return "at most " + ", ".join(
        f"{_amount(cap.tokens, Unit.TOKENS)}{'' if cap.usd is None else f' and {_amount(cap.usd, Unit.USD)}'} {when}"
        for cap, when in told
    )


def limits_of(settings: BudgetSection) -> Limits:
    """The limits that the settings mean: a limit of tokens that is not set is the built-in one."""
    return Limits(
        run=Cap(tokens=_or(settings.run_tokens, RUN_TOKENS), usd=settings.run_usd),
        day=Cap(tokens=_or(settings.day_tokens, DAY_TOKENS), usd=settings.day_usd),
        month=Cap(tokens=_or(settings.month_tokens, MONTH_TOKENS), usd=settings.month_usd),
    )


def _or(limit: int | None, built_in: int) -> int:
    return built_in if limit is None else limit


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetRefusal:
    """Why nothing may be spent now. Numbers in the unit; `expected`: what the next request would add.

    `next_at`: when there is room again by itself. None where a next run has it (a limit of the run), or where no
    time brings it: the limit is 0, or smaller than one request.
    """

    window: Window
    unit: Unit
    spent: float
    limit: float
    expected: float
    next_at: datetime | None

    @property
    def is_never(self) -> bool:
        """Whether waiting does not help: only another setting does."""
        return self.limit == 0 or self.expected > self.limit

    @property
    def sentence(self) -> str:
        """For the operator: which limit, how much of it is gone, and when the model joins again."""
        key = f"[budget] {self.window}_{self.unit}"
        if self.limit == 0:
            return f"{key} = 0: nothing may be spent on the model"
        if self.expected > self.limit:
            needs = _amount(self.expected, self.unit)
            return f"one request needs about {needs}, and {key} allows {_amount(self.limit, self.unit)}"
        spent = f"{_number(self.spent, self.unit)} of {_amount(self.limit, self.unit)} of {_OF[self.window]} are spent"
        if self.spent < self.limit:
            spent += f" and the next request needs about {_number(self.expected, self.unit)}"
        if self.next_at is None:
            return f"{spent}; the model joins again in the next run"
        return f"{spent}; the model joins again after {self.next_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


_OF = {Window.RUN: "this run", Window.DAY: "today", Window.MONTH: "this month"}


def _number(amount: float, unit: Unit) -> str:
    if unit is Unit.TOKENS:
        return f"{amount:,.0f}"
    return f"{amount:.2f}" if amount >= 0.01 or amount == 0 else f"{amount:.2g}"


def _amount(amount: float, unit: Unit) -> str:
    return f"{_number(amount, unit)} {'tokens' if unit is Unit.TOKENS else 'USD'}"


def budget_refusal(
    limits: Limits, run: Spent, day: Spent, month: Spent, expected_next: Spent, now: datetime
) -> BudgetRefusal | None:
    """Why the next request may not be sent, or None. `day`, `month`: since their beginnings (`day_start`, ...).

    A limit that is reached refuses, and so does one that the next request would pass. Of several the one that
    holds longest is given, so that the time it names is true; money before tokens.
    """
    found: list[BudgetRefusal] = []
    for window, cap, spent in ((Window.MONTH, limits.month, month), (Window.DAY, limits.day, day)):
        found.extend(_refusals(window, cap, spent, expected_next, _next_at(window, now)))
    found.extend(_refusals(Window.RUN, limits.run, run, expected_next, None))
    never = [each for each in found if each.is_never]
    return next(iter(never or found), None)


def _refusals(window: Window, cap: Cap, spent: Spent, expected: Spent, next_at: datetime | None) -> list[BudgetRefusal]:
    asked: tuple[tuple[Unit, float | None, float, float], ...] = (
        (Unit.USD, cap.usd, spent.usd, expected.usd),
        (Unit.TOKENS, cap.tokens, spent.tokens, expected.tokens),
    )
    return [
        BudgetRefusal(
            window=window,
            unit=unit,
            spent=used,
            limit=limit,
            expected=more,
            next_at=None if limit == 0 or more > limit else next_at,
        )
        for unit, limit, used, more in asked
        if limit is not None and (used >= limit or used + more > limit)
    ]


def day_start(now: datetime) -> datetime:
    """Since when today is."""
    return now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def month_start(now: datetime) -> datetime:
    """Since when this month is."""
    return day_start(now).replace(day=1)


_LONGER_THAN_A_MONTH = timedelta(days=32)


def _next_at(window: Window, now: datetime) -> datetime:
    if window is Window.DAY:
        return day_start(now) + timedelta(days=1)
    return month_start(month_start(now) + _LONGER_THAN_A_MONTH)
