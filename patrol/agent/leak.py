"""Tool calls and reasoning that a model writes as text: never shown, never stored, never taken for an answer."""

import re
from collections.abc import Iterable

_MINIMAX = "minimax:tool_call"
_TAGS = re.compile(
    r"</*\s*[|\uff5c]+\s*/?\s*DSML"  # DeepSeek's own markup, with ASCII or full-width bars
    r"|</?\s*(?:tool_calls?|function_calls?)\b"
    r"|<[|\uff5c]\s*(?:plugin|interpreter|tool_call)s?\s*[|\uff5c]>"
    rf"|^[ \t]*{_MINIMAX}",
    re.IGNORECASE | re.MULTILINE,
)
_REASONING_OPEN = re.compile(r"<\s*(?:think|thought)\s*>|<[|\uff5c]\s*reasoning\s*[|\uff5c]>", re.IGNORECASE)
_REASONING_CLOSE = re.compile(r"<\s*/\s*(?:think|thought)\s*>|<[|\uff5c]\s*/\s*reasoning\s*[|\uff5c]>", re.IGNORECASE)
_OBJECT_BEGUN = re.compile(r"(?:```[a-z]*\s*)?\{[^{}]{0,80}\Z")
_LONGEST_TAG = 40
"""Characters that a tag which has only begun can have: a tail without an end is held back no longer than this."""
_PRELUDE_LETTERS = 16
_LONG_PRELUDE_LETTERS = 48


class LeakGuard:
    """Lets the text of one answer through, piece by piece, up to the first tool call written as text.

    What cannot be told yet (the beginning of a tag, or of a tool's name) is held back until more comes.
    `leaked`: the model wrote a tool call as text; all after it is swallowed.
    """

    def __init__(self, tool_names: Iterable[str] = ()) -> None:
        names = sorted(tool_names, key=len, reverse=True)
        self._names = tuple(names)
        words = "|".join(map(re.escape, names)) or "(?!)"
        # A call as code, or as an object, inside a fence or not.
        self._calls = re.compile(
            rf"(?<!\w)(?:{words})\s*\("
            rf"|(?:```[a-z]*[ \t]*\n[ \t]*)?\{{\s*\"(?:name|tool|function)\"\s*:\s*\"(?:{words})\"",
            re.MULTILINE,
        )
        self._held = ""
        self._shown = ""
        self._reasoning = False
        self.leaked = False

    def feed(self, text: str) -> str:
        """What of the answer so far may be shown beside what was shown already."""
        return "" if self.leaked else self._release(self._held + text, final=False)

    def flush(self) -> str:
        """The rest, at the clean end of an answer."""
        return "" if self.leaked else self._release(self._held, final=True)

    def _release(self, text: str, *, final: bool) -> str:
        text = self._without_reasoning(text, final=final)
        context = self._line_start()
        found = min((match.start() for match in self._leaks(context + text)), default=None)
        if found is not None:
            self.leaked = True
            self._held = self._pending = ""
            return self._show(_without_prelude(text[: max(0, found - len(context))]))
        keep = 0 if final else self._undecided(text)
        visible, rest = (text[:-keep], text[-keep:]) if keep else (text, "")
        self._held = rest + self._pending
        return self._show(visible)

    def _leaks(self, text: str) -> Iterable[re.Match[str]]:
        for pattern in (_TAGS, self._calls):
            match = pattern.search(text)
            if match is not None:
                yield match

    def _show(self, text: str) -> str:
        self._shown = (self._shown + text)[-200:]
        return text

    def _line_start(self) -> str:
        """What was shown of the line under way: whether something stands at the beginning of a line depends on it."""
        return self._shown[self._shown.rfind("\n") + 1 :]

    def _without_reasoning(self, text: str, *, final: bool) -> str:
        kept: list[str] = []
        self._pending = ""
        while text:
            pattern = _REASONING_CLOSE if self._reasoning else _REASONING_OPEN
            match = pattern.search(text)
            if match is None:
                if not self._reasoning:
                    kept.append(_without_ends(text))
                elif not final:
                    self._pending = text[-_LONGEST_TAG:]  # the closing tag may have begun
                break
            if not self._reasoning:
                kept.append(_without_ends(text[: match.start()]))
            self._reasoning = not self._reasoning
            text = text[match.end() :]
        return "".join(kept)

    def _undecided(self, text: str) -> int:
        """How many characters at the end could be the beginning of a leak."""
        tag = text.rfind("<", max(0, len(text) - _LONGEST_TAG))
        if tag >= 0 and ">" not in text[tag:]:
            return len(text) - tag
        begun = _OBJECT_BEGUN.search(text)
        if begun is not None:
            return len(text) - begun.start()
        return max((_begun(text, name) for name in (*self._names, _MINIMAX)), default=0)


def _without_ends(text: str) -> str:
    """Without ends of reasoning that nobody began: some templates write the beginning, some models end twice."""
    return _REASONING_CLOSE.sub("", text)


def _begun(text: str, name: str) -> int:
    """How many characters at the end of a text begin a name, or are all of it with spaces after it."""
    whole = text.rstrip(" \t")
    if whole.endswith(name):
        return len(text) - len(whole) + len(name)
    for length in range(min(len(name), len(text)), 0, -1):
        if text.endswith(name[:length]) and not re.search(r"\w\Z", text[:-length]):
            return length
    return 0


def _without_prelude(text: str) -> str:
    """Without words run together just before a leak: what is left where a model loses its spaces."""
    head, line = text[: text.rfind("\n") + 1], text[text.rfind("\n") + 1 :]
    letters = sum(character.isalpha() for character in line)
    spaces = line.strip().count(" ")
    crowded = letters >= _PRELUDE_LETTERS and spaces == 0
    crowded = crowded or (letters >= _LONG_PRELUDE_LETTERS and spaces <= 1)
    return head if crowded else text


def cleaned(text: str, tool_names: Iterable[str] = ()) -> str:
    """A whole text through the guard."""
    guard = LeakGuard(tool_names)
    return (guard.feed(text) + guard.flush()).strip()
