"""Settings as they are served: each with its value as it is written in the file, and where it was set."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field, SecretStr

from patrol.overrides.model import STORABLE, Acknowledgement
from patrol.schedule.pauses import Pause
from patrol.settings.durations import say
from patrol.settings.load import LoadedSettings, OriginKind


class SettingDocument(BaseModel):
    """One setting. `place`: the variable, the file, or who stored it and when. `editable`: PATCH can change it."""

    value: Any
    origin: OriginKind
    place: str
    editable: bool
    stored: Any = Field(description="what is stored for it, also where the environment goes before; null: nothing")


class PauseDocument(BaseModel):
    """A pause: Patrol starts nothing by itself. `until` null: until somebody resumes."""

    since: datetime
    until: datetime | None
    reason: str
    author: str


class SettingsDocument(BaseModel):
    """The settings that can be changed while the daemon runs, by dotted key, and whether it is paused."""

    settings: dict[str, SettingDocument]
    paused: PauseDocument | None
    notes: list[str] = Field(description="what an operator should know of these settings")


class AcknowledgementDocument(BaseModel):
    """Who stands for autonomy `full`, since when."""

    id: str
    terms_version: int
    given_at: datetime
    author: str


def settings_document(
    in_force: LoadedSettings, given: LoadedSettings, stored: dict[str, Any], pause: Pause | None
) -> SettingsDocument:
    """The settings. `given`: those of file and environment alone."""
    settings = {}
    for key in STORABLE:
        origin = in_force.origin(key)
        settings[key] = SettingDocument(
            value=written(in_force, key),
            origin=origin.kind,
            place=origin.place,
            editable=given.origin(key).kind is not OriginKind.ENVIRONMENT,
            stored=stored.get(key),
        )
    return SettingsDocument(settings=settings, paused=pause_document(pause), notes=list(in_force.notes))


def written(loaded: LoadedSettings, key: str) -> Any:
    """A value as it would be written in the file."""
    section, _, name = key.partition(".")
    value = getattr(getattr(loaded.settings, section), name)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, tuple):
        return [say(each) for each in value]
    return "********" if isinstance(value, SecretStr) else say(value)


def pause_document(pause: Pause | None) -> PauseDocument | None:
    """A pause as it is served."""
    if pause is None:
        return None
    return PauseDocument(since=pause.since, until=pause.until, reason=pause.reason, author=pause.author)


def acknowledgement_document(acknowledgement: Acknowledgement | None) -> AcknowledgementDocument | None:
    """An acknowledgement as it is served."""
    if acknowledgement is None:
        return None
    return AcknowledgementDocument(
        id=acknowledgement.id,
        terms_version=acknowledgement.terms_version,
        given_at=acknowledgement.given_at,
        author=acknowledgement.author,
    )
