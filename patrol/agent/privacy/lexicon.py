"""The map of one run: which pseudonym stands for which text, and back. Knows no sentences."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from patrol.agent.privacy.names import Label, Named, Text, label_of_type, parts_of_id, single_names, unescaped
from patrol.agent.privacy.patterns import is_address_of_a_house

WORD = re.compile(r"[^\W_]+")
"""What names are compared by: letters and digits, whatever stands between them."""

PSEUDONYM = re.compile(
    rf"(?<![^\W_])(?:{'|'.join(Label)})-[1-9][0-9]{{0,8}}[a-z]{{0,3}}(?![^\W_])", re.IGNORECASE | re.ASCII
)
_ROOT = re.compile(r".*[0-9]")
_SHORT_NUMBER = 5
_LEAST_NAME = 2
_MOST_SPELLINGS = 26**3
# Names that every kernel gives: they say nothing of whose disk or port it is.
_DEVICE = re.compile(
    r"(?:/dev/)?(?:[shv]d[a-z]{1,2}\d{0,3}|xvd[a-z]\d*|nvme\d+(?:n\d+)?(?:p\d+)?|mmcblk\d+(?:p\d+)?|md\d+|dm-\d+|sr\d+"
    r"|zd\d+|loop\d+|vmbr\d+|eth\d+|bond\d+|en[opsx]\w{1,12}|tap\d+i\d+|veth\w{1,12}|(?:qemu|lxc)/\d+)",
    re.IGNORECASE | re.ASCII,
)


class Entry(NamedTuple):
    """What is known of a sequence of words. `pseudonym` None: it is a word of Patrol's own, and stays.

    `exact`: only this very spelling is meant (ids are exact; names are not).
    """

    text: str
    pseudonym: str | None
    exact: bool = False


def key_of(text: str) -> str:
    """What texts are compared by: their words, without case and without what stands between."""
    return " ".join(WORD.findall(text)).casefold()


class Lexicon:
    """Texts and their pseudonyms, one to one. It only ever grows: what was said once stays true for the run.

    One text has one pseudonym, so that things with one name have one in the model's eyes too. Other spellings and
    other words for the same thing carry a letter behind it: `host-1`, `host-1b`.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._entries: dict[str, Entry] = {}
        self._counts: dict[str, tuple[int, ...]] = {}
        self._exact: dict[str, str] = {}
        self._back: dict[str, str] = {}
        self._reserved: set[str] = set()
        self._minted: Counter[Label] = Counter()
        self._spellings: Counter[str] = Counter()
        self.longest_gap = 3
        for word in (*words, *Label):
            key = key_of(word)
            if key:
                self._enter(key, Entry(word, None))

    def add(self, resources: Sequence[Named], before: Sequence[Named], texts: Sequence[Text]) -> None:
        """Learns what there is, and what there was before. Names that look like pseudonyms are set aside first."""
        every = (*resources, *before)
        names = (name for each in every for name in (each.resource_id, *each.names))
        for name in (*names, *(each.text for each in texts)):
            self.reserve(name)
            gaps = WORD.split(name)[1:-1]
            self.longest_gap = max(self.longest_gap, *map(len, gaps)) if gaps else self.longest_gap
        holders = Counter(name for name, _ in {(each.names[0], each.resource_id) for each in every if each.names})
        for each in every:
            self._add_resource(each, holders)
        for text in texts:
            is_address = text.label is Label.ADDRESS and is_address_of_a_house(text.text)
            if is_address or self._is_name(text.text):
                self.register(text.text, text.label)

    def reserve(self, text: str) -> None:
        """Sets aside what looks like a pseudonym and is none: it is never given out."""
        for found in PSEUDONYM.finditer(text):
            token = found.group().casefold()
            if token not in self._back:
                self._reserved.add(token)

    def _add_resource(self, named: Named, holders: Counter[str]) -> None:
        label = label_of_type(named.type)
        first = self._called(named.resource_id)
        for name in single_names(named.names):
            if parts_of_id(name) is None and self._is_name(name):
                given = self.register(name, label, first)
                first = first or given
        own = first if named.names and holders[named.names[0]] == 1 and self._exact.get(named.names[0]) == first else ""
        self.register_id(named.resource_id, label, own)
        for alias in named.names[1:]:
            if label_of_id(alias) is not None:
                self.register_id(alias, label, "")

    def _called(self, resource_id: str) -> str:
        """The pseudonym that a resource which is known already goes by, "" for a new one."""
        last = self._exact.get(resource_id, "").rpartition(":")[2]
        return last if PSEUDONYM.fullmatch(last) else ""

    def register(self, text: str, label: Label, base: str = "") -> str:
        """The pseudonym of a text; a new one where it has none. `base`: of the same thing under another name."""
        known = self._exact.get(text)
        if known is not None:
            return known
        pseudonym = self._spelling(base, label) if base else self._mint(label)
        self._give(text, pseudonym)
        key = key_of(text)
        entry = self._entries.get(key)
        if entry is None or entry.pseudonym is None:
            self._enter(key, Entry(text, pseudonym))
        return pseudonym

    def register_id(self, resource_id: str, label: Label, own: str = "") -> str:
        """The canonical id that stands for this one. `own`: the pseudonym of what the resource alone is called."""
        known = self._exact.get(resource_id)
        parts = parts_of_id(resource_id)
        if known is not None or parts is None:
            return known or resource_id
        kind, origin, native = parts
        there = self.register(origin, Label.ORIGIN) if self._is_name(origin) else origin
        if self._is_name(native):
            here = self._native(native, label, own)
        elif any(each.isalpha() for each in native):
            here = native  # a word or a device, which is not hidden elsewhere either
        else:
            here = own
        pseudonym = f"{kind}:{there}:{here}"
        if not here or pseudonym.casefold() in self._back:
            here = self._mint(label)
            self._back[here.casefold()] = resource_id
            pseudonym = f"{kind}:{there}:{here}"
        self._give(resource_id, pseudonym)
        self._enter(key_of(resource_id), Entry(resource_id, pseudonym, exact=True))
        return pseudonym

    def _native(self, native: str, label: Label, own: str) -> str:
        """The pseudonym of the last part of an id, which is escaped where the name itself is not."""
        plain = unescaped(native)
        return self._exact.get(plain) or self.register(native, label, own)

    def spelling_of(self, text: str, entry: Entry) -> str:
        """The pseudonym of a text that is a known one in another spelling."""
        if entry.pseudonym is None:
            return text
        known = self._exact.get(text)
        if known is None:
            known = self._spelling(entry.pseudonym, Label(entry.pseudonym.partition("-")[0]))
            self._give(text, known)
        return known

    def exact(self, text: str) -> str | None:
        """The pseudonym of exactly this text."""
        return self._exact.get(text)

    def entry(self, key: str) -> Entry | None:
        """What is known of these words."""
        return self._entries.get(key)

    def counts(self, word: str) -> tuple[int, ...]:
        """How many words the entries have that begin with this one, longest first."""
        return self._counts.get(word, ())

    def meant_by(self, pseudonym: str) -> str | None:
        """What a pseudonym stands for; None for one that was never given out."""
        return self._back.get(pseudonym.casefold())

    def is_word(self, key: str) -> bool:
        """Whether this is a word of Patrol's own."""
        entry = self._entries.get(key)
        return entry is not None and entry.pseudonym is None

    def _is_name(self, text: str) -> bool:
        key = key_of(text)
        if len(key) < _LEAST_NAME or _DEVICE.fullmatch(text) or self.is_word(key):
            return False
        return len(text) > _SHORT_NUMBER or any(each.isalpha() for each in text)

    def _enter(self, key: str, entry: Entry) -> None:
        self._entries[key] = entry
        first, count = key.partition(" ")[0], key.count(" ") + 1
        counts = self._counts.get(first, ())
        if count not in counts:
            self._counts[first] = tuple(sorted((*counts, count), reverse=True))

    def _give(self, text: str, pseudonym: str) -> None:
        self._exact[text] = pseudonym
        self._back.setdefault(pseudonym.casefold(), text)

    def _mint(self, label: Label) -> str:
        while True:
            self._minted[label] += 1
            pseudonym = f"{label}-{self._minted[label]}"
            if pseudonym not in self._reserved and pseudonym not in self._back:
                return pseudonym

    def _spelling(self, base: str, label: Label) -> str:
        found = _ROOT.match(base)
        root = found.group() if found is not None else base
        while self._spellings[root] < _MOST_SPELLINGS:
            self._spellings[root] += 1
            pseudonym = root + _letters(self._spellings[root])
            if pseudonym not in self._reserved and pseudonym not in self._back:
                return pseudonym
        return self._mint(label)


def label_of_id(text: str) -> Label | None:
    """The label of what a canonical id names; None for what is no canonical id."""
    parts = parts_of_id(text)
    if parts is None:
        return None
    label = label_of_type(parts[0])
    return None if label is Label.NAME else label


def _letters(number: int) -> str:
    """1 -> b, 25 -> z, 26 -> ba: the first spelling has none."""
    letters = ""
    while number:
        number, rest = divmod(number, 26)
        letters = chr(ord("a") + rest) + letters
    return letters
