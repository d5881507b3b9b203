"""A run's shroud: what is told a model in pseudonyms, and what it answers in the words of the house."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from patrol.agent.privacy.lexicon import PSEUDONYM, WORD, Entry, Lexicon, key_of, label_of_id
from patrol.agent.privacy.names import Label, Named, named_resources, other_texts, parts_of_id
from patrol.agent.privacy.patterns import TYPES, Match, Shape, shape_at
from patrol.agent.privacy.vocabulary import base_words
from patrol.estate.model import Estate
from patrol.settings.values import Privacy

WITHHELD = "withheld"
"""What stands for a string under `metrics_only`."""

_LABELS = {
    Shape.UUID: Label.UUID,
    Shape.MAC: Label.MAC,
    Shape.ADDRESS: Label.ADDRESS,
    Shape.ACCOUNT: Label.USER,
    Shape.SERIAL: Label.SERIAL,
    Shape.DOMAIN: Label.DOMAIN,
}
_FIRST_WORDS = frozenset(Label)
_JOINTS = frozenset(".:@-+_!")
_LONG_WORD = 18  # the shortest world-wide name with its 0x
_URL_HOST = re.compile(r"[^\s/:?#\"'<>|,;)\]]+")
_GIVEN = re.compile(
    rf"(?P<before>(?<![^\W_])(?:{'|'.join(map(re.escape, TYPES))}):[A-Za-z0-9._~-]{{1,100}}:)?{PSEUDONYM.pattern}",
    re.IGNORECASE | re.ASCII,
)
# Numbers with the units that Patrol writes, parts of times, and the ids that Patrol mints itself.
_NUMBER = re.compile(
    r"\d+(?:t\d+|z|h|m|s|d|ms|min|x|b|kb|mb|gb|tb|kib|mib|gib|tib)?|(?=[a-f]*\d)(?:[0-9a-f]{16}|[0-9a-f]{32})", re.ASCII
)


class _Piece(NamedTuple):
    """A stretch of text and what stands for it; `said` None: it stays."""

    start: int
    end: int
    said: str | None


class _Words:
    """A text with its words found: where each begins and ends, and how it is compared."""

    __slots__ = ("spans", "text", "words")

    def __init__(self, text: str) -> None:
        self.text = text
        self.spans = [found.span() for found in WORD.finditer(text)]
        folded = text.casefold()
        # Where no letter changes its length, one call folds them all.
        if len(folded) == len(text):
            self.words = [folded[start:end] for start, end in self.spans]
        else:
            self.words = [text[start:end].casefold() for start, end in self.spans]


class Shroud:
    """The two directions between the house and a model. One for each run: equal texts have equal pseudonyms in it.

    What goes out holds no name, address or serial number of the estate, and none that looks like one, except where
    it is a word of Patrol's own, a number of up to five digits, or a device name of the kernel. What comes back is
    exact: a pseudonym stands for one text, spelt as it was. Text that is pseudonymous already stays as it is, and so
    does a pseudonym that was never given out.
    """

    def __init__(self, privacy: Privacy, words: Iterable[str] = (), prose: Iterable[str] = ()) -> None:
        """`words`: more words of Patrol's own, beside the names of fields, kinds and states.

        `prose`: its own sentences. Their words may be said under `metrics_only`; a thing that is called like one of
        them is hidden all the same.
        """
        self.privacy = privacy
        known = {*base_words(), *words}
        self._lexicon = Lexicon(known)
        self._own = frozenset(part for word in (*known, *prose) for part in key_of(word).split())
        self._only_metrics = privacy is Privacy.METRICS_ONLY

    @classmethod
    def of(
        cls,
        estate: Estate,
        privacy: Privacy,
        *,
        also: Iterable[Named] = (),
        words: Iterable[str] = (),
        prose: Iterable[str] = (),
    ) -> "Shroud":
        """The shroud over an estate. `also`: resources that are not in it, but in what is known of earlier runs."""
        shroud = cls(privacy, words, prose)
        if privacy is not Privacy.FULL:
            here = list(named_resources(estate))
            ids = {each.resource_id for each in here}
            # What is here may have had other names before, which earlier runs wrote down.
            before = list(dict.fromkeys(each for each in also if each.names or each.resource_id not in ids))
            shroud._lexicon.add(here, before, list(dict.fromkeys(other_texts(estate))))
        return shroud

    def text_out(self, text: str) -> str:
        """Prose as the model is told it."""
        return text if self.privacy is Privacy.FULL else self._said(text)[0]

    def text_in(self, text: str) -> str:
        """Prose of the model in the words of the house."""
        return text if self.privacy is Privacy.FULL else _GIVEN.sub(self._meant, text)

    def value_out(self, value: object) -> object:
        """A JSON value as the model is told it: fields keep their names, numbers and booleans are as they are."""
        if self.privacy is Privacy.FULL or value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, Mapping):
            return {self._key_out(str(key)): self.value_out(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.value_out(each) for each in value]
        said, is_whole = self._said(value if isinstance(value, str) else str(value))
        return said if is_whole else WITHHELD

    def value_in(self, value: object) -> object:
        """A JSON value of the model, such as arguments of a call, in the words of the house."""
        if isinstance(value, str):
            return self.text_in(value)
        if isinstance(value, Mapping):
            return {self.text_in(str(key)): self.value_in(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.value_in(each) for each in value]
        return value

    def _key_out(self, key: str) -> str:
        said, is_whole = self._said(key)
        return said if is_whole else self._lexicon.register(key, Label.NAME)

    def _said(self, text: str) -> tuple[str, bool]:
        """The text in the model's language, and whether nothing of it had to be withheld."""
        words = _Words(text)
        parts: list[str] = []
        copied = at = 0
        withheld: _Piece | None = None
        whole = not self._only_metrics or bool(words.words) or text.isascii()
        while at < len(words.words):
            piece = self._piece(words, at)
            if piece.said is None and self._only_metrics and not self._may_be_said(words.text[piece.start : piece.end]):
                whole = False
                withheld = piece if withheld is None else _Piece(withheld.start, piece.end, None)
            else:
                if withheld is not None:
                    parts += text[copied : withheld.start], WITHHELD
                    copied, withheld = withheld.end, None
                if piece.said is not None:
                    parts += text[copied : piece.start], piece.said
                    copied = piece.end
            at += 1
            while at < len(words.words) and words.spans[at][0] < piece.end:
                at += 1
        if withheld is not None:
            parts += text[copied : withheld.start], WITHHELD
            copied = withheld.end
        parts.append(text[copied:])
        return "".join(parts), whole

    def _may_be_said(self, text: str) -> bool:
        if PSEUDONYM.fullmatch(text) or self._lexicon.meant_by(text) is not None:
            return True
        return all(word in self._own or _NUMBER.fullmatch(word) for word in key_of(text).split())

    def _piece(self, words: _Words, at: int) -> _Piece:
        """What stands at a word: a known text, something that looks like a name, or a word that stays."""
        start, end = words.spans[at]
        text = words.text
        known = self._known(words, at)
        if words.words[at] in _FIRST_WORDS and text[end : end + 1] == "-":
            pseudonym = PSEUDONYM.match(text, start)
            if pseudonym is not None and (known is None or known.end < pseudonym.end()):
                self._lexicon.reserve(pseudonym.group())
                return _Piece(start, pseudonym.end(), None)
        if text[end : end + 1] in _JOINTS or end - start >= _LONG_WORD:
            shape = shape_at(text, start)
            if shape is not None and (known is None or shape.end > known.end):
                piece = self._shaped(words, start, shape, known)
                if piece is not None:
                    return piece
        return known or _Piece(start, end, None)

    def _known(self, words: _Words, at: int) -> _Piece | None:
        """The longest known text that begins at a word."""
        for count in self._lexicon.counts(words.words[at]):
            found = self._entry(words, at, count)
            if found is None:
                continue
            start, end = words.spans[at][0], words.spans[at + count - 1][1]
            if found.pseudonym is not None:
                return _Piece(start, end, self._lexicon.spelling_of(words.text[start:end], found))
            return _Piece(start, self._undisturbed(words, at, count), None)
        return None

    def _undisturbed(self, words: _Words, at: int, count: int) -> int:
        """Where a word of several parts ends: before a name that begins within it and goes on behind it."""
        for inner in range(at + 1, at + count):
            for longer in self._lexicon.counts(words.words[inner]):
                found = self._entry(words, inner, longer) if inner + longer > at + count else None
                if found is not None and found.pseudonym is not None:
                    return words.spans[inner - 1][1]
        return words.spans[at + count - 1][1]

    def _entry(self, words: _Words, at: int, count: int) -> Entry | None:
        if at + count > len(words.words):
            return None
        entry = self._lexicon.entry(" ".join(words.words[at : at + count]) if count > 1 else words.words[at])
        if entry is None or count == 1:
            return entry
        spans = words.spans
        if entry.exact:
            return entry if words.text[spans[at][0] : spans[at + count - 1][1]] == entry.text else None
        gap = self._lexicon.longest_gap
        near = all(spans[each + 1][0] - spans[each][1] <= gap for each in range(at, at + count - 1))
        return entry if near else None

    def _shaped(self, words: _Words, start: int, shape: Match, known: _Piece | None) -> _Piece | None:
        """What stands for something that was recognised by its looks; None where what is known goes first."""
        text = words.text
        piece = text[shape.start : shape.end]
        if shape.shape is Shape.ID:
            is_id = known is not None and ":" in (known.said or "")
            return None if is_id else self._id_out(piece, start)
        if shape.shape is Shape.URL:
            return self._url_out(text, start, shape.end)
        if shape.shape in {Shape.DOMAIN, Shape.ACCOUNT}:
            if all(self._lexicon.is_word(word) or word.isdigit() for word in key_of(piece).split()):
                return None
            # `pve1.lab.example` is the known host in some domain; `web-7.example` is no known guest `web`.
            if known is not None and known.said is not None and text[known.end] in ".@":
                rest = self._hidden(text[known.end + 1 : shape.end], Label.DOMAIN)
                return _Piece(start, shape.end, f"{known.said}{text[known.end]}{rest}")
        before = self._said(text[start : shape.start])[0] if shape.start > start else ""
        return _Piece(start, shape.end, before + self._hidden(piece, _LABELS[shape.shape]))

    def _id_out(self, resource_id: str, start: int) -> _Piece | None:
        """A canonical id that is in no estate. One that ends in a pseudonym is pseudonymous already, and stays."""
        parts = parts_of_id(resource_id)
        label = label_of_id(resource_id)
        if parts is None or label is None:
            return None
        kind, origin, native = parts
        pseudonym = PSEUDONYM.match(native)
        if pseudonym is None:
            said = self._lexicon.register_id(resource_id, label)
            return _Piece(start, start + len(resource_id), said)
        self._lexicon.reserve(pseudonym.group())
        end = start + len(resource_id) - len(native) + pseudonym.end()
        return _Piece(start, end, f"{kind}:{self._said(origin)[0]}:{pseudonym.group()}")

    def _url_out(self, text: str, start: int, end: int) -> _Piece | None:
        """A URL up to its host, where that is a single word: nothing else tells such a word from any other."""
        scheme, _, user = text[start:end].partition("://")
        found = _URL_HOST.match(text, end)
        host = found.group() if found is not None else ""
        if "." in host or self._lexicon.is_word(key_of(host)) or not host:
            return _Piece(start, end, f"{scheme}://{self._hidden(user[:-1], Label.USER)}@") if user else None
        who = f"{self._hidden(user[:-1], Label.USER)}@" if user else ""
        return _Piece(start, end + len(host), f"{scheme}://{who}{self._hidden(host, Label.HOST)}")

    def _hidden(self, text: str, label: Label) -> str:
        if PSEUDONYM.fullmatch(text):
            self._lexicon.reserve(text)
            return text
        entry = self._lexicon.entry(key_of(text))
        if entry is not None and not entry.exact:
            return self._lexicon.spelling_of(text, entry)
        return self._lexicon.register(text, label)

    def _meant(self, found: re.Match[str]) -> str:
        whole = self._lexicon.meant_by(found.group())
        if whole is not None:
            return whole
        before = found.group("before") or ""
        pseudonym = found.group()[len(before) :]
        meant = self._lexicon.meant_by(pseudonym)
        return PSEUDONYM.sub(self._meant_alone, before) + (pseudonym if meant is None else meant)

    def _meant_alone(self, found: re.Match[str]) -> str:
        meant = self._lexicon.meant_by(found.group())
        return found.group() if meant is None else meant
