"""A sweep is complete when every page of it was read whole, and not before."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.kinds import Kind
from findings.model import Topic
from findings.silence import PATROLS_OWN
from signals.coverage import BLINDED_BY, Coverage
from signals.detector import EvidencePage, Sweep
from signals.model import Origin
from signals.pages import Page, Pagination
from signals.storage_evidence import PoolsOutput

SWEEP = Sweep("pulse_storage", "pools", ())


def page(
    offset: int | None = None,
    limit: int = 10,
    total: int = 25,
    *,
    complete: bool = True,
    origin: Origin = Origin.PATROL,
) -> EvidencePage[Page]:
    pagination = None if offset is None else Pagination(total=total, limit=limit, offset=offset)
    return EvidencePage("c", PoolsOutput(complete=complete, pagination=pagination), origin, SWEEP, "pools", {})


def is_complete(*pages: EvidencePage[Page]) -> bool:
    coverage = Coverage()
    for each in pages:
        coverage.add(each)
    assert list(coverage.complete()) == ([SWEEP] if coverage.is_complete(SWEEP) else [])
    return coverage.is_complete(SWEEP)


@pytest.mark.parametrize(
    ("pages", "complete"),
    [
        ([], False),
        ([page()], True),
        ([page(complete=False)], False),
        ([page(origin=Origin.MODEL)], False),
        ([page(0), page(10), page(20)], True),
        ([page(20), page(0), page(10)], True),
        ([page(0), page(20)], False),
        ([page(0), page(10)], False),
        ([page(10), page(20)], False),
        ([page(0), page(10, complete=False), page(20)], False),
        ([page(0), page(10, complete=False), page(10), page(20)], True),  # read again, and whole
        ([page(0), page(10), page(20, total=31)], False),  # it grew meanwhile
        ([page(0, total=0)], True),
        ([page(0, limit=0, total=5)], False),
    ],
)
def test_pages_side_by_side_reach_the_total_without_a_hole(pages: list[EvidencePage[Page]], complete: bool) -> None:
    assert is_complete(*pages) is complete


@given(st.integers(1, 40), st.integers(1, 12), st.data())
def test_any_page_left_out_leaves_the_sweep_incomplete(total: int, limit: int, data: st.DataObject) -> None:
    pages = [page(offset, limit, total) for offset in range(0, total, limit)]
    assert is_complete(*data.draw(st.permutations(pages)))
    missing = data.draw(st.integers(0, len(pages) - 1))
    assert not is_complete(*itertools.chain(pages[:missing], pages[missing + 1 :]))


def test_every_topic_says_what_it_blinds() -> None:
    assert set(BLINDED_BY) == set(Topic)
    never_blinded = set(Kind) - {kind for kinds in BLINDED_BY.values() for kind in kinds}
    assert never_blinded == PATROLS_OWN
