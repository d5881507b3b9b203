"""`patrol findings`: what is wrong, as earlier runs and operators left it."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from findings.grouping import Explained, under_their_parents
from findings.loop import LoopState, last_fix, loop_state
from findings.model import Basis, Finding, Severity, Transition
from findings.silence import Quiet
from findings.wanted import Wanted
from patrol.cli.app import COMMANDS
from patrol.cli.configuration import ConfigOption, load
from patrol.cli.display import cell, console, instant, table
from patrol.cli.explain import print_explanation
from patrol.cli.finding_verbs import register_verbs
from patrol.cli.issues import of_finding, print_facts, print_issues
from patrol.cli.last_look import print_last_look
from patrol.cli.model_work import print_words, words_view
from patrol.cli.options import JsonOption, StorageOption
from patrol.cli.output import write_json
from patrol.cli.quiet import finding_view, quiet_of, quiet_text, said_text
from patrol.cli.records import records
from patrol.cli.stored import stored_in_force
from patrol.records.findings import FindingList, ListFindings, OneFinding, ShowFinding
from patrol.records.looks import LastLook, ShowLastLook

findings = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Adds the group."""
    app.add_typer(findings, name="findings", help=COMMANDS["findings"])


@findings.command("list")
def list_findings(
    state: Annotated[Wanted, typer.Option("--state", help="Which ones.")] = Wanted.OPEN,
    severity: Annotated[Severity | None, typer.Option("--severity", help="Only these and worse.")] = None,
    config_file: ConfigOption = None,
    storage: StorageOption = "",
    as_json: JsonOption = False,
) -> None:
    """Lists findings, the worst first."""
    loaded = load(config_file)
    with records(loaded, storage) as answering:
        told = answering.ask(ListFindings(state=state, severity=severity), FindingList)
        found, silences, now = told.findings, told.silences, told.at
        if as_json:
            write_json({"findings": [finding_view(finding, silences, now) for finding in found]})
            return
        look = answering.ask(ShowLastLook(), LastLook)
        settings = stored_in_force(answering, loaded).settings
    output = console()
    reasons = {finding.id: quiet_of(finding, silences, now) for finding in found}
    _print_list(output, under_their_parents(found), reasons)
    print_last_look(output, look, settings)


@findings.command("show")
def show_finding(
    finding_id: Annotated[str, typer.Argument(metavar="ID", help="The id, or its beginning.")],
    config_file: ConfigOption = None,
    storage: StorageOption = "",
    as_json: JsonOption = False,
) -> None:
    """Explains one finding: what shows it, by which limit, what would clear it, and all its changes."""
    loaded = load(config_file)
    with records(loaded, storage) as answering:
        told = answering.ask(ShowFinding(finding_id=finding_id), OneFinding)
    finding, changes, silences, now = told.finding, told.transitions, told.silences, told.at
    if as_json:
        view = finding_view(finding, silences, now) | {"previous_resolved_fix_summary": last_fix(changes)}
        document = {
            "finding": view,
            "transitions": msgspec.to_builtins(changes),
            "explanation": msgspec.to_builtins(told.explanation),
            "model": words_view(told.words),
        }
        write_json(document)
    else:
        why = quiet_of(finding, silences, now)
        output = console()
        _print_one(output, finding, changes, why, loop_state(finding, why, now))
        print_explanation(output, finding, told.explanation)
        print_words(output, told.words)


def _print_list(output: Console, rows: Sequence[Explained], reasons: Mapping[str, Quiet | None]) -> None:
    if not rows:
        output.print("No findings.")
        return
    print_issues(
        output,
        [of_finding(each, explained=parent is not None, why=reasons[each.id]) for each, parent in rows],
    )
    found = [finding for finding, _ in rows]
    output.print()
    lives = table(("#", "State", "First seen", "Last seen", "Id"), right=("#",))
    for position, finding in enumerate(found, 1):
        state = "silenced" if reasons[finding.id] is not None else str(finding.state)
        lives.add_row(
            str(position), state, instant(finding.first_seen_at), instant(finding.last_seen_at), cell(finding.id)
        )
    output.print(lives)
    quiet = table(("#", "Quiet"), right=("#",))
    for position, finding in enumerate(found, 1):
        if reasons[finding.id] is not None:
            quiet.add_row(str(position), cell(quiet_text(finding, reasons[finding.id])))
    if quiet.row_count:
        output.print()
        output.print(quiet)


def _print_one(
    output: Console, finding: Finding, changes: Sequence[Transition], why: Quiet | None, stands: LoopState
) -> None:
    issue = of_finding(finding)
    print_facts(
        output,
        (
            ("Finding", finding.id),
            ("What", issue.title),
            ("Severity", finding.severity),
            ("State", finding.state if finding.resolve_reason is None else f"resolved: {finding.resolve_reason}"),
            ("Stands", stands),
            ("Explained by", finding.parent_finding or "nothing else"),
            ("Last ended", last_fix(changes) or "never"),
            ("Quiet", quiet_text(finding, why) or "no"),
            ("Acknowledged", _acknowledged(finding)),
            ("Note", finding.user_note or "-"),
            ("Resource", f"{finding.resource_name} ({finding.resource_id})"),
            ("Value", issue.value),
            ("Limit", issue.limit),
            ("Limit from", finding.limit_source or "-"),
            ("Held by", _held_by(finding)),
            ("Summary", finding.summary),
            ("Evidence", finding.evidence or "-"),
            ("First seen", instant(finding.first_seen_at)),
            ("Last seen", instant(finding.last_seen_at)),
            ("Runs", f"{finding.times_raised}, the last one {finding.last_run_id or '-'}"),
        ),
    )
    output.print()
    rows = table(("Changed", "Why", "State", "Severity", "By", "Said"))
    for change in changes:
        reason = str(change.reason) if change.resolve_reason is None else f"{change.reason}: {change.resolve_reason}"
        rows.add_row(
            instant(change.at),
            reason,
            change.new_state,
            change.new_severity,
            cell(change.author or change.run_id),
            cell(said_text(change)),
        )
    output.print(rows)


def _held_by(finding: Finding) -> str:
    if finding.basis is not Basis.MODEL:
        return str(finding.basis)
    if finding.is_unconfirmed:
        return "a model alone, unconfirmed"
    by = "an operator" if finding.confirmed_at is None else f"a second run, {instant(finding.confirmed_at)}"
    return f"a model, confirmed by {by}"


def _acknowledged(finding: Finding) -> str:
    if finding.acknowledged_at is None:
        return "no"
    return f"{instant(finding.acknowledged_at)} by {finding.acknowledged_by or 'somebody'}"


register_verbs(findings)
