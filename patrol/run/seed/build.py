"""A seed out of what a run knows. Pure: equal facts give equal bytes."""

from collections.abc import Iterator

from patrol.run.seed.changes_part import changes_section
from patrol.run.seed.estate_part import (
    alerts_section,
    flags_section,
    gaps_section,
    healthy_section,
    inventory_section,
    overview,
    scope_section,
)
from patrol.run.seed.findings_part import active_findings, known_sections, needs_verdict
from patrol.run.seed.model import Section, Seed, SeedFacts


def build_seed(facts: SeedFacts) -> Seed:
    """What the model starts from, in a stable order: what it must know first, then what it may want to know."""
    active = active_findings(facts)
    return Seed(
        sections=tuple(_sections(facts, _interesting(facts, [each.resource_id for each in active]))),
        needing_verdict=tuple(each.id for each in active if needs_verdict(each)),
    )


def _interesting(facts: SeedFacts, known: list[str]) -> frozenset[str]:
    if not facts.scope.is_full:
        return frozenset(facts.scope.resource_ids)
    return frozenset((*known, *(flag.resource_id for flag in facts.flags)))


def _sections(facts: SeedFacts, interesting: frozenset[str]) -> Iterator[Section]:
    yield overview(facts)
    yield from scope_section(facts)
    yield from known_sections(facts)
    yield from alerts_section(facts)
    yield from gaps_section(facts)
    yield from flags_section(facts)
    yield from changes_section(facts)
    yield from inventory_section(facts, interesting)
    yield from healthy_section(facts, interesting)
