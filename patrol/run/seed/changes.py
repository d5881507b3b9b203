"""What is different since the run before. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from findings.model import Finding, FindingState
from patrol.estate.memory.model import Presence, Recognition, Remembered


class StateChange(NamedTuple):
    """A resource that is in another state than before."""

    resource_id: str
    name: str
    before: str
    after: str


class Renamed(NamedTuple):
    """A resource that is called otherwise than before."""

    resource_id: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What is different since the run before. `since`: when that began; None: there was none, all is new."""

    since: datetime | None = None
    new: Sequence[Remembered] = ()
    gone: Sequence[Remembered] = ()
    unseen: Sequence[Remembered] = ()
    renamed: Sequence[Renamed] = ()
    states: Sequence[StateChange] = ()
    opened: Sequence[Finding] = ()
    closed: Sequence[Finding] = ()


def changes_of(
    recognition: Recognition,
    findings: Iterable[Finding],
    since: datetime | None,
    states: Iterable[StateChange] = (),
) -> Changes:
    """The changes that a run can tell of: what recognition saw, and the findings that began or ended in between.

    `findings`: open ones and those that were closed. Without a run before there is nothing to compare with.
    """
    if since is None:
        return Changes()
    every = list(findings)
    changed = [each for each in recognition.changed if each.before.presence is not each.after.presence]
    return Changes(
        since=since,
        new=sorted(recognition.new, key=_id),
        gone=sorted((each.after for each in changed if each.after.presence is Presence.REMOVED), key=_id),
        unseen=sorted((each.after for each in changed if each.after.presence is Presence.UNSEEN), key=_id),
        renamed=sorted(
            Renamed(each.after.id, each.before.name, each.after.name)
            for each in recognition.changed
            if each.before.name != each.after.name
        ),
        states=sorted(states),
        opened=sorted((each for each in every if each.is_open and each.first_seen_at >= since), key=_worst_first),
        closed=sorted(
            (
                each
                for each in every
                if each.state is FindingState.RESOLVED and each.resolved_at is not None and each.resolved_at >= since
            ),
            key=_worst_first,
        ),
    )


def _id(resource: Remembered) -> str:
    return resource.id


def _worst_first(finding: Finding) -> tuple[int, str]:
    return -finding.severity.rank, finding.id
