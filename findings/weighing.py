"""What an observation is worth beside what is known: the worst of several, how severe it is, whether it grew. Pure."""

from collections.abc import Iterable
from dataclasses import replace

from findings.identity import finding_key
from findings.kinds import KINDS, VERDICT_FAILED, Kind, KindRecord
from findings.model import Basis, Finding, Observation, Severity

BASIS_STRENGTH = {Basis.DETECTOR: 2, Basis.OPERATOR: 1, Basis.MODEL: 0}
CLAIM_PREFIX = "claim_"
"""How the kinds of claims begin that no detector knows: no kind of a detector does."""

_UNCONFIRMED_MOST = Severity.WARNING
"""The highest severity of what only a model holds."""


def worst_by_key(observations: Iterable[Observation]) -> dict[str, Observation]:
    """One observation for each key: the worst, held by the strongest basis among its duplicates."""
    worst: dict[str, Observation] = {}
    for observation in observations:
        key = finding_key(observation.resource_id, observation.kind, observation.subject)
        known = worst.get(key)
        if known is None:
            worst[key] = observation
            continue
        stronger = max(known.basis, observation.basis, key=BASIS_STRENGTH.__getitem__)
        worst[key] = replace(max(known, observation, key=_badness), basis=stronger)
    return worst


def _badness(observation: Observation) -> tuple[int, int, float, str, str]:
    """Total enough that the order in which observations come in does not matter."""
    value = observation.value if observation.value is not None else float("-inf")
    strength = BASIS_STRENGTH[observation.basis]
    return observation.severity.rank, strength, value, observation.evidence, observation.summary


def more_severe(one: Severity, other: Severity) -> Severity:
    """The worse of two."""
    return max(one, other, key=lambda severity: severity.rank)


def find_record(kind: str) -> KindRecord | None:
    """What is known of a kind; None for one that no detector has."""
    return KINDS[Kind(kind)] if kind in _KIND_WORDS else None


_KIND_WORDS = frozenset(Kind)


def title_of(kind: str, subject: str) -> str:
    """What a finding is called."""
    record = find_record(kind)
    title = record.title if record is not None else kind.removeprefix(CLAIM_PREFIX).replace("_", " ").capitalize()
    return f"{title}: {subject}" if subject else title


def grew(finding: Finding, observation: Observation) -> bool:
    """Whether a counter behind an open finding went up: since it was acknowledged, else since it was last seen."""
    record = find_record(finding.kind)
    if record is None or not record.grows:
        return False
    before = finding.acknowledged_facts if finding.acknowledged_at is not None else finding.facts
    # Facts name what is above zero. A count that was merely not read before wakes once too often; better than never.
    return any(count > before.get(name, 0) for name, count in observation.facts.items())


def believed(observation: Observation, finding: Finding | None) -> Severity:
    """The severity of an observation in the light of who says so, and of what was there before."""
    severity = observation.severity
    if observation.basis is Basis.MODEL:
        # A second run that reports the same open claim confirms it.
        confirmed = finding is not None and finding.is_open and finding.basis is Basis.MODEL
        return severity if confirmed or severity.rank <= _UNCONFIRMED_MOST.rank else _UNCONFIRMED_MOST
    if finding is not None and severity is Severity.CRITICAL and _came_and_went(finding, observation):
        return Severity.WARNING
    return severity


def _came_and_went(finding: Finding, observation: Observation) -> bool:
    """Whether all that is wrong are counts that were there before, went away by themselves, and are no higher now.

    Needs the verdict of the disk among the facts: without it nothing is made less severe.
    """
    record = find_record(finding.kind)
    if record is None or not record.transient_facts or observation.facts.get(VERDICT_FAILED) != 0:
        return False
    if finding.is_open and finding.regression_count == 0:
        return False
    counts = {name: count for name, count in observation.facts.items() if count > 0}
    known = record.transient_facts | record.sticky_facts
    return not record.transient_facts.isdisjoint(counts) and all(
        name in known and name in finding.facts and count <= finding.facts[name] for name, count in counts.items()
    )
