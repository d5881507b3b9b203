"""What a run keeps, whatever its model says or does: held against the record, and against what is really wrong."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from findings.claims import LONGEST
from findings.kinds import Kind
from findings.model import Basis, Finding, FindingState, Severity, Verdict
from findings.rows import storable
from findings.silence import PATROLS_OWN
from findings.store import FindingStore
from findings.weighing import CLAIM_PREFIX
from patrol.agent.failure import Cause
from patrol.agent.metering import CallOutcome
from patrol.agent.prompts import ASSESS, DETECT, EVALUATE
from patrol.database import open_database
from patrol.estate.model import Estate
from patrol.run import RunReport, RunRequest
from patrol.run.model_access import NOT_DUE, ModelAccess
from patrol.run.model_analyst import BUDGET
from patrol.run.model_work.model import ReportOutcome, VerdictSource
from patrol.run.model_work.store import ModelWorkStore
from patrol.run.record_model import ModelState, RunRecord, RunStatus
from patrol.run.store import RunStore
from patrol.settings.model import Settings
from signals.model import Origin
from tests.acceptance.estates import Parts
from tests.acceptance.faults import Condition
from tests.acceptance.puppets import Puppet
from tests.run.builders import GivenSource, House
from tests.run.model_house import Heard

_SYSTEMS = {said for words in (*DETECT.values(), EVALUATE, ASSESS) for said in (words.system, words.last_turn)}
_WORKED = frozenset({RunStatus.CRITICAL, RunStatus.ISSUES_FOUND, RunStatus.INCOMPLETE, RunStatus.HEALTHY})
_LONGEST_ANALYSIS = 64_000
_CAUSES = frozenset({*map(str, Cause), BUDGET, NOT_DUE, "after_crash"})
_MARKUP = re.compile(
    r"</?\s*(?:tool_calls?|function_calls?)\b|<\s*/?\s*think|DSML"
    r"|\b(?:pulse|patrol)_\w+\s*\(|\"(?:name|tool|function)\"\s*:\s*\"(?:pulse|patrol)_",
    re.IGNORECASE,
)
"""What a call written as text looks like, in any of the ways in which models write one."""


@dataclass
class ModelHouse:
    """A house in which a model works. `settings`: sections beside that of the model."""

    house: House
    puppet: Puppet
    streaming: bool = True
    window: int | None = None
    told: Heard = field(default_factory=Heard)

    def run(self, parts: Parts | dict[str, Estate | Exception], request: RunRequest | None = None) -> RunReport:
        """One run a minute later, and all that it must keep but what is wrong with the estate."""
        self.told = Heard()
        self.house.clock.advance(minutes=1)
        access = ModelAccess(
            settings=self.house.settings,
            store=self.work,
            clock=self.house.clock,
            opener=lambda _model, _left: self.puppet.opened(streaming=self.streaming, window=self.window),
            follower=self.told,
        )
        sources = [GivenSource([part], name=name) for name, part in parts.items()]
        before = len(self.puppet.heard)
        report = replace(self.house.patrol(*sources), analysts=access).run(request or RunRequest())
        assert self.puppet.wrong == []
        self._check(report, len(self.puppet.heard) - before)
        return report

    @property
    def work(self) -> ModelWorkStore:
        """What the model did."""
        return ModelWorkStore(self.house.database)

    def findings(self, state: FindingState | None = FindingState.OPEN) -> list[Finding]:
        """All findings in this state."""
        with self.house.database.read() as connection:
            return FindingStore(connection, "default").list_findings(state=state)

    def held(self) -> set[Condition]:
        """What the detectors hold, beside what Patrol says of itself."""
        return {
            Condition(Kind(each.kind), each.resource_id, each.subject)
            for each in self.findings()
            if each.basis is Basis.DETECTOR and each.kind not in PATROLS_OWN
        }

    def claims(self) -> list[Finding]:
        """What only a model holds."""
        return [each for each in self.findings() if each.basis is Basis.MODEL]

    def check_faults(self, faults: set[Condition]) -> None:
        """All that is broken is filed by what the detectors saw, and nothing else is."""
        assert self.held() == faults
        keys = {(each.kind, each.resource_id, each.subject) for each in self.claims()}
        assert not keys & set(faults)

    # --- what every run keeps

    def _check(self, report: RunReport, requests: int) -> None:
        run = RunStore(self.house.database).get(report.run.id)
        assert (run.status in _WORKED, run.completed_at is not None) == (True, True)
        assert (run.status, run.model_state, run.error_summary) == (report.run.status, report.run.model_state, "")
        self._check_status(run, report)
        self._check_part(run, requests)
        self._check_words(run)
        self._check_followed(run)
        self._check_claims(run)
        self._check_verdicts(run)

    def _check_status(self, run: RunRecord, report: RunReport) -> None:
        worst = max((each.severity.rank for each in report.findings), default=0)
        assert (run.status is RunStatus.CRITICAL) == (worst == Severity.CRITICAL.rank)
        assert (run.status is RunStatus.ISSUES_FOUND) == (worst == Severity.WARNING.rank)
        assert ("all clear" in report.status_text) == (run.status is RunStatus.HEALTHY)
        if run.status is RunStatus.HEALTHY:
            assert run.complete
            assert run.uncertain == 0

    def _check_part(self, run: RunRecord, requests: int) -> None:
        assert run.model == self.house.settings.model.name
        assert bool(run.model_cause) == bool(run.model_said)
        assert not run.model_cause or run.model_cause in _CAUSES
        if run.model_state is ModelState.FAILED:
            assert run.model_cause not in {"", BUDGET}
        if run.model_state in {ModelState.USED, ModelState.SKIPPED_BUDGET}:
            assert run.model_cause in {"", BUDGET}
        assert run.model_state is not ModelState.NONE or run.model_cause == NOT_DUE
        calls = self.work.calls(run.id)
        assert requests >= len([call for call in calls if call.cause != Cause.INTERRUPTED])
        assert all(call.outcome is not CallOutcome.SENT for call in calls)
        spent = self.work.spent(run_id=run.id)
        assert (run.input_tokens + run.output_tokens, run.cost_usd) == (spent.tokens, spent.usd)
        assert all(heard.system in _SYSTEMS for heard in self.puppet.heard)

    def _check_words(self, run: RunRecord) -> None:
        assert run.analysis == storable("".join(self.told.texts))[:_LONGEST_ANALYSIS]
        assert not _MARKUP.search(run.analysis), run.analysis

    def _check_followed(self, run: RunRecord) -> None:
        """Who follows is told of the calls of the first pass, as they are recorded, and of nothing that was taken."""
        calls = [call.id for call in RunStore(self.house.database).tool_calls(run.id) if call.origin == Origin.MODEL]
        assert self.told.ended == calls
        assert self.told.started[: len(calls)] == calls
        assert len(self.told.refused) <= run.rejected_findings

    def _check_claims(self, run: RunRecord) -> None:
        """Each claim that was filed quotes what one of the cited calls of that very run was answered."""
        filed = [each for each in self.work.reports(run.id) if each.outcome is ReportOutcome.FILED]
        answers = self.answers(run.id)
        for report in filed:
            assert report.cited
            shown = "\n".join(answers[each] for each in report.cited)
            assert report.resource_id in shown
            assert all(line in shown for line in report.evidence.splitlines() if line.strip())
        for claim in self.claims():
            assert claim.kind.startswith(CLAIM_PREFIX) or claim.kind in set(Kind)
            assert claim.severity.rank <= Severity.WARNING.rank or not claim.is_unconfirmed
            assert self.house.clock() - claim.last_seen_at <= LONGEST
            assert claim.key in {each.finding_key for name in self._runs() for each in self.work.reports(name)}

    def _check_verdicts(self, run: RunRecord) -> None:
        """A model's word that something is gone counts for claims alone; what a detector holds stays open."""
        resolved = {
            each.finding_id
            for each in self.work.verdicts(run.id)
            if each.source is VerdictSource.MODEL and each.applied and each.verdict is Verdict.RESOLVED
        }
        assert not resolved & {each.id for each in self.findings() if each.basis is Basis.DETECTOR}

    def _runs(self) -> list[str]:
        return [each.id for each in RunStore(self.house.database).list_runs()]

    def answers(self, run_id: str) -> dict[str, str]:
        """What the calls of the model were answered in a run, by their ids, as a model reads them."""
        store = RunStore(self.house.database)
        return {
            call.id: _compact((store.find_page(call.output_sha256) or b"").decode())
            for call in store.tool_calls(run_id)
            if call.origin != Origin.PATROL and call.success
        }


def _compact(text: str) -> str:
    return json.dumps(json.loads(text), separators=(",", ":"), ensure_ascii=False)


@contextmanager
def model_house(
    puppet: Puppet, *, streaming: bool = True, window: int | None = None, **sections: Any
) -> Iterator[ModelHouse]:
    """A fresh house with this model."""
    database = open_database("sqlite://")
    model = {"name": "ollama:puppet", **sections.pop("model", {})}
    try:
        house = House(database, settings=Settings.model_validate({"model": model, **sections}))
        yield ModelHouse(house, puppet, streaming=streaming, window=window)
    finally:
        database.close()


def causes(reports: Sequence[RunReport]) -> list[tuple[ModelState, str]]:
    """How the model's part of each run went."""
    return [(report.run.model_state, report.run.model_cause) for report in reports]
