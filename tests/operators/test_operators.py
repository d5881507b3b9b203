"""Verbs and silences carried out on a database: all or none, by ids as people write them, operators first."""

import contextlib
import itertools
from datetime import timedelta

import pytest

from findings.kinds import Kind
from findings.lifecycle import Advance, Change
from findings.model import FindingState, TransitionReason
from findings.silence import SilenceError, SilenceKind
from findings.silence_store import SilenceEndedError, SilenceStore
from findings.store import FindingConflictError, FindingStore
from findings.verbs import Note, Resolve, Snooze, Suppress, Undo
from patrol.operators.ids import AmbiguousIdError, UnknownIdError
from patrol.operators.silences import Wish, add_silence, end_silence, spoken
from patrol.operators.verbs import RefusedError, carry_out
from tests.findings.builders import HOST, NOW, ORG, finding

HOUR = timedelta(hours=1)
TWINS = [finding(subject=name, resource_name="web1") for name in ("a", "b")]


@pytest.fixture
def database(any_database):
    return any_database


@pytest.fixture
def keep(database):
    def _keep(*findings):
        with database.write() as connection:
            changes = tuple(Change(None, each) for each in findings)
            FindingStore(connection, ORG).apply(Advance(changes=changes, transitions=(), outcomes={}))

    return _keep


@pytest.fixture
def say(database):
    def _say(verb, *ids, now=NOW):
        return carry_out(database, ORG, ids, verb, now=now, author="ann")

    return _say


@pytest.fixture
def add(database):
    numbers = itertools.count(1)

    def _add(kind=SilenceKind.MAINTENANCE, *, now=NOW, **wish):
        wished = Wish(kind=kind, **{"reason": "new disks", "ends_at": NOW + HOUR, **wish})
        return add_silence(database, ORG, wished, now=now, author="ann", ids=lambda: f"{next(numbers):032x}")

    return _add


def stored(database, finding_id):
    with database.read() as connection:
        store = FindingStore(connection, ORG)
        return store.get(finding_id), store.transitions(finding_id)


# --- verbs


def test_a_verb_is_stored_with_its_event(database, keep, say):
    keep(*TWINS)
    done = say(Snooze(until=NOW + HOUR, note="asleep"), TWINS[0].id)
    assert done.changed.keys() == {TWINS[0].id}
    kept, events = stored(database, TWINS[0].id)
    assert [kept] == done.findings
    assert kept.snoozed_until == NOW + HOUR
    [event] = events
    assert (event.reason, event.author, event.note, event.until, event.run_id) == (
        TransitionReason.SNOOZED,
        "ann",
        "asleep",
        NOW + HOUR,
        "",
    )
    say(Undo(), TWINS[0].id)
    kept, events = stored(database, TWINS[0].id)
    assert kept.snoozed_until is None
    assert [each.reason for each in events] == [TransitionReason.SNOOZED, TransitionReason.UNSNOOZED]


def test_several_ids_are_all_done_or_none(database, keep, say):
    gone = finding(subject="gone", state=FindingState.RESOLVED, resolved_at=NOW)
    keep(*TWINS, gone)
    with pytest.raises(RefusedError) as caught:
        say(Snooze(until=NOW + HOUR), TWINS[0].id, gone.id, TWINS[1].id)
    assert [refusal.finding_id for refusal in caught.value.refusals] == [gone.id]
    for each in TWINS:
        assert stored(database, each.id) == (each, [])
    assert len(say(Snooze(until=NOW + HOUR), *(each.id for each in TWINS)).changed) == 2


def test_an_unknown_id_among_several_changes_nothing(database, keep, say):
    keep(*TWINS)
    with pytest.raises(UnknownIdError):
        say(Suppress(), TWINS[0].id, "0" * 32)
    assert stored(database, TWINS[0].id) == (TWINS[0], [])


def test_an_id_given_twice_is_one(keep, say):
    keep(*TWINS)
    assert len(say(Note(text="x"), TWINS[0].id, TWINS[0].id[:8]).findings) == 1


def test_what_is_so_already_is_told_apart(keep, say):
    keep(*TWINS)
    say(Suppress(), TWINS[0].id)
    assert say(Suppress(), *(each.id for each in TWINS)).changed.keys() == {TWINS[1].id}


class AgainAfter:
    """A database in which the first attempt is lost to somebody who did something else meanwhile."""

    def __init__(self, database, meanwhile):
        self.database, self.meanwhile = database, meanwhile

    def transact(self, work):
        with contextlib.suppress(FindingConflictError), self.database.write() as connection:
            work(connection)
            raise FindingConflictError([])
        self.meanwhile()
        return self.database.transact(work)


def test_whoever_loses_a_race_decides_again_on_what_is_there(database, keep, say):
    keep(TWINS[0])
    racing = AgainAfter(database, lambda: say(Note(text="mine"), TWINS[0].id))
    done = carry_out(racing, ORG, [TWINS[0].id], Resolve(), now=NOW, author="ben")
    [kept] = done.findings
    assert (kept.user_note, kept.state, kept.version) == ("mine", FindingState.RESOLVED, 3)


# --- ids as people write them


def test_a_beginning_of_eight_digits_serves_where_only_one_has_it(keep, say):
    keep(*TWINS)
    assert say(Note(text="x"), TWINS[0].id[:8]).changed.keys() == {TWINS[0].id}


