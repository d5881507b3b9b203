"""What is remembered of right passwords: nothing but that, for a few minutes, in this process."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patrol.api.recent import KEPT_FOR, MOST, RecentPasswords
from tests.api.builders import START

TEXTS = st.text(st.characters(codec=None), max_size=5)


@given(first=st.tuples(TEXTS, TEXTS, TEXTS), second=st.tuples(TEXTS, TEXTS, TEXTS))
def test_only_the_same_name_password_and_hash_were_right(first, second) -> None:
    recent = RecentPasswords(b"k" * 32)
    recent.note(*first, START)
    assert recent.was_right(*first, START)
    assert recent.was_right(*second, START) is (first == second)


@pytest.mark.parametrize(
    ("after", "is_kept"),
    [
        (timedelta(), True),
        (KEPT_FOR - timedelta(seconds=1), True),
        (KEPT_FOR, False),
        (timedelta(seconds=-1), False),  # a clock that was set back
    ],
)
def test_it_is_forgotten_after_a_few_minutes(after: timedelta, is_kept: bool) -> None:
    recent = RecentPasswords(b"k" * 32)
    recent.note("ann", "right", "kept", START)
    assert recent.was_right("ann", "right", "kept", START + after) is is_kept


def test_thousands_take_no_more_room_than_one_thousand() -> None:
    recent = RecentPasswords(b"k" * 32)
    for each in range(MOST + 1):
        recent.note(str(each), "right", "kept", START)
    assert not recent.was_right("0", "right", "kept", START)
    assert recent.was_right("1", "right", "kept", START)


def test_what_is_remembered_is_no_hash_that_could_be_tried_elsewhere() -> None:
    one, other = RecentPasswords(b"k" * 32), RecentPasswords(b"l" * 32)
    one.note("ann", "right", "kept", START)
    other.note("ann", "right", "kept", START)
    assert one._right_at.keys().isdisjoint(other._right_at)
    assert "right" not in str(one._right_at)
