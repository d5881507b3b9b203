"""What a run is made of follows the settings that are in force when it begins."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from patrol.api.live.hub import LastHeard, StreamHub
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


def test_what_a_model_does_is_followed_live_and_is_a_sign_of_life(in_force):
    in_force.loaded = replace(in_force.loaded, settings=Settings.model_validate({"model": {"name": "ollama:qwen3"}}))
    seconds = [0.0]
    pulse = Pulse(timedelta(seconds=10), lambda: seconds[0])
    follower = in_force.patrol("r1", Cancel(), pulse).analysts.follower
    for tell in (
        lambda: follower.text("looks fine"),
        lambda: follower.tool_started("c1", "pulse_query", {}),
        lambda: follower.tool_ended("c1", "pulse_query", {}, success=True),
    ):
        seconds[0] += 9
        tell()
        assert pulse.is_going_on()
    follower.finding_rejected("not_found: it is nowhere")

    async def hear() -> list[str]:
        with in_force.live.listen(last=LastHeard("r1", 2)) as listener:
            return [event["type"] for event in await listener.next(1)]

    assert asyncio.run(hear()) == ["content", "tool_start", "tool_end", "finding_rejected"]
