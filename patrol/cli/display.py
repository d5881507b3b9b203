"""The only place that writes to the terminal: escaping, tables, JSON, progress.

Every text that came from outside (names, labels, messages of programs, a model's words) goes through
`visible` and into rich's Text, so that neither control characters nor markup in it are ever interpreted.
"""

import json
import os
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import IO

from rich.console import Console
from rich.table import Table
from rich.text import Text

# Piped output has no width of its own: wide enough that names in it are rarely cut.
PIPE_WIDTH = 200

_ELLIPSIS = "…"


def visible(text: str, longest: int | None = None) -> str:
    r"""The text on one line, with everything that a terminal would act on written out: `\n`, `\x1b`, `\u202e`.

    `longest`: characters to keep; what is cut shows as an ellipsis.
    """
    shown = text if text.isprintable() else "".join(map(_visible_character, text))
    if longest is not None and len(shown) > longest:
        return shown[: max(longest - 1, 0)] + _ELLIPSIS
    return shown


_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _visible_character(character: str) -> str:
    if character.isprintable():
        return character
    if unicodedata.category(character) == "Zs":
        return " "
    code = ord(character)
    return _NAMED.get(character) or (
        f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    )


class _QuietConsole(Console):
    """A console whose reader may go away (`| head`): the rest of the output is dropped, the command goes on."""

    def on_broken_pipe(self) -> None:
        drop_output(self.file)


def drop_output(stream: IO[str]) -> None:
    """Lets everything that is still written to a stream vanish."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def console(*, stderr: bool = False) -> Console:
    """A console on standard output or error, without markup, emoji codes or highlighting."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or os.environ.get("COLUMNS") else PIPE_WIDTH
    return _QuietConsole(
        file=stream, stderr=stderr, markup=False, emoji=False, highlight=False, width=width, soft_wrap=False
    )


def write(text: str) -> None:
    """Writes a line of finished output (JSON, a schema, a sample) to standard output as it is."""
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        drop_output(sys.stdout)


def write_json(document: object) -> None:
    """Writes one JSON document to standard output, in ASCII: a name in it can do nothing to a terminal either."""
    write(json.dumps(document, indent=2))


def write_json_lines(documents: Iterable[bytes]) -> None:
    """Writes JSON documents, one a line, in ASCII like `write_json`."""
    lines = (text.decode() if text.isascii() else json.dumps(json.loads(text)) for text in documents)
    whole = "\n".join(lines)
    if whole:
        write(whole)


def note(text: str) -> None:
    """Says something beside the output, on standard error."""
    try:
        sys.stderr.write(f"{visible(text)}\n")
        sys.stderr.flush()
    except BrokenPipeError:
        drop_output(sys.stderr)


def cell(text: str, style: str = "") -> Text:
    """Foreign text as a cell: never interpreted."""
    return Text(visible(text), style=style)


def lines(texts: Iterable[tuple[str, str]]) -> Text:
    """A cell of several lines, each with its style."""
    return Text("\n").join(cell(text, style) for text, style in texts)


def table(headings: Sequence[str], *, right: Sequence[str] = (), cut: Sequence[str] = ()) -> Table:
    """An empty table. `right`: columns of numbers; `cut`: columns that end in an ellipsis where they are too long."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", show_edge=False)
    for heading in headings:
        made.add_column(
            heading,
            justify="right" if heading in right else "left",
            overflow="ellipsis" if heading in cut else "fold",
            no_wrap=heading in cut,
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
