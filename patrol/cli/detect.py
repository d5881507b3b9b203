"""`patrol detect`: the checks alone, over recorded tool calls. No database, no network, no settings file."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import IO, Annotated, TypeVar, cast

import msgspec
import typer

from patrol.cli.app import COMMANDS
from patrol.cli.exit_codes import CommandError
from patrol.cli.options import JsonOption
from patrol.cli.output import note, write_json_lines
from signals.alert_settings import AlertSettings, AlertSettingsError, load_alert_settings
from signals.detect import detect
from signals.evidence import InventoryOutput
from signals.history import history_call, parse_sample
from signals.model import Detection, ExaminedLook
from signals.thresholds import AlertThresholds
from signals.transcript import parse_tool_call

STDIN = "-"
_MOST_BAD_LINES_TOLD = 20
_LONGEST_LINE_BYTES = 1 << 28
"""No page of any tool is that long: what has no line end by then is no recording, and might never end."""

_BOM = b"\xef\xbb\xbf"
_SAMPLE_HINT = (
    'a line looks like {"resource_id": "vm:lab:101", "metric": "cpu", "at": "2026-03-01T12:00:00Z", "value": 41.5}'
)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("detect", help=COMMANDS["detect"])(detect_in_recording)


def detect_in_recording(
    tool_calls: Annotated[
        str, typer.Option("--tool-calls", metavar="FILE", help="Recorded calls, one JSON a line; - is stdin.")
    ],
    alerts: Annotated[
        Path | None, typer.Option("--alerts", metavar="FILE", help="Alert settings; without: built-in limits.")
    ] = None,
    inventory: Annotated[
        Path | None, typer.Option("--inventory", metavar="FILE", help="Estate document: which id means which resource.")
    ] = None,
    history: Annotated[
        str, typer.Option("--history", metavar="FILE", help="Samples of the time before, one JSON a line.")
    ] = "",
    now: Annotated[str, typer.Option("--now", metavar="ISO", help="The time to judge by; without: now.")] = "",
    examined: Annotated[bool, typer.Option("--examined", help="Also say what was looked at.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Runs the detectors. A line that cannot be read costs that line; a file without any readable line is an error."""
    settings = _alert_settings(alerts)
    at = _instant(now)
    beside = _inventory(inventory)
    calls = _lines_of(tool_calls, parse_tool_call, "tool call", "`patrol schema tool-calls` says how a line looks")
    count = len(calls)
    if history:
        calls.append(history_call(_lines_of(history, parse_sample, "sample", _SAMPLE_HINT), at))
    thresholds = AlertThresholds(settings, source=str(alerts or "alerts.json"))
    detection = detect(calls, thresholds, at, inventory=beside)
    _tell(detection, count, has_alerts=settings is not None)
    if as_json:
        looks = map(_look_line, detection.examined) if examined else ()
        write_json_lines([*map(msgspec.json.encode, detection.signals), *looks])
    else:
        # On demand: rich costs 40 ms of start, and pipes ask for JSON.
        import_module("patrol.cli.detection").print_detection(detection, with_looks=examined)


def _alert_settings(path: Path | None) -> AlertSettings | None:
    try:
        return load_alert_settings(path) if path is not None else None
    except AlertSettingsError as error:
        raise CommandError(str(error)) from error


def _inventory(path: Path | None) -> InventoryOutput | None:
    if path is None:
        return None
    # On demand: reading estate documents costs 40 ms of start, and most recordings carry their own inventory.
    read = cast("Callable[[Path], InventoryOutput]", import_module("patrol.cli.inventory").read_inventory)
    return read(path)


def _instant(text: str) -> datetime:
    if not text:
        return datetime.now(UTC)
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise CommandError(f"--now: {error}; write it like 2026-03-01T12:00:00Z") from error
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)


@contextmanager
def _opened(name: str) -> Iterator[IO[bytes]]:
    if name == STDIN:
        yield sys.stdin.buffer
        return
    try:
        stream = Path(name).open("rb")  # noqa: SIM115 - closed below, outside of what is translated here
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror or error}") from error
    with stream:
        yield stream


Parsed = TypeVar("Parsed")


def _lines_of(name: str, parse: Callable[[bytes], Parsed], what: str, hint: str) -> list[Parsed]:
    """What the lines of a file hold. One that cannot be read is told and left out; if that is each, CommandError."""
    with _opened(name) as stream:
        return list(_read(bounded_lines(stream, name), name, parse, what, hint))


def bounded_lines(stream: IO[bytes], name: str, *, longest: int = _LONGEST_LINE_BYTES) -> Iterator[bytes]:
    """The lines of a file, without a byte order mark before the first. Raises CommandError for one that is endless."""
    line = stream.readline(longest).removeprefix(_BOM)
    while line:
        if len(line) >= longest - len(_BOM) and not line.endswith(b"\n"):
            raise CommandError(f"{name} is no recording: a line of it is longer than {longest} bytes")
        yield line
        line = stream.readline(longest)


def _read(
    stream: Iterable[bytes], name: str, parse: Callable[[bytes], Parsed], what: str, hint: str
) -> Iterator[Parsed]:
    read = bad = 0
    try:
        for line_number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            try:
                parsed = parse(line)
            except ValueError as error:
                bad += 1
                if bad <= _MOST_BAD_LINES_TOLD:
                    note(f"patrol: {name}, line {line_number} is left out: {error}")
                continue
            read += 1
            yield parsed
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror or error}") from error
    if bad > _MOST_BAD_LINES_TOLD:
        note(f"patrol: {name}: {bad} lines are left out in all")
    if bad and not read:
        raise CommandError(f"{name} holds no {what}; {hint}")


def _tell(detection: Detection, calls: int, *, has_alerts: bool) -> None:
    for problem in detection.problems:
        note(f"patrol: call {problem.tool_call_id}: {problem.place}: {problem.message}")
    for why in detection.checks_off:
        note(f"patrol: check off: {why}")
    if not calls:
        note("patrol: there are no tool calls, so nothing was looked at")
    if not has_alerts:
        note("patrol: limits are the built-in ones: no --alerts given")


def _look_line(look: ExaminedLook) -> bytes:
    return msgspec.json.encode(look._asdict())
