"""The work of a model as rows, and back. Pure. Columns stand in the order of the fields, behind the organisation.

Texts of a model are kept up to a bound: what it says is evidence of what it said, not a place to store things.
"""

from collections.abc import Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any

import msgspec

from findings.model import Verdict
from findings.rows import Cell, storable
from patrol.agent.charge import Charge
from patrol.agent.metering import CallOutcome, ModelCall, Phase
from patrol.agent.model import Usage
from patrol.run.model_work.model import (
    EscalationRecord,
    EscalationState,
    ModelReport,
    ReportOutcome,
    VerdictRecord,
    VerdictSource,
)

LONGEST_TEXT = 8_000
"""Characters of one text of a model that are kept."""

CALL_COLUMNS = (
    "run_id",
    "seq",
    "phase",
    "model",
    "started_at",
    "duration_seconds",
    "outcome",
    "cause",
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "reasoning_tokens",
    "estimated",
    "cost_usd",
    "assumed_usd",
    "tool_calls",
)
REPORT_COLUMNS = tuple(field.name for field in fields(ModelReport))
VERDICT_COLUMNS = tuple(field.name for field in fields(VerdictRecord))
ESCALATION_COLUMNS = tuple(field.name for field in fields(EscalationRecord))

_report_cells = attrgetter(*REPORT_COLUMNS)
_verdict_cells = attrgetter(*VERDICT_COLUMNS)
_escalation_cells = attrgetter(*ESCALATION_COLUMNS)
_decode_cited = msgspec.json.Decoder(tuple[str, ...]).decode


def call_row(call: ModelCall) -> dict[str, Cell]:
    """The columns of a request."""
    return {
        "run_id": call.run_id,
        "seq": call.seq,
        "phase": str(call.phase),
        "model": storable(call.model),
        "started_at": call.started_at,
        "duration_seconds": call.duration_seconds,
        "outcome": str(call.outcome),
        "cause": call.cause,
        "input_tokens": call.usage.input_tokens,
        "output_tokens": call.usage.output_tokens,
        "cached_tokens": call.usage.cached_tokens,
        "reasoning_tokens": call.usage.reasoning_tokens,
        "estimated": not call.usage.reported,
        "cost_usd": call.charge.cost_usd,
        "assumed_usd": call.charge.assumed_usd,
        "tool_calls": call.tool_calls,
    }


def call_of(cells: Sequence[Cell]) -> ModelCall:
    """The request of a row in the order of `CALL_COLUMNS`."""
    values: dict[str, Any] = dict(zip(CALL_COLUMNS, cells, strict=True))
    usage = Usage(
        input_tokens=values.pop("input_tokens"),
        output_tokens=values.pop("output_tokens"),
        cached_tokens=values.pop("cached_tokens"),
        reasoning_tokens=values.pop("reasoning_tokens"),
        reported=not values.pop("estimated"),
    )
    charged = Charge(cost_usd=values.pop("cost_usd"), assumed_usd=values.pop("assumed_usd"))
    values["phase"], values["outcome"] = Phase(values["phase"]), CallOutcome(values["outcome"])
    return ModelCall(usage=usage, charge=charged, **values)


def report_row(report: ModelReport) -> dict[str, Cell]:
    """The columns of a report."""
    row: dict[str, Any] = dict(zip(REPORT_COLUMNS, _report_cells(report), strict=True))
    row["cited"] = msgspec.json.encode([storable(each) for each in report.cited]).decode()
    row["outcome"] = str(report.outcome)
    return _kept(row)


def report_of(cells: Sequence[Cell]) -> ModelReport:
    """The report of a row in the order of `REPORT_COLUMNS`."""
    values: dict[str, Any] = dict(zip(REPORT_COLUMNS, cells, strict=True))
    values["cited"], values["outcome"] = _decode_cited(values["cited"]), ReportOutcome(values["outcome"])
    return ModelReport(**values)


def verdict_row(verdict: VerdictRecord) -> dict[str, Cell]:
    """The columns of a verdict."""
    row: dict[str, Any] = dict(zip(VERDICT_COLUMNS, _verdict_cells(verdict), strict=True))
    row["verdict"], row["source"] = str(verdict.verdict), str(verdict.source)
    return _kept(row)


def verdict_of(cells: Sequence[Cell]) -> VerdictRecord:
    """The verdict of a row in the order of `VERDICT_COLUMNS`."""
    values: dict[str, Any] = dict(zip(VERDICT_COLUMNS, cells, strict=True))
    values["verdict"], values["source"] = Verdict(values["verdict"]), VerdictSource(values["source"])
    return VerdictRecord(**values)


def escalation_row(escalation: EscalationRecord) -> dict[str, Cell]:
    """The columns of an escalation."""
    row: dict[str, Any] = dict(zip(ESCALATION_COLUMNS, _escalation_cells(escalation), strict=True))
    row["state"] = str(escalation.state)
    return _kept(row)


def escalation_of(cells: Sequence[Cell]) -> EscalationRecord:
    """The escalation of a row in the order of `ESCALATION_COLUMNS`."""
    values: dict[str, Any] = dict(zip(ESCALATION_COLUMNS, cells, strict=True))
    values["state"] = EscalationState(values["state"])
    return EscalationRecord(**values)


_UNCUT = frozenset({"cited"})


def _kept(row: dict[str, Any]) -> dict[str, Cell]:
    """The row with texts that a database takes, none of them endless."""
    for name, cell in row.items():
        if isinstance(cell, str):
            text = storable(cell)
            row[name] = text if len(text) <= LONGEST_TEXT or name in _UNCUT else f"{text[: LONGEST_TEXT - 3]}..."
    return row
