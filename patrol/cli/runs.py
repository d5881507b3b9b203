"""`patrol runs`: what earlier runs looked at and concluded."""

from collections.abc import Sequence
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from patrol.cli.app import COMMANDS
from patrol.cli.configuration import ConfigOption, load
from patrol.cli.display import cell, console, instant, table
from patrol.cli.gaps import print_gaps
from patrol.cli.issues import print_facts, storm_text
from patrol.cli.model_work import cost_text, model_text, print_work, short_cost, work_view
from patrol.cli.options import JsonOption, StorageOption
from patrol.cli.output import write_json
from patrol.cli.records import records
from patrol.cli.run_document import run_view
from patrol.records.runs import MOST_RUNS, ListRuns, OneRun, RunList, RunWork, ShowRun
from patrol.run.record_model import RunRecord, ToolCallRecord

runs = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Adds the group."""
    app.add_typer(runs, name="runs", help=COMMANDS["runs"])


@runs.command("list")
def list_runs(
    limit: Annotated[int, typer.Option("--limit", min=1, max=MOST_RUNS, help="How many, the newest first.")] = 20,
    config_file: ConfigOption = None,
    storage: StorageOption = "",
    as_json: JsonOption = False,
) -> None:
    """Lists runs, the newest first."""
    loaded = load(config_file)
    with records(loaded, storage) as answering:
        found = answering.ask(ListRuns(limit=limit), RunList).runs
    if as_json:
        write_json({"runs": [msgspec.to_builtins(run_view(run)) for run in found]})
    else:
        _print_list(console(), found)


@runs.command("show")
def show_run(
    run_id: Annotated[str, typer.Argument(metavar="ID", help="The id, or its beginning.")],
    tool_calls: Annotated[bool, typer.Option("--tool-calls", help="Also what was read, call by call.")] = False,
    config_file: ConfigOption = None,
    storage: StorageOption = "",
    as_json: JsonOption = False,
) -> None:
    """Shows one run with what it could not look at."""
    loaded = load(config_file)
    with records(loaded, storage) as answering:
        told = answering.ask(ShowRun(run_id=run_id, tool_calls=tool_calls), OneRun)
    run, calls, work = told.run, told.calls, told.work
    if as_json:
        document = {
            "run": msgspec.to_builtins(run_view(run)),
            "gaps": msgspec.to_builtins(run.gaps),
            "checks_off": list(run.checks_off),
            "storms": msgspec.to_builtins(run.storms),
            **work_view(work),
        }
        if tool_calls:
            document["tool_calls"] = msgspec.to_builtins(calls)
        write_json(document)
    else:
        _print_one(console(), run, calls, work)


def _print_list(output: Console, found: Sequence[RunRecord]) -> None:
    if not found:
        output.print("No runs.")
        return
    made = table(
        (
            "Started",
            "Trigger",
            "Status",
            "Complete",
            "Checked",
            "New",
            "Known",
            "Back",
            "Resolved",
            "Gaps",
            "Model",
            "Cost",
            "Id",
        )
    )
    for run in found:
        counts = (
            run.resources_checked,
            run.new_findings,
            run.existing_findings,
            run.regressed_findings,
            run.resolved_findings,
        )
        made.add_row(
            instant(run.started_at),
            cell(f"{run.trigger_reason} {run.type}"),
            run.status,
            "yes" if run.complete else "no",
            *("-" if count is None else str(count) for count in counts),
            str(len(run.gaps)),
            cell(f"{run.model_state}: {run.model_cause}" if run.model_cause else run.model_state),
            short_cost(run),
            cell(run.id),
        )
    output.print(made)


def _unsettled(run: RunRecord) -> list[tuple[str, str]]:
    facts = (
        ("Uncertain", run.uncertain, "known findings that nobody could say anything about"),
        ("Refused", run.rejected_findings, "reports and verdicts of the model"),
    )
    return [(name, f"{count} {what}") for name, count, what in facts if count]


def _print_one(output: Console, run: RunRecord, calls: Sequence[ToolCallRecord], work: RunWork) -> None:
    print_facts(
        output,
        (
            ("Run", run.id),
            ("Status", run.status),
            ("Complete", "yes" if run.complete else "no, something was lost from sight"),
            ("Trigger", run.trigger_reason),
            ("Result", run.status_text or "-"),
            ("Model", model_text(run)),
            ("Cost", cost_text(run)),
            *_unsettled(run),
            ("Started", instant(run.started_at)),
            ("Ended", instant(run.completed_at)),
            ("Limits from", run.alert_settings_source or "built in"),
            ("Scope", ", ".join(run.scope) or "everything"),
            *([("Looks into", run.finding_id)] if run.finding_id else []),
            *(("Storm", storm_text(storm)) for storm in run.storms),
            ("Error", run.error_summary or "none"),
        ),
    )
    output.print()
    print_gaps(output, run.gaps)
    for why in run.checks_off:
        output.print(cell(f"Check off: {why}"))
    print_work(output, run, work)
    if calls:
        output.print()
        made = table(("Tool", "Input", "By", "Answer"), whole=("Tool", "By"))
        for call in calls:
            answer = f"{call.output_bytes} bytes" if call.success else "failed"
            made.add_row(cell(call.tool_name), cell(call.input), cell(call.origin), answer)
        output.print(made)
