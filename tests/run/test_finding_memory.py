"""A finding remembers its earlier lives, however long ago they were."""

import pytest

from findings.kinds import Kind
from findings.loop import last_fix
from findings.model import DEFAULT_ORG, Finding
from findings.store import FindingStore
from findings.verbs import Resolve
from patrol.operators.verbs import carry_out
from tests.run.builders import NOW, House, estate, host


def the_one(house: House) -> Finding:
    with house.database.read() as connection:
        (found,) = FindingStore(connection, DEFAULT_ORG).list_findings()
    return found


def look(house: House, usage: float) -> None:
    there = estate(host(usage=usage))
    there.collected_at = house.clock()
    house.run(there)


@pytest.mark.parametrize("weeks", [8, pytest.param(52, marks=pytest.mark.long)])
def test_what_comes_back_every_week_is_one_finding(house: House, weeks: int) -> None:
    for _ in range(weeks):
        look(house, 80)
        look(house, 40)
        house.clock.advance(days=7)
    look(house, 81)
    finding = the_one(house)
    assert (finding.kind, finding.regression_count, finding.times_raised) == (Kind.HIGH_DISK, weeks, weeks + 1)
    assert (finding.first_seen_at - NOW).days == 0
    assert finding.value == 81


def test_when_it_comes_back_it_knows_what_ended_it_and_in_whose_words(house: House) -> None:
    look(house, 80)
    known = the_one(house)
    house.clock.advance(minutes=1)
    note = "moved the archive away"
    carry_out(house.database, DEFAULT_ORG, [known.id], Resolve(note=note), now=house.clock(), author="ada")
    house.clock.advance(days=30)
    look(house, 90)
    assert the_one(house).is_open
    with house.database.read() as connection:
        changes = FindingStore(connection, DEFAULT_ORG).transitions(known.id)
    assert last_fix(changes) == "an operator resolved it: moved the archive away"
