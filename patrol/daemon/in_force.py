"""The settings that are in force, and what they make of a run that begins now."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from patrol.agent.model import Provider
from patrol.agent.wire.opening import open_provider
from patrol.api.live.hub import LiveRun, StreamHub
from patrol.daemon.pulse import Pulse, longest_silence
from patrol.database import Database
from patrol.run import Patrol
from patrol.run.analyst import Analysts, NoModel
from patrol.run.cancel import Cancel
from patrol.run.follower import Follower
from patrol.run.model_access import ModelAccess, Opener
from patrol.run.model_work.store import ModelWorkStore
from patrol.run.observer import Observer
from patrol.run.request import Ids
from patrol.run.sampler import Sampler
from patrol.run.sources import configured_sources, light_sources
from patrol.settings.load import LoadedSettings
from patrol.settings.model import ModelSection, Settings, TriggersSection
from signals.alert_settings import load_alert_settings

AT_A_START = ("storage", "api")
"""Sections that are read when the daemon starts, and at no other time."""


def opened_model(model: ModelSection, remaining: Callable[[], float]) -> Provider:
    """The model of the settings; its library is loaded now. Raises ModelError."""
    return open_provider(model, jitter=random.random, remaining=remaining)


@dataclass(slots=True, kw_only=True)
class InForce:
    """What a run is made of, by the settings in force when it begins.

    `given`: those of file and environment; `loaded`: the same with what operators stored. Each is replaced as a whole.
    `live`: where runs tell what happens. `observer`: is told how they go.
    """

    given: LoadedSettings
    loaded: LoadedSettings
    database: Database
    clock: Callable[[], datetime]
    ids: Ids
    live: StreamHub
    observer: Observer
    opener: Opener = opened_model

    @property
    def settings(self) -> Settings:
        """All of them."""
        return self.loaded.settings

    @property
    def triggers(self) -> TriggersSection:
        """What may start a run."""
        return self.settings.triggers

    def pulse(self) -> Pulse:
        """The pulse of a run that begins now."""
        return Pulse(longest_silence(self.settings))

    def patrol(self, run_id: str, cancel: Cancel, pulse: Pulse) -> Patrol:
        """What carries that run out."""
        settings = self.settings
        live = self.live.begin(run_id)

        def progress(stage: str, detail: str) -> None:
            pulse.progress(stage, detail)
            live.progress(stage, detail)

        return Patrol(
            database=self.database,
            settings=settings,
            sources=configured_sources(settings),
            clock=self.clock,
            ids=self.ids,
            progress=progress,
            analysts=self._analysts(settings, cancel, _Followed(live, pulse)),
            cancel=cancel,
            beat=pulse.beat,
            observer=self.observer,
        )

    def sample(self) -> object:
        """One sample of what is light to read. Raises StorageError."""
        sources = light_sources(self.settings)
        return Sampler(database=self.database, sources=sources, clock=self.clock).sample() if sources else None

    def _analysts(self, settings: Settings, cancel: Cancel, follower: Follower) -> Analysts:
        if not settings.model.name:
            return NoModel()
        return ModelAccess(
            settings=settings,
            store=ModelWorkStore(self.database),
            clock=self.clock,
            opener=self.opener,
            follower=follower,
            cancel=cancel,
        )


class _Followed:
    """A model that is followed live. Each thing that it says or does is a sign of life."""

    def __init__(self, live: LiveRun, pulse: Pulse) -> None:
        self._live = live
        self._pulse = pulse

    def text(self, piece: str) -> None:
        """It says something."""
        self._pulse.beat()
        self._live.text(piece)

    def tool_started(self, call_id: str, name: str, arguments: object) -> None:
        """It makes a call."""
        self._pulse.beat()
        self._live.tool_started(call_id, name, arguments)

    def tool_ended(self, call_id: str, name: str, output: object, *, success: bool) -> None:
        """It has an answer."""
        self._pulse.beat()
        self._live.tool_ended(call_id, name, output, success=success)

    def finding_rejected(self, why: str) -> None:
        """It is refused something."""
        self._live.finding_rejected(why)


def secrets_of(loaded: LoadedSettings) -> Iterator[str]:
    """Every value of the settings that no line may show."""
    settings = loaded.settings
    for secret in (settings.model.api_key, settings.storage.url):
        if secret is not None:
            yield secret.get_secret_value()


def not_taken_up(old: Settings, new: Settings) -> list[str]:
    """Sections that changed, and that only a start takes up."""
    return [name for name in AT_A_START if getattr(old, name) != getattr(new, name)]


def check_alert_settings(old: Settings, new: Settings) -> None:
    """A file that is named anew has to be there and right. For one that was right, its last good state holds.

    Raises AlertSettingsError.
    """
    if new.alerts.file is not None and new.alerts.file != old.alerts.file:
        load_alert_settings(new.alerts.file)
