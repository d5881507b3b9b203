"""Trouble is grouped by the host, store or source that it has in common, the worst group first."""

import pytest

from findings.kinds import KINDS, Kind
from findings.model import Category, Severity
from patrol.run.causes import MOST_GROUPS, cause_of, signals_by_cause
from signals.model import Signal

NODE, SOURCE = "node:pve-lab:pve1", "source:patrol:pve-lab"


def signal(resource_id: str, kind: Kind = Kind.HIGH_CPU, severity: Severity = Severity.WARNING) -> Signal:
    return Signal(
        signal_type=kind,
        resource_id=resource_id,
        resource_name=resource_id,
        resource_type=resource_id.partition(":")[0],
        severity=severity,
        category=KINDS[kind].category,
        summary="bad",
    )


@pytest.mark.parametrize(
    ("resource_id", "category", "lives_on", "source", "cause"),
    [
        ("vm:pve-lab:101", Category.PERFORMANCE, (NODE, "cluster:pve-lab:x"), SOURCE, NODE),
        (NODE, Category.PERFORMANCE, ("cluster:pve-lab:x",), SOURCE, NODE),
        ("disk:serial:S1", Category.RELIABILITY, ("storage:local:tank", "agent:local:a"), SOURCE, "agent:local:a"),
        (
            "app-container:d:web",
            Category.RELIABILITY,
            ("docker-host:d:h", "vm:pve-lab:101", NODE),
            "",
            "docker-host:d:h",
        ),
        ("vm:pve-lab:101", Category.BACKUP, (NODE,), SOURCE, SOURCE),
        ("vm:pve-lab:101", Category.BACKUP, (NODE,), "", NODE),
        ("storage:pbs:main", Category.BACKUP, (), SOURCE, "storage:pbs:main"),
        ("storage:pve-lab:nas", Category.CAPACITY, (), SOURCE, "storage:pve-lab:nas"),
        ("vm:pve-lab:101", Category.PERFORMANCE, (), SOURCE, SOURCE),
        ("vm:pve-lab:101", Category.PERFORMANCE, (), "", "vm:pve-lab:101"),
        ("pod:k:a", Category.RELIABILITY, ("k8s-cluster:k:c",), SOURCE, "k8s-cluster:k:c"),
        (SOURCE, Category.RELIABILITY, (), "", SOURCE),
    ],
)
def test_the_cause_is_the_nearest_host_else_the_store_else_the_source(resource_id, category, lives_on, source, cause):
    assert cause_of(resource_id, category, lives_on, source) == cause


def test_fifty_guests_without_a_backup_are_one_group():
    guests = [f"vm:pve-lab:{number}" for number in range(50)]
    above = {guest: (f"node:pve-lab:pve{number % 5}",) for number, guest in enumerate(guests)}
    found = signals_by_cause([signal(each, Kind.BACKUP_STALE) for each in guests], above, lambda _id: SOURCE)
    assert [(group.cause, len(group.signals)) for group in found.evaluated] == [(SOURCE, 50)]
    assert found.direct == []


def test_the_worst_group_comes_first_then_the_largest_and_the_worst_signal_of_each():
    given = [
        signal("agent:local:a"),
        signal("agent:local:b"),
        signal("agent:local:b", Kind.HIGH_MEMORY),
        signal("agent:local:c"),
        signal("agent:local:c", Kind.HIGH_DISK, Severity.CRITICAL),
    ]
    found = signals_by_cause(given, {}, lambda _id: "")
    assert [group.cause[-1] for group in found.evaluated] == ["c", "b", "a"]
    assert found.evaluated[0].signals[0].severity is Severity.CRITICAL


def test_what_is_past_the_bound_is_filed_directly_and_nothing_is_lost():
    given = [signal(f"agent:local:h{number:02}") for number in range(MOST_GROUPS + 5)]
    given.append(signal("agent:local:z", severity=Severity.CRITICAL))
    found = signals_by_cause(given, {}, lambda _id: "")
    assert len(found.evaluated) == MOST_GROUPS
    assert found.evaluated[0].cause == "agent:local:z"
    evaluated = [each for group in found.evaluated for each in group.signals]
    assert sorted(map(id, (*evaluated, *found.direct))) == sorted(map(id, given))
