"""A finding explained, as people read it: what would clear it, its limit today, its values, the row that shows it."""

import json
from collections.abc import Sequence
from itertools import pairwise

from rich.console import Console

from findings.model import Finding
from findings.units import unit_of
from patrol.cli.display import cell, instant, number
from patrol.cli.issues import print_facts
from patrol.run.explanation import EvidenceState, Explanation, Value

BARS = "▁▂▃▄▅▆▇█"
PLAIN_BARS = "_.:-=+*#"
"""For terminals without the others."""
LONGEST_LINE = 60
LONGEST_ROW = 80


def print_explanation(output: Console, finding: Finding, explanation: Explanation) -> None:
    """All of it, below the facts of the finding."""
    facts = [("Clears when" if finding.is_open else "Cleared by", explanation.clears_when)]
    facts.append(("Limit today", limit_text(finding, explanation)))
    if explanation.past:
        facts.append(("Values", values_text(output, finding, explanation)))
    facts.append(("Shown by", source_text(explanation)))
    output.print()
    print_facts(output, facts)
    if explanation.row is not None:
        output.print()
        print_row(output, explanation.row)


def limit_text(finding: Finding, explanation: Explanation) -> str:
    """The limit in force in the newest run, and what it clears at."""
    if explanation.check_off:
        return "none: the check is switched off"
    limit = explanation.limit_today
    if limit is None:
        return "none is known"
    unit = unit_of(finding.kind)
    return f"{number(limit.trigger, unit)}, clear below {number(limit.clear, unit)}, from {limit.source}"


def source_text(explanation: Explanation) -> str:
    """Where the evidence came from, and what is left of it."""
    since = f" since {instant(explanation.expired_at)}" if explanation.expired_at is not None else ""
    expired = f"evidence expired{since}: the page is not kept any more, the excerpt above is what is left"
    if explanation.evidence is EvidenceState.NONE:
        return "no reading of Patrol's tools"
    call = f"{explanation.tool} {explanation.arguments}, read {instant(explanation.read_at)} in {explanation.run_id}"
    if explanation.evidence is EvidenceState.EXPIRED:
        return f"{call}; {expired}" if explanation.tool else expired
    if explanation.evidence is EvidenceState.DAMAGED:
        return f"{call}; the page is damaged: `patrol db check` looks at the whole database"
    return call if explanation.row is not None else f"{call}; put together from several rows of it"


def values_text(output: Console, finding: Finding, explanation: Explanation) -> str:
    """The values over time as a line of bars, with their range and where they are from."""
    values, unit = explanation.past, unit_of(finding.kind)
    numbers = [each.value for each in values]
    low, high = (number(round(each, 1), unit) for each in (min(numbers), max(numbers)))
    between = f"{instant(values[0].at)} to {instant(values[-1].at)}"
    line = sparkline(values, _bars(output.encoding))
    return f"{line}  {low} to {high}, {len(values)} {explanation.past_from}, {between}"


def _bars(encoding: str) -> str:
    try:
        BARS.encode(encoding)
    except UnicodeEncodeError:
        return PLAIN_BARS
    return BARS


def sparkline(values: Sequence[Value], bars: str = BARS) -> str:
    """One bar for each value, or for the highest of several where there are many: peaks are what matters."""
    numbers = [each.value for each in values]
    width = min(len(numbers), LONGEST_LINE)
    edges = [len(numbers) * place // width for place in range(width + 1)] if width else []
    peaks = [max(numbers[start:end]) for start, end in pairwise(edges)]
    low, span = min(numbers, default=0), max(numbers, default=0) - min(numbers, default=0)
    middle = len(bars) // 2
    return "".join(bars[round((peak - low) / span * (len(bars) - 1))] if span else bars[middle] for peak in peaks)


def print_row(output: Console, row: dict[str, object]) -> None:
    """The row as JSON, one field a line, everything foreign in it written out."""
    lines = json.dumps(row, indent=2, ensure_ascii=False).splitlines()
    for line in lines[:LONGEST_ROW]:
        output.print(cell(line))
    if len(lines) > LONGEST_ROW:
        output.print(f"... {len(lines) - LONGEST_ROW} more lines: --json shows all")
