"""`patrol resources`: what runs remember of the things they watch, and what does not exist any more."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console

from patrol.cli.app import COMMANDS
from patrol.cli.configuration import ConfigOption, load
from patrol.cli.display import cell, console, instant, table
from patrol.cli.options import JsonOption, StorageOption
from patrol.cli.output import note, write_json
from patrol.cli.records import records
from patrol.estate.memory.model import Alias, Remembered
from patrol.records.resources import ListResources, RemoveResource, ResourceList, ResourceRemoved

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
    with records(loaded, storage) as answering:
        told = answering.ask(ListResources(removed=removed), ResourceList)
    if as_json:
        write_json({"resources": [_view(each, told.aliases[each.id]) for each in told.resources]})
    else:
        _print(console(), told.resources)


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
    with records(loaded, storage) as answering:
        removal = answering.ask(RemoveResource(name=name), ResourceRemoved)
    if removal.lives_on_it:
        note(f"patrol: {removal.lives_on_it} resources that live on it are not touched: `patrol resources list`")
    if as_json:
        write_json({"resource": msgspec.to_builtins(removal.resource), "closed_findings": removal.closed})
    else:
        _print(console(), [removal.resource])
        console().print(f"{len(removal.closed)} findings closed.")


def _view(known: Remembered, aliases: Sequence[Alias]) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(known)
    return {**document, "aliases": msgspec.to_builtins(aliases)}


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
