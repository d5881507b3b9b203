"""Which backups and attempts a call asks about: by the guest that a row is about, else by the row's own fields."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from patrol.estate.model import Resource
from patrol.tools.filters import Test as ResourceTest
from patrol.tools.filters import resource_test, resource_tests
from patrol.tools.model import Call, ErrorCode, ToolError
from patrol.tools.owners import GuestRow, read_vmid
from patrol.tools.view import EstateView

_SHOWN = 20  # names that an error lists at most


class OwnedRow(msgspec.Struct, frozen=True, gc=False):
    """A row of the estate and the guest that it is about, None where that is gone, unknown or ambiguous."""

    row: GuestRow
    guest: Resource | None


Test = Callable[[OwnedRow], bool]


def chosen(view: EstateView, call: Call, what: str, all_rows: Callable[[], Sequence[OwnedRow]]) -> Sequence[OwnedRow]:
    """The rows that every filter admits, in the order given. Raises ToolError for one that names nothing."""
    rows = view.kept((what, "all"), all_rows)
    key = tuple(pair for pair in call.filters() if pair[0] not in {"status", "type"})
    if not key:
        return rows

    def admitted() -> list[OwnedRow]:
        tests = [*_guest_tests(view, call), *_place_tests(view, call, rows), *_owner_tests(view, call)]
        return [owned for owned in rows if all(test(owned) for test in tests)]

    return view.kept((what, key), admitted)


def _guest_tests(view: EstateView, call: Call) -> Iterator[Test]:
    for argument in ("guest_id", "vm_id", "resource_id"):
        name = call.text(argument)
        if not name:
            continue
        number = read_vmid(name)[1]
        if number is not None and (argument != "resource_id" or not view.names.candidates(name)):
            # Documented as text: of a guest that is gone, or of one in each cluster.
            yield _has_vmid(number)
        else:
            yield _owner_test(resource_test(view, name, argument))


def _has_vmid(number: int) -> Test:
    return lambda owned: read_vmid(owned.row.vmid)[1] == number


def _owner_test(test: ResourceTest) -> Test:
    return lambda owned: owned.guest is not None and test(owned.guest)


def _place_tests(view: EstateView, call: Call, rows: Iterable[OwnedRow]) -> Iterator[Test]:
    """A row is where it says that it was made, and where its guest is now."""

    def nodes(owned: OwnedRow) -> set[str]:
        return {_fold(getattr(owned.row, "node", None)), _fold(view.host_name(owned.guest) if owned.guest else None)}

    def instances(owned: OwnedRow) -> set[str]:
        return {_fold(owned.row.instance), _fold(view.instance_of(owned.guest) if owned.guest else None)}

    for argument, places in (("node", nodes), ("host", nodes), ("instance", instances), ("cluster", instances)):
        name = call.text(argument)
        if not name:
            continue
        wanted = {_fold(name)}
        if places is nodes:
            wanted |= {_fold(each.name) for each in view.names.candidates(name)} - {""}
        known = {place for owned in rows for place in places(owned)} - {""}
        if not wanted & known:
            raise ToolError(
                ErrorCode.NOT_FOUND,
                f"{argument}: no backup or attempt is from {name!r}",
                allowed=tuple(sorted(known)[:_SHOWN]),
            )
        yield _is_in(places, wanted)


def _is_in(places: Callable[[OwnedRow], set[str]], wanted: set[str]) -> Test:
    return lambda owned: bool(wanted & places(owned))


def _owner_tests(view: EstateView, call: Call) -> Iterator[Test]:
    skipped = frozenset({"resource_id", "node", "host", "instance", "cluster"})
    return map(_owner_test, resource_tests(view, call, skip=skipped))


def _fold(text: str | None) -> str:
    return (text or "").strip().casefold()
