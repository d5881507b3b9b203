"""Whether a daemon answers on this machine, where, and whether it can read the records that these settings mean."""

import msgspec

from patrol.cli.checks import Check, Health
from patrol.cli.daemon_records import DaemonRecords, NotLetInError
from patrol.cli.exit_codes import CommandError
from patrol.cli.records import is_meant, reach_daemon
from patrol.records.pauses import PauseTold, ShowPause
from patrol.settings.load import LoadedSettings


class DaemonFound(msgspec.Struct, frozen=True, kw_only=True):
    """What was found. `database`: the one that it holds and reads, None where that is not the one of the settings."""

    check: Check
    database: str | None = None


def daemon_check(loaded: LoadedSettings) -> DaemonFound:
    """Asks it something that it must read its database for."""
    try:
        connection, why_not = reach_daemon(loaded)
    except CommandError as error:
        return _found(Health.PROBLEM, str(error))
    if connection is None:
        return _found(Health.OK, why_not or "none answers on this machine")
    try:
        with connection:
            found = DaemonRecords.met(connection)
        place = f"answers at {found.path}, version {found.version}, database {found.database}"
        if not is_meant(loaded, found.database):
            return _found(Health.OK, f"{place}: another one than the settings name")
        found.check_version()
        paused = found.ask(ShowPause(), PauseTold).pause
    except NotLetInError as error:
        return _found(Health.OK, str(error))
    except CommandError as error:
        return _found(Health.PROBLEM, str(error))
    check = Check(name="daemon", health=Health.OK, detail=f"{place}{'; paused' if paused is not None else ''}")
    return DaemonFound(check=check, database=found.database)


def _found(health: Health, detail: str) -> DaemonFound:
    return DaemonFound(check=Check(name="daemon", health=health, detail=detail))
