"""Which resource a report means: by its id, and by its name only where that leaves no choice."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from findings.model import ResourceId
from patrol.estate.identity import GUESTS, HOSTS
from patrol.estate.model import Resource, ResourceType
from patrol.tools.model import ErrorCode, ToolError
from patrol.tools.view import EstateView

_SHOWN = 20

_CONTAINERS = frozenset({ResourceType.SYSTEM_CONTAINER, ResourceType.APP_CONTAINER})
_OTHER_WORDS: Mapping[str, frozenset[ResourceType]] = MappingProxyType(
    {
        "qemu": frozenset({ResourceType.VM}),
        "virtual-machine": frozenset({ResourceType.VM}),
        "lxc": frozenset({ResourceType.SYSTEM_CONTAINER}),
        "ct": frozenset({ResourceType.SYSTEM_CONTAINER}),
        "oci-container": frozenset({ResourceType.SYSTEM_CONTAINER}),
        "docker-container": frozenset({ResourceType.APP_CONTAINER}),
        "docker": frozenset({ResourceType.APP_CONTAINER, ResourceType.DOCKER_HOST}),
        "container": _CONTAINERS,
        "guest": frozenset(GUESTS),
        "host": frozenset(HOSTS),
        "physical-disk": frozenset({ResourceType.DISK}),
        "pool": frozenset({ResourceType.STORAGE}),
        "datastore": frozenset({ResourceType.STORAGE}),
        "array": frozenset({ResourceType.RAID}),
        "kubernetes": frozenset({ResourceType.K8S_CLUSTER}),
        "k8s": frozenset({ResourceType.K8S_CLUSTER}),
        "truenas": frozenset({ResourceType.AGENT}),
    }
)
"""Words of other systems. One that may be several types admits each of them: the id decides."""

TYPE_WORDS = tuple(kind.value for kind in ResourceType)


def types_of(word: str) -> frozenset[ResourceType]:
    """The types that a word admits. Raises ToolError for a word that means none."""
    folded = "-".join(word.casefold().replace("_", "-").split())
    if folded in TYPE_WORDS:
        return frozenset({ResourceType(folded)})
    if folded in _OTHER_WORDS:
        return _OTHER_WORDS[folded]
    raise ToolError(
        ErrorCode.INVALID_ARGUMENT, f"resource_type: {word[:100]!r} is no type of resource", allowed=TYPE_WORDS
    )


def find_resource(
    view: EstateView, given_id: str, given_name: str, type_word: str, is_in_scope: Callable[[ResourceId], bool]
) -> Resource:
    """The resource of a report. Raises ToolError where id, name and type do not mean one resource in scope."""
    types = types_of(type_word)
    found = view.names.candidates(given_id)
    if not found:
        return _by_name(view, given_id, given_name, types, is_in_scope)
    if len(found) > 1:
        found = tuple(each for each in found if each.type in types and is_in_scope(each.id)) or found
    if len(found) > 1:
        raise ToolError(ErrorCode.AMBIGUOUS, f"resource_id: {given_id[:100]!r} means several", allowed=_ids(found))
    (resource,) = found
    if resource.type not in types:
        raise ToolError(
            ErrorCode.WRONG_TYPE,
            f"resource_type: {resource.id} is a {resource.type}, not a {type_word[:100]}",
            allowed=(resource.type.value,),
        )
    if not is_in_scope(resource.id):
        raise ToolError(ErrorCode.OUT_OF_SCOPE, f"resource_id: {resource.id} is none of the resources of this run")
    called = [each for each in view.names.candidates(given_name) if each.type in types]
    if len(called) == 1 and called[0] is not resource:
        raise ToolError(
            ErrorCode.IDENTITY_MISMATCH,
            f"resource_id is {resource.id}, and resource_name {given_name[:100]!r} is {called[0].id}",
            allowed=_ids((resource, called[0])),
        )
    return resource


def _by_name(
    view: EstateView,
    given_id: str,
    given_name: str,
    types: frozenset[ResourceType],
    is_in_scope: Callable[[ResourceId], bool],
) -> Resource:
    called = view.names.candidates(given_name)
    fitting = [each for each in called if each.type in types and is_in_scope(each.id)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise ToolError(
            ErrorCode.AMBIGUOUS,
            f"resource_id: there is no {given_id[:100]!r}, and {given_name[:100]!r} is the name of several",
            allowed=_ids(fitting),
        )
    others = called or [each for kind in sorted(types) for each in view.by_type[kind] if is_in_scope(each.id)]
    raise ToolError(
        ErrorCode.NOT_FOUND,
        f"resource_id: there is no {given_id[:100]!r} in this estate; give an id as the tools show it",
        allowed=_ids(others),
    )


def _ids(resources: Sequence[Resource]) -> tuple[str, ...]:
    return tuple(each.id for each in resources[:_SHOWN])
