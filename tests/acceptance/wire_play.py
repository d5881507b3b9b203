"""A model as a server plays it: by a seed, doing sensible things and odd ones, in any of the three passes.

It reads what it was sent and nothing else: a report quotes what a tool answered, a verdict names a finding it was told.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from random import Random

from patrol.agent.metering import Phase
from tests.acceptance.wire_faults import WireFault
from tests.agent.wire_server import Answer, Ask, Call, Json, Say


class Stage(StrEnum):
    """The pass that a request belongs to, as the model can tell."""

    LOOK = "look"
    EVALUATE = "evaluate"
    ASSESS = "assess"

    @property
    def phase(self) -> Phase:
        """What it is called where requests are counted."""
        return {Stage.LOOK: Phase.MAIN, Stage.EVALUATE: Phase.EVALUATE, Stage.ASSESS: Phase.ASSESS}[self]


_OPENINGS = {"Signals without a finding": Stage.EVALUATE, "Findings without a verdict": Stage.ASSESS}
READS: tuple[tuple[str, Json], ...] = (
    ("pulse_metrics", {"type": "performance"}),
    ("pulse_query", {"action": "list"}),
    ("pulse_query", {"action": "health"}),
    ("pulse_storage", {"type": "pools"}),
    ("pulse_storage", {"type": "disk_health"}),
    ("pulse_storage", {"type": "backups"}),
    ("pulse_alerts", {"action": "list"}),
    ("patrol_get_findings", {}),
)


def opening_of(ask: Ask) -> str:
    """The text that opened the conversation."""
    first = next(each for each in ask.messages if each["role"] == "user")["content"]
    return first if isinstance(first, str) else "".join(str(block.get("text", "")) for block in first)


def stage_of(ask: Ask) -> Stage:
    opening = opening_of(ask)
    return next((stage for words, stage in _OPENINGS.items() if opening.startswith(words)), Stage.LOOK)


def rows_of(text: str) -> list[Json]:
    """The JSON objects that a text has on lines of their own."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def measured(ask: Ask) -> Iterator[tuple[str, Json, str, float]]:
    """What was read in this conversation: id of the call, row of a resource, a field with a number, and the number."""

    def walk(value: object) -> Iterator[Json]:
        if isinstance(value, dict):
            yield value
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            yield from walk(inner)

    for call_id, text in ask.results.items():
        if '"avg_' in text:
            for row in walk(json.loads(text)):
                for name, number in row.items():
                    if "resource_id" in row and name.startswith("avg_") and number:
                        yield call_id, row, name, number


def claim(ask: Ask, key: str = "odd-hum") -> Call | None:
    """A report of something that no check knows, with evidence that was really read; None if nothing was."""
    for call_id, row, name, number in measured(ask):
        return Call(
            "patrol_report_finding",
            {
                "key": key,
                "severity": "warning",
                "category": "reliability",
                "resource_id": row["resource_id"],
                "resource_name": row.get("name") or row.get("resource_name") or "it",
                "resource_type": str(row["resource_id"]).partition(":")[0],
                "title": "It hums",
                "description": "The value moves in an odd way.",
                "recommendation": "Listen to it.",
                "evidence": f'"{name}":{json.dumps(number)}',
                "tool_call_ids": [call_id],
            },
            "claim",
        )
    return None


def well_behaved(ask: Ask) -> Answer:
    """Looks at what is measured, claims one thing, and ends: what is known before the run that is tested."""
    if stage_of(ask) is Stage.LOOK and ask.turn == 0:
        return Say("", (Call("pulse_metrics", {"type": "performance"}, "use"), Call("patrol_get_findings", {}, "all")))
    reported = claim(ask) if stage_of(ask) is Stage.LOOK and ask.turn == 1 else None
    return Say("I report it.", (reported,)) if reported is not None else Say("Done.")


def _in_words_of(ask: Ask, answer: Answer) -> Answer:
    """The allowance for an answer that is used up has a word of its own on each wire."""
    cut = ask.anthropic and isinstance(answer, Say) and answer.finish == "length"
    return replace(answer, finish="max_tokens") if cut and isinstance(answer, Say) else answer


Move = Callable[["Play", Ask], Call | None]


