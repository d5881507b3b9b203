"""Ids as people write them: whole, or as a beginning that only one thing has."""

import re
from collections.abc import Sequence

from findings.model import Finding
from findings.silence import Silence
from findings.silence_store import SilenceStore
from findings.store import FindingStore

SHORTEST = 8
"""Hex digits of a beginning. Fewer are guessed too easily, and a changed finding is the wrong one for good."""

_BEGINNING = re.compile(rf"[0-9a-f]{{{SHORTEST},}}\Z")


class UnknownIdError(LookupError):
    """Nothing has this id, or none that begins so."""

    def __init__(self, what: str, text: str) -> None:
        hint = "" if _BEGINNING.match(text) else f"; a beginning needs at least {SHORTEST} hex digits"
        super().__init__(f"no {what} has the id {text}{hint}")


class AmbiguousIdError(LookupError):
    """Several have ids that begin so. `candidates`: all of them."""

    def __init__(self, what: str, text: str, candidates: Sequence[str]) -> None:
        listed = ", ".join(candidates)
        super().__init__(f"{len(candidates)} {what}s have ids that begin with {text}: {listed}; write more of it")
        self.candidates = tuple(candidates)


def find_finding(store: FindingStore, text: str) -> Finding:
    """The finding that an operator means. Raises UnknownIdError, AmbiguousIdError."""
    exact = store.find(text)
    if exact is not None:
        return exact
    found = store.list_beginning(text) if _BEGINNING.match(text) else []
    if len(found) > 1:
        raise AmbiguousIdError("finding", text, [finding.id for finding in found])
    if not found:
        raise UnknownIdError("finding", text)
    return found[0]


def find_silence(store: SilenceStore, text: str) -> Silence:
    """The silence that an operator means. Raises UnknownIdError, AmbiguousIdError."""
    exact = store.find(text)
    if exact is not None:
        return exact
    found = [each for each in store.list_silences() if each.id.startswith(text)] if _BEGINNING.match(text) else []
    if len(found) > 1:
        raise AmbiguousIdError("silence", text, [silence.id for silence in found])
    if not found:
        raise UnknownIdError("silence", text)
    return found[0]
