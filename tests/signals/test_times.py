"""Instants from outside: what each spelling means, and that nothing else passes for a time."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from signals.pages import Time
from signals.times import (
    UnreadableTimeError,
    parse_time,
    read_time,
    unusable_because,
    usable_time,
    usable_times,
)

NOON = datetime(2026, 2, 26, 12, 0, 0, tzinfo=UTC)
HALF = NOON + timedelta(milliseconds=500)


def plain(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("2026-02-26T12:00:00Z", NOON),
        ("2026-02-26T12:00:00z", NOON),
        ("2026-02-26t12:00:00Z", NOON),
        ("2026-02-26 12:00:00Z", NOON),
        ("  2026-02-26T12:00:00Z\n", NOON),
        ("2026-02-26T14:00:00+02:00", NOON),
        ("2026-02-26T14:00:00+0200", NOON),
        ("2026-02-26T14:00:00+02", NOON),
        ("2026-02-26 02:30:00 -0930", NOON),
        ("2026-02-26T12:00:00.5Z", HALF),
        ("2026-02-26T12:00:00,5Z", HALF),
        ("2026-02-26T12:00:00.500000000Z", HALF),
        ("2026-02-26T14:00:00.500000001+02:00", HALF),
        ("2026-02-26 12:00:00.5 +0000 UTC", HALF),
        ("2026-02-26 12:00:00.123456789 UTC", NOON + timedelta(microseconds=123456)),
        ("2026-02-26 12:00 GMT", NOON),
        ("2026-02-26T11:59:60Z", NOON),
        ("2026-02-26T12:00:00", NOON),
        ("2026-02-26 12:00:00", NOON),
        ("2026-02-26", NOON - timedelta(hours=12)),
        ("20260226T120000Z", NOON),
    ],
)
def test_a_written_time_means_one_instant(text: str, meant: datetime) -> None:
    assert parse_time(text) == meant
    assert read_time(text).tzinfo is UTC


@pytest.mark.parametrize(
    ("number", "meant"),
    [
        (1772107200, NOON),
        (1772107200.5, HALF),
        ("1772107200", NOON),
        ("1772107200.5", HALF),
        (1772107200_500, HALF),
        ("1772107200500", HALF),
        (1772107200_500_000, HALF),
        (1772107200_500_000_000, HALF),
    ],
)
def test_epoch_numbers_are_read_by_their_size(number: Time, meant: datetime) -> None:
    assert parse_time(number) == meant


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "there is no time"),
        ("", "there is no time"),
        ("   ", "there is no time"),
        (True, "there is no time"),
        (0, "the time is the zero time"),
        (0.0, "the time is the zero time"),
        (-5, "the time is the zero time"),
        ("0001-01-01T00:00:00Z", "the time is the zero time"),
        ("0001-01-01T00:00:00+08:00", "no such instant"),
        ("9999-12-31T23:59:59-08:00", "no such instant"),
        (9 * 10**20, "no such instant"),
        ("1970-01-01T00:00:00Z", "the time is the zero time"),
        ("1970-01-01 01:00:00+01:00", "the time is the zero time"),
        (float("nan"), "not a time"),
        (float("inf"), "not a time"),
        (-(10**30), "not a time"),
        (10**30, "not a time"),
        ("yesterday", "not a time"),
        ("N/A", "not a time"),
        ("12345", "not a time"),
        ("2026-99-99TgarbageZZ", "not a time"),
        ("2026-02-30T10:00:00Z", "not a time"),
        ("2026-02-30T10:00:60Z", "not a time"),
        ("2026-02-26T25:00:00Z", "not a time"),
        ("2026-02-26 12:00:00 +9900", "not a time"),
        ("\u0662\u0660\u0662\u0666-02-26T12:00:00Z", "not a time"),
        ("2026-02-26T12:00:00.5" + "0" * 60 + "Z", "not a time"),
    ],
)
def test_what_names_no_instant_is_none_with_a_reason(value: Time, reason: str) -> None:
    assert parse_time(value) is None
    with pytest.raises(UnreadableTimeError, match=reason):
        read_time(value)


class TestTimesWithoutAnOffset:
    def test_they_are_in_the_zone_of_their_source(self) -> None:
        # "00:30" written ten hours ahead is the afternoon before, not ten hours in the future
        assert parse_time("2025-01-02 00:30:00", "Australia/Brisbane") == datetime(2025, 1, 1, 14, 30, tzinfo=UTC)

    def test_an_offset_in_the_text_wins_over_the_zone(self) -> None:
        assert parse_time("2026-02-26T12:00:00Z", "Australia/Brisbane") == NOON

    @pytest.mark.parametrize("zone", ["Mars/Olympus", "../etc/passwd", "Europe", "\x00", "/etc/localtime", "\udcff"])
    def test_an_unknown_zone_places_nothing_and_says_so(self, zone: str) -> None:
        assert parse_time("2026-02-26 12:00:00", zone) is None
        with pytest.raises(UnreadableTimeError, match=r"zone .* is unknown"):
            read_time("2026-02-26 12:00:00", zone)
        assert parse_time("2026-02-26T12:00:00Z", zone) == NOON

    def test_the_repeated_hour_is_its_first_pass(self) -> None:
        # 25 October 2026, 02:30 occurs twice in Berlin: 00:30 and 01:30 UTC
        assert parse_time("2026-10-25 02:30:00", "Europe/Berlin") == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)

    def test_the_skipped_hour_keeps_the_offset_before_the_change(self) -> None:
        # 29 March 2026, 02:30 does not occur in Berlin: 02:30 at +01:00
        assert parse_time("2026-03-29 02:30:00", "Europe/Berlin") == datetime(2026, 3, 29, 1, 30, tzinfo=UTC)


class TestUsableTimes:
    def test_a_time_up_to_the_latest_is_usable_and_the_next_second_is_not(self) -> None:
        assert usable_time("2026-02-26T12:00:00Z", "", NOON) == NOON
        assert usable_time("2026-02-26T12:00:01Z", "", NOON) is None
        assert unusable_because("2026-02-26T12:00:00Z", "", NOON) == ""
        assert unusable_because("2026-02-26T12:00:01Z", "", NOON) == "the time 2026-02-26 12:00 UTC lies in the future"
        assert unusable_because("never", "", NOON) == "not a time"

    def test_one_poor_value_costs_only_itself(self) -> None:
        values: list[Time] = [
            "2026-02-25T12:00:00Z",
            None,
            "junk",
            1772107200,
            "2026-02-25 12:00:00",
            "2027-01-01T00:00:00Z",
        ]
        day_before = NOON - timedelta(days=1)
        assert usable_times(values, "", NOON) == [day_before, None, None, NOON, day_before, None]

    def test_no_values_give_no_times(self) -> None:
        assert usable_times([], "", NOON) == []

    @given(
        st.lists(
            st.one_of(
                st.none(),
                st.integers(),
                st.floats(),
                st.text(max_size=30),
                st.integers(-(10**9), 3 * 10**9).map(plain),
                st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=45))])).map(
                    datetime.isoformat
                ),
            ),
            max_size=6,
        )
    )
    @example(["2026-02-25T12:00:00Z", "2026-02-24T12:00:00Z"])
    @example(["2026-02-25T12:00:00"])
    def test_a_page_reads_as_its_values_one_by_one(self, values: list[Time]) -> None:
        assert list(usable_times(values, "", NOON)) == [usable_time(value, "", NOON) for value in values]

    @given(
        st.one_of(st.text(), st.integers(), st.floats(), st.none(), st.booleans()),
        st.one_of(st.sampled_from(["", "Europe/Berlin"]), st.text(max_size=10)),
    )
    def test_reading_never_fails_and_gives_utc_after_the_epoch(self, value: Time, zone: str) -> None:
        at = parse_time(value, zone)
        assert at is None or (at.tzinfo is UTC and at.timestamp() > 0)

    @given(
        st.integers(1, 250_000_000_000).map(lambda seconds: NOON.replace(year=1970) + timedelta(seconds=seconds)),
        st.integers(-23 * 60, 23 * 60),
        st.sampled_from("T "),
    )
    def test_every_offset_and_fraction_length_names_the_same_instant(
        self, at: datetime, offset: int, separator: str
    ) -> None:
        local = at.astimezone(timezone(timedelta(minutes=offset)))
        text = f"{local:%Y-%m-%d}{separator}{local:%H:%M:%S}.{local.microsecond:06d}000{local:%z}"
        assert parse_time(text) == at
