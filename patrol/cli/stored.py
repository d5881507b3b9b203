"""Settings in force as a daemon has them: those that were read here, with what operators stored."""

from patrol.cli.records import Records
from patrol.overrides.overlay import in_force
from patrol.records.settings import ShowStored, Stored
from patrol.settings.load import LoadedSettings


def stored_in_force(answering: Records, loaded: LoadedSettings) -> LoadedSettings:
    """The settings with what is stored in the records (`patrol.overrides.overlay.in_force`). Raises CommandError."""
    told = answering.ask(ShowStored(), Stored)
    return in_force(loaded, told.settings, told.acknowledgement)