@pytest.mark.parametrize("text", [TWINS[0].id[:7], "", "%", "________", "zzzzzzzz", TWINS[0].id.upper()])
def test_too_little_or_no_beginning_of_an_id_is_unknown(keep, say, text):
    keep(*TWINS)
    with pytest.raises(UnknownIdError):
        say(Note(text="x"), text)


def test_a_beginning_that_several_have_is_an_error_with_all_of_them(database, keep, say):
    alike = [finding(id=f"deadbeef{number}", key=f"deadbeef{number}") for number in range(2)]
    keep(*alike)
    with pytest.raises(AmbiguousIdError) as caught:
        say(Resolve(), "deadbeef")
    assert set(caught.value.candidates) == {each.id for each in alike}
    assert all(each.id in str(caught.value) for each in alike)
    assert [stored(database, each.id)[0] for each in alike] == alike


# --- silences


def test_a_silence_is_about_a_resource_by_its_name_or_id(keep, add):
    keep(finding(lives_on=("node:lab:pve1",)))
    by_name = add(resource="WEB1")
    assert (by_name.resource_id, by_name.resource_name, by_name.author, by_name.starts_at) == (HOST, "web1", "ann", NOW)
    assert add(resource=HOST).resource_id == HOST
    assert add(resource="node:lab:pve1").resource_id == "node:lab:pve1"
    assert add(resource="vm:lab:7").resource_id == "vm:lab:7"  # nothing was ever seen on it


def test_equal_names_are_never_identity(keep, add):
    keep(finding(), finding(resource_id="agent:lab:web1"))
    with pytest.raises(SilenceError, match="agent:lab:web1, agent:local:web1: write the id") as caught:
        add(resource="web1")
    assert caught.value.field == "resource"


@pytest.mark.parametrize(
    ("wish", "field", "said"),
    [
        ({"resource": "wbe1"}, "resource", "nearest: web1"),
        ({"resource": "nothing like it"}, "resource", "no resource is called"),
        ({"kind": SilenceKind.SUPPRESSION, "finding_kind": "hihg_disk"}, "kind", "nearest: high_disk"),
        ({"kind": SilenceKind.SUPPRESSION, "finding_kind": "odd"}, "kind", "known: smart_failure"),
        ({"kind": SilenceKind.SUPPRESSION}, "resource", "everything"),
        ({"resource": "web1", "ends_at": NOW}, "until", "over already"),
        ({"resource": "web1", "ends_at": None}, "until", "needs its end"),
        ({"resource": "web1", "starts_at": NOW + 2 * HOUR}, "until", "before it begins"),
    ],
)
def test_a_wish_that_cannot_be_names_the_field_and_the_way_out(keep, add, wish, field, said):
    keep(finding())
    with pytest.raises(SilenceError, match=said) as caught:
        add(**wish)
    assert caught.value.field == field


def test_a_rule_may_be_about_a_kind_that_only_a_model_knows(keep, add):
    keep(finding("odd_latency"))
    assert add(SilenceKind.SUPPRESSION, finding_kind="odd_latency", ends_at=None).finding_kind == "odd_latency"


def test_suppressing_and_taking_it_back_leaves_no_rule_behind(database, keep, say):
    keep(TWINS[0])
    for _ in range(3):
        say(Suppress(), TWINS[0].id)
        say(Undo(), TWINS[0].id)
    with database.read() as connection:
        assert SilenceStore(connection, ORG).list_silences() == []
        assert spoken(FindingStore(connection, ORG), NOW) == []
        assert FindingStore(connection, ORG).get(TWINS[0].id).is_active(NOW)


def test_what_is_kept_quiet_one_by_one_is_listed_too(database, keep, say):
    disk = finding(
        Kind.SMART_FAILURE, facts={"media_errors": 1}, acknowledged_at=NOW, acknowledged_by="ben",
        acknowledged_facts={"media_errors": 1},
    )  # fmt: skip
    keep(*TWINS, disk)
    say(Suppress(note="test host"), TWINS[0].id)
    with database.read() as connection:
        listed = {each.finding_id: each for each in spoken(FindingStore(connection, ORG), NOW)}
    assert set(listed) == {TWINS[0].id, disk.id}
    assert (listed[TWINS[0].id].author, listed[TWINS[0].id].note, listed[TWINS[0].id].since) == (
        "ann",
        "test host",
        NOW,
    )
    assert (listed[disk.id].author, listed[disk.id].since) == ("ben", NOW)


def test_a_silence_is_ended_once_and_by_its_beginning(database, keep, add):
    keep(finding())
    made = add(resource="web1")
    ended = end_silence(database, ORG, made.id[:8], now=NOW + HOUR / 2, author="ben")
    assert (ended.ended_at, ended.ended_by) == (NOW + HOUR / 2, "ben")
    with pytest.raises(SilenceEndedError):
        end_silence(database, ORG, made.id, now=NOW + HOUR / 2, author="ben")
    with pytest.raises(UnknownIdError):
        end_silence(database, ORG, "web1", now=NOW, author="ben")
    with pytest.raises(UnknownIdError):
        end_silence(database, ORG, "f" * 8, now=NOW, author="ben")
    add(resource="web1")
    with pytest.raises(AmbiguousIdError):
        end_silence(database, ORG, "0" * 8, now=NOW, author="ben")
    assert end_silence(database, ORG, "0" * 31 + "2", now=NOW, author="ben").ended_by == "ben"
