"""A house with something in it: remembered resources, findings, runs; and an administrator's client."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from fastapi.testclient import TestClient

from findings.lifecycle import Advance, Change
from findings.model import Finding, FindingState, Gap, GapReason, ResolveReason, Sight, Topic, Transition
from findings.store import FindingStore
from patrol.accounts.model import Scope
from patrol.estate.memory.rows import alias_row, resource_row
from patrol.estate.memory.tables import ALIASES, RESOURCES
from patrol.run.record_model import RunRecord, RunStatus, RunType
from patrol.run.store import RunStore
from patrol.triggers.queue import Gates
from patrol.work.queue import Claim, RunQueue
from patrol.work.store import WorkStore
from tests.alerts.builders import ALIASES as KNOWN_ALIASES
from tests.alerts.builders import RESOURCES as KNOWN_RESOURCES
from tests.api.builders import START, House, bearer
from tests.findings.builders import finding

ORG = "default"
MINUTE = timedelta(minutes=1)


@dataclass
class Filled:
    """A house and whoever calls it."""

    house: House
    client: TestClient
    headers: dict[str, str]

    @classmethod
    def make(cls, house: House) -> "Filled":
        return cls(house, house.client(), bearer(house.token(Scope.ALL)))

    def call(self, method: str, path: str, **more: Any) -> Any:
        return self.client.request(method, path, headers={**self.headers, **more.pop("headers", {})}, **more)

    def get(self, path: str, **more: Any) -> Any:
        return self.call("GET", path, **more)

    def post(self, path: str, body: object = None, **more: Any) -> Any:
        return self.call("POST", path, json=body, **more)

    def as_token(self, *scopes: Scope) -> "Filled":
        return Filled(self.house, self.client, bearer(self.house.token(*scopes)))

    def remember(self) -> None:
        """The resources of `tests.alerts.builders`."""
        with self.house.database.write() as connection:
            rows = [{"org_id": ORG, **resource_row(each)} for each in KNOWN_RESOURCES]
            connection.execute(RESOURCES.insert(), rows)
            connection.execute(ALIASES.insert(), [{"org_id": ORG, **alias_row(each)} for each in KNOWN_ALIASES])

    def file(self, *findings: Finding, transitions: tuple[Transition, ...] = ()) -> None:
        changes = tuple(Change(None, each) for each in findings)
        with self.house.database.write() as connection:
            FindingStore(connection, ORG).apply(Advance(changes=changes, transitions=transitions, outcomes={}))

    def ran(
        self, run_id: str, *, at: datetime = START, status: RunStatus = RunStatus.HEALTHY, **more: Any
    ) -> RunRecord:
        """A run that has ended, a minute after it began."""
        record = RunRecord(
            org_id=ORG,
            id=run_id,
            type=more.pop("type", RunType.FULL),
            trigger_reason=more.pop("trigger_reason", "scheduled"),
            status=status,
            started_at=at,
            completed_at=None if status is RunStatus.RUNNING else at + MINUTE,
            **more,
        )
        RunStore(self.house.database, ORG).record_unstarted(record)
        return record

    def claim(self) -> Claim:
        """The run that is next, begun."""

        def work(connection: Any) -> Any:
            return RunQueue(connection, ORG).claim("me", self.house.now, Gates())

        found = self.house.database.transact(work)
        assert isinstance(found, Claim)
        return found

    def crowd(self) -> dict[str, list[str]]:
        """Something of every kind of record; what it can be asked for by: ids and names, and an instant to come."""
        self.remember()
        later = (self.house.now + timedelta(days=3)).isoformat()
        self.house.user("ann", administrator=True)
        ids = [f"{each:032x}" for each in range(1, 25)]
        standings: list[dict[str, Any]] = [
            {},
            {"state": FindingState.RESOLVED, "resolved_at": START, "resolve_reason": ResolveReason.CLEARED},
            {"snoozed_until": START + timedelta(days=2), "silenced_by": "ann", "silenced_at": START},
            {"suppressed": True},
        ]
        self.file(
            *(
                finding(id=each, subject=f"/{each}", resource_id="vm:lab:101", resource_name="db", **standings[n % 4])
                for n, each in enumerate(ids)
            )
        )
        gap = Gap(
            source="lab",
            topic=Topic.INVENTORY,
            reason=GapReason.TIMED_OUT,
            sight=Sight.LOST,
            detail="no answer",
        )
        self.ran("run-ended", gaps=(gap,), status=RunStatus.ISSUES_FOUND, status_text="2 findings")
        self.ran("run-failed", status=RunStatus.CRASHED, error_summary="it crashed", scope=("vm:lab:101",))
        RunStore(self.house.database, ORG).add_tool_call(
            "run-ended",
            seq=1,
            call_id="c1",
            tool_name="patrol_query",
            input_json="{}",
            output="[]",
            success=True,
            origin="patrol",
            started_at=START,
            duration_seconds=0.5,
        )
        rule = self.post("/api/ai/patrol/suppressions", {"kind": "high_cpu", "reason": "known", "until": later}).json()
        row = {"id": "a1", "type": "cpu", "level": "critical", "resourceName": "db", "value": 97}
        self.post("/api/alerts/webhook/pulse", {"alert": row})
        [alert] = self.get("/api/alerts").json()["alerts"]
        self.call("PUT", "/api/resources/nas/operator-state", json={"maintenance": {"ends_at": later}})
        self.call("PATCH", "/api/settings", json={"interval": "30m"})
        terms = self.post("/api/ai/patrol/autonomy/acknowledgement", {"terms_version": 1}).json()
        waiting = self.post("/api/ai/patrol/run", {"resource_ids": ["nas"]}).json()
        for verb in ("acknowledge", "findings/note", "resolve"):
            self.post(f"/api/ai/patrol/{verb}", {"finding_id": ids[0], "note": "seen"})
        return {
            "finding": ids,
            "run": ["run-ended", "run-failed", waiting["run_id"]],
            "alert": [alert["id"]],
            "silence": [rule["id"]],
            "acknowledgement": [terms["id"]],
            "resource": ["vm:lab:101", "db", "nas", "node:lab:pve1"],
            "kind": ["high_disk", "high_cpu"],
            "instant": [later],
        }

    def finish(self, claim: Claim) -> None:
        self.house.database.transact(lambda each: WorkStore(each, ORG).finish(claim.work, self.house.now))
