"""What a request costs: cached input by its own price, an unknown price by an assumed one, always a number."""

import math
from dataclasses import dataclass

import pytest
from pydantic import ValidationError

from patrol.agent.charge import ASSUMED_PRICE, Charge, FlatPrice, charge, configured_price
from patrol.agent.model import Usage
from patrol.settings.model import ModelSection

USAGE = Usage(input_tokens=1_000, output_tokens=100, cached_tokens=400)


@dataclass(frozen=True)
class Listed:
    input_usd: float = 0.01
    output_usd: float = 0.1
    cached_usd: float = 0.001


def test_a_request_costs_its_tokens_times_their_price_and_cached_input_costs_less():
    assert charge(USAGE, Listed()) == Charge(cost_usd=pytest.approx(600 * 0.01 + 400 * 0.001 + 100 * 0.1))


def test_what_is_known_to_cost_nothing_costs_nothing():
    assert charge(USAGE, FlatPrice(input_usd=0, output_usd=0)) == Charge(cost_usd=0)


@pytest.mark.parametrize(
    "price", [None, Listed(input_usd=math.nan), Listed(output_usd=math.inf), Listed(cached_usd=-1)]
)
def test_a_price_that_is_unknown_or_no_number_is_assumed_never_nothing(price):
    charged = charge(USAGE, price)
    assert charged.cost_usd is None
    assert charged.usd == pytest.approx(1_000 * ASSUMED_PRICE.input_usd + 100 * ASSUMED_PRICE.output_usd)


def test_the_settings_name_a_price_for_a_million_tokens_with_cached_input_at_the_same():
    assert configured_price(ModelSection()) is None
    price = configured_price(ModelSection(input_price=0.5, output_price=2))
    assert charge(Usage(input_tokens=1_000_000, cached_tokens=500_000, output_tokens=1_000_000), price).usd == 2.5
    assert configured_price(ModelSection(input_price=0, output_price=0)) == FlatPrice(input_usd=0, output_usd=0)


@pytest.mark.parametrize("half", [{"input_price": 1.0}, {"output_price": 1.0}])
def test_half_a_price_is_refused(half):
    with pytest.raises(ValidationError, match="belong together"):
        ModelSection(**half)
