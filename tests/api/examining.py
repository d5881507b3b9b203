"""Examines an application against its own description, with schemathesis: every operation, every check it has."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema
from schemathesis.engine.recorder import CheckNode, ScenarioRecorder
from schemathesis.schemas import BaseSchema
from starlette.types import Receive, Scope, Send

from tests.api.builders import House

DESCRIPTION = "/api/openapi.json"
WRONG_NAME = "SCHEMATHESIS-INVALID-VALUE"
"""Whose wrong password it sends, to see whether that opens anything."""
PHASES = ("examples", "coverage", "fuzzing", "stateful")

POSITIVE = "positive_data_acceptance"
EXPECTED = {
    (POSITIVE, "invalid_cursor"): "a cursor is one that was given out: no description can say which",
    (POSITIVE, "invalid_settings"): "texts of settings (durations, cron, names of models) have rules of their own, as "
    "have several of them together; and an end of a pause has to be to come",
    (POSITIVE, "invalid_suppression"): "an end has to be to come",
    (POSITIVE, "operator_state_invalid"): "an end has to be to come, and after its beginning",
    (POSITIVE, "invalid_request until"): "an end has to be to come, and within a week",
    (POSITIVE, "invalid_request remind_at"): "a reminder has to be to come, and goes with one reason only",
    (POSITIVE, "patrol_scope_unresolved"): "names have to be those of resources",
}
"""Refusals that are right though a description cannot foretell them, by check and code. Nothing else is let pass."""


ASKED_FOR = {
    "path.finding_id": "finding",
    "path.run_id": "run",
    "path.alert_id": "alert",
    "path.silence_id": "silence",
    "path.resource_id": "resource",
    "query.run_id": "run",
    "query.resource_id": "resource",
    "body.finding_id": "finding",
    "body.resource_id": "resource",
    "body.resource_ids[*]": "resource",
    "body.acknowledgement_id": "acknowledgement",
    "body.kind": "kind",
    "body.remind_at": "instant",
    "body.maintenance.ends_at": "instant",
}
"""Which of the known records each field names more often than not; else hardly a request would reach one."""


@dataclass
class Called:
    """An application as it is called from a new address each second: nobody asks too often."""

    house: House
    calls: int = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self.calls += 1
            self.house.pass_by(timedelta(seconds=1))
            scope["client"] = (f"198.18.{self.calls >> 8 & 255}.{self.calls & 255}", 4711)
        await self.house.app(scope, receive, send)


@dataclass
class Examined:
    """What came of it. `answers`: how often each operation answered with each status."""

    answers: dict[str, Counter[int]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    checks: Counter[str] = field(default_factory=Counter)
    expected: Counter[str] = field(default_factory=Counter)

    def take(self, event: events.EngineEvent) -> None:
        match event:
            case events.ScenarioFinished():
                self._take_scenario(event.recorder)
            case events.NonFatalError():
                self.failures[f"{event.label}: {event.value!r}"] = event.info.message
            case events.FatalError():
                raise event.exception

    def _take_scenario(self, recorder: ScenarioRecorder) -> None:
        for case_id, interaction in recorder.interactions.items():
            operation = recorder.cases[case_id].value.operation.label
            if interaction.response is not None:
                self.answers.setdefault(operation, Counter())[int(interaction.response.status_code)] += 1
        for case_id, nodes in recorder.checks.items():
            for node in nodes:
                self.checks[node.name] += 1
                if node.failure_info is not None:
                    self._take_failure(recorder, case_id, node)

    def _take_failure(self, recorder: ScenarioRecorder, case_id: str, node: CheckNode) -> None:
        info = node.failure_info
        assert info is not None
        code = _code(recorder, case_id)
        if (node.name, code) in EXPECTED:
            self.expected[f"{node.name} {code}"] += 1
            return
        where = f"{recorder.label}: {node.name}: {info.failure.title} ({code})"
        self.failures.setdefault(where, f"{info.failure.message}\n{info.code_sample[:2_000]}")

    @property
    def report(self) -> str:
        return "\n\n".join(f"{where}\n{what}" for where, what in self.failures.items())


def _code(recorder: ScenarioRecorder, case_id: str) -> str:
    """The code of a refusal; of a plain `invalid_request` with its only field."""
    response = recorder.interactions[case_id].response
    if response is None or response.status_code < 400:
        return ""
    body = response.json()
    fields = list(body.get("details", {}).get("fields", {}))
    is_plain = body["code"] == "invalid_request" and len(fields) == 1
    return f"{body['code']} {fields[0]}" if is_plain else str(body["code"])


def examine(house: House, headers: dict[str, str], *, describer: dict[str, str], **config: Any) -> Examined:
    """Runs the phases that are named with `phases=(...)` as whoever has these headers, `examples` for each operation.

    `describer`: the headers of whoever may read the description.
    """
    schema = _schema(house, headers, describer, **config)
    examined = Examined()
    for event in from_schema(schema).execute():
        examined.take(event)
    return examined


def _often(kind: str) -> dict[str, Any]:
    return {"dictionary": kind, "probability": 0.7}


def _schema(
    house: House,
    headers: dict[str, str],
    describer: dict[str, str],
    *,
    phases: tuple[str, ...] = PHASES,
    examples: int,
    seed: int = 1,
    known: Mapping[str, Sequence[str]],
) -> BaseSchema:
    config = SchemathesisConfig.from_dict(
        {
            "seed": seed,
            "headers": headers,
            "base-url": "http://192.0.2.1:7667",
            "continue-on-failure": True,
            "cache": {"enabled": False},
            "dictionaries": {kind: {"values": list(values)} for kind, values in known.items()},
            "parameters": {name: _often(kind) for name, kind in ASKED_FOR.items()},
            "operations": [
                {"include-path": "/api/ai/patrol/suppressions", "parameters": {"body.until": _often("instant")}}
            ],
            "generation": {
                "max-examples": examples,
                "deterministic": True,
                "database": "none",
                "with-security-parameters": False,  # else each request has a second, wrong credential, and is refused
            },
            "phases": {each: {"enabled": each in phases} for each in PHASES},
        }
    )
    return schemathesis.openapi.from_asgi(
        DESCRIPTION, Called(house), config=config, headers={"Host": "localhost", **describer}
    )
