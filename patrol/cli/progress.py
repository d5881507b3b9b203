"""What is being done, on standard error, for people who wait."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.status import Status

from patrol.cli.display import cell, console
from patrol.cli.output import note
from patrol.run.request import Progress


@contextmanager
def told_progress() -> Iterator[Progress]:
    """Tells the stages on standard error: on a terminal in one line that goes away, else one plain line each."""
    output = console(stderr=True)
    if not output.is_terminal:
        yield _PlainProgress()
        return
    with output.status("") as status:
        yield _LiveProgress(status)


class _PlainProgress:
    """A line for each stage, the first time that it is told. Several threads may tell."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def __call__(self, stage: str, detail: str) -> None:  # noqa: ARG002 - a log needs no details
        if stage not in self._told:
            self._told.add(stage)
            note(f"patrol: {stage}")


class _LiveProgress:
    """What is being done now, in place."""

    def __init__(self, status: Status) -> None:
        self._status = status

    def __call__(self, stage: str, detail: str) -> None:
        self._status.update(cell(f"{stage}: {detail}" if detail else stage))
