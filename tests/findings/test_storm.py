"""Much news from one place at once is one piece of news: nothing is held back, and it is over when the news is."""

from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.kinds import Kind
from findings.model import Finding, Severity
from findings.storm import MOST_NEWS, SHOWN, WINDOW, storms
from tests.findings.builders import HOST, NOW, finding
from tests.findings.test_grouping import Placed

SOURCE = "source:patrol:local"
PLACES = Placed(
    lines={f"disk:serial:{number}": [HOST] for number in range(99)},
    sources={HOST: SOURCE, **{f"disk:serial:{number}": SOURCE for number in range(99)}},
)


def news(many: int, *, at: datetime = NOW, resource_id: str = HOST, start: int = 0) -> list[Finding]:
    return [
        finding(Kind.HIGH_DISK, subject=f"/{number}", resource_id=resource_id, first_seen_at=at, last_seen_at=at)
        for number in range(start, start + many)
    ]


@pytest.mark.parametrize(("many", "expected"), [(0, 0), (1, 0), (MOST_NEWS, 0), (MOST_NEWS + 1, 1), (99, 1)])
def test_more_than_the_limit_from_one_place_at_once_is_a_storm(many: int, expected: int) -> None:
    assert len(storms(news(many), PLACES, NOW)) == expected


def test_a_storm_counts_all_and_shows_the_worst_first() -> None:
    found = news(20)
    found[7] = replace(found[7], severity=Severity.CRITICAL)
    (storm,) = storms(found, PLACES, NOW)
    assert (storm.resource_id, storm.count, storm.worst) == (HOST, 20, Severity.CRITICAL)
    assert storm.finding_ids[0] == found[7].id
    assert set(storm.finding_ids) == {each.id for each in found}
    assert storm.shown().finding_ids == storm.finding_ids[:SHOWN]
    assert storm.shown().count == 20


def test_what_many_things_on_one_host_have_to_say_is_a_storm_of_the_host() -> None:
    found = [each for number in range(12) for each in news(1, resource_id=f"disk:serial:{number}")]
    assert [storm.resource_id for storm in storms(found, PLACES, NOW)] == [HOST]


def test_what_many_hosts_of_one_source_have_to_say_is_a_storm_of_the_source() -> None:
    hosts = [f"agent:lab:{number}" for number in range(12)]
    places = Placed(sources=dict.fromkeys(hosts, SOURCE))
    found = [each for host in hosts for each in news(1, resource_id=host)]
    assert [storm.resource_id for storm in storms(found, places, NOW)] == [SOURCE]


def test_a_stormy_host_makes_no_storm_of_its_source_and_the_rest_can_be_one_of_its_own() -> None:
    hosts = [f"agent:lab:{number}" for number in range(12)]
    places = Placed(sources=dict.fromkeys((*hosts, HOST), SOURCE))
    stormy, single = news(11), [each for host in hosts for each in news(1, resource_id=host)]
    assert [storm.resource_id for storm in storms([*stormy, *single[:3]], places, NOW)] == [HOST]
    both = storms([*stormy, *single], places, NOW)
    assert [(storm.resource_id, storm.count) for storm in both] == [(SOURCE, 12), (HOST, 11)]


def test_the_worst_storm_comes_first() -> None:
    other = "agent:local:db1"
    bad = [replace(each, severity=Severity.CRITICAL) for each in news(11, resource_id=other)]
    assert [storm.resource_id for storm in storms([*news(50), *bad], Placed(), NOW)] == [other, HOST]


def test_what_another_finding_explains_is_no_news_by_itself() -> None:
    found = [replace(each, parent_finding="cause") for each in news(50)]
    assert storms(found, PLACES, NOW) == []


def test_runs_shortly_after_each_other_share_a_storm() -> None:
    before = news(6, at=NOW - timedelta(minutes=2))
    now = news(6, start=6)
    assert storms(now, PLACES, NOW) == []
    (storm,) = storms([*before, *now], PLACES, NOW)
    assert storm.count == 12


def test_what_comes_back_is_news_again() -> None:
    old = news(11, at=NOW - timedelta(days=30))
    assert storms(old, PLACES, NOW) == []
    back = [replace(each, last_regression_at=NOW, regression_count=1) for each in old]
    assert len(storms(back, PLACES, NOW)) == 1


@pytest.mark.parametrize("later", [timedelta(seconds=1), timedelta(minutes=5), WINDOW, timedelta(hours=1)])
def test_a_storm_followed_by_silence_is_over_at_once(later: timedelta) -> None:
    found = news(50)
    assert storms(found, PLACES, NOW + later) == []


def test_a_clock_that_went_back_makes_no_storm_of_the_past() -> None:
    assert storms(news(50, at=NOW + timedelta(hours=1)), PLACES, NOW) == []


def test_news_out_of_the_window_does_not_count() -> None:
    assert storms([*news(6, at=NOW - WINDOW), *news(6, start=6)], PLACES, NOW) == []


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(Severity), st.booleans()), max_size=80))
def test_no_finding_is_in_two_storms_and_every_storm_is_as_large_as_it_says(
    rows: list[tuple[int, Severity, bool]],
) -> None:
    number = count()
    found = [
        replace(
            news(1, resource_id=f"disk:serial:{disk}", start=next(number))[0],
            severity=severity,
            parent_finding="cause" if explained else "",
        )
        for disk, severity, explained in rows
    ]
    made = storms(found, PLACES, NOW)
    ids = [each for storm in made for each in storm.finding_ids]
    assert len(ids) == len(set(ids))
    assert all(storm.count == len(storm.finding_ids) > MOST_NEWS for storm in made)
    by_id = {each.id: each for each in found}
    assert all(storm.worst is by_id[storm.finding_ids[0]].severity for storm in made)
    left = sum(not each.parent_finding for each in found) - len(ids)
    assert left <= MOST_NEWS  # all of them have one source
