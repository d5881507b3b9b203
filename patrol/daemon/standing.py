"""How Patrol stands, in the words that `systemctl status` shows."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from patrol.schedule.pauses import Pause, find_pause
from patrol.schedule.upcoming import FirstRound, next_run_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What the database says. `next_run_at`: None where no run is planned."""

    pause: Pause | None = None
    next_run_at: datetime | None = None


def standing(connection: Connection, org_id: str, first: FirstRound | None, now: datetime) -> Standing:
    """As it is now. `first`: the run of the start, until it is decided."""
    return Standing(pause=find_pause(connection, org_id, now), next_run_at=next_run_at(connection, org_id, first, now))


def status_text(running: Sequence[str], next_run_at: datetime | None, found: Standing, refused: str) -> str:
    """One line. `running`: the ids of runs under way; `refused`: what settings were not taken up."""
    following = f"next run {next_run_at:%Y-%m-%d %H:%M} UTC" if next_run_at is not None else "no run is planned"
    text = f"running {', '.join(running)}; {following}" if running else following
    paused = f"paused since {found.pause.since:%Y-%m-%d %H:%M} UTC" if found.pause is not None else ""
    return "; ".join(filter(None, (paused, text, refused)))
