"""Run records and tool calls as rows, and back. Pure."""

from collections.abc import Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any

import msgspec

from findings.model import Gap
from findings.rows import Cell, storable
from findings.storm import Storm
from patrol.run.record_model import DetectionRecord, ModelState, RunRecord, RunStatus, RunType, ToolCallRecord

RUN_COLUMNS = tuple(field.name for field in fields(RunRecord))
CALL_COLUMNS = tuple(field.name for field in fields(ToolCallRecord))
DETECTION_COLUMNS = tuple(field.name for field in fields(DetectionRecord))

_LISTS: dict[str, type] = {
    "gaps": tuple[Gap, ...],
    "checks_off": tuple[str, ...],
    "scope": tuple[str, ...],
    "storms": tuple[Storm, ...],
}
_FOREIGN_TEXTS = (
    "trigger_reason",
    "lease_owner",
    "error_summary",
    "alert_settings_source",
    "model",
    "model_cause",
    "model_said",
    "analysis",
    "status_text",
    "finding_id",
)
_run_cells = attrgetter(*RUN_COLUMNS)
_call_cells = attrgetter(*CALL_COLUMNS)
_detection_cells = attrgetter(*DETECTION_COLUMNS)


def run_row(run: RunRecord) -> dict[str, Cell]:
    """The columns of a run."""
    row: dict[str, Any] = dict(zip(RUN_COLUMNS, _run_cells(run), strict=True))
    row["type"], row["status"], row["model_state"] = str(run.type), str(run.status), str(run.model_state)
    for name in _LISTS:
        row[name] = _list_text(row[name])
    for name in _FOREIGN_TEXTS:
        row[name] = storable(row[name])
    return row


def _list_text(values: Sequence[object]) -> str:
    try:
        return msgspec.json.encode(values).decode()
    except UnicodeEncodeError:  # a lone surrogate in a foreign name
        return msgspec.json.encode(mended(msgspec.to_builtins(values, builtin_types=()))).decode()


def mended(value: Any) -> Any:
    """A JSON value whose texts are `storable`."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {key: mended(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [mended(each) for each in value]
    return value


def run_of(cells: Sequence[Cell]) -> RunRecord:
    """The run of a row in the order of `RUN_COLUMNS`."""
    values: dict[str, Any] = dict(zip(RUN_COLUMNS, cells, strict=True))
    values["type"] = RunType(values["type"])
    values["status"] = RunStatus(values["status"])
    values["model_state"] = ModelState(values["model_state"])
    for name, shape in _LISTS.items():
        values[name] = msgspec.json.decode(values[name], type=shape)
    return RunRecord(**values)


def call_row(call: ToolCallRecord) -> dict[str, Cell]:
    """The columns of a tool call."""
    row: dict[str, Any] = dict(zip(CALL_COLUMNS, _call_cells(call), strict=True))
    for name in ("id", "tool_name", "input", "origin"):
        row[name] = storable(str(row[name]))
    return row


def call_of(cells: Sequence[Cell]) -> ToolCallRecord:
    """The tool call of a row in the order of `CALL_COLUMNS`."""
    values: dict[str, Any] = dict(zip(CALL_COLUMNS, cells, strict=True))
    return ToolCallRecord(**values)


def detection_row(detection: DetectionRecord) -> dict[str, Cell]:
    """The columns of a detection."""
    row: dict[str, Any] = dict(zip(DETECTION_COLUMNS, _detection_cells(detection), strict=True))
    row["options"] = storable(row["options"])
    return row


def detection_of(cells: Sequence[Cell]) -> DetectionRecord:
    """The detection of a row in the order of `DETECTION_COLUMNS`."""
    values: dict[str, Any] = dict(zip(DETECTION_COLUMNS, cells, strict=True))
    return DetectionRecord(**values)
