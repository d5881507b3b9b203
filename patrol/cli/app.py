"""The commands, and how a command line reaches the module that carries it out."""

import sys
from collections.abc import Sequence
from importlib import import_module

import typer

from patrol.cli.exit_codes import CommandError, ExitCode
from patrol.cli.output import drop_output, note

COMMANDS = {
    "run": "Looks at everything once and says what is wrong.",
    "serve": "The daemon: patrols by the schedule.",
    "investigate": "Asks the daemon for a run about one thing, and follows it.",
    "detect": "Runs the checks alone, over recorded tool calls.",
    "findings": "Lists what is wrong, and takes what you say of it.",
    "silence": "Maintenance windows, things off on purpose, rules for quiet.",
    "pause": "Keeps the daemon from starting runs by itself.",
    "resume": "Ends a pause.",
    "runs": "Lists earlier runs and what they concluded.",
    "replay": "Detects again what an earlier run detected, from its record.",
    "resources": "Lists what is watched, and what does not exist any more.",
    "collect": "Reads what only root may, for a Patrol without root.",
    "sample": "Takes one sample of what changes by the minute, for averages and trends.",
    "doctor": "Checks the set-up: what would Patrol be blind to?",
    "config": "Shows and checks settings, prints a sample.",
    "token": "Tokens for programs that call the daemon.",
    "user": "People who log in to the daemon, and their roles.",
    "db": "Brings the database up to date, copies, restores, checks it.",
    "schema": "Prints the JSON Schema of a document.",
    "version": "Prints the version.",
}
"""One module `patrol.cli.<name>` each, with a function `register(app)`; and the line that help prints."""

_ABOUT = "Watches over hosts, storage and backups: what is wrong, how it is known, and what could not be looked at."


def build(name: str = "") -> typer.Typer:
    """The application with one command; without a name, or with an unknown one, an application that only gives help.

    The command's module is imported on demand (see `patrol.__main__`), and no other one is.
    """
    app = typer.Typer(
        help=_ABOUT, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
    )
    # With a callback, an application of a single command still takes that command's name.
    app.callback()(lambda: None)
    if name in COMMANDS:
        import_module(f"patrol.cli.{name}").register(app)
    else:
        for command, line in COMMANDS.items():
            app.command(command, help=line)(lambda: None)
    return app


def run(arguments: Sequence[str]) -> int:
    """Runs one command line and returns its exit code."""
    # A terminal that cannot show a character gets its code instead of a crash.
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    name = next((argument for argument in arguments if not argument.startswith("-")), "")
    try:
        build(name)(args=list(arguments), prog_name="patrol")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else ExitCode.OK
    except CommandError as error:
        for line in str(error).splitlines():
            note(f"patrol: {line}")
        code = error.code
    except BrokenPipeError:
        drop_output(sys.stdout)
        code = ExitCode.OK
    return code
