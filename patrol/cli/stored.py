"""Settings in force as a daemon has them: those that were read here, with what operators stored."""

from patrol.cli.exit_codes import CommandError
from patrol.cli.output import note
from patrol.cli.records import NoRecordsYetError, Records, records
from patrol.overrides.overlay import in_force
from patrol.records.settings import ShowStored, Stored
from patrol.settings.load import LoadedSettings


def stored_in_force(answering: Records, loaded: LoadedSettings) -> LoadedSettings:
    """The settings with what is stored in the records (`patrol.overrides.overlay.in_force`). Raises CommandError."""
    told = answering.ask(ShowStored(), Stored)
    return in_force(loaded, told.settings, told.acknowledgement)


def known_in_force(loaded: LoadedSettings) -> LoadedSettings:
    """The same where the records can be reached; where not, the settings as they are, and standard error says so."""
    try:
        with records(loaded) as answering:
            found = stored_in_force(answering, loaded)
    except NoRecordsYetError:  # nothing can be stored in what was never made
        return loaded
    except CommandError as error:
        why = "; ".join(str(error).splitlines())
        note(f"patrol: settings that operators stored are not shown, and may be in force: {why}")
        return loaded
    for text in found.notes[len(loaded.notes) :]:
        note(f"patrol: {text}")
    return found
