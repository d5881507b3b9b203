"""Pauses: kept over a restart, with since when, until when, by whom and why."""

import itertools
from datetime import UTC, datetime, timedelta

import pytest

from patrol.schedule.pauses import find_pause, pause, resume

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
ORG = "default"


@pytest.fixture
def say(any_database):
    numbers = itertools.count()

    def word(now=NOW, *, until=None, reason="update", author="ann"):
        ids = lambda: f"p{next(numbers)}"  # noqa: E731
        return pause(any_database, ORG, now=now, until=until, reason=reason, author=author, ids=ids)

    return word


def in_force(database, now):
    with database.read() as connection:
        return find_pause(connection, ORG, now)


def test_a_pause_lasts_until_somebody_resumes(say, any_database):
    assert in_force(any_database, NOW) is None
    made = say()
    assert in_force(any_database, NOW + 1000 * HOUR) == made
    ended = resume(any_database, ORG, now=NOW + HOUR, author="bob")
    assert (ended.ended_at, ended.ended_by, ended.author) == (NOW + HOUR, "bob", "ann")
    assert in_force(any_database, NOW + HOUR) is None
    assert resume(any_database, ORG, now=NOW + HOUR, author="bob") is None


def test_a_pause_with_an_end_is_over_by_itself(say, any_database):
    say(until=NOW + HOUR)
    assert in_force(any_database, NOW + HOUR - timedelta(seconds=1)) is not None
    assert in_force(any_database, NOW + HOUR) is None


def test_the_last_word_counts_and_it_is_paused_since_the_first(say, any_database):
    say()
    say(NOW + HOUR, until=NOW + 3 * HOUR, reason="longer", author="bob")
    found = in_force(any_database, NOW + 2 * HOUR)
    assert (found.since, found.until, found.reason, found.author) == (NOW, NOW + 3 * HOUR, "longer", "bob")
    assert in_force(any_database, NOW + 3 * HOUR) is None


def test_a_pause_that_would_be_over_is_refused(say):
    with pytest.raises(ValueError, match="over already"):
        say(until=NOW)


def test_a_pause_is_of_its_organisation(say, any_database):
    say()
    with any_database.read() as connection:
        assert find_pause(connection, "other", NOW) is None
