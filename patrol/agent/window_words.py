"""The size of a context window, where an error names it."""

import re

_NUMBER = r"([0-9][0-9,_ ]{0,12}[0-9]|[0-9])"
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\bn_ctx\\*[\"']?\s*[:=]\s*{_NUMBER}",
        rf"\bavailable context size \(?{_NUMBER}",
        rf"\bmaximum (?:context length|model length|prompt length|allowed)\D{{0,40}}{_NUMBER}",
        rf"\bmaximum number of (?:input )?tokens allowed\D{{0,10}}{_NUMBER}",
        rf"\bcontext (?:window|length|size)(?: limit)?\D{{0,40}}{_NUMBER}",
        rf"\btokens? > {_NUMBER} maximum\b",
        rf"\b{_NUMBER}(?:-| )tokens? context\b",
    )
)

_LEAST, _MOST = 256, 100_000_000


def named_window(words: str) -> int | None:
    """The context window in tokens that an error's text names, None if it names none that can be one."""
    for pattern in _PATTERNS:
        for found in pattern.finditer(words):
            size = int(re.sub(r"\D", "", found.group(1)))
            if _LEAST <= size <= _MOST:
                return size
    return None
