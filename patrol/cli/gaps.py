"""What could not be looked at, as a table with the way to mend it."""

from collections.abc import Sequence

from rich.console import Console

from findings.model import Gap, Sight
from patrol.cli.display import cell, table

_WORDS = {Sight.LOST: "lost", Sight.STANDING: "standing"}


def print_gaps(output: Console, gaps: Sequence[Gap]) -> None:
    """The gaps, lost ones first; where there are none, a sentence."""
    if not gaps:
        output.print("Gaps: none, everything was read.")
        return
    lost = sum(gap.sight is Sight.LOST for gap in gaps)
    output.print(cell(f"Gaps: {lost} lost, {len(gaps) - lost} standing (what could not be read)", "bold"))
    made = table(("Sight", "What", "Why", "Fix"), whole=("Sight",))
    for gap in sorted(gaps, key=_order):
        made.add_row(
            cell(_WORDS[gap.sight], "bold red" if gap.sight is Sight.LOST else "dim"),
            cell(place(gap)),
            cell(gap.detail or gap.reason),
            cell(gap.fix or "-"),
        )
    output.print(made)


def place(gap: Gap) -> str:
    """What the gap is about, in a few words: topic, resource, subject, source."""
    about = " ".join(part for part in (gap.topic, gap.resource_id or "", gap.subject) if part)
    return f"{about} ({gap.source})" if gap.source else about


def _order(gap: Gap) -> tuple[bool, str, str, str]:
    return (gap.sight is not Sight.LOST, gap.topic, gap.resource_id or "", gap.subject)
