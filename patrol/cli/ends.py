"""Ends as people write them: a duration from now, or a time."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from patrol.cli.exit_codes import CommandError
from patrol.settings.durations import parse_duration

ForOption = Annotated[str, typer.Option("--for", metavar="DURATION", help='How long, like "2h", "7d", "1h30m".')]
UntilOption = Annotated[
    str,
    typer.Option(
        "--until", metavar="TIME", help='Until when, like "2026-12-01T08:00"; without a zone in the time of this host.'
    ),
]


def parse_end(lasting: str, until: str, now: datetime) -> datetime | None:
    """The end that was asked for, None if none was. Raises CommandError naming the option."""
    if lasting and until:
        raise CommandError("--for and --until exclude each other: give one of them")
    if until:
        return parse_time("--until", until)
    if not lasting:
        return None
    try:
        duration = parse_duration(lasting)
        end = now + duration
    except (ValueError, OverflowError) as error:
        raise CommandError(f"--for: {lasting}: {error}") from error
    if duration <= timedelta():
        raise CommandError("--for: it lasts no time at all")
    return end


def parse_time(option: str, text: str) -> datetime:
    """An ISO 8601 time, in UTC. Raises CommandError naming the option."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise CommandError(f'{option}: {text} is no time: write it like "2026-12-01T08:00" or with a zone') from error
