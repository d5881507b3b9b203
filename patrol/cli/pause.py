"""`patrol pause`: keeps the daemon from starting runs by itself, until an end or `patrol resume`."""

from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
import typer

from patrol.cli.app import COMMANDS
from patrol.cli.configuration import ConfigOption, load
from patrol.cli.display import instant
from patrol.cli.ends import ForOption, UntilOption, parse_end
from patrol.cli.exit_codes import CommandError
from patrol.cli.options import JsonOption, StorageOption
from patrol.cli.output import visible, write, write_json
from patrol.cli.records import records
from patrol.records.pauses import PauseRuns, PauseTold, ShowPause
from patrol.schedule.pauses import Pause


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("pause", help=COMMANDS["pause"])(pause_runs)


def pause_runs(
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, for whoever finds it later.")] = "",
    lasting: ForOption = "",
    until: UntilOption = "",
    show: Annotated[bool, typer.Option("--show", help="Only say whether it is paused.")] = False,
    config_file: ConfigOption = None,
    storage: StorageOption = "",
    as_json: JsonOption = False,
) -> None:
    """Neither the schedule nor an alert starts a run from now on; what somebody asks for still runs.

    It holds over restarts. Without an end it lasts until `patrol resume`; said again, the last word counts.
    """
    now = datetime.now(UTC)
    if show and (reason or lasting or until):
        raise CommandError("--show changes nothing: leave the other options out")
    end = parse_end(lasting, until, now)
    loaded = load(config_file)
    with records(loaded, storage) as answering:
        answer = answering.ask(ShowPause() if show else PauseRuns(until=end, reason=reason), PauseTold)
    found = answer.pause
    if as_json:
        write_json({"paused": found is not None, "pause": view(found)})
    else:
        write(told(found))
        if answer.replaced is not None:
            write(f"It was paused already, {_lasting(answer.replaced)}. That does not hold any more.")


def told(found: Pause | None) -> str:
    """A pause as a sentence for people."""
    if found is None:
        return "Not paused."
    return f"Paused since {instant(found.since)} by {visible(found.author)}, {_lasting(found)}"


def _lasting(found: Pause) -> str:
    end = f"until {instant(found.until)}" if found.until is not None else "until `patrol resume`"
    return f"{end}: {visible(found.reason)}" if found.reason else end


def view(found: Pause | None) -> Any:
    """A pause as JSON; null where there is none."""
    return msgspec.to_builtins(found)
