"""Plain output: text as it is, JSON, remarks. Without rich, for commands that print no table start faster so.

Every text that came from outside (names, labels, messages of programs, a model's words) goes through
`visible` before a person sees it, so that no control character in it is ever obeyed.
"""

import json
import os
import sys
import unicodedata
from collections.abc import Iterable
from typing import IO

from patrol.cli.exit_codes import CommandError, ExitCode

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


def write_lines(text: str) -> None:
    """Writes a text of several lines to standard output, each with what a terminal would act on written out."""
    write("\n".join(map(visible, text.rstrip("\n").split("\n"))))


def drop_output(stream: IO[str]) -> None:
    """Lets everything that is still written to a stream vanish."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def write(text: str) -> None:
    """Writes a line of finished output (JSON, a schema, a sample) to standard output as it is.

    Raises CommandError where it cannot be written (a full disk): nobody must take what is missing for nothing.
    """
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        drop_output(sys.stdout)
    except OSError as error:
        raise lost_output(sys.stdout, error) from error


def lost_output(stream: IO[str], error: OSError) -> CommandError:
    """What to end with when a stream takes no more; the rest of the output vanishes."""
    drop_output(stream)
    return CommandError(f"the output could not be written: {error.strerror or error}", ExitCode.FAILED)


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
    except OSError:  # the reader is gone, or the disk is full: there is no other place to say so
        drop_output(sys.stderr)
