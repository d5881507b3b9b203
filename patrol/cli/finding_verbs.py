"""`patrol findings ack|snooze|dismiss|suppress|resolve|note|undo`: what an operator says of findings."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated

import typer

from findings.model import DismissedReason, Finding, TransitionReason
from findings.verbs import Acknowledge, Dismiss, Note, Resolve, Snooze, Suppress, Undo, Undoable
from patrol.cli.configuration import ConfigOption, load
from patrol.cli.display import cell, console
from patrol.cli.ends import ForOption, UntilOption, parse_end
from patrol.cli.exit_codes import CommandError
from patrol.cli.options import JsonOption, StorageOption
from patrol.cli.output import write_json
from patrol.cli.quiet import finding_view, quiet_of, quiet_text
from patrol.cli.records import records
from patrol.records.findings import (
    Said,
    SayAcknowledged,
    SayDismissed,
    Saying,
    SayNoted,
    SayResolved,
    SaySnoozed,
    SaySuppressed,
    SayUndone,
)

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
    _say(SayAcknowledged(ids=ids, verb=Acknowledge(note=note)), config_file, storage, as_json)


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
    _say(SaySnoozed(ids=ids, verb=Snooze(until=end, note=note)), config_file, storage, as_json)


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
    _say(SayDismissed(ids=ids, verb=Dismiss(reason=reason, remind_at=end, note=note)), config_file, storage, as_json)


def suppress(
    ids: IdsArgument,
    note: NoteOption = "",
    config_file: ConfigOption = None,
    storage: StorageOption = "",
    as_json: JsonOption = False,
) -> None:
    """Never again: quiet whatever comes, until it is undone."""
    _say(SaySuppressed(ids=ids, verb=Suppress(note=note)), config_file, storage, as_json)


def resolve(
    ids: IdsArgument,
    note: NoteOption = "",
    config_file: ConfigOption = None,
    storage: StorageOption = "",
    as_json: JsonOption = False,
) -> None:
    """It is done. If it is seen again, it comes back as a regression."""
    _say(SayResolved(ids=ids, verb=Resolve(note=note)), config_file, storage, as_json)


def note(
    ids: IdsArgument,
    text: Annotated[str, typer.Option("--note", metavar="TEXT", help='The note; "" takes it away.')],
    config_file: ConfigOption = None,
    storage: StorageOption = "",
    as_json: JsonOption = False,
) -> None:
    """Leaves a note with findings; it changes nothing else."""
    _say(SayNoted(ids=ids, verb=Note(text=text)), config_file, storage, as_json)


def undo(
    ids: IdsArgument,
    what: Annotated[Undoable | None, typer.Option("--what", help="What to take back; else the last word.")] = None,
    config_file: ConfigOption = None,
    storage: StorageOption = "",
    as_json: JsonOption = False,
) -> None:
    """Takes back what was said last, or what --what names."""
    _say(SayUndone(ids=ids, verb=Undo(what=what)), config_file, storage, as_json)


_COMMANDS: dict[str, Callable[..., None]] = {
    "ack": ack,
    "snooze": snooze,
    "dismiss": dismiss,
    "suppress": suppress,
    "resolve": resolve,
    "note": note,
    "undo": undo,
}


def _say(saying: Saying, config_file: ConfigOption, storage: str, as_json: bool) -> None:
    loaded = load(config_file)
    with records(loaded, storage) as answering:
        said = answering.ask(saying, Said)
    silences, now = said.silences, said.at
    if as_json:
        views = [finding_view(finding, silences, now) for finding in said.findings]
        write_json({"findings": views, "changed": sorted(said.changed)})
        return
    output = console()
    for finding in said.findings:
        why = quiet_text(finding, quiet_of(finding, silences, now))
        done = done_text(finding, why, said.changed.get(finding.id))
        output.print(cell(f"{finding.id}  {finding.resource_name}: {finding.title}: {done}"))


_DONE = {
    TransitionReason.NOTED: "noted",
    TransitionReason.UNACKNOWLEDGED: "the acknowledgement is taken back",
    TransitionReason.UNSNOOZED: "the snooze is taken back",
    TransitionReason.UNDISMISSED: "the dismissal is taken back",
    TransitionReason.UNSUPPRESSED: "the suppression is taken back",
    TransitionReason.UNNOTED: "the note is taken back",
    TransitionReason.REOPENED: "it is not resolved after all",
}
"""What the state that comes after it does not say."""


def done_text(finding: Finding, why_quiet: str, became: TransitionReason | None) -> str:
    """What was done with a finding, and what it is now; `became` is None where nothing had to be done."""
    is_known = finding.is_open and finding.acknowledged_at is not None
    standing = why_quiet or ("acknowledged, still active" if is_known else str(finding.state))
    if became is None:
        return f"{standing} (it was so already)"
    done = _DONE.get(became)
    return f"{done}; {standing}" if done else standing
