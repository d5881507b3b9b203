"""What goes into a tool and comes out of it, as it is shown live: its beginning, and no secret in it. Pure."""

import json
from collections.abc import Iterable

from patrol.agent.redact import DOCUMENT_RULES, redact
from patrol.api.live.events import CUT, TEXT_BYTES

_LONGEST_SECRET = 4_096
"""Characters that are read beyond what is shown: a secret that begins in it is seen whole, or what is left is cut."""


def shown_document(document: object, secrets: Iterable[str]) -> str:
    """The document as JSON of at most `TEXT_BYTES` and the mark of a cut. `secrets`: values that are configured."""
    try:
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), default=str)
    except (TypeError, ValueError, RecursionError) as error:  # it was told to the model all the same
        return f"cannot be shown: {type(error).__name__}"
    read = text[: TEXT_BYTES + _LONGEST_SECRET]
    clean = redact(read, secrets, max_bytes=4 * len(read) + _LONGEST_SECRET, rules=DOCUMENT_RULES)
    if len(read) < len(text):
        clean = clean[: max(0, len(clean) - _LONGEST_SECRET)] + CUT
    return clean
