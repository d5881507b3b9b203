"""An alert that ends without a word is looked after like one whose end was told, once, and unless it flaps."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from patrol.alerts.lifecycle import AlertChange, advance, expired
from patrol.alerts.model import UNREFRESHED, AlertState, ReportedAlert, StoredAlert
from patrol.alerts.place import NOWHERE, Place
from patrol.alerts.receiving import expire
from patrol.alerts.store import AlertStore
from patrol.alerts.triggering import trigger_of
from patrol.database import Database
from patrol.schedule.jobs import JobName
from patrol.schedule.model import Occurrence
from patrol.schedule.pauses import pause
from patrol.schedule.upkeep import Upkeep
from patrol.settings.model import Settings
from patrol.triggers.model import Depth, TriggerReason
from patrol.triggers.queue import Accepted, Rejected, Rejection
from tests.alerts.builders import MEMORY, NOW, ORG, reported
from tests.daemon.builders import Told
from tests.work.builders import Line

MINUTE = timedelta(minutes=1)
DB = Place(resource=MEMORY.resources["vm:lab:101"])
END = NOW + UNREFRESHED


def fired(said: ReportedAlert, place: Place = DB, at: datetime = NOW) -> StoredAlert:
    return advance(None, said, place, ORG, at).alert


class House:
    """Alerts, and the job that notices which ended."""

    def __init__(self, database: Database) -> None:
        self.line, self.told, self.woken = Line(database, now=NOW), Told(), 0
        upkeep = Upkeep(
            database=database,
            org_id=ORG,
            settings=Settings(),
            ids=self.line.ids,
            is_gone=lambda owner: False,
            observer=self.told,
            wake=self._wake,
        )
        [self.job] = [job for job in upkeep.jobs(NOW.tzinfo) if job.name is JobName.ALERTS]

    def _wake(self) -> None:
        self.woken += 1

    def keep(self, *alerts: StoredAlert) -> None:
        self.line.database.transact(lambda connection: AlertStore(connection, ORG).keep(alerts))

    def comes(self, at: datetime) -> None:
        assert self.job.duty is not None
        self.job.duty(Occurrence(name=self.job.name, due_at=at, at=at, missed=0))

    def found(self) -> list[StoredAlert]:
        with self.line.database.read() as connection:
            return AlertStore(connection, ORG).list_over(END + timedelta(days=1), NOW)


@pytest.fixture
def house(any_database) -> House:
    return House(any_database)


def test_at_its_end_it_asks_for_the_same_check_as_one_that_cleared_and_only_once(house):
    house.keep(fired(reported()))
    house.comes(END - MINUTE)
    assert (house.told.decisions, house.woken) == ([], 0)
    house.comes(END)
    house.comes(END + MINUTE)
    assert [type(each) for each in house.told.decisions] == [Accepted]
    assert house.woken == 1
    house.line.now = END
    claimed = house.line.claimed().trigger
    cleared = advance(fired(reported()), reported(firing=False), DB, ORG, END - MINUTE)
    assert claimed == trigger_of(cleared.alert, cleared.change, END)
    assert (claimed.reason, claimed.depth) == (TriggerReason.ALERT_CLEARED, Depth.QUICK)
    [over] = house.found()
    assert (over.state, over.closed_at) == (AlertState.EXPIRED, END)


def test_the_end_that_it_named_counts_as_well(house):
    house.keep(fired(reported(ends_at=NOW + 5 * MINUTE)))
    house.comes(NOW + 5 * MINUTE)
    assert [type(each) for each in house.told.decisions] == [Accepted]


def test_one_that_is_nowhere_is_over_and_asks_for_nothing(house):
    house.keep(fired(reported(), NOWHERE))
    house.comes(END)
    assert house.told.decisions == []
    assert [each.state for each in house.found()] == [AlertState.EXPIRED]


def test_what_keeps_it_from_running_is_counted_with_its_reason(house):
    pause(house.line.database, ORG, now=NOW, until=None, reason="", author="ann", ids=house.line.ids)
    house.keep(fired(reported()))
    house.comes(END)
    assert [each.reason for each in house.told.decisions if isinstance(each, Rejected)] == [Rejection.PAUSED]


def test_several_about_one_resource_are_one_run(house):
    house.keep(fired(reported(key="a")), fired(reported(key="b")))
    house.comes(END)
    house.line.now = END
    assert len(house.line.claimed().trigger.occasions) == 2
    house.line.nothing()


def flaps(turns: int) -> StoredAlert:
    """Fires for a minute again and again, and ends without a word each time."""
    alert = fired(reported(ends_at=NOW + MINUTE))
    for turn in range(1, turns):
        at = NOW + turn * 2 * MINUTE
        alert = advance(expired(alert, at - MINUTE).alert, reported(ends_at=at + MINUTE), DB, ORG, at).alert
    return alert


@pytest.mark.parametrize(
    ("turns", "change"),
    [(1, AlertChange.CLEARED), (2, AlertChange.CLEARED), (3, AlertChange.STILL_FLAPPING)],
)
def test_one_that_begins_and_ends_again_and_again_flaps(turns, change):
    alert = flaps(turns)
    assert expired(alert, alert.expires_at).change is change


def test_a_flapping_one_starts_no_run_each_time_it_ends(house):
    house.keep(flaps(3))
    house.comes(NOW + 5 * MINUTE)
    assert house.told.decisions == []


def test_after_its_silent_end_it_fires_anew_and_a_late_word_of_the_end_is_no_news():
    over = expired(fired(reported()), END).alert
    assert advance(over, reported(), DB, ORG, END + MINUTE).change is AlertChange.FIRED
    late = advance(over, reported(firing=False), DB, ORG, END + MINUTE)
    assert (late.change, late.alert.state) == (AlertChange.REFRESHED, AlertState.RESOLVED)


def test_of_very_many_the_first_to_end_come_first_and_the_others_next_time(house, monkeypatch):
    monkeypatch.setattr("patrol.alerts.receiving.MOST_ALERTS", 2)
    alerts = [fired(reported(key=f"k{number}"), at=NOW + number * MINUTE) for number in range(3)]
    house.keep(*reversed(alerts))
    counts = [
        house.line.database.transact(lambda connection: expire(connection, ORG, END + 5 * MINUTE))[0] for _ in range(3)
    ]
    assert [sum(each.values()) for each in counts] == [2, 1, 0]


def test_those_of_another_organisation_are_left_alone(house):
    other = replace(fired(reported()), org_id="acme")
    house.line.database.transact(lambda connection: AlertStore(connection, "acme").keep([other]))
    house.comes(END)
    assert (house.told.decisions, house.found()) == ([], [])
