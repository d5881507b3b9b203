from pathlib import Path

import pytest

from findings.kinds import KINDS, Kind, Nature
from findings.model import Category

DOCUMENT = Path(__file__).parents[2] / "docs" / "findings.md"


def test_every_kind_has_its_record():
    assert set(KINDS) == set(Kind)
    assert all(record.kind is kind for kind, record in KINDS.items())


def test_a_guest_that_does_not_answer_is_a_matter_of_reliability():
    assert KINDS[Kind.GUEST_UNREACHABLE].category is Category.RELIABILITY


@pytest.mark.parametrize("kind", Kind)
def test_only_a_disk_has_to_be_seen_well_twice(kind):
    assert KINDS[kind].clears_after == (2 if kind is Kind.SMART_FAILURE else 1)


@pytest.mark.parametrize("kind", Kind)
def test_a_failed_backup_is_an_event_and_everything_else_can_be_looked_at_again(kind):
    assert (KINDS[kind].nature is Nature.EVENT) is (kind is Kind.BACKUP_FAILED)


def test_damage_and_what_may_pass_are_different_counters():
    for record in KINDS.values():
        assert record.sticky_facts.isdisjoint(record.transient_facts)
        assert record.grows or not (record.sticky_facts | record.transient_facts)


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_says_what_would_clear_it(kind):
    text = KINDS[kind].what_clears({}, "70 %")
    assert text
    assert "{" not in text
    assert ("70 %" in text) is ("{clear}" in KINDS[kind].clears_when)


@pytest.mark.parametrize("fact", sorted(KINDS[Kind.SMART_FAILURE].sticky_facts))
def test_damage_done_never_clears_by_itself(fact):
    assert "never by itself" in KINDS[Kind.SMART_FAILURE].what_clears({fact: 1}, "")
    assert "PASSED" in KINDS[Kind.SMART_FAILURE].what_clears({fact: 0, "pending_sectors": 3}, "")


@pytest.mark.parametrize("kind", Kind)
def test_the_documentation_lists_every_kind_with_what_closes_it(kind):
    record = KINDS[kind]
    closed_by = record.clears_when.format(clear="its clear mark")
    row = f"| `{kind}` | {record.category} | {record.title} | {closed_by} |"
    assert row in DOCUMENT.read_text(encoding="utf-8").splitlines()
