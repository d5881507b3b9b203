"""What a model is told of arguments: their schema, and what was wrong with those it gave."""

import difflib
from collections.abc import Iterable, Sequence

from pydantic_core import ErrorDetails

from patrol.tools.model import ErrorCode, ToolError


def plain_field(field: dict[str, object]) -> dict[str, object]:
    """One argument without "or null": an argument that is not wanted is left out (null is understood all the same)."""
    alternatives = field.pop("anyOf", [])
    if isinstance(alternatives, list):
        for alternative in alternatives:
            if alternative != {"type": "null"}:
                field.update(alternative)
    return {key: value for key, value in field.items() if key != "title" and (key, value) != ("default", None)}


def invalid(errors: Sequence[ErrorDetails]) -> ToolError:
    """Says of each argument that does not fit what is wrong with it."""
    messages = []
    for error in errors:
        field = ".".join(str(part) for part in error["loc"])
        shown = repr(error["input"])
        messages.append(f"{field}: {error['msg']}, got {shown if len(shown) <= 100 else shown[:100] + '...'}")
    return ToolError(ErrorCode.INVALID_ARGUMENT, "; ".join(messages))


def near(word: str, known: Iterable[str]) -> str:
    """A word that may have been meant, as the end of a sentence; "" if none is near."""
    found = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {found[0]!r}?" if found else ""
