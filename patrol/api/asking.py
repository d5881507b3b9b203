"""Asking for a run: what it would be about is settled before it is accepted, and what is accepted has its run id."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from typing import Any, Literal

from pydantic import BaseModel, Field
from sqlalchemy import Connection

from findings.model import ResourceId
from patrol.alerts.model import StoredAlert
from patrol.api.access import Access
from patrol.api.documents.runs import RunState
from patrol.api.errors import ApiError
from patrol.api.inputs import Body, Id
from patrol.api.services import Services
from patrol.estate.memory.model import Memory
from patrol.estate.memory.naming import resources_called
from patrol.overrides.store import OverrideStore
from patrol.schedule.upkeep import offer_run
from patrol.triggers.model import Depth, Occasion, Trigger, TriggerReason, TriggerScope
from patrol.triggers.queue import Accepted, Rejected
from patrol.work.model import WorkState
from patrol.work.queue import Offered

MOST_NAMES = 500


class RunWish(Body):
    """What a run is to be about. Nothing named: the whole estate. `resource_ids`: ids, aliases or unambiguous names."""

    resource_ids: list[Id] = Field(default_factory=list, max_length=MOST_NAMES)
    resource_types: list[Id] = Field(default_factory=list, max_length=50)
    alert_identifier: Id | Literal[""] = ""
    alert_type: Id | Literal[""] = ""


class ScopeResolution(BaseModel):
    """What the names of a request mean."""

    requested_resource_ids: list[str]
    resolved_resource_ids: list[str]
    effective_resource_ids: list[str]
    effective_resource_types: list[str]
    unmatched_resource_ids: list[str]
    ambiguous_resource_ids: list[str]


class RunAccepted(BaseModel):
    """A run that will take place, and be recorded under this id whatever comes."""

    success: Literal[True] = True
    accepted: Literal[True] = True
    message: str
    run_id: str
    state: RunState
    started_at: datetime = Field(description="for one that waits: when it was accepted")
    scope_resolution: ScopeResolution
    findings_url: str
    already_running: Literal[True] | None = Field(
        None, description="somebody asked the same before, and that run serves both; else absent"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A run as it is offered, and what its names meant."""

    trigger: Trigger
    resolution: ScopeResolution


@dataclass(slots=True)
class _Names:
    """Names sorted by what they mean."""

    resolved: dict[str, ResourceId] = field(default_factory=dict)
    unmatched: list[str] = field(default_factory=list)
    ambiguous: dict[str, list[ResourceId]] = field(default_factory=dict)


def wanted_run(
    wish: RunWish, memory: Memory, alert: StoredAlert | None, now: datetime, *, finding_id: str = ""
) -> Wanted:
    """The run that a wish means. `alert`: the one that it names, if that is known. `finding_id`: what it looks into.

    Raises ApiError.
    """
    names = sorted({each.strip() for each in wish.resource_ids} - {""})
    types = sorted({each.strip().casefold() for each in wish.resource_types} - {""})
    if wish.alert_identifier and not names and not types:
        if alert is None or not alert.resource_id:
            raise _unknown_alert(wish, alert)
        names = [alert.resource_id]
    found = _resolved(names, types, memory)
    if found.unmatched or found.ambiguous:
        raise unresolved(found.unmatched, found.ambiguous, is_empty=not memory.resources)
    effective = sorted(set(found.resolved.values()))
    kinds = [] if names else types
    occasion = Occasion(
        reason=TriggerReason.MANUAL,
        at=now,
        alert_id=alert.id if alert is not None else wish.alert_identifier,
        alert_type=wish.alert_type or (alert.type if alert is not None else ""),
        finding_id=finding_id,
    )
    scope = TriggerScope(resource_ids=tuple(effective), resource_types=tuple(kinds))
    return Wanted(
        trigger=Trigger(scope=scope, occasions=(occasion,), depth=Depth.NORMAL if scope.is_full else Depth.QUICK),
        resolution=ScopeResolution(
            requested_resource_ids=names,
            resolved_resource_ids=sorted(found.resolved),
            effective_resource_ids=effective or _of_types(kinds, memory),
            effective_resource_types=kinds,
            unmatched_resource_ids=[],
            ambiguous_resource_ids=[],
        ),
    )


