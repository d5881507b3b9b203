"""Alerts as they live: placed or not, fired, cleared, flapping, expired; kept, and shown to runs as alerts alone."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.model import Severity
from patrol.alerts.estate_alerts import add_alerts
from patrol.alerts.lifecycle import CALM, FLAPPING_CHANGES, AlertChange, advance
from patrol.alerts.model import UNREFRESHED, AlertState, Naming, ReportedAlert, StoredAlert
from patrol.alerts.place import NOWHERE, Place, place_of
from patrol.alerts.receiving import Received, receive
from patrol.alerts.store import KEPT, AlertStore
from patrol.alerts.triggering import trigger_of
from patrol.estate.model import Alert, Estate
from patrol.triggers.model import Depth, Trigger, TriggerReason
from patrol.triggers.queue import Gates, Rejection, refused
from tests.alerts.builders import MEMORY, NOW, ORG, reported

MINUTE = timedelta(minutes=1)
DB = Place(resource=MEMORY.resources["vm:lab:101"])


# --- where it is ---


@pytest.mark.parametrize(
    ("rule", "names", "places", "resource_id", "candidates"),
    [
        ("an id", ("vm:lab:101",), (), "vm:lab:101", ()),
        ("an alias", ("qemu/101",), (), "vm:lab:101", ()),
        ("the number of a guest", ("101",), (), "vm:lab:101", ()),
        ("a number on a node", ("pve2/200",), (), "vm:lab:200", ()),
        ("a number in a cluster", ("lab/qemu/100",), (), "vm:lab:100", ()),
        ("a number of another sort of guest", ("lxc/101",), (), "", ()),
        ("the number of one that is gone", ("666",), (), "", ()),
        ("a name that one has", ("db", "pve1"), (), "vm:lab:101", ()),
        ("a name nobody has: the next name", ("sda", "nas"), (), "storage:lab:nas", ()),
        ("a name that two have", ("web", "pve1"), (), "", ("vm:lab:100", "vm:lab:200")),
        ("a name that two have, and the node of one", ("web", "pve2"), ("pve2",), "vm:lab:200", ()),
        ("a resource that is gone", ("gone",), (), "", ()),
        ("nothing", (), ("pve1",), "", ()),
    ],
)
def test_which_resource_is_meant(
    rule: str, names: tuple[str, ...], places: tuple[str, ...], resource_id: str, candidates: tuple[str, ...]
) -> None:
    found = place_of(Naming(names=names, places=places), MEMORY)
    assert (found.resource.id if found.resource else "", found.candidates) == (resource_id, candidates), rule


# --- its life ---


def lived(*deliveries: tuple[float, bool]) -> list[tuple[AlertChange, StoredAlert]]:
    """An alert that is reported firing or over after so many minutes."""
    known, told = None, []
    for minutes, firing in deliveries:
        at = NOW + minutes * MINUTE
        advanced = advance(known, reported(firing=firing, starts_at=None), DB, ORG, at)
        known = advanced.alert
        told.append((advanced.change, known))
    return told


def test_it_fires_is_refreshed_and_clears() -> None:
    changes = lived((0, True), (5, True), (10, False), (15, False))
    assert [change for change, _ in changes] == [
        AlertChange.FIRED,
        AlertChange.REFRESHED,
        AlertChange.CLEARED,
        AlertChange.REFRESHED,
    ]
    last = changes[-1][1]
    assert (last.state, last.since, last.reports, last.id) == (AlertState.RESOLVED, NOW, 4, "alertmanager:fp1")


def test_it_expires_a_day_after_the_last_word_and_fires_anew_after_that() -> None:
    (_, alert), *_ = lived((0, True))
    assert alert.state_at(NOW + UNREFRESHED - MINUTE) is AlertState.FIRING
    assert alert.state_at(NOW + UNREFRESHED) is AlertState.EXPIRED
    again = advance(alert, reported(), DB, ORG, NOW + UNREFRESHED + MINUTE)
    assert again.change is AlertChange.FIRED


def test_it_expires_at_the_end_that_it_names() -> None:
    alert = advance(None, reported(ends_at=NOW + 4 * MINUTE), DB, ORG, NOW).alert
    assert alert.expires_at == NOW + 4 * MINUTE
    assert not alert.is_firing(NOW + 5 * MINUTE)


def test_a_delivery_that_was_overtaken_does_not_make_it_fire_again() -> None:
    over = advance(None, reported(firing=False), DB, ORG, NOW + MINUTE).alert
    late = advance(over, reported(), DB, ORG, NOW + 2 * MINUTE)
    assert (late.change, late.alert) == (AlertChange.STALE, over)
    anew = advance(over, reported(starts_at=NOW + MINUTE), DB, ORG, NOW + 2 * MINUTE)
    assert anew.change is AlertChange.FIRED


def test_one_that_comes_and_goes_asks_for_a_single_run_until_it_is_calm() -> None:
    deliveries = [(float(each), each % 2 == 0) for each in range(9)]
    changes = [change for change, _ in lived(*deliveries)]
    assert changes[: FLAPPING_CHANGES - 1] == [AlertChange.FIRED, AlertChange.CLEARED] * 2
    assert changes[FLAPPING_CHANGES - 1] is AlertChange.FLAPPING
    assert set(changes[FLAPPING_CHANGES:]) == {AlertChange.STILL_FLAPPING}
    calm = 8 + CALM / MINUTE + 20
    assert lived(*deliveries, (calm, False))[-1][0] is AlertChange.CLEARED


def test_a_time_ahead_of_ours_is_now() -> None:
    alert = advance(None, reported(starts_at=NOW + timedelta(days=3)), DB, ORG, NOW).alert
    assert alert.since == NOW


DELIVERIES = st.lists(st.tuples(st.integers(0, 3000), st.booleans(), st.booleans()), max_size=30)


@given(DELIVERIES)
def test_whatever_is_delivered_an_alert_is_in_one_state_and_its_times_are_in_order(
    deliveries: list[tuple[int, bool, bool]],
) -> None:
    known, now = None, NOW
    for minutes, firing, timed in deliveries:
        now += minutes * MINUTE
        before = known
        advanced = advance(known, reported(firing=firing, starts_at=now if timed else None), DB, ORG, now)
        known = advanced.alert
        assert known.first_reported_at <= known.reported_at <= now
        assert (known.closed_at is None) is (known.state is AlertState.FIRING)
        assert list(known.changes) == sorted(known.changes)
        if advanced.change in {AlertChange.FIRED, AlertChange.CLEARED} and before is not None:
            assert before.is_firing(now) is not known.is_firing(now)


# --- the run it asks for ---


@pytest.mark.parametrize(
    ("change", "reason", "priority"),
    [
        (AlertChange.FIRED, TriggerReason.ALERT_FIRED, 80),
        (AlertChange.CLEARED, TriggerReason.ALERT_CLEARED, 40),
        (AlertChange.FLAPPING, TriggerReason.ALERT_FLAPPING, 60),
    ],
)
def test_news_asks_for_a_quick_look_at_its_resource(change: AlertChange, reason: TriggerReason, priority: int) -> None:
    alert = advance(None, reported(value=97.0, threshold=90.0), DB, ORG, NOW).alert
    wanted = trigger_of(alert, change, NOW)
    assert wanted is not None
    assert (wanted.reason, wanted.priority, wanted.depth) == (reason, priority, Depth.QUICK)
    assert wanted.scope.resource_ids == ("vm:lab:101",)
    occasion = wanted.leading
    assert (occasion.alert_id, occasion.alert_type, occasion.value, occasion.limit) == (
        "alertmanager:fp1",
        "HighCpu",
        97.0,
        90.0,
    )


@pytest.mark.parametrize("change", [AlertChange.REFRESHED, AlertChange.STALE, AlertChange.STILL_FLAPPING])
def test_what_is_no_news_asks_for_nothing(change: AlertChange) -> None:
    alert = advance(None, reported(), DB, ORG, NOW).alert
    assert trigger_of(alert, change, NOW) is None


def test_an_alert_about_nothing_that_is_known_asks_for_nothing() -> None:
    alert = advance(None, reported(), NOWHERE, ORG, NOW).alert
    assert trigger_of(alert, AlertChange.FIRED, NOW) is None


@pytest.mark.parametrize(
    ("types", "refusal"),
    [((), None), (("highcpu",), None), (("Other",), Rejection.TYPE_LEFT_OUT)],
)
def test_only_the_types_that_are_wanted_start_a_run(types: tuple[str, ...], refusal: Rejection | None) -> None:
    alert = advance(None, reported(), DB, ORG, NOW).alert
    wanted = trigger_of(alert, AlertChange.FIRED, NOW)
    assert wanted is not None
    assert refused(wanted, Gates(alert_types=frozenset(types))) is refusal


# --- kept ---


@pytest.fixture
def deliver(any_database):
    offered: list[Trigger] = []

    def offer(triggers: Sequence[Trigger]) -> list[str]:
        offered.extend(triggers)
        return ["accepted"] * len(triggers)

    def _deliver(*alerts: ReportedAlert, at: datetime = NOW) -> tuple[Received, list[Trigger]]:
        offered.clear()
        received = any_database.transact(lambda each: receive(each, ORG, alerts, MEMORY, at, offer))
        return received, list(offered)

    return _deliver


def kept(database, at: datetime = NOW) -> list[StoredAlert]:
    with database.read() as connection:
        return AlertStore(connection, ORG).list_firing(at)


def test_a_delivery_is_kept_and_asks_once(any_database, deliver) -> None:
    received, triggers = deliver(reported(), reported(key="fp2", naming=Naming(names=("web",))))
    assert (received.alerts, received.unplaced, len(triggers)) == (2, 1, 1)
    assert received.triggers == {"accepted": 1}
    again, triggers = deliver(reported())
    assert (again.changes, triggers) == ({AlertChange.REFRESHED: 1}, [])
    placed, unplaced = sorted(kept(any_database), key=lambda each: each.id)
    assert placed.resource_id == "vm:lab:101"
    assert (unplaced.resource_id, unplaced.candidates) == ("", ("vm:lab:100", "vm:lab:200"))
    assert placed == replace(placed, changes=(NOW,), reports=2)


def test_an_alert_is_found_by_its_id_and_by_what_its_own_system_calls_it(any_database, deliver) -> None:
    deliver(reported())
    with any_database.read() as connection:
        store = AlertStore(connection, ORG)
        assert store.find("alertmanager:fp1") == store.find("fp1") is not None
        assert store.find("other") is None
        assert AlertStore(connection, "elsewhere").find("fp1") is None


def test_what_was_over_long_ago_is_forgotten_with_the_next_delivery(any_database, deliver) -> None:
    deliver(reported(key="old", firing=False, ends_at=NOW), reported(key="silent"))
    deliver(reported(key="new"), at=NOW + KEPT + UNREFRESHED + MINUTE)
    with any_database.read() as connection:
        store = AlertStore(connection, ORG)
        assert (store.find("old"), store.find("silent"), store.count()) == (None, None, 1)


def test_runs_see_them_as_alerts(any_database, deliver) -> None:
    deliver(reported(severity=None, level="P1"), reported(key="fp2", firing=False, naming=Naming(names=("nowhere",))))
    estate = Estate(alerts=[Alert(id="own", resource_id="vm:lab:100")])
    for _ in range(2):  # and twice is once
        with any_database.read() as connection:
            add_alerts(connection, ORG, estate, NOW)
    assert [(each.id, each.resource_id, each.severity) for each in estate.alerts] == [
        ("own", "vm:lab:100", ""),
        ("alertmanager:fp1", "vm:lab:101", "P1"),
    ]
    [over] = estate.resolved_alerts
    assert (over.resource_id, over.resolved_time) == ("nowhere", NOW)


def storm(count: int) -> Iterator[ReportedAlert]:
    return (reported(key=f"storm-{each}", severity=Severity.CRITICAL) for each in range(count))


def test_a_storm_beyond_a_delivery_is_counted_and_left_out(deliver) -> None:
    received, _ = deliver(*storm(1_010))
    assert (received.alerts, received.left_out) == (1_000, 10)
