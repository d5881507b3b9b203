"""Which findings of a run are to be looked into: those that no model told of, and those that wait since earlier."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from findings.investigation import Autonomy, InvestigationPolicy
from findings.model import Finding, ResourceId
from findings.silence import Silence
from patrol.agent.budget import day_start
from patrol.run.causes import cause_of
from patrol.run.dialogue import Dialogue
from patrol.run.escalation import Candidate, escalations
from patrol.run.model_work.model import EscalationRecord, EscalationState
from patrol.run.model_work.store import ModelWorkStore
from patrol.settings.model import InvestigationSection


class Places(Protocol):
    """Where the resource of a finding is."""

    def line_of(self, finding: Finding) -> tuple[ResourceId, ...]: ...
    def source_of(self, finding: Finding) -> ResourceId: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Escalating:
    """What the decision of one run rests on beside its findings. `newest`: what was last decided, by finding id."""

    autonomy: Autonomy
    has_model: bool
    policy: InvestigationPolicy
    queued_today: int = 0
    newest: Mapping[str, EscalationRecord] = field(default_factory=dict)

    def decide(
        self,
        findings: Iterable[Finding],
        dialogue: Dialogue,
        places: Places,
        silences: Sequence[Silence],
        *,
        run_id: str,
        now: datetime,
    ) -> list[EscalationRecord]:
        """The decisions of this run. `findings`: as they are after it."""
        candidates = [
            Candidate(
                finding=finding,
                group=cause_of(
                    finding.resource_id, finding.category, places.line_of(finding), places.source_of(finding)
                ),
                dissent=dialogue.dissent.get(finding.key, ""),
            )
            for finding in findings
            if finding.is_open and (finding.key in dialogue.untold or self._waits(finding))
        ]
        return escalations(
            candidates,
            run_id=run_id,
            now=now,
            autonomy=self.autonomy,
            policy=self.policy,
            has_model=self.has_model,
            queued_today=self.queued_today,
            newest=self.newest,
            silences=silences,
        )

    def _waits(self, finding: Finding) -> bool:
        before = self.newest.get(finding.id)
        return before is not None and before.state is EscalationState.DEFERRED


def escalating(
    store: ModelWorkStore, autonomy: Autonomy, settings: InvestigationSection, now: datetime, *, has_model: bool
) -> Escalating:
    """What was decided up to now, read from the database."""
    policy = InvestigationPolicy(max_attempts=settings.attempts, cool_down=settings.cool_down)
    return Escalating(
        autonomy=autonomy,
        has_model=has_model,
        policy=policy,
        queued_today=store.queued_since(day_start(now)),
        newest=store.newest_escalations(),
    )
