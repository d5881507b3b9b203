"""`patrol findings`: what is wrong, as earlier runs and operators left it."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from findings.grouping import Explained, under_their_parents
from findings.loop import LoopState, last_fix, loop_state
from findings.model import Basis, Finding, FindingState, Severity, Transition
from findings.silence import Quiet
from findings.silence_store import SilenceStore
from findings.store import FindingStore
from patrol.cli.app import COMMANDS
from patrol.cli.configuration import ConfigOption, load
from patrol.cli.display import cell, console, instant, table
from patrol.cli.exit_codes import CommandError, ExitCode
from patrol.cli.explain import print_explanation
from patrol.cli.finding_verbs import register_verbs
from patrol.cli.issues import issues_of, of_finding, print_facts, print_issues, unit_of
from patrol.cli.model_work import print_words, words_of, words_view
from patrol.cli.options import JsonOption, StorageOption
from patrol.cli.output import write_json
from patrol.cli.quiet import finding_view, quiet_of, quiet_text, said_text
from patrol.cli.records import ORG, records
from patrol.operators.ids import AmbiguousIdError, UnknownIdError, find_finding
from patrol.run.explanation import explain
from patrol.run.model_work.store import ModelWorkStore

findings = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Adds the group."""
    register_verbs(findings)
    app.add_typer(findings, name="findings", help=COMMANDS["findings"])


class Wanted(StrEnum):
    """Which findings to list."""

    OPEN = "open"  # active and silenced
    ACTIVE = "active"
    SILENCED = "silenced"
    RESOLVED = "resolved"
    ALL = "all"


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
    worse = None if severity is None else [each for each in Severity if each.rank >= severity.rank]
    now = datetime.now(UTC)
    with records(loaded, storage) as database, database.read() as connection:
        found = FindingStore(connection, ORG).list_findings(state=_STATES.get(state), severities=worse)
        silences = SilenceStore(connection, ORG).list_silences(not_over_at=now)
    reasons = {finding.id: quiet_of(finding, silences, now) for finding in found}
    if state in {Wanted.ACTIVE, Wanted.SILENCED}:
        found = [each for each in found if (reasons[each.id] is None) is (state is Wanted.ACTIVE)]
    if as_json:
        write_json({"findings": [finding_view(finding, silences, now) for finding in found]})
    else:
        _print_list(console(), under_their_parents(found), reasons)


_STATES = {
    Wanted.OPEN: FindingState.OPEN,
    Wanted.ACTIVE: FindingState.OPEN,
    Wanted.SILENCED: FindingState.OPEN,
    Wanted.RESOLVED: FindingState.RESOLVED,
}


@findings.command("show")
def show_finding(
    finding_id: Annotated[str, typer.Argument(metavar="ID", help="The id, or its beginning.")],
    config_file: ConfigOption = None,
    storage: StorageOption = "",
    as_json: JsonOption = False,
) -> None:
    """Explains one finding: what shows it, by which limit, what would clear it, and all its changes."""
    loaded = load(config_file)
    now = datetime.now(UTC)
    with records(loaded, storage) as database:
        with database.read() as connection:
            store = FindingStore(connection, ORG)
            finding = _the_one(store, finding_id)
            changes = store.transitions(finding.id)
            silences = SilenceStore(connection, ORG).list_silences(not_over_at=now)
        explanation = explain(database, finding, now, unit=unit_of(finding), org_id=ORG)
        words = words_of(ModelWorkStore(database, ORG), finding)
    if as_json:
        view = finding_view(finding, silences, now) | {"previous_resolved_fix_summary": last_fix(changes)}
        told = msgspec.to_builtins(explanation)
        document = {"finding": view, "transitions": msgspec.to_builtins(changes), "explanation": told}
        write_json(document | {"model": words_view(words)})
    else:
        why = quiet_of(finding, silences, now)
        output = console()
        _print_one(output, finding, changes, why, loop_state(finding, why, now))
        print_explanation(output, finding, explanation)
        print_words(output, words)


def _the_one(store: FindingStore, text: str) -> Finding:
    try:
        return find_finding(store, text)
    except UnknownIdError as error:
        raise CommandError(f"{error}; `patrol findings list --state all`", ExitCode.FAILED) from error
    except AmbiguousIdError as error:
        raise CommandError(str(error)) from error


def _print_list(output: Console, rows: Sequence[Explained], reasons: Mapping[str, Quiet | None]) -> None:
    if not rows:
        output.print("No findings.")
        return
    print_issues(output, issues_of(rows))
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
