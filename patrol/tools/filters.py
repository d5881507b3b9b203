"""Which resources a call asks about. A filter that names nothing known is an error, never an empty page."""

from collections.abc import Callable, Collection, Sequence

from findings.model import ResourceId
from patrol.estate.identity import GUESTS, HOSTS
from patrol.estate.model import Resource, ResourceType
from patrol.tools.model import Call, ErrorCode, ToolError
from patrol.tools.view import EstateView

_SHOWN = 20  # names that an error lists at most

Test = Callable[[Resource], bool]


def matching(view: EstateView, call: Call, resources: Sequence[Resource]) -> Sequence[Resource]:
    """The resources that every resource filter of the call admits, in the order given.

    Raises ToolError for a filter that names nothing in this estate, or more than one resource.
    """
    tests = resource_tests(view, call)
    if not tests:
        return resources
    return [resource for resource in resources if all(test(resource) for test in tests)]


def resource_tests(view: EstateView, call: Call, *, skip: frozenset[str] = frozenset()) -> list[Test]:
    """One test for each resource filter that the call has, those in `skip` excepted."""
    makers: dict[str, Callable[[EstateView, str, str], Test]] = {
        "resource_id": _by_resource,
        "resource_type": _by_type,
        "node": _by_host,
        "host": _by_host,
        "instance": _by_instance,
        "cluster": _by_instance,
        "source": _by_source,
    }
    given = ((argument, call.text(argument)) for argument in makers if argument not in skip)
    return [makers[argument](view, argument, word) for argument, word in given if word]


def resource_test(view: EstateView, word: str, argument: str) -> Test:
    """Admits the one resource that `word` means, and what lives on it."""
    wanted = one_resource(view, word, argument)
    return lambda resource: any(each is wanted for each in view.line_of(resource))


def guest_tests(view: EstateView, call: Call) -> list[Test]:
    """One test for each of `guest_id` and `vm_id`: a VMID means a guest in each cluster. ToolError if it means none."""
    tests: list[Test] = []
    for argument in ("guest_id", "vm_id"):
        word = call.text(argument)
        if word:
            wanted = {each.id for each in view.names.candidates(word) if each.type in GUESTS}
            if not wanted:
                known = [each.id for each in view.resources if each.type in GUESTS]
                raise ToolError(
                    ErrorCode.NOT_FOUND, f"{argument}: no guest is called {word!r}", allowed=tuple(known[:_SHOWN])
                )
            tests.append(_is_one_of(wanted))
    return tests


def _is_one_of(wanted: Collection[ResourceId]) -> Test:
    return lambda resource: resource.id in wanted


def _by_resource(view: EstateView, argument: str, word: str) -> Test:
    return resource_test(view, word, argument)


def _by_type(_view: EstateView, _argument: str, word: str) -> Test:
    wanted = _resource_type(word)
    return lambda resource: resource.type is wanted


def _by_host(view: EstateView, argument: str, word: str) -> Test:
    hosts = _hosts(view, argument, word)
    return lambda resource: any(each.id in hosts for each in view.line_of(resource))


def _by_instance(view: EstateView, argument: str, word: str) -> Test:
    instance = _known_word(argument, word, {view.instance_of(each) for each in view.resources})
    return lambda resource: view.instance_of(resource) == instance


def _by_source(view: EstateView, _argument: str, word: str) -> Test:
    source = known_source(view, word)
    return lambda resource: resource.source == source


def one_resource(view: EstateView, name: str, argument: str = "resource_id") -> Resource:
    """The resource that `name` means; ToolError with the candidates if it is not exactly one."""
    found = view.names.candidates(name)
    if len(found) == 1:
        return found[0]
    if found:
        raise ToolError(
            ErrorCode.AMBIGUOUS,
            f"{argument}: {name!r} may mean {len(found)} resources; use one of their ids",
            allowed=tuple(resource.id for resource in found[:_SHOWN]),
        )
    raise ToolError(
        ErrorCode.NOT_FOUND,
        f"{argument}: no resource has the id, alias or name {name!r}; pulse_query with action search finds ids",
    )


def known_source(view: EstateView, name: str) -> str:
    """A source of this estate by its name, whatever the case."""
    known = {source.name for source in view.estate.sources} | {resource.source for resource in view.resources}
    return _known_word("source", name, known)


def _hosts(view: EstateView, argument: str, name: str) -> set[str]:
    """Hosts of this id, alias or name. Equal names in two clusters are both meant: this only filters."""
    found = {resource.id for resource in view.names.candidates(name) if resource.type in HOSTS}
    if not found:
        known = sorted({host.name or host.id for kind in HOSTS for host in view.by_type[kind]})
        raise ToolError(ErrorCode.NOT_FOUND, f"{argument}: no host is called {name!r}", allowed=tuple(known[:_SHOWN]))
    return found


def _known_word(argument: str, word: str, known: set[str]) -> str:
    exact = [each for each in known if each == word] or [each for each in known if each.casefold() == word.casefold()]
    if word and len(exact) == 1:
        return exact[0]
    allowed = tuple(sorted(known - {""})[:_SHOWN])
    raise ToolError(ErrorCode.NOT_FOUND, f"{argument}: nothing in this estate is called {word!r}", allowed=allowed)


def _resource_type(word: str) -> ResourceType:
    try:
        return ResourceType(word.casefold().replace("_", "-"))
    except ValueError:
        raise ToolError(
            ErrorCode.INVALID_ARGUMENT,
            f"resource_type: {word!r} is no type of resource",
            allowed=tuple(ResourceType),
        ) from None
