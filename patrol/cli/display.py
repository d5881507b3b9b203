"""Tables for people. With `patrol.cli.output` the only place that writes to the terminal.

Foreign text becomes rich's Text, so that markup in it is never interpreted either.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import measure_renderables
from rich.table import Column, Table
from rich.text import Text

from patrol.cli.output import drop_output, lost_output, visible

# Piped output has no width of its own: wide enough that names in it are rarely cut.
PIPE_WIDTH = 200

# Narrower, a column of words is a column of syllables.
_LEAST_READABLE = 12
_GUTTER = 2


class _QuietConsole(Console):
    """A console whose reader may go away (`| head`): the rest of the output is dropped, the command goes on."""

    def on_broken_pipe(self) -> None:
        drop_output(self.file)

    def _write_buffer(self) -> None:
        # Where all that is printed leaves rich; it has no public place to say that a disk is full.
        try:
            super()._write_buffer()
        except BrokenPipeError:
            raise  # a reader that went away is told to `on_broken_pipe`
        except OSError as error:
            raise lost_output(self.file, error) from error


def console(*, stderr: bool = False) -> Console:
    """A console on standard output or error, without markup, emoji codes or highlighting."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or os.environ.get("COLUMNS") else PIPE_WIDTH
    return _QuietConsole(
        file=stream, stderr=stderr, markup=False, emoji=False, highlight=False, width=width, soft_wrap=False
    )


def cell(text: str, style: str = "") -> Text:
    """Foreign text as a cell: never interpreted."""
    return Text(visible(text), style=style)


class _FittingTable(Table):
    """A table; on a terminal too narrow for its columns, a paragraph for each row, heading and value in turn.

    Left to itself, rich makes columns as narrow as one character or none, drops what stands in them, and breaks the
    words of a short column to leave room for the long text beside it.
    """

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = options.max_width - _GUTTER * (len(self.columns) - 1)
        bounds = [_bounds(console, options, column) for column in self.columns]
        if sum(least for least, _ in bounds) > room:
            return self._paragraphs()
        for column, width in zip(self.columns, _widths(bounds, room), strict=True):
            column.width = width
        return super().__rich_console__(console, options)

    def _paragraphs(self) -> Iterator[Text]:
        for position, row in enumerate(zip(*(column.cells for column in self.columns), strict=True)):
            if position:
                yield Text()
            yield Text("   ").join(
                Text.assemble((f"{column.header}:", "bold"), " ", value if isinstance(value, Text) else str(value))
                for column, value in zip(self.columns, row, strict=True)
            )


def _bounds(console: Console, options: ConsoleOptions, column: Column) -> tuple[int, int]:
    """The least and the most width of use. What may not be broken needs all of it, other columns room for a word."""
    found = measure_renderables(console, options, [column.header, *column.cells])
    return found.maximum if column.no_wrap else min(found.minimum, _LEAST_READABLE), found.maximum


def _widths(bounds: Sequence[tuple[int, int]], room: int) -> list[int]:
    """Widths within their bounds that fill the room at most: the widest columns give way first, down to one level."""

    def cut_to(level: int) -> list[int]:
        return [max(least, min(most, level)) for least, most in bounds]

    level = max(most for _, most in bounds)
    while sum(cut_to(level)) > room:
        level -= 1
    widths = cut_to(level)
    for position, (_, most) in enumerate(bounds):
        if widths[position] == level < most and sum(widths) < room:
            widths[position] += 1
    return widths


def table(headings: Sequence[str], *, right: Sequence[str] = (), whole: Sequence[str] = ()) -> Table:
    """An empty table. `right`: columns of numbers; `whole`: columns of short words that are never broken."""
    made = _FittingTable(box=None, pad_edge=False, padding=(0, _GUTTER, 0, 0), header_style="bold", show_edge=False)
    for heading in headings:
        made.add_column(
            heading, justify="right" if heading in right else "left", overflow="fold", no_wrap=heading in whole
        )
    return made


_SEVERITY_STYLES = {"critical": "bold red", "warning": "yellow", "watch": "cyan", "info": "dim"}


def severity_cell(severity: str) -> Text:
    """The severity, in its colour where there are colours."""
    return cell(severity, _SEVERITY_STYLES.get(severity, ""))


def number(value: float | None, unit: str = "") -> str:
    """A measured number as people read it; a dash where there is none."""
    if value is None:
        return "-"
    text = f"{value:.0f}" if float(value).is_integer() and abs(value) < 1e15 else f"{value:.4g}"
    return f"{text}{unit}"


def instant(at: datetime | None) -> str:
    """An instant in UTC to the second; a dash where there is none."""
    return "-" if at is None else at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ")
