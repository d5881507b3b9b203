"""Any model over any estate: whatever it does, what is broken is found, and nothing else is.

What a model does is drawn as a list of actions, one answer each; what they are about is chosen among what it was
shown by then. A report is true (it quotes what its resource was shown with) or made up; its kind says which.
"""

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from findings.kinds import Kind
from findings.model import Basis
from findings.weighing import CLAIM_PREFIX
from patrol.agent.causes import failure_of
from patrol.agent.failure import Cause, ModelError
from patrol.run.record_model import ModelState
from tests.acceptance.blindness import BLINDERS
from tests.acceptance.estates import Plan, plans
from tests.acceptance.promises import ModelHouse, model_house
from tests.acceptance.puppets import Call, Heard, Puppet, Row, Say

FEW, MANY = 20, 250
"""Estates and models for each property: in every test run, and in the long proof."""

Actor = Callable[[Heard, Random], Say]

_READS = (
    Call("pulse_query", {"action": "inventory"}),
    Call("pulse_query", {"action": "health"}),
    Call("pulse_metrics", {"type": "performance"}),
    Call("pulse_metrics", {"type": "disks"}),
    Call("pulse_storage", {"type": "resource_disks"}),
    Call("pulse_storage", {"type": "pools"}),
    Call("pulse_storage", {"type": "backups"}),
    Call("pulse_alerts", {"action": "list"}),
    Call("pulse_alerts", {"action": "findings"}),
    Call("patrol_get_findings", {}),
)
_ODD = (
    Call("pulse_query", "[1]"),
    Call("pulse_query", '{"action": '),
    Call("pulse_query", None),
    Call("pulse_query", {"action": "inventory", "limit": -1}),
    Call("pulse_metrics", {"type": "\x00", "resource_id": "nobody"}),
    Call("pulse_storage", {"type": "pools", "offset": 10**12}),
    Call("no_such_tool", {"a": 1}),
    Call("", ""),
    Call("patrol_resolve_finding", {"finding_id": "", "reason": ""}),
    Call("patrol_report_finding", {"key": "unit failed", "evidence": {"a": [1]}}),
    Call("patrol_get_findings", {"limit": "all"}),
)
_WORDS = (
    "All clear.",
    "I looked at everything; nothing is wrong. \U0001f600",
    'Now: {"name": "pulse_query", "arguments": {}}',
    "<tool_call>patrol_resolve_finding</tool_call>",
    "<think>They must not know.</think>Fine.",
    "```json\n{}\n```\r\n\x1b[2J\ud83d",
    "",
    " \n",
    "word " * 3_000,
)
_KEYS = (
    "high cpu",
    "disk full",
    "smart failure",
    "backup failed",
    "backup stale",
    "unit failed",
    "node offline",
    "raid degraded",
)


class Habits(NamedTuple):
    """How a model behaves: its answers in their order (the last one again and again), and the run's circumstances."""

    acts: tuple[tuple[str, int], ...]
    streaming: bool
    window: int | None
    privacy: str
    run_tokens: int | None
    autonomy: str


# --- what it may do ---------------------------------------------------------------------------------------------------


def _reads(_heard: Heard, random: Random) -> Say:
    return Say(calls=[_numbered(call, random) for call in random.sample(_READS, random.randint(1, 5))])


def _odd_calls(_heard: Heard, random: Random) -> Say:
    return Say(calls=random.choices(_ODD, k=random.randint(1, 6)))


def _numbered(call: Call, random: Random) -> Call:
    return call._replace(id=random.choice(("", "x", "call00001", str(random.random()))))


def _true_report(heard: Heard, random: Random) -> Say:
    rows = [row for row in heard.rows if row.quotes()]
    if not rows:
        return _reads(heard, random)
    return Say(
        calls=[_about(row, random, random.choice(row.quotes()), [row.call_id], "told") for row in _some(rows, random)]
    )


