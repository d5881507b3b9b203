"""systemd units that are in the state failed, as `systemctl` lists them."""

import re
from collections.abc import Iterator, Mapping, Sequence

from findings.model import GapReason, Topic
from patrol.estate.sources.local.host import (
    CommandResult,
    Host,
    Part,
    ProgramMissingError,
    ProgramTimedOutError,
    Where,
    reason_of,
)
from signals.evidence import UnitRow

_FAILED = "failed"
_LIST = ("systemctl", "list-units", "--state=failed", "--all", "--full", "--plain", "--no-legend", "--no-pager")
_SHOW = ("systemctl", "show", "--no-pager", "--property=Id,ActiveState,Result,Description", "--")
# The kernel bounds the length of a command line; a storm of failed template instances is longer.
_UNITS_A_CALL = 200
_BUS_FIX = "let this process reach systemd (the socket /run/dbus/system_bus_socket), then try: systemctl --failed"
_BULLET = re.compile(r"\s*(?:[●*\u00d7x]\s+)?")

# nginx.service loaded failed failed A high performance web server
# systemd-fsck@dev-disk-by\x2duuid-1.service loaded failed failed File System Check


def parse_failed_units(text: str) -> list[UnitRow]:
    """The rows of `systemctl list-units --plain --no-legend` that are in the state failed.

    Names keep systemd's escapes. Versions that ignore --plain put a bullet before the name.
    """
    rows: list[UnitRow] = []
    for line in text.split("\n"):
        words = _BULLET.sub("", line, count=1).split(None, 4)
        if len(words) >= 4 and words[2] == _FAILED and "." in words[0]:
            rows.append(UnitRow(name=words[0], state=_FAILED, description=words[4].strip() if len(words) > 4 else ""))
    return rows


# One line a property, "Id=nginx.service", "Result=exit-code" and so on; an empty line between two units.


def parse_properties(text: str) -> list[dict[str, str]]:
    """The blocks of `systemctl show`, each a map of property to value."""
    blocks: list[dict[str, str]] = [{}]
    for line in text.split("\n"):
        name, found, value = line.partition("=")
        if found:
            blocks[-1][name] = value
        elif not line and blocks[-1]:
            blocks.append({})
    return [block for block in blocks if block]


def with_results(rows: Sequence[UnitRow], blocks: Sequence[Mapping[str, str]]) -> list[UnitRow]:
    """The rows with systemd's word for why, without those that recovered between the two calls."""
    known = {block.get("Id", ""): block for block in blocks}
    return [_with_result(row, known.get(row.name, {})) for row in rows if not _has_recovered(known.get(row.name, {}))]


def _has_recovered(block: Mapping[str, str]) -> bool:
    return block.get("ActiveState", _FAILED) != _FAILED


def _with_result(row: UnitRow, block: Mapping[str, str]) -> UnitRow:
    description = block.get("Description", "") or row.description
    return UnitRow(name=row.name, state=row.state, result=block.get("Result", ""), description=description)


def read_units(host: Host, where: Where) -> Part:
    """All failed units of the system manager. A host whose init is not systemd has none, which is no gap."""
    if not host.path("/run/systemd/system").is_dir():  # what sd_booted(3) asks
        return Part(units=())
    try:
        listed = host.run(_LIST)
    except ProgramMissingError:
        return _blind(where, GapReason.TOOL_MISSING, "systemctl is not installed", "install the package systemd")
    except ProgramTimedOutError:
        return _blind(where, GapReason.TIMED_OUT, "systemctl did not answer in time", "systemctl --failed")
    except OSError as error:
        return _blind(where, reason_of(error), f"systemctl: {error}", _BUS_FIX)
    if listed.returncode != 0:
        return _blind(where, *_refusal(listed), _BUS_FIX)
    rows = parse_failed_units(listed.stdout)
    return Part(units=with_results(rows, list(_read_blocks(host, rows))))


def _read_blocks(host: Host, rows: Sequence[UnitRow]) -> Iterator[dict[str, str]]:
    """Why each unit failed. The list is complete without it, so that a call that fails costs only the reasons."""
    for start in range(0, len(rows), _UNITS_A_CALL):
        names = [row.name for row in rows[start : start + _UNITS_A_CALL]]
        try:
            shown = host.run([*_SHOW, *names])
        except (OSError, ProgramMissingError, ProgramTimedOutError):
            return
        if shown.returncode == 0:
            yield from parse_properties(shown.stdout)


def _refusal(result: CommandResult) -> tuple[GapReason, str]:
    detail = " ".join((result.stderr or result.stdout).split())[:300] or f"systemctl ended with {result.returncode}"
    denied = "permitted" in detail or "denied" in detail.lower()
    return (GapReason.NO_PERMISSION if denied else GapReason.FAILED), detail


def _blind(where: Where, reason: GapReason, detail: str, fix: str) -> Part:
    return Part(gaps=[where.gap(Topic.UNITS, reason, detail, fix=fix)], complete=False)
