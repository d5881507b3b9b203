"""`pulse_query` action `health`: sources, failed units of hosts, guests that answer, nodes as their peers see them."""

from findings.model import Topic
from patrol.estate.identity import HOSTS
from patrol.estate.model import Resource, ResourceType, Status
from patrol.tools.filters import matching
from patrol.tools.model import Call
from patrol.tools.paging import finished, part_of
from patrol.tools.reachability import is_reachable, weighed
from patrol.tools.view import EstateView
from signals.evidence import ConnectionRow, GuestHealth, HealthOutput, HostHealth, NodeHealth

_GUEST_TYPES = frozenset({ResourceType.VM, ResourceType.SYSTEM_CONTAINER})
_UP = frozenset({Status.RUNNING, Status.ONLINE})
_DOWN = frozenset({Status.OFFLINE, Status.STOPPED})


def health(view: EstateView, call: Call) -> HealthOutput:
    """Connections on every page; paging runs through hosts and guests together, by id."""
    judged = view.kept("judged", lambda: [each for each in view.resources if _is_judged(each)])
    part = part_of(call, view.kept(("health", call.filters()), lambda: matching(view, call, judged)))
    connections = [ConnectionRow(instance_id=each.name, connected=each.connected) for each in view.estate.sources]
    connected = sum(each.connected for each in connections)
    page = HealthOutput(
        connections=connections,
        total=len(connections),
        connected=connected,
        disconnected=len(connections) - connected,
    )
    blind = {source.name for source in view.estate.sources if not source.connected}
    for resource in part.rows:
        if resource.type in _GUEST_TYPES:
            page.guests.append(_guest_health(resource))
        if resource.type in HOSTS or resource.units is not None:
            page.hosts.append(_host_health(view, resource))
        if resource.type in HOSTS:
            page.nodes.append(_node_health(resource, seen=resource.source not in blind))
    return finished(view, call, page, part, [each.id for each in part.rows])


def _is_judged(resource: Resource) -> bool:
    if resource.type in _GUEST_TYPES:
        return not resource.template
    return resource.type in HOSTS or resource.units is not None


def _guest_health(resource: Resource) -> GuestHealth:
    return GuestHealth(
        id=resource.id,
        name=resource.name,
        type=resource.type.value,
        reachable=is_reachable(resource),
        probes=weighed(resource.probes or ()),
    )


def _host_health(view: EstateView, resource: Resource) -> HostHealth:
    # A list that was cut is shown, but is not the whole list.
    cut = any(gap.topic is Topic.UNITS and not gap.subject for gap in view.gaps_by_resource.get(resource.id, ()))
    return HostHealth(
        id=resource.id,
        hostname=resource.name,
        type=resource.type.value,
        units=resource.units or [],
        units_read=resource.units is not None and not cut,
    )


def _node_health(resource: Resource, *, seen: bool) -> NodeHealth:
    """`seen`: its source answered, so that its word about the host is of now."""
    online = True if resource.status in _UP else False if resource.status in _DOWN else None
    return NodeHealth(
        id=resource.id,
        name=resource.name,
        type=resource.type.value,
        online=online if seen else None,
        detail=f"reported {resource.status.value} by {resource.source or 'its source'}",
    )
