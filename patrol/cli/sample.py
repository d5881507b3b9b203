"""`patrol sample`: one sample of the light metrics, for a timer to call each minute where no daemon runs."""

from datetime import UTC, datetime

import typer

from patrol.cli.app import COMMANDS
from patrol.cli.configuration import ConfigOption, load
from patrol.cli.exit_codes import CommandError
from patrol.cli.options import JsonOption, StorageOption
from patrol.cli.output import write_json
from patrol.cli.records import opened
from patrol.run.sampler import Sampler
from patrol.run.sources import light_sources


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("sample", help=COMMANDS["sample"])(take_sample)


def take_sample(
    config_file: ConfigOption = None,
    storage: StorageOption = "",
    as_json: JsonOption = False,
) -> None:
    """Keeps CPU, memory, swap and pressure of now, and prints nothing: what could not be read is told by runs."""
    loaded = load(config_file)
    sources = light_sources(loaded.settings)
    if not sources:
        raise CommandError("none of the configured sources can be sampled: only sources of the type local are")
    with opened(storage or loaded.database_url) as database:
        sampled = Sampler(database=database, sources=sources, clock=lambda: datetime.now(UTC)).sample()
    if as_json:
        write_json({"samples": sampled.kept, "gaps": [gap.detail for gap in sampled.gaps]})
