"""`patrol silence`: maintenance windows, what is off on purpose, and rules for what nobody wants to hear of."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console

from findings.silence import Silence, SilenceKind, SilenceState
from patrol.cli.app import COMMANDS
from patrol.cli.configuration import ConfigOption, load
from patrol.cli.display import cell, console, instant, table
from patrol.cli.ends import ForOption, UntilOption, parse_end, parse_time
from patrol.cli.exit_codes import CommandError
from patrol.cli.options import JsonOption, StorageOption
from patrol.cli.output import write_json
from patrol.cli.records import records
from patrol.operators.silences import Spoken, Wish
from patrol.records.silences import AddSilence, EndSilence, ListSilences, OneSilence, SilenceList

silence = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Adds the group."""
    app.add_typer(silence, name="silence", help=COMMANDS["silence"])


@silence.command("add")
def add(
    *,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, for whoever finds it later.")],
    resource: Annotated[str, typer.Option("--resource", metavar="NAME", help="Name or id of what it is about.")] = "",
    kind: Annotated[str, typer.Option("--kind", metavar="KIND", help="Only findings of this kind.")] = "",
    maintenance: Annotated[bool, typer.Option("--maintenance", help="It is being worked on.")] = False,
    offline: Annotated[bool, typer.Option("--offline", help="It is off on purpose.")] = False,
    suppress: Annotated[bool, typer.Option("--suppress", help="Nobody wants to hear of it.")] = False,
    starting: Annotated[str, typer.Option("--from", metavar="TIME", help="When it begins; else now.")] = "",
    lasting: ForOption = "",
    until: UntilOption = "",
    config_file: ConfigOption = None,
    storage: StorageOption = "",
    as_json: JsonOption = False,
) -> None:
    """Makes a silence.

    Maintenance and offline cover the resource and all that lives on it; nothing wakes what they cover. Without an end
    (maintenance needs one) it lasts until `patrol silence end`.
    """
    now = datetime.now(UTC)
    starts_at = parse_time("--from", starting) if starting else None
    ends_at = parse_end(lasting, until, starts_at or now)
    wanted = _kind(maintenance, offline, suppress)
    if wanted is SilenceKind.MAINTENANCE and ends_at is None:
        raise CommandError('a maintenance window needs its end: --for "2h" or --until TIME')
    wish = Wish(
        kind=wanted,
        resource=resource,
        finding_kind=kind,
        starts_at=starts_at,
        ends_at=ends_at,
        reason=reason,
    )
    loaded = load(config_file)
    with records(loaded, storage) as answering:
        made = answering.ask(AddSilence(wish=wish), OneSilence)
    _show_one(made, as_json)


def _kind(maintenance: bool, offline: bool, suppress: bool) -> SilenceKind:
    wanted = {
        SilenceKind.MAINTENANCE: maintenance,
        SilenceKind.OFFLINE: offline,
        SilenceKind.SUPPRESSION: suppress,
    }
    given = [kind for kind, is_wanted in wanted.items() if is_wanted]
    if len(given) != 1:
        raise CommandError("say what it is: one of --maintenance, --offline, --suppress")
    return given[0]


@silence.command("list")
def list_silences(
    everything: Annotated[bool, typer.Option("--all", help="Also those that are over.")] = False,
    config_file: ConfigOption = None,
    storage: StorageOption = "",
    as_json: JsonOption = False,
) -> None:
    """Lists silences, and findings that an operator keeps quiet one by one."""
    loaded = load(config_file)
    with records(loaded, storage) as answering:
        told = answering.ask(ListSilences(everything=everything), SilenceList)
    if as_json:
        views = [_view(each, told.at) for each in told.silences]
        write_json({"silences": views, "findings": [msgspec.to_builtins(each) for each in told.spoken]})
    else:
        _print(console(), told.silences, told.spoken, told.at)


@silence.command("end")
def end(
    silence_id: Annotated[str, typer.Argument(metavar="ID", help="The id, or its beginning of at least 8 digits.")],
    config_file: ConfigOption = None,
    storage: StorageOption = "",
    as_json: JsonOption = False,
) -> None:
    """Ends a silence now. It stays in the record; what it covered is active again."""
    loaded = load(config_file)
    with records(loaded, storage) as answering:
        ended = answering.ask(EndSilence(silence_id=silence_id), OneSilence)
    _show_one(ended, as_json)


def _show_one(one: OneSilence, as_json: bool) -> None:
    if as_json:
        write_json({"silence": _view(one.silence, one.at)})
    else:
        _print(console(), [one.silence], [], one.at)


def _view(one: Silence, now: datetime) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(one)
    return {**document, "state": str(one.state(now))}


def _print(output: Console, found: Sequence[Silence], words: Sequence[Spoken], now: datetime) -> None:
    if not found and not words:
        output.print("No silences.")
        return
    made = table(("What", "About", "State", "From", "Until", "By", "Why", "Id"))
    for each in found:
        about = " on ".join(part for part in (each.finding_kind, each.resource_name or each.resource_id) if part)
        state = each.state(now)
        by = f"{each.author}, ended by {each.ended_by}" if each.ended_by else each.author
        until = instant(each.end) if each.end is not None else "ended by hand"
        made.add_row(
            str(each.kind),
            cell(about),
            "in force" if state is SilenceState.IN_FORCE else str(state),
            instant(each.starts_at),
            until,
            cell(by),
            cell(each.reason),
            cell(each.id),
        )
    for word in words:
        made.add_row(
            f"finding {word.reason}",
            cell(word.about),
            "in force",
            instant(word.since),
            instant(word.until) if word.until is not None else "undone",
            cell(word.author or "-"),
            cell(word.note or "-"),
            cell(word.finding_id),
        )
    output.print(made)
