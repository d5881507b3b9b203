"""How a run ended, in one word and one sentence. Pure."""

from collections.abc import Mapping, Sequence

from findings.lifecycle import Outcome
from findings.model import Finding, Gap, Severity, Sight
from patrol.run.record_model import RunStatus
from signals.model import Problem


def run_status(
    *, errors: int, active: Sequence[Finding], complete: bool, uncertain: int, timed_out: bool = False
) -> RunStatus:
    """The first that applies of the statuses that a run which came to its end can have.

    `timed_out`: its time was over before it had read everything. What it had read is judged all the same.
    """
    if timed_out:
        return RunStatus.TIMED_OUT
    if errors:
        return RunStatus.ERROR
    if any(finding.severity is Severity.CRITICAL for finding in active):
        return RunStatus.CRITICAL
    if any(finding.severity is Severity.WARNING for finding in active):
        return RunStatus.ISSUES_FOUND
    return RunStatus.HEALTHY if complete and not uncertain else RunStatus.INCOMPLETE


_BACK = (Outcome.REGRESSED, Outcome.WOKEN, Outcome.REMINDED)


def is_complete(gaps: Sequence[Gap], problems: Sequence[Problem]) -> bool:
    """Whether nothing was lost from sight: no lost gap, and no evidence of our own that could not be used."""
    return not problems and not any(gap.sight is Sight.LOST for gap in gaps)


def status_text(
    *,
    status: RunStatus,
    resources: int,
    outcomes: Mapping[Outcome, int],
    resolved: int,
    lost: int,
    errors: int,
    explained: int = 0,
    uncertain: int = 0,
    silenced: int = 0,
) -> str:
    """The sentence beside the status. "All clear" stands for a healthy run over something, and for no other.

    `explained`: findings under another one, which are in none of the other counts. `uncertain`: those of which nobody
    could say whether they are still there. `silenced`: open ones that somebody wants quiet about.
    """
    looked = f"{resources} resource{'' if resources == 1 else 's'} checked"
    if errors:
        return f"{looked}; the run had {errors} error{'' if errors == 1 else 's'}."
    known = outcomes.get(Outcome.REFRESHED, 0) + outcomes.get(Outcome.REPEATED, 0)
    counts = (
        ("new", outcomes.get(Outcome.FILED, 0)),
        ("back", sum(outcomes.get(each, 0) for each in _BACK)),
        ("known", known),
        ("explained by another", explained),
        ("silenced", silenced),
        ("resolved", resolved),
        ("uncertain", uncertain),
    )
    parts = [f"{count} {word}" for word, count in counts if count]
    if lost:
        parts.append(f"{lost} thing{'' if lost == 1 else 's'} lost from sight")
    if status is RunStatus.HEALTHY and resources and not lost:
        parts.append("all clear")
    return f"{looked}; {', '.join(parts)}." if parts else f"{looked}."
