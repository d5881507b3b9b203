"""An estate swept into tool calls, whole or in small pages, as structs or as recorded text, and what detection says."""

from collections.abc import Iterable, Sequence

import msgspec

from findings.model import Look
from patrol.estate.model import Estate
from patrol.run.sweep import SWEPT
from patrol.tools.registry import Toolbox
from signals.alert_settings import parse_alert_settings
from signals.detect import detect
from signals.model import Detection, ExaminedLook, Origin, Signal, ToolCall
from signals.thresholds import AlertThresholds
from signals.transcript import parse_tool_call
from tests.acceptance.faults import Condition
from tests.run.builders import NOW

BUILT_IN = AlertThresholds(None)


def swept(estate: Estate, *, page_rows: int = 1000, origin: Origin = Origin.PATROL) -> list[ToolCall]:
    """Every page of every read, as a run sweeps, in pages of any size."""
    toolbox = Toolbox(estate, NOW)
    calls: list[ToolCall] = []
    for tool_name, selector, value in SWEPT:
        offset, total = 0, 1
        while offset < total:
            arguments: dict[str, object] = {selector: value, "limit": page_rows, "offset": offset}
            output = toolbox.call(tool_name, arguments)
            number = len(calls) + 1
            calls.append(
                ToolCall(id=f"call-{number}", tool_name=tool_name, input=arguments, output=output, origin=origin)
            )
            offset += page_rows
            total = output.pagination.total if output.pagination is not None else 0
    return calls


def line_of(call: ToolCall) -> bytes:
    """A call as a line of a recording."""
    return msgspec.json.encode(call)


def recorded(calls: Iterable[ToolCall]) -> list[ToolCall]:
    """The calls as they come back from a recording."""
    return [parse_tool_call(line_of(call)) for call in calls]


def text_of(call: ToolCall) -> str:
    """The output of a call as a tool's caller got it."""
    return msgspec.json.encode(call.output).decode()


def call(tool_name: str, output: object, *, number: int = 1, success: bool = True, **arguments: object) -> ToolCall:
    """One call as a recording has it: by a model, its output an object or a text."""
    line = {"id": f"c{number}", "tool_name": tool_name, "input": arguments, "output": output, "success": success}
    return parse_tool_call(msgspec.json.encode(line))


def judged(calls: Sequence[ToolCall], limits: AlertThresholds = BUILT_IN) -> Detection:
    """What the detectors say, by the built-in limits where no others are given."""
    return detect(calls, limits, NOW)


def limits_of(text: str, *, backup_stale_hours: float = 48) -> AlertThresholds:
    """The limits of an alert settings file."""
    settings = parse_alert_settings(text, source="alerts.json")
    return AlertThresholds(settings, backup_stale_hours=backup_stale_hours)


def conditions(signals: Iterable[Signal]) -> set[Condition]:
    """What is stated, without values and words."""
    return {Condition(each.signal_type, each.resource_id, each.subject) for each in signals}


def clear_looks(detection: Detection) -> set[Condition]:
    """What was seen to be fine."""
    return {Condition(*look[:3]) for look in detection.examined if look.look is Look.CLEAR}


def lines(detection: Detection, *, without_calls: bool = False) -> list[bytes]:
    """Signals and looks as they are printed; without the ids of calls where pages were cut differently."""
    signals = [msgspec.structs.replace(each, tool_call_id="") if without_calls else each for each in detection.signals]
    looks: list[ExaminedLook] = list(detection.examined)
    return [*map(msgspec.json.encode, signals), *(msgspec.json.encode(look._asdict()) for look in looks)]
