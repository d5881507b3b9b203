"""Which reads of backups belong together, and whether they show all that there is."""

from collections.abc import Collection, Iterable, Sequence

from findings.model import Gap, ResourceId, Topic
from signals.backup_evidence import BackupsOutput
from signals.detector import EvidencePage
from signals.model import Origin
from signals.pages import Pagination


def is_whole(pages: Sequence[EvidencePage[BackupsOutput]], unread: Collection[ResourceId]) -> bool:
    """Whether these pages of one sweep list every backup of every store that could be read.

    A page is believed that says of itself that it is complete, and so is a recorded page that knows neither
    `complete` nor gaps: it says no less than it did to whoever read it, though it clears nothing. `unread`:
    stores and guests whose gaps are judged apart, so that they leave the list whole for all others.
    """
    for page in pages:
        output = page.output
        told = output.complete or bool(output.gaps) or page.origin is Origin.MODEL
        if page.sweep.filters or not page.intact or not told or any(_hides_rows(gap, unread) for gap in output.gaps):
            return False
    return _covers_total([page.output.pagination for page in pages])


def _hides_rows(gap: Gap, unread: Collection[ResourceId]) -> bool:
    return gap.topic is not Topic.BACKUP_TASKS and gap.resource_id not in unread


def _covers_total(pages: Iterable[Pagination | None]) -> bool:
    """Whether the pages leave no hole up to their total. A page without pagination holds everything."""
    reached = total = 0
    known: list[Pagination] = []
    for page in pages:
        if page is None:
            return True
        known.append(page)
    for page in sorted(known, key=lambda page: page.offset):
        if page.offset > reached:
            return False
        reached = max(reached, page.offset + page.limit)
        total = max(total, page.total)
    return reached >= total
