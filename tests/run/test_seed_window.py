"""How much room a seed has, and what is tried when it was too much."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patrol.run.seed import Seed, SeedOpening, seed_tokens, tokens_after_overflow
from patrol.run.seed.model import Section


@pytest.mark.parametrize(
    ("window", "tokens"),
    [
        (None, 92_000),
        (128_000, 92_000),
        (200_000, 164_000),
        (52_000, 16_000),
        (40_000, 16_000),
        (32_000, 16_000),
        (16_384, 8_192),
        (8_192, 4_096),
        (0, 0),
    ],
)
def test_the_seed_has_what_the_rest_leaves_and_half_of_a_small_window(window: int | None, tokens: int) -> None:
    assert seed_tokens(window) == tokens


@pytest.mark.parametrize(
    ("tried", "window", "wanted"),
    [
        (92_000, None, (16_000, 8_000, 4_000)),
        (16_000, None, (8_000, 4_000)),
        (3_000, None, ()),
        (92_000, 32_000, (16_000, 8_000, 4_000)),
        (92_000, 8_192, (4_096, 2_048, 1_024)),
        (92_000, 3_000, (1_500, 1_000)),
        (4_096, 8_192, (2_048, 1_024)),
    ],
)
def test_after_an_overflow_less_and_less_is_tried(tried: int, window: int | None, wanted: tuple[int, ...]) -> None:
    assert tokens_after_overflow(tried, window) == wanted


@given(tried=st.integers(0, 2_000_000), window=st.none() | st.integers(0, 2_000_000))
def test_each_try_is_smaller_than_the_one_before(tried: int, window: int | None) -> None:
    sizes = (tried, *tokens_after_overflow(tried, window))
    assert list(sizes) == sorted(set(sizes), reverse=True)


def test_a_text_that_was_refused_is_not_sent_again() -> None:
    small = SeedOpening(seed=Seed(sections=(Section(name="a", title="A", priority=0, rows=("one",)),)), window=None)
    assert small.text() == "## A\n```\none\n```"
    assert small.shorter(None) == ()
    rows = ("word " * 20,) * 800
    large = SeedOpening(seed=Seed(sections=(Section(name="a", title="A", priority=0, rows=rows),)), window=None)
    whole = large.text()
    assert large.shorter(None) == (16_000, 8_000, 4_000)
    assert large.shorter(8_192) == (4_096, 2_048, 1_024)
    assert len(large.text(8_000)) < len(whole)
    assert large.shorter(None) == (4_000,)
