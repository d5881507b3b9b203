"""`patrol resources`: what runs remember of the things they watch, and what does not exist any more."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console

from patrol.cli.app import COMMANDS
from patrol.cli.author import author
from patrol.cli.configuration import ConfigOption, load
from patrol.cli.display import cell, console, instant, table
from patrol.cli.exit_codes import CommandError, ExitCode
from patrol.cli.options import JsonOption, StorageOption
from patrol.cli.output import note, write_json
from patrol.cli.records import ORG, records
from patrol.estate.memory.model import Memory, Remembered
from patrol.estate.memory.store import ResourceMemory
from patrol.operators.resources import (
    AlreadyRemovedError,
    AmbiguousResourceError,
    UnknownResourceError,
    remove_resource,
)

resources = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Adds the group."""
    app.add_typer(resources, name="resources", help=COMMANDS["resources"])


@resources.command("list")
def list_resources(
    removed: Annotated[bool, typer.Option("--removed", help="Only those that do not exist any more.")] = False,
    config_file: ConfigOption = None,
    storage: StorageOption = "",
    as_json: JsonOption = False,
) -> None:
    """Lists resources by their id, with presence and the time of their last sight."""
    loaded = load(config_file)
    with records(loaded, storage) as database, database.read() as connection:
        memory = ResourceMemory(connection, ORG).load()
    found = [memory.resources[each] for each in sorted(memory.resources)]
    wanted = [each for each in found if each.is_there is not removed]
    if as_json:
        write_json({"resources": [_view(each, memory) for each in wanted]})
    else:
        _print(console(), wanted)


@resources.command("remove")
def remove(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its id, an id or name it had, or its name.")],
    config_file: ConfigOption = None,
    storage: StorageOption = "",
    as_json: JsonOption = False,
) -> None:
    """Says that a resource does not exist any more, and closes its findings.

    For what is out of sight for good, say because its source is not configured any more. If a run sees it again, it
    is there again, under the same id.
    """
    loaded = load(config_file)
    with records(loaded, storage) as database:
        try:
            removal = remove_resource(database, ORG, name, now=datetime.now(UTC), author=author())
        except UnknownResourceError as error:
            raise CommandError(f"{error}; `patrol resources list`", ExitCode.FAILED) from error
        except AmbiguousResourceError as error:
            raise CommandError(str(error)) from error
        except AlreadyRemovedError as error:
            raise CommandError(f"{error}; `patrol resources list --removed`", ExitCode.FAILED) from error
    if removal.lives_on_it:
        note(f"patrol: {len(removal.lives_on_it)} resources that live on it are not touched: `patrol resources list`")
    if as_json:
        closed = [each.id for each in removal.closed]
        write_json({"resource": msgspec.to_builtins(removal.resource), "closed_findings": closed})
    else:
        _print(console(), [removal.resource])
        console().print(f"{len(removal.closed)} findings closed.")


def _view(known: Remembered, memory: Memory) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(known)
    return {**document, "aliases": msgspec.to_builtins(list(memory.aliases_of(known.id).values()))}


def _print(output: Console, found: Sequence[Remembered]) -> None:
    if not found:
        output.print("No resources.")
        return
    rows = table(("Id", "Name", "Source", "Presence", "First seen", "Last seen"))
    for each in found:
        presence = str(each.presence) if each.removed_by is None else f"{each.presence} ({each.removed_by})"
        seen = instant(each.first_seen_at), instant(each.last_seen_at)
        rows.add_row(cell(each.id), cell(each.name), cell(each.source), presence, *seen)
    output.print(rows)
