"""The report of a run as people read it: the conclusion first, then what is wrong, then what was not seen."""

from collections.abc import Mapping

from rich.console import Console

from findings.grouping import under_their_parents
from findings.model import Look
from patrol.cli.display import cell
from patrol.cli.gaps import print_gaps
from patrol.cli.issues import issues_of, print_facts, print_issues, storm_text
from patrol.cli.model_work import cost_text, model_text
from patrol.run.request import RunReport

_STATUS_STYLES = {"healthy": "bold green", "critical": "bold red", "issues_found": "bold yellow"}


def print_report(output: Console, report: RunReport, investigations: str) -> None:
    """All of it, on standard output."""
    status = str(report.run.status)
    output.print(cell(f"{status.replace('_', ' ')}: {report.status_text}", _STATUS_STYLES.get(status, "bold")))
    output.print()
    if report.findings:
        print_issues(output, issues_of(under_their_parents(report.findings)))
    else:
        output.print("Findings: none.")
    output.print()
    print_gaps(output, report.gaps)
    output.print()
    print_facts(
        output,
        [
            ("Looked at", looked_at(report.resources, report.looks)),
            ("Model", model_text(report.run)),
            *(("Cost", text) for text in (cost_text(report.run),) if text != "-"),
            ("Investigations", investigations),
            ("Limits from", report.run.alert_settings_source or "built in"),
            ("Run", report.run.id),
            *(("Error", text) for text in (report.run.error_summary,) if text),
            *(("Storm", storm_text(storm)) for storm in report.run.storms),
            *(("Check off", why) for why in report.checks_off),
            *(("Note", text) for text in report.notes),
            *(("Problem", f"{problem.place}: {problem.message}") for problem in report.problems),
        ],
    )


def looked_at(resources: Mapping[str, int], looks: Mapping[Look, int]) -> str:
    """How many things of each type, and what the looks at their conditions gave."""
    things = ", ".join(f"{count} {kind}" for kind, count in sorted(resources.items()) if count) or "nothing"
    answers = ", ".join(f"{looks.get(look, 0)} {look}" for look in Look)
    return f"{things}; {sum(looks.values())} conditions: {answers}"
