"""What is wrong, as a table: signals of a detection and findings of a run look the same."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from findings.grouping import Explained
from findings.kinds import KINDS
from findings.model import Finding
from findings.silence import Quiet
from findings.storm import Storm
from findings.units import UNITS, unit_of
from patrol.cli.display import cell, number, severity_cell, table
from patrol.cli.output import visible
from signals.model import Signal

LONGEST_NAME = 48


class Issue(NamedTuple):
    """One line of the table."""

    id: str
    severity: str
    resource: str
    title: str
    value: str
    limit: str
    limit_source: str
    summary: str
    evidence: str


def of_signal(signal: Signal) -> Issue:
    """A detector's statement as a line."""
    unit = UNITS.get(signal.signal_type, "")
    return Issue(
        id="",
        severity=signal.severity,
        resource=signal.resource_name,
        title=_titled(KINDS[signal.signal_type].title, signal.subject),
        value=number(signal.value, unit),
        limit=number(signal.limit, unit),
        limit_source=signal.limit_source,
        summary=signal.summary,
        evidence=signal.evidence,
    )


def of_finding(finding: Finding, *, explained: bool = False, why: Quiet | None = None) -> Issue:
    """A finding as a line. `explained`: it stands under the finding above it; `why`: it is quiet."""
    unit = unit_of(finding.kind)
    marks = ["unconfirmed"] if finding.is_unconfirmed else []
    marks += [str(why.reason)] if why is not None else []
    title = f"{finding.title} ({', '.join(marks)})" if marks else finding.title
    return Issue(
        id=finding.id,
        severity=finding.severity,
        resource=finding.resource_name,
        title=f"\N{BOX DRAWINGS LIGHT UP AND RIGHT} {title}" if explained else title,
        value=number(finding.value, unit),
        limit=number(finding.limit, unit),
        limit_source=finding.limit_source,
        summary=finding.summary,
        evidence=finding.evidence,
    )


def _titled(title: str, subject: str) -> str:
    return f"{title}: {subject}" if subject else title


def issues_of(rows: Iterable[Explained]) -> list[Issue]:
    """Findings as lines, those that another one explains under it."""
    return [of_finding(finding, explained=parent is not None) for finding, parent in rows]


def print_issues(output: Console, issues: Sequence[Issue]) -> None:
    """The table, and below it what each line was seen by."""
    output.print(_table(issues))
    output.print()
    output.print(cell("Evidence", "bold"))
    for position, issue in enumerate(issues, 1):
        lines = Table.grid(padding=(0, 2, 0, 0))
        lines.add_column(width=3, justify="right")
        lines.add_column(overflow="fold")
        lines.add_row(str(position), cell(issue.summary or issue.title))
        if issue.evidence:
            lines.add_row("", cell(issue.evidence, "dim"))
        output.print(lines)


def _table(issues: Sequence[Issue]) -> Table:
    made = table(
        ("#", "Severity", "Resource", "What", "Value", "Limit", "Limit from"),
        right=("#", "Value", "Limit"),
        whole=("#", "Severity", "Value", "Limit"),
    )
    for position, issue in enumerate(issues, 1):
        made.add_row(
            str(position),
            severity_cell(issue.severity),
            Text(visible(issue.resource, LONGEST_NAME)),
            cell(issue.title),
            issue.value,
            issue.limit,
            cell(issue.limit_source or "-"),
        )
    return made


def storm_text(storm: Storm) -> str:
    """One line."""
    return f"{storm.count} new findings at once from {storm.resource_id}, the worst {storm.worst}"


def print_facts(output: Console, facts: Sequence[tuple[str, str]]) -> None:
    """Names and values, one a line."""
    rows = Table.grid(padding=(0, 2, 0, 0))
    rows.add_column(no_wrap=True)
    rows.add_column(overflow="fold")
    for name, value in facts:
        rows.add_row(Text(name, style="bold"), cell(value))
    output.print(rows)
