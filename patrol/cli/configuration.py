"""Settings as commands take them: loaded once, every mistake told in one answer."""

from pathlib import Path
from typing import Annotated

import typer

from patrol.cli.exit_codes import CommandError
from patrol.cli.output import note
from patrol.settings.load import LoadedSettings, load_settings
from patrol.settings.problems import SettingsProblemError

ConfigOption = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="Settings file; see `patrol config sample`.")
]


def load(option: Path | None) -> LoadedSettings:
    """The settings in force. Raises CommandError with every mistake."""
    try:
        loaded = load_settings(option)
    except SettingsProblemError as error:
        raise CommandError(str(error)) from error
    for text in loaded.notes:
        note(f"patrol: {text}")
    return loaded
