"""How many findings are open, by severity and by whether anybody is told of them: without reading each of them."""

import json
from collections import Counter as Count
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

from sqlalchemy import Connection, and_, func, not_, or_, select
from sqlalchemy.sql import ColumnElement

from findings.assembly import FINDING_COLUMNS
from findings.model import Finding, FindingState, Severity
from findings.rows import finding_of
from findings.silence import Silence, SilenceState
from findings.tables import FINDINGS


class Standing(StrEnum):
    """Whether anybody is told of an open finding. Of several the first holds."""

    SILENCED = "silenced"  # somebody asked for quiet
    EXPLAINED = "explained"  # it stands under another finding, which is told
    ACTIVE = "active"


def count_open(
    connection: Connection, org_id: str, silences: Sequence[Silence], now: datetime
) -> Count[tuple[Severity, Standing]]:
    """The open findings of an organisation, counted. `silences`: those that are not over.

    What nobody can have silenced is counted in the database; only the rest is read, and asked one by one.
    """
    in_force = [each for each in silences if each.state(now) is SilenceState.IN_FORCE]
    here = and_(FINDINGS.c.org_id == org_id, FINDINGS.c.state == str(FindingState.OPEN))
    loud = and_(_nobody_spoke(now), not_(or_(*map(_may_cover, in_force)))) if in_force else _nobody_spoke(now)
    explained = FINDINGS.c.parent_finding != ""
    counted: Count[tuple[Severity, Standing]] = Count()
    statement = select(FINDINGS.c.severity, explained, func.count()).where(here, loud)
    for severity, is_explained, count in connection.execute(statement.group_by(FINDINGS.c.severity, explained)):
        counted[Severity(severity), Standing.EXPLAINED if is_explained else Standing.ACTIVE] += count
    rest = select(*(FINDINGS.c[name] for name in FINDING_COLUMNS)).where(here, not_(loud))
    for row in connection.execute(rest):
        finding = finding_of(row)
        counted[finding.severity, _standing(finding, in_force, now)] += 1
    return counted


def _standing(finding: Finding, silences: Sequence[Silence], now: datetime) -> Standing:
    if not finding.is_active(now, silences):
        return Standing.SILENCED
    return Standing.EXPLAINED if finding.parent_finding else Standing.ACTIVE


def _nobody_spoke(now: datetime) -> ColumnElement[bool]:
    """That no operator said anything of this very finding that could keep it quiet. Never null."""
    snoozed_until = FINDINGS.c.snoozed_until
    return and_(
        not_(FINDINGS.c.suppressed),
        FINDINGS.c.dismissed_reason.is_(None),
        FINDINGS.c.acknowledged_facts.in_(("", "{}")),
        or_(snoozed_until.is_(None), snoozed_until <= now),
    )


def _may_cover(silence: Silence) -> ColumnElement[bool]:
    """That a silence may be about a finding: more than it covers, never less. Never null."""
    kind = FINDINGS.c.kind == silence.finding_kind
    if not silence.resource_id:
        return kind
    about = or_(
        FINDINGS.c.resource_id == silence.resource_id,
        FINDINGS.c.lives_on.contains(json.dumps(silence.resource_id), autoescape=True),
    )
    return and_(about, kind) if silence.finding_kind else about
