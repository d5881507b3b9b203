"""`patrol findings ack|snooze|dismiss|suppress|resolve|note|undo`: what an operator says of findings."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated

import typer

from findings.model import DismissedReason
from findings.silence_store import SilenceStore
from findings.verbs import Acknowledge, Dismiss, Note, Resolve, Snooze, Suppress, Undo, Undoable, Verb
from patrol.cli.author import author
from patrol.cli.configuration import ConfigOption, load
from patrol.cli.display import cell, console
from patrol.cli.ends import ForOption, UntilOption, parse_end
from patrol.cli.exit_codes import CommandError, ExitCode
from patrol.cli.options import JsonOption, StorageOption
from patrol.cli.output import write_json
from patrol.cli.quiet import finding_view, quiet_of, quiet_text
from patrol.cli.records import ORG, records
from patrol.operators.ids import AmbiguousIdError, UnknownIdError
from patrol.operators.verbs import RefusedError, carry_out

IdsArgument = Annotated[
    list[str], typer.Argument(metavar="ID...", help="Ids, or their beginnings of at least 8 digits. All or none.")
]
NoteOption = Annotated[str, typer.Option("--note", metavar="TEXT", help="Why, for whoever reads it later.")]


def register_verbs(findings: typer.Typer) -> None:
    """Adds the verbs to the group."""
    for name, command in _COMMANDS.items():
        findings.command(name)(command)


def ack(
    ids: IdsArgument,
    note: NoteOption = "",
    config_file: ConfigOption = None,
    storage: StorageOption = "",
    as_json: JsonOption = False,
) -> None:
    """I know: counted damage (disk errors and the like) is quiet until it grows."""
    _say(ids, Acknowledge(note=note), config_file, storage, as_json)


def snooze(
    ids: IdsArgument,
    lasting: ForOption = "",
    until: UntilOption = "",
    note: NoteOption = "",
    config_file: ConfigOption = None,
    storage: StorageOption = "",
    as_json: JsonOption = False,
) -> None:
    """Not now: quiet until a time, or until it gets more severe."""
    end = parse_end(lasting, until, datetime.now(UTC))
    if end is None:
        raise CommandError('a snooze needs its end: --for "2h" or --until TIME')
    _say(ids, Snooze(until=end, note=note), config_file, storage, as_json)


def dismiss(
    ids: IdsArgument,
    reason: Annotated[DismissedReason, typer.Option("--reason", help="Why nothing is done about it now.")],
    lasting: ForOption = "",
    until: UntilOption = "",
    note: NoteOption = "",
    config_file: ConfigOption = None,
    storage: StorageOption = "",
    as_json: JsonOption = False,
) -> None:
    """Nothing to do: quiet until it gets more severe; will_fix_later also until its reminder (7 days, or --for)."""
    end = parse_end(lasting, until, datetime.now(UTC))
    _say(ids, Dismiss(reason=reason, remind_at=end, note=note), config_file, storage, as_json)


def suppress(
    ids: IdsArgument,
    note: NoteOption = "",
    config_file: ConfigOption = None,
    storage: StorageOption = "",
    as_json: JsonOption = False,
) -> None:
    """Never again: quiet whatever comes, until it is undone."""
    _say(ids, Suppress(note=note), config_file, storage, as_json)


def resolve(
    ids: IdsArgument,
    note: NoteOption = "",
    config_file: ConfigOption = None,
    storage: StorageOption = "",
    as_json: JsonOption = False,
) -> None:
    """It is done. If it is seen again, it comes back as a regression."""
    _say(ids, Resolve(note=note), config_file, storage, as_json)


def note(
    ids: IdsArgument,
    text: Annotated[str, typer.Option("--note", metavar="TEXT", help='The note; "" takes it away.')],
    config_file: ConfigOption = None,
    storage: StorageOption = "",
    as_json: JsonOption = False,
) -> None:
    """Leaves a note with findings; it changes nothing else."""
    _say(ids, Note(text=text), config_file, storage, as_json)


def undo(
    ids: IdsArgument,
    what: Annotated[Undoable | None, typer.Option("--what", help="What to take back; else the last word.")] = None,
    config_file: ConfigOption = None,
    storage: StorageOption = "",
    as_json: JsonOption = False,
) -> None:
    """Takes back what was said last, or what --what names."""
    _say(ids, Undo(what=what), config_file, storage, as_json)


_COMMANDS: dict[str, Callable[..., None]] = {
    "ack": ack,
    "snooze": snooze,
    "dismiss": dismiss,
    "suppress": suppress,
    "resolve": resolve,
    "note": note,
    "undo": undo,
}


def _say(ids: list[str], verb: Verb, config_file: ConfigOption, storage: str, as_json: bool) -> None:
    loaded = load(config_file)
    with records(loaded, storage) as database:
        now = datetime.now(UTC)
        try:
            done = carry_out(database, ORG, ids, verb, now=now, author=author())
        except UnknownIdError as error:
            raise CommandError(f"{error}; `patrol findings list --state all`", ExitCode.FAILED) from error
        except (AmbiguousIdError, RefusedError) as error:
            nothing = "\nnothing was changed" if len(ids) > 1 else ""
            raise CommandError(f"{error}{nothing}") from error
        with database.read() as connection:
            silences = SilenceStore(connection, ORG).list_silences(not_over_at=now)
    if as_json:
        views = [finding_view(finding, silences, now) for finding in done.findings]
        write_json({"findings": views, "changed": sorted(done.changed)})
        return
    output = console()
    for finding in done.findings:
        why = quiet_text(finding, quiet_of(finding, silences, now))
        was_so = "" if finding.id in done.changed else " (it was so already)"
        output.print(cell(f"{finding.id}  {finding.resource_name}: {finding.title}: {why or finding.state}{was_so}"))
