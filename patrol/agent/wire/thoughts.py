"""Thinking that a model writes into its text between <think> and </think>: no part of what it says.

Servers without a reasoning parser leave it there, at the beginning; some chat templates write the opening tag
themselves, so that only the closing one comes.
"""

import re

_CLOSING = re.compile(r"</think(?:ing)?>\s*", re.IGNORECASE)
_OPENINGS = ("<think>", "<thinking>")
_CLOSINGS = ("</think>", "</thinking>")
_LONGEST_TAG = len("</thinking>")


def without_thoughts(text: str) -> str:
    """What is said, without what was thought before it."""
    spoken = SpokenText()
    said = spoken.feed(text) + spoken.finish()
    closing = _CLOSING.search(said)
    if closing is not None and not any(opening in said[: closing.start()].lower() for opening in _OPENINGS):
        said = said[closing.end() :]
    return said


class SpokenText:
    """Takes text in pieces and gives on what is said: nothing of a thinking block at the beginning."""

    def __init__(self) -> None:
        self._held = ""
        self._thinking = False
        self._speaking = False

    def feed(self, piece: str) -> str:
        """What of this piece, and of what was held back, is said."""
        if self._speaking:
            return piece
        self._held += piece
        while not self._speaking:
            if self._thinking:
                closing = _CLOSING.search(self._held)
                if closing is None:
                    self._held = self._held[-_LONGEST_TAG:]
                    return ""
                self._held, self._thinking = self._held[closing.end() :], False
                continue
            begun = self._held.lstrip().lower()
            opening = next((tag for tag in _OPENINGS if begun.startswith(tag)), None)
            if opening is not None:
                self._held, self._thinking = self._held.lstrip()[len(opening) :], True
                continue
            ended = next((tag for tag in _CLOSINGS if begun.startswith(tag)), None)
            if ended is not None:  # of a block within the block that has ended, or of one that nobody saw begin
                self._held = self._held.lstrip()[len(ended) :]
                continue
            if any(tag.startswith(begun) for tag in (*_OPENINGS, *_CLOSINGS)):
                return ""  # nothing yet, or what may become a tag
            self._speaking = True
        said, self._held = self._held, ""
        return said

    def finish(self) -> str:
        """What was held back and turned out to be said."""
        said = "" if self._thinking or self._speaking else self._held
        self._held = ""
        return said