def _made_up(heard: Heard, random: Random) -> Say:
    rows = heard.rows or [Row("call00001", f"vm:lab:{random.randint(100, 105)}", {})]
    calls = []
    for row in _some(rows, random):
        own = row.quotes() or ['"status":"online"']
        evidence, cited = random.choice(
            (
                (f'"avg_cpu":{100 + random.random()}', [row.call_id]),
                (f'{own[0]}\n"errors":{10**7 + random.randrange(10**6)}', [row.call_id]),
                (own[0], []),
                (own[0], [f"call{random.randrange(10**5):05}zz"]),
                (own[0], [f"run-{random.randint(1, 3)}-sweep-0002"]),
                ("It is so.", [row.call_id]),
                ("", [row.call_id]),
            )
        )
        calls.append(_about(row, random, evidence, cited, "lie"))
    return Say(calls=calls)


def _about(row: Row, random: Random, evidence: str, cited: list[str], word: str) -> Call:
    values = row.values
    return Call(
        "patrol_report_finding",
        {
            "key": random.choice((f"{word} {random.randint(1, 4)}", *(_KEYS if word == "told" else ()))),
            "severity": random.choice(("critical", "warning", "warning", "info", "CRITICAL")),
            "category": random.choice(("reliability", "performance", "capacity", "backup", "mood")),
            "resource_id": row.resource_id,
            "resource_name": values.get("resource_name") or values.get("name") or row.resource_id,
            "resource_type": values.get("resource_type") or values.get("type") or "vm",
            "title": f"{word}: \x1b[1m trouble \U0001f4a9",
            "description": "d" * random.choice((1, 5_000)),
            "recommendation": "Do.",
            "evidence": evidence,
            "tool_call_ids": cited,
            "subject": random.choice(("", "", "/", "nginx.service", "x" * 300)),
        },
    )


def _verdicts(heard: Heard, random: Random) -> Say:
    known = [*heard.finding_ids, "0" * 32, "F-1"]
    rows = [row for row in heard.rows if row.quotes()] or [Row("call00001", "", {})]
    calls = []
    for finding_id in random.sample(known, random.randint(1, len(known))):
        row = random.choice(rows)
        said: dict[str, Any] = {
            "finding_id": finding_id,
            "reason": "Because I say so.",
            "evidence": random.choice([*row.quotes(), '"status":"fine"']),
            "tool_call_ids": random.choice(([row.call_id], [])),
        }
        if random.random() < 0.3:
            calls.append(Call("patrol_resolve_finding", said))
        else:
            verdict = random.choice(("present", "resolved", "resolved", "uncertain", "maybe"))
            calls.append(Call("patrol_assess_finding", {**said, "verdict": verdict}))
    return Say(calls=calls)


def _speaks(_heard: Heard, random: Random) -> Say:
    return Say(text=random.choice(_WORDS), finish=random.choice((None, None, "stop", "length", "content_filter")))


def _speaks_and_calls(heard: Heard, random: Random) -> Say:
    text, calls = _speaks(heard, random), _verdicts(heard, random)
    return Say(text=text.text, thinking="Hm. " * random.randint(0, 9), calls=calls.calls)


def _fails(_heard: Heard, random: Random) -> Say:
    broken = (ConnectionError("gone"), TimeoutError(), KeyError("choices"), ValueError("?"), OSError("?"))
    told = ModelError(failure_of(random.choice([*Cause]), detail="it said so"))
    return Say(text="Half of i", fault=random.choice((told, told, *broken)), midway=random.random() < 0.5)


def _read_half(_heard: Heard, random: Random) -> Say:
    return Say(text="All clear.", read=random.choice((1, 700)))


ACTORS: dict[str, Actor] = {
    "reads": _reads,
    "odd calls": _odd_calls,
    "true report": _true_report,
    "made up": _made_up,
    "verdicts": _verdicts,
    "speaks": _speaks,
    "speaks and calls": _speaks_and_calls,
    "fails": _fails,
    "read half": _read_half,
}


