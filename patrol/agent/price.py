"""What a model costs and how much it reads, from the tables that come with the libraries; nothing is fetched."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from importlib import import_module
from typing import Any

from patrol.agent.endpoint import Endpoint, ProviderKind, parse_endpoint
from patrol.settings.model import ModelSection

# genai_prices takes 0.2 s to import: only a run with a model needs it.
_TABLES = "genai_prices.data_snapshot"

_PROVIDERS = {
    ProviderKind.OPENAI: "openai",
    ProviderKind.ANTHROPIC: "anthropic",
    ProviderKind.GOOGLE: "google",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars for one token. Where a model costs more for long prompts, the dearest of its prices."""

    input_usd: float
    output_usd: float
    cached_usd: float


FREE = Price(input_usd=0.0, output_usd=0.0, cached_usd=0.0)


def price_of(endpoint: Endpoint, now: datetime) -> Price | None:
    """What a model costs: nothing on this network, the list price of a known one, None for every other.

    A gateway has prices of its own: they are known only where the tables know its address.
    """
    if endpoint.local:
        return FREE
    found = _found(endpoint)
    if found is None:
        return None
    prices = found.get_prices(now)
    sent, got = _per_token(prices, "input_mtok"), _per_token(prices, "output_mtok")
    if sent is None or got is None:
        return None
    cached = _per_token(prices, "cache_read_mtok")
    return Price(input_usd=sent, output_usd=got, cached_usd=sent if cached is None else min(cached, sent))


LOCAL_WINDOW = 16_384
"""Tokens that a run with a model needs at least. A local server is set to some window that it does not tell: more than
this is not relied on unless [model] context_window says so."""


def window_of(settings: ModelSection) -> int | None:
    """Tokens that the model reads at once: the operator's word, else what is known; None where nobody knows.

    Raises ModelError for a model that cannot be meant.
    """
    return settings.context_window or known_window(parse_endpoint(settings.name, settings.base_url))


def known_window(endpoint: Endpoint) -> int | None:
    """Tokens that the model reads at once, as far as the tables know it, or as a local server surely does."""
    if endpoint.local:
        return LOCAL_WINDOW
    found = _found(endpoint)
    window = found.context_window if found is not None else None
    return window if isinstance(window, int) and window > 0 else None


def _found(endpoint: Endpoint) -> Any:
    tables: Any = import_module(_TABLES).get_snapshot()
    provider = _PROVIDERS.get(endpoint.kind) if endpoint.own_address else None
    address = None if endpoint.own_address else endpoint.base_url
    if provider is None and address is None:
        return None
    try:
        return tables.find_provider_model(endpoint.model, None, provider, address)[1]
    except LookupError:
        return None


def _per_token(prices: Any, unit: str) -> float | None:
    """The price of a million tokens, divided; tiers count by their dearest."""
    price = getattr(prices, unit, None)
    tiers = [tier.price for tier in getattr(price, "tiers", ())]
    every = [value for value in (getattr(price, "base", price), *tiers) if isinstance(value, Decimal | int | float)]
    usable = [float(value) for value in every if Decimal(value).is_finite() and value >= 0]
    return max(usable) / 1_000_000 if usable and len(usable) == len(every) else None
