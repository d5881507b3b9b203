"""Cutting a selection into pages, and saying what a page could not show."""

from collections.abc import Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

from findings.model import Gap, GapReason, ResourceId, Topic
from patrol.tools.filters import known_source
from patrol.tools.model import Call
from patrol.tools.view import EstateView
from signals.pages import Page, Pagination

RowT = TypeVar("RowT")
PageT = TypeVar("PageT", bound=Page)


class Part(NamedTuple, Generic[RowT]):
    """One page's rows. `total` counts all rows after filtering; `pagination` is None where one page holds them all
    (the documented shape).
    """

    rows: Sequence[RowT]
    total: int
    pagination: Pagination | None


def part_of(call: Call, rows: Sequence[RowT]) -> Part[RowT]:
    """The rows of the page that a call asks for."""
    total = len(rows)
    if call.offset == 0 and total <= call.limit:
        return Part(rows, total, None)
    shown = rows[call.offset : call.offset + call.limit]
    return Part(shown, total, Pagination(total=total, limit=call.limit, offset=call.offset))


def finished(
    view: EstateView,
    call: Call,
    page: PageT,
    part: Part[RowT],
    shown: Iterable[ResourceId],
    *,
    more_gaps: Iterable[Gap] = (),
) -> PageT:
    """Sets `pagination`, `gaps` and `complete` of a page that shows these resources.

    The rule of `complete`: no source failed to read a topic of this selector as a whole, and some source read
    it at all. What could not be read of single resources does not count: it is listed in `gaps`, which keeps
    the detectors from clearing these resources, and must not keep them from clearing the others. Nor does a
    topic that a source could not read where each row tells what it lacks (`Selector.rows_tell`): its rows are
    there, unmeasured.

    A page is only held to the sources that it was asked of: with the filter `source`, another source's
    failure is not its concern.
    """
    whole = [*_whole_gaps(view, call, part.total), *more_gaps]
    page.pagination = part.pagination
    page.gaps = [*whole, *_gaps_of(view, call.selector.topics, shown)]
    page.complete = not any(gap.resource_id is None and not _rows_tell(view, call, gap) for gap in whole)
    return page


def _whole_gaps(view: EstateView, call: Call, total: int) -> list[Gap]:
    topics = call.selector.topics
    source = known_source(view, call.text("source")) if call.text("source") else ""
    gaps = [gap for gap in view.whole_gaps if gap.topic in topics and (not source or gap.source in {"", source})]
    if gaps or total or topics & view.topics_read:
        return gaps
    unread = next(topic for topic in Topic if topic in topics)
    detail = f"no source of this estate reads {unread.value}"
    if unread is Topic.FINDINGS:
        detail = "there is no record of findings here"
    return [Gap(source=source, topic=unread, reason=GapReason.NOT_REPORTED, detail=detail)]


def _rows_tell(view: EstateView, call: Call, gap: Gap) -> bool:
    """Whether no row of the page can be taken for more than was read, so that the gap is told and hides nothing.

    Either the rows of the gap's source are listed and show by themselves that they were not measured; or the
    source as a whole is out of sight, and then it has no rows here, or rows that say so.
    """
    known = (gap.topic is Topic.INVENTORY and bool(gap.source)) or gap.source in view.sources_listed
    return call.selector.rows_tell and known


def _gaps_of(view: EstateView, topics: frozenset[Topic], shown: Iterable[ResourceId]) -> list[Gap]:
    by_resource = view.gaps_by_resource
    if not by_resource:
        return []
    ids = dict.fromkeys(shown)
    return [gap for resource_id in ids for gap in by_resource.get(resource_id, ()) if gap.topic in topics]
