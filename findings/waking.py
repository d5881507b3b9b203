"""What of an operator's words a run takes back, because what they were said of is not the same any more. Pure."""

from findings.assembly import changed
from findings.model import Finding


def unacknowledged(finding: Finding) -> Finding:
    """Without the acknowledgement: what it was about is not all there is any more."""
    if finding.acknowledged_at is None:
        return finding
    return changed(finding, acknowledged_at=None, acknowledged_by="", acknowledged_facts={})


def unsilenced(finding: Finding) -> Finding:
    """Without the snooze or dismissal. A suppression holds whatever comes."""
    if finding.suppressed:
        return finding
    return changed(
        finding,
        snoozed_until=None,
        dismissed_reason=None,
        remind_at=None,
        silenced_at=None,
        silenced_by="",
        silence_note="",
    )


def reminded(finding: Finding) -> Finding:
    """As it is on the day on which an operator wanted to hear of it again."""
    return changed(unsilenced(finding), remind_count=finding.remind_count + 1)
