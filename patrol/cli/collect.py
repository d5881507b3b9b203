"""`patrol collect`: as root, for a timer: asks the programs that want root, and leaves their answers for Patrol."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from patrol.cli.app import COMMANDS
from patrol.cli.exit_codes import CommandError, ExitCode
from patrol.cli.options import JsonOption
from patrol.cli.output import write, write_json
from patrol.estate.sources.local.host import Host
from patrol.estate.sources.local.privileged import collect_answers
from patrol.estate.sources.local.privileged_file import PLACE, write_answers
from patrol.estate.sources.model import CollectRequest

DEADLINE_SECONDS = 240.0


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("collect", help=COMMANDS["collect"])(collect)


def collect(
    output: Annotated[
        Path, typer.Option("--output", metavar="FILE", help="Where the answers are left, for its folder's group.")
    ] = PLACE,
    as_json: JsonOption = False,
) -> None:
    """Runs a fixed list of programs that only read (smartctl, zpool, zfs, btrfs), each with a bound. Needs no network.

    Disks that sleep are left asleep. What one program does not say costs nothing of the others.
    """
    request = CollectRequest(now=datetime.now(UTC), deadline_seconds=DEADLINE_SECONDS)
    answers = collect_answers(Host(), request)
    try:
        write_answers(output, answers)
    except OSError as error:
        remedy = (
            f"the folder {output.parent} does not exist: `systemd-tmpfiles --create patrol.conf` makes {PLACE.parent} "
            "(docs/operations.md), or name another file: --output FILE"
            if not output.parent.is_dir()
            else "make it writable for this user (the service is root), or name another file: --output FILE"
        )
        raise CommandError(f"cannot write {output} ({error.strerror or error}): {remedy}", ExitCode.FAILED) from error
    late = sum(each.timed_out for each in answers.answers)
    if as_json:
        write_json({"file": str(output), "answers": len(answers.answers), "timed_out": late})
    else:
        write(f"{output}: {len(answers.answers)} answers{f', {late} of them too late' if late else ''}")
