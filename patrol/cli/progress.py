"""What is being done, on standard error, for people who wait."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.status import Status

from patrol.cli.display import cell, console
from patrol.cli.output import note, visible


class Telling(Protocol):
    """Is a `patrol.run.request.Progress`, and takes lines that stay."""

    def __call__(self, stage: str, detail: str) -> None:
        """What is being done now."""
        ...

    def line(self, text: str) -> None:
        """Something that was done: foreign text, on one line."""
        ...


LONGEST_LINE = 160


@contextmanager
def told_progress() -> Iterator[Telling]:
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

    def line(self, text: str) -> None:
        """A line of its own."""
        note(f"patrol: {visible(text, LONGEST_LINE)}")


class _LiveProgress:
    """What is being done now, in place."""

    def __init__(self, status: Status) -> None:
        self._status = status

    def __call__(self, stage: str, detail: str) -> None:
        self._status.update(cell(f"{stage}: {detail}" if detail else stage))

    def line(self, text: str) -> None:
        """Above what is done in place."""
        self._status.console.print(cell(visible(text, LONGEST_LINE)), overflow="ellipsis", no_wrap=True)
