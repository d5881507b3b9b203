"""Silences in a database: kept also when they are over, ended once, each organisation for itself."""

from dataclasses import replace
from datetime import timedelta

import pytest

from findings.silence import SilenceKind
from findings.silence_store import SilenceEndedError, SilenceNotFoundError, SilenceStore
from tests.findings.builders import NOW, ORG
from tests.findings.test_silence import silence

HOUR = timedelta(hours=1)


@pytest.fixture
def connection(any_database):
    with any_database.write() as open_connection:
        yield open_connection


@pytest.fixture
def store(connection):
    return SilenceStore(connection, ORG)


def test_a_silence_comes_back_as_it_went_in(store):
    full = silence(resource_name="web1", ended_at=NOW, ended_by="ben")
    rule = silence(SilenceKind.SUPPRESSION, id="s2", resource_id="", finding_kind="high_cpu")
    for each in (full, rule):
        store.add(each)
        assert store.find(each.id) == each
    assert store.list_silences() == [full, rule]


def test_only_those_that_are_not_over_are_asked_for(store):
    over = silence(id="over", ends_at=NOW + HOUR)
    ended = silence(id="ended", ends_at=NOW + 9 * HOUR, ended_at=NOW + HOUR, ended_by="ben")
    running = silence(id="running", ends_at=NOW + 2 * HOUR)
    to_come = silence(id="to come", starts_at=NOW + 5 * HOUR, ends_at=NOW + 6 * HOUR)
    endless = silence(SilenceKind.OFFLINE, id="endless")
    for each in (over, ended, running, to_come, endless):
        store.add(each)
    assert {each.id for each in store.list_silences(not_over_at=NOW + HOUR)} == {"running", "to come", "endless"}
    assert len(store.list_silences()) == 5


def test_an_end_by_hand_stays_in_the_record_and_happens_once(store):
    endless = silence(SilenceKind.OFFLINE)
    store.add(endless)
    ended = store.end("s1", NOW + HOUR, "ben")
    assert ended == replace(endless, ended_at=NOW + HOUR, ended_by="ben") == store.find("s1")
    with pytest.raises(SilenceEndedError):
        store.end("s1", NOW + 2 * HOUR, "cid")
    assert store.find("s1") == ended


def test_what_is_over_by_time_cannot_be_ended(store):
    store.add(silence())
    with pytest.raises(SilenceEndedError):
        store.end("s1", NOW + HOUR, "ben")


def test_what_does_not_exist_or_belongs_to_others_cannot_be_ended(connection, store):
    theirs = silence(org_id="another")
    SilenceStore(connection, "another").add(theirs)
    for unknown in ("s1", "nothing"):
        with pytest.raises(SilenceNotFoundError):
            store.end(unknown, NOW, "ben")
    assert store.find("s1") is None
    assert store.list_silences() == []
    with pytest.raises(ValueError, match="does not belong"):
        store.add(theirs)
    assert SilenceStore(connection, "another").list_silences() == [theirs]


def test_words_that_no_database_takes_are_mended(store):
    store.add(silence(reason="nul \0 and \ud800"))
    assert store.find("s1").reason == "nul \N{REPLACEMENT CHARACTER} and ?"
