"""Alerts that other systems reported are part of what a run looks at, and are no findings by themselves."""

import pytest

from patrol.alerts.model import Naming
from patrol.alerts.receiving import receive
from patrol.estate.memory.store import ResourceMemory
from patrol.run import RunRequest, ScopeError
from tests.alerts.builders import ORG, reported
from tests.run.builders import HOST, GivenSource, House, estate, host


def hear(house: House, name: str, key: str = "fp1") -> None:
    """An alert about a resource of this name is delivered."""
    naming = Naming(names=(name,))

    def work(connection) -> None:
        memory = ResourceMemory(connection, ORG).load()
        receive(connection, ORG, [reported(naming=naming, key=key)], memory, house.clock(), lambda _: "accepted")

    house.database.transact(work)


def test_a_run_is_shown_the_alert_and_files_nothing_for_it(house: House) -> None:
    house.run(estate(host()))
    hear(house, "hosta")
    situation = house.patrol(GivenSource([estate(host())])).look(RunRequest())
    assert [(alert.id, alert.resource_id) for alert in situation.estate.alerts] == [("alertmanager:fp1", HOST)]
    report = house.run(estate(host()))
    assert list(report.findings) == []


def test_a_run_about_an_alert_is_about_its_resource(house: House) -> None:
    house.run(estate(host()))
    hear(house, "hosta")
    report = house.run(estate(host(), host(name="hostb")), request=RunRequest(alert_id="alertmanager:fp1"))
    assert report.run.scope == (HOST,)


def test_an_alert_about_nothing_that_is_there_is_refused(house: House) -> None:
    house.run(estate(host()))
    hear(house, "elsewhere")
    with pytest.raises(ScopeError):
        house.run(estate(host()), request=RunRequest(alert_id="alertmanager:fp1"))
