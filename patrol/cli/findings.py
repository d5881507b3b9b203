"""`patrol findings`: what is wrong, as earlier runs left it."""

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from findings.model import Finding, FindingState, Severity, Transition
from findings.store import FindingStore
from patrol.cli.app import COMMANDS
from patrol.cli.configuration import ConfigOption, load
from patrol.cli.display import cell, console, instant, table
from patrol.cli.exit_codes import CommandError, ExitCode
from patrol.cli.issues import of_finding, print_facts, print_issues
from patrol.cli.options import JsonOption, StorageOption
from patrol.cli.output import write_json
from patrol.cli.records import ORG, records

findings = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Adds the group."""
    app.add_typer(findings, name="findings", help=COMMANDS["findings"])


class Wanted(StrEnum):
    """Which findings to list."""

    OPEN = "open"
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
    wanted = None if state is Wanted.ALL else FindingState(state)
    worse = None if severity is None else [each for each in Severity if each.rank >= severity.rank]
    with records(loaded, storage) as database, database.read() as connection:
        found = FindingStore(connection, ORG).list_findings(state=wanted, severities=worse)
    if as_json:
        write_json({"findings": msgspec.to_builtins(found)})
    else:
        _print_list(console(), found, datetime.now(UTC))


@findings.command("show")
def show_finding(
    finding_id: Annotated[str, typer.Argument(metavar="ID", help="The id, or its beginning.")],
    config_file: ConfigOption = None,
    storage: StorageOption = "",
    as_json: JsonOption = False,
) -> None:
    """Shows one finding with all its changes."""
    loaded = load(config_file)
    with records(loaded, storage) as database, database.read() as connection:
        store = FindingStore(connection, ORG)
        finding = _the_one(store.list_findings(), finding_id)
        changes = store.transitions(finding.id)
    if as_json:
        write_json({"finding": msgspec.to_builtins(finding), "transitions": msgspec.to_builtins(changes)})
    else:
        _print_one(console(), finding, changes)


def _the_one(known: Sequence[Finding], beginning: str) -> Finding:
    exact = [finding for finding in known if finding.id == beginning]
    found = exact or [finding for finding in known if finding.id.startswith(beginning)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise CommandError(f"no finding has the id {beginning}; `patrol findings list --state all`", ExitCode.FAILED)
    raise CommandError(f"{len(found)} findings have ids that begin with {beginning}; write more of it")


def _print_list(output: Console, found: Sequence[Finding], now: datetime) -> None:
    if not found:
        output.print("No findings.")
        return
    print_issues(output, [of_finding(finding) for finding in found])
    output.print()
    lives = table(("#", "State", "First seen", "Last seen", "Id"), right=("#",))
    for position, finding in enumerate(found, 1):
        state = "silenced" if finding.is_open and finding.is_silenced(now) else str(finding.state)
        lives.add_row(
            str(position), state, instant(finding.first_seen_at), instant(finding.last_seen_at), cell(finding.id)
        )
    output.print(lives)


def _print_one(output: Console, finding: Finding, changes: Sequence[Transition]) -> None:
    issue = of_finding(finding)
    print_facts(
        output,
        (
            ("Finding", finding.id),
            ("What", issue.title),
            ("Severity", finding.severity),
            ("State", finding.state if finding.resolve_reason is None else f"resolved: {finding.resolve_reason}"),
            ("Resource", f"{finding.resource_name} ({finding.resource_id})"),
            ("Value", issue.value),
            ("Limit", issue.limit),
            ("Limit from", finding.limit_source or "-"),
            ("Held by", finding.basis),
            ("Summary", finding.summary),
            ("Evidence", finding.evidence or "-"),
            ("First seen", instant(finding.first_seen_at)),
            ("Last seen", instant(finding.last_seen_at)),
            ("Runs", f"{finding.times_raised}, the last one {finding.last_run_id or '-'}"),
        ),
    )
    output.print()
    rows = table(("Changed", "Why", "State", "Severity", "Run"))
    for change in changes:
        why = str(change.reason) if change.resolve_reason is None else f"{change.reason}: {change.resolve_reason}"
        rows.add_row(instant(change.at), why, change.new_state, change.new_severity, cell(change.run_id))
    output.print(rows)
