"""`patrol resume`: ends a pause."""

from datetime import UTC, datetime

import typer

from patrol.cli.app import COMMANDS
from patrol.cli.author import author
from patrol.cli.configuration import ConfigOption, load
from patrol.cli.display import instant
from patrol.cli.options import JsonOption, StorageOption
from patrol.cli.output import write, write_json
from patrol.cli.pause import view
from patrol.cli.records import ORG, records
from patrol.schedule.pauses import resume


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("resume", help=COMMANDS["resume"])(resume_runs)


def resume_runs(
    config_file: ConfigOption = None,
    storage: StorageOption = "",
    as_json: JsonOption = False,
) -> None:
    """The schedule and alerts start runs again. What the schedule missed in between is not made up for."""
    now = datetime.now(UTC)
    loaded = load(config_file)
    with records(loaded, storage) as database:
        ended = resume(database, ORG, now=now, author=author())
    if as_json:
        write_json({"paused": False, "pause": view(ended)})
    elif ended is None:
        write("Not paused: nothing to resume.")
    else:
        write(f"Resumed. It was paused since {instant(ended.since)}.")