def _some(rows: list[Row], random: Random) -> list[Row]:
    return random.sample(rows, min(len(rows), random.randint(1, 3)))


def _actor(habits: Habits) -> Callable[[Heard], Say]:
    """One answer after the other, over all passes and runs."""
    left = list(habits.acts)

    def act(heard: Heard) -> Say:
        name, seed = left.pop(0) if len(left) > 1 else left[0]
        return ACTORS[name](heard, Random(seed + heard.turn))

    return act


_ACT = st.tuples(
    st.sampled_from([*ACTORS, "reads", "reads", "true report", "made up", "verdicts"]), st.integers(0, 2**16)
)

HABITS = st.builds(
    Habits,
    acts=st.lists(_ACT, min_size=1, max_size=14).map(tuple),
    streaming=st.booleans(),
    window=st.sampled_from((None, None, 200_000, 16_384, 8_192)),
    privacy=st.sampled_from(("full", "full", "pseudonyms", "metrics_only")),
    run_tokens=st.sampled_from((None, None, 60_000, 12_000, 0)),
    autonomy=st.sampled_from(("monitor", "approval", "full")),
)


# --- what holds -------------------------------------------------------------------------------------------------------


def _house(habits: Habits) -> Any:
    return model_house(
        Puppet(_actor(habits)),
        streaming=habits.streaming,
        window=habits.window,
        model={"privacy": habits.privacy},
        budget={"run_tokens": habits.run_tokens},
        patrol={"autonomy": habits.autonomy},
    )


def _claims_are_honest(house: ModelHouse) -> None:
    """What only the model holds was told with evidence: nothing made up is ever filed, not even closed again."""
    for finding in house.findings(None):
        assert not finding.kind.startswith(f"{CLAIM_PREFIX}lie")
        assert (
            finding.basis is Basis.DETECTOR or finding.kind in {*Kind} or finding.kind.startswith(f"{CLAIM_PREFIX}told")
        )


def what_is_broken_is_found_and_stays_found(plan: Plan, habits: Habits, seed: int) -> None:
    with _house(habits) as house:
        for _ in range(2 + seed % 2):
            report = house.run(plan.parts())
            house.check_faults(plan.faults)
            _claims_are_honest(house)
            if habits.run_tokens == 0:
                assert report.run.model_state is ModelState.SKIPPED_BUDGET
                assert house.puppet.heard == []


def what_is_mended_closes_and_what_cannot_be_seen_does_not(plan: Plan, habits: Habits, seed: int) -> None:
    random = Random(seed)
    with _house(habits) as house:
        house.run(plan.parts())
        before = house.held()
        house.run({name: random.choice(BLINDERS)(name, part, random) for name, part in plan.parts().items()})
        assert house.held() == before == plan.faults
        house.run(plan.parts(mended=True))
        house.run(plan.parts(mended=True))
        lasting = {condition for condition in house.held() if condition.kind is Kind.SMART_FAILURE}
        assert house.held() == lasting <= plan.faults, house.held() ^ lasting
        _claims_are_honest(house)


PROPERTIES = (what_is_broken_is_found_and_stays_found, what_is_mended_closes_and_what_cannot_be_seen_does_not)


def prove(holds: Callable[[Plan, Habits, int], None], examples: int) -> None:
    slow = settings(max_examples=examples, suppress_health_check=[HealthCheck.too_slow])
    slow(given(plans(most=5), HABITS, st.integers(0, 2**16))(holds))()


@pytest.mark.parametrize("holds", PROPERTIES, ids=lambda holds: holds.__name__)
def test_whatever_a_model_does(holds: Callable[[Plan, Habits, int], None]) -> None:
    prove(holds, FEW)


@pytest.mark.long
@pytest.mark.parametrize("holds", PROPERTIES, ids=lambda holds: holds.__name__)
def test_whatever_very_many_models_do(holds: Callable[[Plan, Habits, int], None]) -> None:
    prove(holds, MANY)
