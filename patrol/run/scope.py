"""The part of the estate that a run is about."""

from collections.abc import Sequence

from findings.model import Look, ResourceId
from patrol.estate.model import Estate
from patrol.estate.names import AliasIndex
from patrol.run.request import RunRequest, ScopeError
from signals.model import Examined


class Scope:
    """The wanted resources and everything that lives on or in them; or, without a wish, the whole estate."""

    def __init__(self, wanted: frozenset[ResourceId] | None) -> None:
        self._wanted = wanted

    @property
    def is_full(self) -> bool:
        """Whether the run is about everything."""
        return self._wanted is None

    @property
    def resource_ids(self) -> tuple[ResourceId, ...]:
        """The effective resources of a scoped run, sorted; empty for a full one."""
        return tuple(sorted(self._wanted or ()))

    def __contains__(self, resource_id: object) -> bool:
        return self._wanted is None or resource_id in self._wanted


def resolve_scope(request: RunRequest, estate: Estate) -> Scope:
    """The scope that a request means; where it names nothing, the resource of its alert.

    Raises ScopeError for a name that means no resource, or several, for a type of which there is none, and for an
    unknown alert.
    """
    if request.is_full:
        return Scope(None)
    names: Sequence[str] = request.scope
    if request.alert_id and not names and not request.resource_types:
        names = (_resource_of_alert(request.alert_id, request.alert_type, estate),)
    resolution = AliasIndex(estate.resources).resolve(names)
    if not resolution.is_whole:
        raise ScopeError(resolution.unmatched, resolution.ambiguous)
    wanted = {*resolution.effective, *_of_types(request.resource_types, estate)}
    children: dict[ResourceId, list[ResourceId]] = {}
    for resource in estate.resources:
        children.setdefault(resource.parent, []).append(resource.id)
    waiting = list(wanted)
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child not in wanted:
                wanted.add(child)
                waiting.append(child)
    return Scope(frozenset(wanted))


def _of_types(types: Sequence[str], estate: Estate) -> set[ResourceId]:
    missing = sorted(set(types) - {str(resource.type) for resource in estate.resources})
    if missing:
        raise ScopeError([f"any resource of type {each}" for each in missing], {})
    return {resource.id for resource in estate.resources if str(resource.type) in types}


def _resource_of_alert(alert_id: str, alert_type: str, estate: Estate) -> ResourceId:
    """What an alert is about. One that nobody knows must not become a run over everything."""
    for alert in estate.alerts:
        if alert.id == alert_id and alert_type in ("", alert.type):
            return alert.resource_id
    raise ScopeError([f"the alert {alert_id}{f' of type {alert_type}' if alert_type else ''}"], {})


class ScopedExamination:
    """What was examined, cut to a scope: a run says nothing about what it was not asked about."""

    def __init__(self, examined: Examined, scope: Scope) -> None:
        self._examined = examined
        self._scope = scope

    def look(self, kind: str, resource_id: ResourceId, subject: str) -> Look | None:
        """The answer for one condition, or None outside the scope."""
        return self._examined.look(kind, resource_id, subject) if resource_id in self._scope else None
