"""Runs whose model answers at once, to measure what is Patrol's own: `python -m tests.bench.model_runs TASK SIZE`.

The model is a server in a thread of the same process (`tests.agent.wire_server`), so its time counts as well: a few
milliseconds for each request. A token is four bytes of what was sent, tools and history included, or of what came back.

`SILENT` says one sentence in each pass: the least that a run can cost. `THOROUGH` asks for five lists at once in the
first pass, reports each signal that it is asked about, and gives each verdict that it is asked for.
"""

import itertools
import json
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import msgspec

from patrol.agent.metering import Phase
from patrol.agent.wire.opening import open_provider
from patrol.database import open_database
from patrol.estate.model import Estate
from patrol.run import RunReport, RunRequest
from patrol.run.model_access import ModelAccess
from patrol.run.model_work.store import ModelWorkStore
from patrol.settings.model import Settings
from tests.acceptance.wire_play import Stage, claim, opening_of, rows_of, stage_of
from tests.agent.wire_server import Answer, Ask, Call, ModelServer, Say, Script
from tests.bench.generate import NOW, Generated, generate
from tests.bench.tasks import Figures, measured
from tests.run.builders import Clock, GivenSource, House

FAULTS = 5
WINDOW = 128_000
"""Of the model: large enough for all that it asks for."""
UNCHANGED = "unchanged, skip_unchanged"
_LISTS = (
    ("patrol_get_findings", {}),
    ("pulse_metrics", {"type": "performance"}),
    ("pulse_storage", {"type": "pools"}),
    ("pulse_storage", {"type": "disk_health"}),
    ("pulse_storage", {"type": "backups"}),
)


def silent(_ask: Ask) -> Answer:
    return Say("I looked, and there is nothing to tell.")


def thorough(ask: Ask) -> Answer:
    if ask.turn:
        return Say("I looked at all of the lists. What I found is reported, and nothing else is to be told.")
    match stage_of(ask):
        case Stage.LOOK:
            calls = [Call(name, given, f"list-{number}") for number, (name, given) in enumerate(_LISTS)]
        case Stage.EVALUATE:
            calls = [_report(row) for row in rows_of(opening_of(ask)) if "tool_call_id" in row]
        case Stage.ASSESS:
            calls = [_doubt(row) for row in rows_of(opening_of(ask)) if "finding_id" in row]
    return Say("", calls)


MODELS: dict[str, Script] = {"silent": silent, "thorough": thorough}


def _report(signal: dict[str, str]) -> Call:
    kept = ("key", "severity", "subject", "category", "resource_id", "resource_name", "resource_type", "evidence")
    told = {name: signal[name] for name in kept if name in signal}
    words = {
        "title": signal["summary"][:120],
        "description": f"{signal['summary']}. It hurts whoever uses it, and grows worse if nothing is done about it.",
        "recommendation": "Find out what uses it, make room or stop what causes it, and look again tomorrow.",
    }
    return Call(
        "patrol_report_finding", {**words, **told, "tool_call_ids": [signal["tool_call_id"]]}, signal["finding_id"]
    )


def _doubt(finding: dict[str, str]) -> Call:
    said = {"finding_id": finding["finding_id"], "verdict": "uncertain", "reason": "Nothing that I read tells of it."}
    return Call("patrol_assess_finding", said, finding["finding_id"])


def _claimant(ask: Ask) -> Answer:
    """Claims as many things as there are faults elsewhere, and ends."""
    if stage_of(ask) is not Stage.LOOK or ask.turn > 1:
        return Say("Done.")
    if ask.turn == 0:
        return Say("", [Call(name, given, f"list-{number}") for number, (name, given) in enumerate(_LISTS[:2])])
    return Say("", [made for number in range(FAULTS) if (made := claim(ask, f"odd-hum-{number}")) is not None])


def made(resources: int, faults: int) -> Estate:
    """An estate with exactly so many faults."""
    if not faults:
        return generate(resources, faults=0).estate
    seeds = (generate(resources, seed=seed, faults=faults / resources) for seed in itertools.count())
    found: Generated = next(each for each in seeds if len(each.planted) == faults)
    return found.estate


class Place:
    """A house in memory with a model at a server, in which one run follows the other by an hour."""

    def __init__(self, server: ModelServer, *, skip_unchanged: bool = False) -> None:
        named = {
            "name": "openai:m",
            "base_url": server.openai_url,
            "skip_unchanged": skip_unchanged,
            "context_window": WINDOW,
        }
        self._server = server
        self._with_model = Settings.model_validate({"model": named})
        self._house = House(open_database("sqlite://"), clock=Clock(NOW))
        self._store = ModelWorkStore(self._house.database)

    def run(self, estate: Estate, script: Script | None) -> RunReport:
        """One run over a copy of the estate; without a script, without a model."""
        read = msgspec.json.decode(msgspec.json.encode(estate), type=Estate)
        self._house.clock.now += timedelta(hours=1)
        self._house.settings = Settings() if script is None else self._with_model
        patrol = self._house.patrol(GivenSource([read]))
        if script is None:
            return patrol.run(RunRequest())
        self._server.script = script
        access = ModelAccess(
            settings=self._with_model,
            store=self._store,
            clock=self._house.clock,
            opener=lambda model, remaining: open_provider(model, remaining=remaining),
        )
        return replace(patrol, analysts=access).run(RunRequest())

    def spent(self, report: RunReport) -> Figures:
        """Tokens of a run by its passes, and how many requests they were."""
        calls = self._store.calls(report.run.id)
        tokens: Counter[str] = Counter()
        for call in calls:
            tokens[call.phase] += call.usage.total
        return {str(phase): tokens[phase] for phase in Phase} | {"requests": len(calls)}


def without_model(size: str) -> Figures:
    """A first run over an estate with five faults, without a model."""
    return _timed(int(size), None)


def with_model(size: str) -> Figures:
    """The same with the model that is thorough."""
    return _timed(int(size), thorough)


def _timed(size: int, script: Script | None) -> Figures:
    with ModelServer(silent) as server:
        Place(server).run(made(FAULTS * 2, FAULTS), script)  # imports, and what is done once in a process
        place, estate = Place(server), made(size, FAULTS)
        figures, report = measured(lambda: place.run(estate, script))
        return figures | place.spent(report)


def tokens(size: str) -> Figures:
    """Tokens of each sort of run with each model: `model/sort/pass`."""
    quiet, faulty = made(int(size), 0), made(int(size), FAULTS)
    figures: Figures = {}
    with ModelServer(silent) as server:
        for name, script in MODELS.items():
            sorts: dict[str, list[tuple[Estate, Script | None]]] = {
                "quiet": [(quiet, script)],
                "5 new faults": [(faulty, script)],
                "5 known faults": [(faulty, None), (faulty, script)],
                "5 known claims": [(quiet, _claimant), (quiet, script)],
                UNCHANGED: [(faulty, script)] * 2,
            }
            for sort, runs in sorts.items():
                place = Place(server, skip_unchanged=sort == UNCHANGED)
                reports = [place.run(estate, each) for estate, each in runs]
                spent = place.spent(reports[-1])
                figures |= {f"{name}/{sort}/{part}": number for part, number in spent.items()}
    return figures


TASKS: dict[str, Callable[[str], Figures]] = {task.__name__: task for task in (without_model, with_model, tokens)}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(TASKS[sys.argv[1]](sys.argv[2])) + "\n")
