"""When all was last looked at, and what was not seen then: a list of findings without it could pass for "all clear"."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from rich.console import Console

from findings.model import Gap, Sight
from patrol.cli.display import cell, instant
from patrol.records.looks import LastLook
from patrol.run.record_model import RunRecord, RunStatus
from patrol.schedule.jobs import JobName, schedules
from patrol.schedule.times import next_after
from patrol.schedule.zone import find_zone
from patrol.settings.model import Settings

MOST_NAMED = 8
"""Sources in one line; `patrol runs show` has them all."""

_FAILED = frozenset({RunStatus.CRASHED, RunStatus.CANCELLED, RunStatus.TIMED_OUT, RunStatus.ERROR})


def print_last_look(output: Console, look: LastLook, settings: Settings) -> None:
    """One dim line where all was seen; else what is missing, a line for each thing."""
    output.print()
    is_well, lines = last_look_lines(look, settings)
    for line in lines:
        output.print(cell(line, "dim" if is_well else "bold yellow"))


def last_look_lines(look: LastLook, settings: Settings) -> tuple[bool, list[str]]:
    """Whether the list can be taken as it is, and what is said of the last look. `settings`: those in force."""
    run = look.run
    if run is None or run.completed_at is None:
        return False, ["No full run has ended yet: nothing was looked at so far (patrol runs list)"]
    missing = list(_missing(run))
    if missing:
        complete = instant(look.complete_at) if look.complete_at is not None else "never"
        missing.append(
            f"Everything was last seen: {complete}; what this run saw and did not: patrol runs show {run.id}"
        )
    late = list(_late(run.completed_at, look.at, settings))
    if missing or late:
        return False, [*missing, *late]
    return True, [f"Last full look: {instant(run.completed_at)}, nothing was lost from sight"]


def _missing(run: RunRecord) -> Iterator[str]:
    """What keeps the last look from being one at everything."""
    at = instant(run.completed_at)
    lost = [gap for gap in run.gaps if gap.sight is Sight.LOST]
    if run.status in _FAILED:
        why = f": {run.error_summary}" if run.error_summary else ""
        yield f"The last full run failed ({run.status}), {at}{why}"
    elif lost or not run.complete or run.status is RunStatus.INCOMPLETE:
        yield f"The last full look was incomplete, {at}: what is not listed may still be wrong"
    if lost:
        yield f"Lost from sight: {_sources(lost)}"
    if run.uncertain:
        yield f"Uncertain: {run.uncertain} known findings that nobody could say anything about"


def _sources(lost: Sequence[Gap]) -> str:
    """What was lost, by the source that should have told it."""
    topics: dict[str, list[str]] = {}
    for gap in lost:
        found = topics.setdefault(gap.source or "Patrol itself", [])
        if gap.topic not in found:
            found.append(str(gap.topic))
    named = [f"{source} ({', '.join(each)})" for source, each in sorted(topics.items())]
    more = len(named) - MOST_NAMED
    return "; ".join(named[:MOST_NAMED]) + (f"; and {more} more sources" if more > 0 else "")


def _late(ended_at: datetime, now: datetime, settings: Settings) -> Iterator[str]:
    """That the schedule asked for two looks since, and there was none."""
    try:
        zone = find_zone(settings.patrol.time_zone)
    except ValueError as error:
        yield f"Whether a look is late cannot be told: {error}"
        return
    schedule = schedules(settings, zone)[JobName.PATROL]
    due = next_after(schedule, ended_at, ended_at)
    if next_after(schedule, due, due) < now:
        yield (
            f"No full run has ended since {instant(ended_at)}, though two were due ({schedule}): "
            "is the daemon running, or paused? (systemctl status patrol, patrol pause --show)"
        )
