"""What a run is made of follows the settings that are in force when it begins."""

from dataclasses import replace
from datetime import timedelta

import pytest

from patrol.api.live.hub import StreamHub
from patrol.daemon.in_force import InForce
from patrol.daemon.pulse import Pulse
from patrol.database import open_database
from patrol.run.analyst import NoModel
from patrol.run.cancel import Cancel
from patrol.run.model_access import ModelAccess
from patrol.run.observer import NoObserver
from patrol.settings.load import LoadedSettings
from patrol.settings.model import Settings
from tests.daemon.builders import now


@pytest.fixture
def in_force():
    database = open_database("sqlite://")
    loaded = LoadedSettings(settings=Settings(), file=None, database_url="sqlite://", origins={})
    yield InForce(
        given=loaded,
        loaded=loaded,
        database=database,
        clock=now,
        ids=lambda: "id",
        live=StreamHub(now),
        observer=NoObserver(),
    )
    database.close()


def test_a_model_that_is_named_or_taken_away_while_the_daemon_runs_is_that_of_the_next_run(in_force):
    with_model = replace(in_force.loaded, settings=Settings.model_validate({"model": {"name": "ollama:qwen3"}}))
    found = []
    for run_id, loaded in enumerate((in_force.loaded, with_model, in_force.loaded)):
        in_force.loaded = loaded
        found.append(type(in_force.patrol(str(run_id), Cancel(), Pulse(timedelta(minutes=5))).analysts))
    assert found == [NoModel, ModelAccess, NoModel]
