"""The settings in force: environment before stored before file before default. Pure."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace

from pydantic import ValidationError

from findings.investigation import Autonomy
from patrol.overrides.model import STORABLE, Acknowledgement, StoredSetting
from patrol.settings.load import LoadedSettings, Origin, OriginKind
from patrol.settings.model import Settings
from patrol.settings.problems import describe

UNACKNOWLEDGED = "autonomy full is not acknowledged: changes wait for an approval (see PUT /api/ai/patrol/autonomy)"


class UnfitSettingError(ValueError):
    """Values that the schema refuses. `problems`: a line for each."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(self.problems))


def in_force(
    loaded: LoadedSettings, stored: Iterable[StoredSetting], acknowledgement: Acknowledgement | None
) -> LoadedSettings:
    """What this process was given, with what operators stored, and no autonomy `full` that nobody acknowledged.

    A stored value that does not fit (any more) is left out, and a note says so: a daemon must start.
    """
    found = loaded
    for each in stored:
        try:
            found = overlaid(found, {each.key: json.loads(each.value)}, {each.key: _origin(each)})
        except UnfitSettingError as error:
            found = replace(found, notes=(*found.notes, f"the stored setting {each.key} is left out: {error}"))
    settings = found.settings
    if settings.patrol.autonomy is Autonomy.FULL and (acknowledgement is None or not acknowledgement.is_current):
        lowered = settings.patrol.model_copy(update={"autonomy": Autonomy.APPROVAL})
        found = replace(
            found, settings=settings.model_copy(update={"patrol": lowered}), notes=(*found.notes, UNACKNOWLEDGED)
        )
    return found


def overlaid(loaded: LoadedSettings, values: Mapping[str, object], origins: Mapping[str, Origin]) -> LoadedSettings:
    """The settings with other values, except where the environment sets them. Values as they are written in a file.

    Raises UnfitSettingError for a key that cannot be stored, and for a value that the schema refuses.
    """
    wrong = [f"{key}: cannot be changed here" for key in values if key not in STORABLE]
    if wrong:
        raise UnfitSettingError(wrong)
    wanted: dict[str, dict[str, object]] = {}
    for key, value in values.items():
        if loaded.origin(key).kind is not OriginKind.ENVIRONMENT:
            section, _, name = key.partition(".")
            wanted.setdefault(section, {})[name] = value
    problems: list[str] = []
    sections: dict[str, object] = {}
    for name, changes in wanted.items():
        section = getattr(loaded.settings, name)
        try:
            sections[name] = type(section).model_validate({**dict(section), **changes})
        except ValidationError as error:
            problems.extend(f"{name}.{line}" for line in describe(error, {}, None))
    if problems:
        raise UnfitSettingError(problems)
    settings: Settings = loaded.settings.model_copy(update=sections)
    taken = {key: origin for key, origin in origins.items() if loaded.origin(key).kind is not OriginKind.ENVIRONMENT}
    return replace(loaded, settings=settings, origins={**loaded.origins, **taken})


def _origin(stored: StoredSetting) -> Origin:
    return Origin(kind=OriginKind.STORED, place=f"{stored.author}, {stored.set_at:%Y-%m-%d %H:%M} UTC")
