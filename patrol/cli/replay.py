"""`patrol replay`: the deterministic half of a recorded run again."""

from collections.abc import Sequence
from importlib import metadata
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.text import Text

from patrol.cli.app import COMMANDS
from patrol.cli.configuration import ConfigOption, load
from patrol.cli.display import cell, console, instant, table
from patrol.cli.exit_codes import CommandError, ExitCode
from patrol.cli.issues import print_facts
from patrol.cli.options import JsonOption, StorageOption
from patrol.cli.output import write_json
from patrol.cli.records import ORG, database_of
from patrol.records.desk import QuestionRefusedError
from patrol.records.runs import find_run
from patrol.run.replay import Difference, Replay, ReplayOutcome, replay
from patrol.run.store import RunStore

_SAID = {
    ReplayOutcome.IDENTICAL: "identical: every signal and every look, byte for byte",
    ReplayOutcome.DIFFERENT: "different",
    ReplayOutcome.UNCOMPARED: "not compared",
    ReplayOutcome.EXPIRED: "evidence expired",
    ReplayOutcome.IMPOSSIBLE: "not possible",
}


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("replay", help=COMMANDS["replay"])(replay_run)


def replay_run(
    run_id: Annotated[str, typer.Argument(metavar="RUN_ID", help="The id, or its beginning.")],
    config_file: ConfigOption = None,
    storage: StorageOption = "",
    as_json: JsonOption = False,
) -> None:
    """Runs the detectors over what a run recorded, and compares. Ends with 0 if all is identical, else with 1."""
    loaded = load(config_file)
    with database_of(loaded, storage) as database:
        try:
            run = find_run(RunStore(database, ORG), run_id)
        except QuestionRefusedError as error:
            raise CommandError(str(error), ExitCode(error.refusal.code)) from error
        answer = replay(database, run.id, ORG)
    if as_json:
        write_json(_document(answer))
    else:
        _print(console(), answer)
    raise typer.Exit(ExitCode.OK if answer.outcome is ReplayOutcome.IDENTICAL else ExitCode.FAILED)


def _document(answer: Replay) -> dict[str, object]:
    return {
        "run_id": answer.run.id,
        "outcome": str(answer.outcome),
        "reason": answer.reason,
        "recorded_version": answer.recorded_version,
        "version": metadata.version("patrold"),
        "expired_at": msgspec.to_builtins(answer.expired_at),
        "signals": answer.signals,
        "looks": answer.looks,
        "differences": msgspec.to_builtins(answer.differences),
    }


def _print(output: Console, answer: Replay) -> None:
    detected = "-" if answer.signals is None else f"signals: {answer.signals}, looks: {answer.looks}"
    print_facts(
        output,
        (
            ("Run", answer.run.id),
            ("Started", instant(answer.run.started_at)),
            ("Replay", _SAID[answer.outcome]),
            *(("Why", why) for why in (answer.reason,) if why),
            ("Detected now", detected),
            (
                "Recorded by",
                f"patrol {answer.recorded_version or 'unknown'}, replayed by {metadata.version('patrold')}",
            ),
        ),
    )
    if answer.differences:
        output.print()
        _print_differences(output, answer.differences)


def _print_differences(output: Console, differences: Sequence[Difference]) -> None:
    rows = table(("What", "Change", "Kind", "Resource", "Subject", "Field", "Recorded", "Now"))
    for found in differences:
        about = (found.what, found.change, cell(found.kind), cell(found.resource_id), cell(found.subject))
        if not found.fields:
            rows.add_row(*about, "", "", "")
        for position, field in enumerate(found.fields):
            said = (cell(field.field), _value(field.recorded), _value(field.replayed))
            rows.add_row(*(about if position == 0 else ("",) * len(about)), *said)
    output.print(rows)


def _value(value: object) -> Text:
    return cell("-" if value is None else value if isinstance(value, str) else msgspec.json.encode(value).decode())
