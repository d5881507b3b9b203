"""Why something is quiet and until when, in words."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from findings.loop import loop_state
from findings.model import Finding, Transition
from findings.silence import Quiet, QuietReason, Silence, quiet
from patrol.cli.display import instant

_UNTIL = {
    QuietReason.SUPPRESSED: "until undone",
    QuietReason.ACKNOWLEDGED: "until it grows",
    QuietReason.DISMISSED: "until it gets more severe",
}


def quiet_of(finding: Finding, silences: Iterable[Silence], now: datetime) -> Quiet | None:
    """Why an open finding is quiet, or None."""
    return quiet(finding, silences, now) if finding.is_open else None


def quiet_text(finding: Finding, why: Quiet | None) -> str:
    """One line; "" for a finding that is not quiet."""
    if why is None:
        return ""
    word = finding.dismissed_reason if why.reason is QuietReason.DISMISSED else None
    what = f"{why.reason} ({word})" if word else str(why.reason)
    until = f"until {instant(why.until)}" if why.until is not None else _UNTIL.get(why.reason, "until ended")
    by = f" by {why.by}" if why.by else ""
    return f"{what} {until}{by}" + (f": {why.note}" if why.note else "")


def said_text(change: Transition) -> str:
    """What an operator said with a change."""
    words = [str(change.dismissed_reason)] if change.dismissed_reason else []
    words += [f"until {instant(change.until)}"] if change.until is not None else []
    words += [change.note] if change.note else []
    return "; ".join(words)


def finding_view(finding: Finding, silences: Iterable[Silence], now: datetime) -> dict[str, Any]:
    """A finding for JSON: its fields, `loop_state`, `unconfirmed`, and `quiet`.

    `quiet`: reason, until, by, note and silence_id, or null.
    """
    why = quiet_of(finding, silences, now)
    document: dict[str, Any] = msgspec.to_builtins(finding)
    document["loop_state"] = str(loop_state(finding, why, now))
    document["unconfirmed"] = finding.is_unconfirmed
    document["quiet"] = msgspec.to_builtins(why._asdict()) if why is not None else None
    return document
