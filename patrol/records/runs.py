"""Runs: which there were, and all that is recorded of one."""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from patrol.agent.metering import ModelCall
from patrol.records.desk import NOT_THERE, WRONG, Desk, Question, QuestionRefusedError
from patrol.run.model_work.model import EscalationRecord, ModelReport, VerdictRecord
from patrol.run.model_work.store import ModelWorkStore
from patrol.run.record_model import RunRecord, ToolCallRecord
from patrol.run.store import RunStore

MOST_RUNS = 10_000


class RunList(msgspec.Struct, frozen=True, kw_only=True):
    """Runs, the newest first."""

    runs: list[RunRecord]


class ListRuns(Question, frozen=True, kw_only=True):
    """The newest ones."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=MOST_RUNS)]

    def answer(self, desk: Desk, /) -> RunList:
        """Which there were."""
        return RunList(runs=RunStore(desk.database, desk.org_id).list_runs(self.limit))


class RunWork(msgspec.Struct, frozen=True, kw_only=True):
    """All that is stored of a model's work in one run."""

    calls: Sequence[ModelCall]
    reports: Sequence[ModelReport]
    verdicts: Sequence[VerdictRecord]
    escalations: Sequence[EscalationRecord]


class OneRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run. `calls`: of its tools, where they were asked for."""

    run: RunRecord
    calls: list[ToolCallRecord]
    work: RunWork


class ShowRun(Question, frozen=True, kw_only=True):
    """One run, by its id or the beginning of it."""

    run_id: str
    tool_calls: bool = False

    def answer(self, desk: Desk, /) -> OneRun:
        """What is recorded of it."""
        store = RunStore(desk.database, desk.org_id)
        run = find_run(store, self.run_id)
        calls = store.tool_calls(run.id) if self.tool_calls else []
        return OneRun(run=run, calls=calls, work=_work_of(ModelWorkStore(desk.database, desk.org_id), run.id))


def find_run(store: RunStore, beginning: str) -> RunRecord:
    """The run of this id, or the one whose id begins so. Raises QuestionRefusedError."""
    exact = store.find(beginning)
    if exact is not None:
        return exact
    found = [run for run in store.list_runs(MOST_RUNS) if run.id.startswith(beginning)]
    if len(found) == 1:
        return found[0]
    if not found:
        unkept = "a run of `patrol run --snapshot` is kept only with --storage"
        raise QuestionRefusedError(f"no run has the id {beginning}; `patrol runs list` shows them; {unkept}", NOT_THERE)
    raise QuestionRefusedError(f"{len(found)} runs have ids that begin with {beginning}; write more of it", WRONG)


def _work_of(store: ModelWorkStore, run_id: str) -> RunWork:
    return RunWork(
        calls=store.calls(run_id),
        reports=store.reports(run_id),
        verdicts=store.verdicts(run_id),
        escalations=store.escalations(run_id=run_id)[::-1],
    )
