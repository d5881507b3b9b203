"""What one request costs: tokens times their price, or an assumed price where nobody knows the real one. Pure.

Money is counted in US dollars. What is not a number that can be added (NaN, infinite, negative) never becomes a charge:
a price like that counts as unknown, tokens like that as not reported.
"""

import math
from dataclasses import dataclass
from typing import Protocol

from patrol.agent.model import Usage
from patrol.settings.model import ModelSection

PER_MILLION = 1_000_000


class TokenPrice(Protocol):
    """US dollars for one token: of input, of output, and of input that the provider had in its cache."""

    @property
    def input_usd(self) -> float: ...
    @property
    def output_usd(self) -> float: ...
    @property
    def cached_usd(self) -> float: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatPrice:
    """A price that somebody named. What was cached costs the same as other input: nobody said that it is cheaper."""

    input_usd: float
    output_usd: float

    @property
    def cached_usd(self) -> float:
        """The same."""
        return self.input_usd


ASSUMED_PRICE = FlatPrice(input_usd=15 / PER_MILLION, output_usd=75 / PER_MILLION)
"""Where no price is known. That of the dearest models in wide use (lists of 2025): too high rather than too low."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """What a request is charged. `cost_usd` None: its price is unknown, and `assumed_usd` is charged in its place."""

    cost_usd: float | None
    assumed_usd: float = 0.0

    @property
    def usd(self) -> float:
        """What counts against the budget."""
        return self.assumed_usd if self.cost_usd is None else self.cost_usd


def configured_price(settings: ModelSection) -> FlatPrice | None:
    """The price that the settings name (US dollars for a million tokens), None if they name none."""
    if settings.input_price is None or settings.output_price is None:
        return None
    return FlatPrice(input_usd=settings.input_price / PER_MILLION, output_usd=settings.output_price / PER_MILLION)


def charge(usage: Usage, price: TokenPrice | None) -> Charge:
    """What these tokens cost. `price` None, or not one that can be reckoned with: unknown, never free."""
    if price is None or not _is_price(price):
        return Charge(cost_usd=None, assumed_usd=_cost(usage, ASSUMED_PRICE))
    return Charge(cost_usd=_cost(usage, price))


def _is_price(price: TokenPrice) -> bool:
    return all(math.isfinite(each) and each >= 0 for each in (price.input_usd, price.output_usd, price.cached_usd))


def _cost(usage: Usage, price: TokenPrice) -> float:
    cached = min(max(0, usage.cached_tokens), max(0, usage.input_tokens))
    fresh = max(0, usage.input_tokens) - cached
    return fresh * price.input_usd + cached * price.cached_usd + max(0, usage.output_tokens) * price.output_usd
