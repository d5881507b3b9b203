"""A seed: sections by priority, and how they are made to fit a number of tokens. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from findings.model import Finding, Gap
from findings.silence import Silence
from patrol.agent.model import estimated_tokens
from patrol.estate.model import Estate
from patrol.run.scope import Scope
from patrol.run.seed.changes import Changes
from patrol.run.seed.text import fenced
from patrol.run.triage import Flag

_LEFT_OUT_TOKENS = 48
"""Room for the sentence that says what was left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedFacts:
    """What a run knows before its model looks around.

    `findings`: those of earlier runs, silenced or not; closed ones may be among them. `silences`: those not over.
    `limits`: the limits in force, in one line. `reason`: why the run happens, in a word.
    """

    now: datetime
    estate: Estate
    scope: Scope
    flags: Sequence[Flag]
    gaps: Sequence[Gap] = ()
    findings: Sequence[Finding] = ()
    silences: Sequence[Silence] = ()
    changes: Changes = field(default_factory=Changes)
    limits: str = ""
    reason: str = ""
    alert_id: str = ""
    alert_type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One part of a seed. `rows` are the lines of its list, the ones that matter most first; `head` names its columns.

    Priority 0 and 1 are always there, 2 as a whole or as its `summary`, 3 as a whole; 2 and 3 not at all where there
    is no room. `where` says where the rest of a list is shown.
    """

    name: str
    title: str
    priority: int
    lead: str = ""
    head: str = ""
    rows: tuple[str, ...] = ()
    summary: str = ""
    where: str = ""

    def text(self, most: int | None = None) -> str:
        """The section with at most so many rows; what is not shown is counted."""
        shown = self.rows if most is None else self.rows[:most]
        parts = [f"## {self.title}"]
        if self.lead:
            parts.append(self.lead)
        if shown:
            parts.append(fenced([*([self.head] if self.head else ()), *shown]))
        hidden = len(self.rows) - len(shown)
        if hidden:
            parts.append(f"+{hidden} more, cut for lack of room, the worst are shown first{self.where}")
        return "\n".join(parts)

    def shortened(self) -> str:
        """What stands for it where the whole does not fit; "" if nothing does."""
        return f"## {self.title}\n{self.summary}" if self.summary else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seed:
    """What the model starts from. Equal seeds give equal texts.

    `needing_verdict`: ids of the findings in it that the model has to speak of; Patrol's checks look at the others.
    """

    sections: tuple[Section, ...]
    needing_verdict: tuple[str, ...] = ()

    def fitted(self, tokens: int) -> str:
        """The sections in their order, as much of them as fits so many tokens.

        What must be there is there even where it does not fit: then its lists are cut, all to the same length.
        """
        texts = self._certain(tokens)
        left = tokens - _tokens(texts.values()) - _LEFT_OUT_TOKENS
        left_out: list[str] = []
        for section in sorted((each for each in self.sections if each.priority > 1), key=lambda each: each.priority):
            text = next(
                (text for text in (section.text(), section.shortened()) if text and _tokens([text]) <= left), ""
            )
            if not text:
                left_out.append(section.title)
                continue
            texts[section.name] = text
            left -= _tokens([text])
        parts = [texts[each.name] for each in self.sections if each.name in texts]
        if left_out:
            parts.append(f"Left out for lack of room: {'; '.join(left_out)}. The tools show all of it.")
        return "\n\n".join(parts)

    def _certain(self, tokens: int) -> dict[str, str]:
        certain = [each for each in self.sections if each.priority <= 1]
        texts = {each.name: each.text() for each in certain}
        if _tokens(texts.values()) + _LEFT_OUT_TOKENS <= tokens:
            return texts
        low, high = 0, max((len(each.rows) for each in certain), default=0)
        while low < high:
            middle = (low + high + 1) // 2
            if _tokens(each.text(middle) for each in certain) + _LEFT_OUT_TOKENS <= tokens:
                low = middle
            else:
                high = middle - 1
        return {each.name: each.text(low) for each in certain}


def _tokens(texts: Iterable[str]) -> int:
    return sum(estimated_tokens(text) + 1 for text in texts)  # 1: the empty line behind it