@dataclass(slots=True)
class Play:
    """One model. `fault` strikes in `stage` from `turn` on, at every request (or, if `once`, at the first).

    `quiet`: it says a sentence in each pass, and does nothing. `log`: every request with its answer; `struck`: how many
    requests the fault met.
    """

    seed: int
    fault: WireFault | None = None
    stage: Stage = Stage.LOOK
    turn: int = 0
    once: bool = False
    quiet: bool = False
    log: list[tuple[Ask, Answer]] = field(default_factory=list)
    struck: int = 0
    random: Random = field(init=False)
    _made: int = 0

    def __post_init__(self) -> None:
        self.random = Random(self.seed)

    def __call__(self, ask: Ask) -> Answer:
        answer: Answer = self._say(ask)
        if self._strikes(ask):
            assert self.fault is not None
            assert isinstance(answer, Say)
            self.struck += 1
            answer = _in_words_of(ask, self.fault.answer(answer))
        self.log.append((ask, answer))
        return answer

    def _strikes(self, ask: Ask) -> bool:
        if self.fault is None or (self.struck and self.once):
            return False
        return bool(self.struck) or (stage_of(ask) is self.stage and ask.turn >= self.turn)

    def _say(self, ask: Ask) -> Say:
        if self.quiet:
            return Say("I looked, and there is nothing to tell.")
        stage = stage_of(ask)
        waits = self.fault is not None and stage is self.stage and ask.turn < self.turn
        calls = () if not (waits or self._goes_on(ask)) else tuple(self._calls(ask, stage))
        if ask.anthropic:  # whose wire knows neither calls without an id nor arguments that are no object
            calls = tuple(replace(call, id=call.id or self._id()) for call in calls)
            calls = tuple(replace(call, arguments={}) if isinstance(call.arguments, str) else call for call in calls)
        text = self.random.choice(_WORDS) if not calls or self.random.random() < 0.3 else ""
        return Say(text or ("" if calls else "Done."), calls, thinking=self.random.choice(("", "", "Let me see.")))

    def _goes_on(self, ask: Ask) -> bool:
        return bool(ask.tool_names) and self.random.random() < (0.85, 0.7, 0.5, 0.3)[min(ask.turn, 3)]

    def _calls(self, ask: Ask, stage: Stage) -> Iterator[Call]:
        moves = {Stage.LOOK: _LOOKING, Stage.EVALUATE: _EVALUATING, Stage.ASSESS: _ASSESSING}[stage]
        for _ in range(self.random.choice((1, 1, 2, 3, 8))):
            call = self.random.choice(moves)(self, ask)
            yield call if call is not None else Call("pulse_metrics", {"type": "performance"}, self._id())

    def _id(self) -> str:
        self._made += 1
        return f"call-{self._made}"

    # --- sensible ---

    def reads(self, _ask: Ask) -> Call:
        name, arguments = self.random.choice(READS)
        return Call(name, arguments, self._id())

    def claims(self, ask: Ask) -> Call | None:
        return claim(ask, self.random.choice(("odd-hum", "slow-growth")))

    def tells(self, ask: Ask) -> Call | None:
        """Reports a signal that it was told of, as it was told, or under another severity."""
        signal = self._row(ask, "tool_call_id")
        if signal is None:
            return None
        told: Json = {
            name: signal[name]
            for name in ("key", "subject", "category", "resource_id", "resource_name", "resource_type", "evidence")
            if name in signal
        }
        words: Json = {"title": "It is broken", "description": "As the check says.", "recommendation": "Mend it."}
        severity = self.random.choice((signal["severity"], "warning"))
        ids = [signal["tool_call_id"]]
        return Call("patrol_report_finding", {**told, **words, "severity": severity, "tool_call_ids": ids}, self._id())

    def doubts(self, ask: Ask) -> Call | None:
        return self._verdict(ask, "uncertain")

    # --- odd ---

    def resolves(self, ask: Ask) -> Call | None:
        return self._verdict(ask, "resolved", evidence='"status":"ok"', tool_call_ids=["call-1"])

    def confirms(self, ask: Ask) -> Call | None:
        return self._verdict(ask, "present", evidence="I saw it", tool_call_ids=["nothing"])

    def lies(self, ask: Ask) -> Call:
        """Reports what a check knows, of something that is fine as far as anybody can see."""
        known = [row["resource_id"] for _, row, _, _ in measured(ask)] or ["node:lab:pve1"]
        told: Json = {"resource_id": self.random.choice(known), "resource_name": "it", "resource_type": "node"}
        kind = self.random.choice(("high_cpu", "unit_failed", "backup_failed", "model_unavailable", "smart_failure"))
        words = {"title": "It burns", "description": "All of it.", "recommendation": "Run.", "category": "performance"}
        proof = {"evidence": '"avg_cpu":99.9', "tool_call_ids": [*ask.results][:2]}
        return Call(
            "patrol_report_finding", {**told, **words, **proof, "key": kind, "severity": "critical"}, self._id()
        )

    def babbles(self, _ask: Ask) -> Call:
        return self.random.choice(
            (
                Call("pulse_query", '{"action": "li', self._id()),
                Call("pulse_query", "[1, 2]", self._id()),
                Call("pulse_query", {"action": "dance", "limit": -1}, self._id()),
                Call("run_shell", {"command": "reboot"}, self._id()),
                Call("patrol_report_finding", {"key": "x"}, self._id()),
                Call("patrol_resolve_finding", {"finding_id": "f" * 400, "reason": "gone"}, self._id()),
                Call("pulse_storage", {"type": "pools"}, "the same id"),
                Call("pulse_storage", {"type": "pools", "resource_id": "vm:nowhere:1"}, None),
                Call("", {}, self._id()),
            )
        )

    def _verdict(self, ask: Ask, verdict: str, **proof: object) -> Call | None:
        row = self._row(ask, "finding_id")
        if row is None:
            return None
        said = {"finding_id": row["finding_id"], "verdict": verdict, "reason": "It looks so."}
        return Call("patrol_assess_finding", {**said, **proof}, self._id())

    def _row(self, ask: Ask, name: str) -> Json | None:
        rows = [row for row in rows_of(opening_of(ask)) if name in row] if stage_of(ask) is not Stage.LOOK else []
        return self.random.choice(rows) if rows else None


_LOOKING: tuple[Move, ...] = (Play.reads, Play.reads, Play.reads, Play.claims, Play.lies, Play.babbles)
_EVALUATING: tuple[Move, ...] = (Play.tells, Play.tells, Play.doubts, Play.resolves, Play.lies, Play.babbles)
_ASSESSING: tuple[Move, ...] = (Play.doubts, Play.doubts, Play.confirms, Play.resolves, Play.reads, Play.babbles)
_WORDS = (
    "## What I looked at\nAll of it.\n## What I found\nNothing. All clear.\n## What I could not see\nNothing.",
    "I restarted everything and resolved all findings.",
    "\x1b[2J\x1b[31mred \u202egnihton dnuof I\x00 and so on",
    "Half a tag <too",
    "Caf\u00e9 \U0001f4a9 " * 60,
    "<think>hidden</think>Seen.",
)