def ask(services: Services, access: Access, connection: Connection, wanted: Wanted) -> tuple[Offered, RunAccepted]:
    """Offers the run, in a transaction of the caller. Raises ApiError where too many wait that somebody asked for."""
    settings = OverrideStore(connection, access.org_id).in_force(services.settings()).settings
    now = services.clock()
    offered = offer_run(connection, access.org_id, wanted.trigger, now, settings.triggers, services.ids)
    if isinstance(offered.decision, Rejected):
        message = "Too many runs wait that somebody asked for: try again when one of them has begun"
        raise ApiError(HTTPStatus.CONFLICT, "patrol_queue_full", message)
    work = offered.work
    is_running = work.state is WorkState.RUNNING
    known = not isinstance(offered.decision, Accepted)
    return offered, RunAccepted(
        message="This run was asked for already" if known else "The run is accepted",
        run_id=work.run_id,
        state=RunState.RUNNING if is_running else RunState.QUEUED,
        started_at=work.started_at if is_running and work.started_at is not None else work.enqueued_at,
        scope_resolution=wanted.resolution,
        findings_url=findings_url(settings.api.public_url, work.run_id),
        already_running=True if known else None,
    )


def findings_url(public_url: str, run_id: str) -> str:
    """Where the findings of a run can be read."""
    return f"{public_url}/api/ai/patrol/findings?run_id={run_id}"


def _resolved(names: Sequence[str], types: Sequence[str], memory: Memory) -> _Names:
    found = _Names()
    there = {each.type for each in memory.resources.values() if each.is_there}
    for name in names:
        fitting = [each for each in resources_called(memory, name) if not types or each.type in types]
        if len(fitting) == 1:
            found.resolved[name] = fitting[0].id
        elif fitting:
            found.ambiguous[name] = [each.id for each in fitting]
        else:
            found.unmatched.append(name)
    if not names:
        found.unmatched.extend(f"type {each}" for each in types if each not in there)
    return found


def _of_types(types: Sequence[str], memory: Memory) -> list[ResourceId]:
    return sorted(each.id for each in memory.resources.values() if each.is_there and each.type in types)


def unresolved(
    unmatched: Sequence[str], ambiguous: Mapping[str, Sequence[ResourceId]], *, is_empty: bool = False
) -> ApiError:
    """The refusal of names that mean nothing, or too much. `candidates`: what each of the latter may mean."""
    parts = [f"no resource is called {', '.join(unmatched)}"] if unmatched else []
    parts += [f"{name} could be {' or '.join(ids)}" for name, ids in ambiguous.items()]
    hint = " (no run has seen any resource yet)" if is_empty else ""
    details: dict[str, Any] = {
        "unmatched_resource_ids": list(unmatched),
        "ambiguous_resource_ids": sorted(ambiguous),
        "candidates": {name: list(ids) for name, ids in ambiguous.items()},
    }
    message = "; ".join(parts)[:2_000] + hint
    return ApiError(HTTPStatus.UNPROCESSABLE_ENTITY, "patrol_scope_unresolved", message, details=details)


def _unknown_alert(wish: RunWish, alert: StoredAlert | None) -> ApiError:
    details: dict[str, Any] = {
        "alert_identifier": wish.alert_identifier,
        "unmatched_resource_ids": [],
        "ambiguous_resource_ids": [],
        "candidates": {},
    }
    if alert is None:
        message = f"No alert is called {wish.alert_identifier}: name its resource in resource_ids"
    else:
        message = f"Nobody knows which resource the alert {alert.id} is about: name it in resource_ids"
        details["candidates"] = {alert.called: list(alert.candidates)} if alert.candidates else {}
        details["ambiguous_resource_ids"] = [alert.called] if alert.candidates else []
        details["unmatched_resource_ids"] = [] if alert.candidates else [alert.called]
    return ApiError(HTTPStatus.UNPROCESSABLE_ENTITY, "patrol_scope_unresolved", message, details=details)
