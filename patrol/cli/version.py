"""`patrol version`. The bare command is answered before typer is imported (see `patrol.__main__`)."""

from importlib.metadata import version

import typer

from patrol.cli.options import JsonOption
from patrol.cli.output import write, write_json


def register(app: typer.Typer) -> None:
    """Adds the command."""

    @app.command("version")
    def show_version(as_json: JsonOption = False) -> None:
        """Which version this is."""
        found = version("patrold")
        if as_json:
            write_json({"version": found})
        else:
            write(f"patrol {found}")
