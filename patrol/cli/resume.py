"""`patrol resume`: ends a pause."""

import typer

from patrol.cli.app import COMMANDS
from patrol.cli.configuration import ConfigOption, load
from patrol.cli.display import instant
from patrol.cli.options import JsonOption, StorageOption
from patrol.cli.output import write, write_json
from patrol.cli.pause import view
from patrol.cli.records import records
from patrol.records.pauses import PauseTold, ResumeRuns


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("resume", help=COMMANDS["resume"])(resume_runs)


def resume_runs(
    config_file: ConfigOption = None,
    storage: StorageOption = "",
    as_json: JsonOption = False,
) -> None:
    """The schedule and alerts start runs again. What the schedule missed in between is not made up for."""
    loaded = load(config_file)
    with records(loaded, storage) as answering:
        ended = answering.ask(ResumeRuns(), PauseTold).pause
    if as_json:
        write_json({"paused": False, "pause": view(ended)})
    elif ended is None:
        write("Not paused: nothing to resume.")
    else:
        write(f"Resumed. It was paused since {instant(ended.since)}.")
