"""What only a model says: how long it stands, and when a model's word about a finding holds. Pure.

A claim is a finding of basis `model`. Until a detector, an operator or a second run confirms it, it is shown as
unconfirmed and is a warning at most. Unconfirmed it ends by itself; confirmed it ends only where a detector sees it
clear, a model shows that it is gone, an operator says so, or its resource is removed.
"""

from collections.abc import Container
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from findings.model import Basis, Examination, Finding, Look, Observation, ResolveReason, ResourceId, Verdict
from findings.weighing import find_record

MOST_RUNS = 3
"""Runs with a working model that may pass without a confirmation. The last one ends the claim."""

LONGEST = timedelta(hours=72)
"""How long a claim stands without a confirmation, however many runs there are."""


class VerdictRefusal(StrEnum):
    """Why a model's verdict on a finding does not hold."""

    FOUND_CLEAR = "found_clear"  # it says present, and a detector looked completely and found nothing
    STILL_PRESENT = "still_present"  # it says resolved, and a detector sees it
    NO_DATA = "no_data"  # it says resolved, and the detector that would know could not look
    NO_EVIDENCE = "no_evidence"  # it says resolved of what no detector knows, and shows nothing
    NOT_ITS_OWN = "not_its_own"  # it says resolved of what an operator holds


def verdict_refusal(
    finding: Finding, verdict: Verdict, look: Look | None, *, has_evidence: bool
) -> VerdictRefusal | None:
    """Why a verdict does not hold, or None: the gate between a model's word and the findings.

    `look`: what this run's detectors say of the condition, None if they did not examine it. `has_evidence`: what the
    model quotes was found in an output of this run about the resource.
    """
    if verdict is Verdict.UNCERTAIN:
        return None
    has_detector = find_record(finding.kind) is not None
    if verdict is Verdict.PRESENT:
        return VerdictRefusal.FOUND_CLEAR if has_detector and look is Look.CLEAR else None
    if has_detector:
        if look in (Look.PRESENT, Look.HELD):
            return VerdictRefusal.STILL_PRESENT
        return None if look is Look.CLEAR else VerdictRefusal.NO_DATA
    if finding.basis is not Basis.MODEL:
        return VerdictRefusal.NOT_ITS_OWN
    return None if has_evidence else VerdictRefusal.NO_EVIDENCE


def verdict_stands(finding: Finding, verdict: Verdict, look: Look | None, *, has_evidence: bool) -> bool:
    """Whether a verdict holds; `verdict_refusal` says why not."""
    return verdict_refusal(finding, verdict, look, has_evidence=has_evidence) is None


def is_contradicted(observation: Observation, examined: Examination) -> bool:
    """Whether a model says what a detector has looked for, completely, and not found."""
    if observation.basis is not Basis.MODEL or find_record(observation.kind) is None:
        return False
    return examined.look(observation.kind, observation.resource_id, observation.subject) is Look.CLEAR


def what_ends_it(finding: Finding) -> str:
    """What would close a claim that no detector knows, for people."""
    shown = "a model that shows, by what its tools read, that it is gone; or an operator"
    if not finding.is_unconfirmed:
        return shown
    return f"{MOST_RUNS} runs or {LONGEST / timedelta(hours=1):g} h without a confirmation; {shown}"


class Standing(NamedTuple):
    """Why a claim ends (None: it stays), and how many runs did not confirm it."""

    reason: ResolveReason | None
    unconfirmed_runs: int


def standing(
    finding: Finding, now: datetime, *, resolved: Container[str], model_looked: Container[ResourceId]
) -> Standing:
    """What becomes of an open claim that nobody repeated in this run.

    `resolved`: keys of claims that a model showed to be gone. `model_looked`: resources that this run was about, if
    its model worked: silence about any other says nothing.
    """
    if finding.basis is not Basis.MODEL:
        return Standing(None, finding.unconfirmed_runs)
    if finding.key in resolved and find_record(finding.kind) is None:
        return Standing(ResolveReason.CLEARED, finding.unconfirmed_runs)
    if not finding.is_unconfirmed:
        return Standing(None, finding.unconfirmed_runs)
    runs = finding.unconfirmed_runs + (finding.resource_id in model_looked)
    expired = runs >= MOST_RUNS or now - finding.last_seen_at >= LONGEST
    return Standing(ResolveReason.EXPIRED_CLAIM if expired else None, runs)
