"""The estates that are measured: what is planted is found, nothing else is, and equal seeds give equal bytes."""

import msgspec
import pytest

from findings.model import Look
from patrol.estate.inventory import inventory_of
from signals.detect import detect
from signals.thresholds import AlertThresholds
from signals.transcript import parse_tool_call
from tests.bench.generate import NOW, Planted, estate_document, generate, recorded_calls, recorded_lines


@pytest.mark.parametrize(("resources", "seed"), [(1, 1), (100, 2), (1000, 3), (2000, 4)])
def test_the_detectors_find_every_planted_fault_and_nothing_else(resources: int, seed: int) -> None:
    made = generate(resources, seed=seed, faults=0.1)
    detection = detect(recorded_calls(made.estate), AlertThresholds(), NOW)
    assert {Planted(each.signal_type, each.resource_id, each.subject) for each in detection.signals} == made.planted
    assert not detection.problems
    assert not detection.checks_off
    assert Look.HELD not in {each.look for each in detection.examined}


def test_an_estate_without_faults_is_quiet() -> None:
    made = generate(500, faults=0)
    assert not made.planted
    assert not detect(recorded_calls(made.estate), AlertThresholds(), NOW).signals


def test_the_recording_says_what_the_structs_say() -> None:
    calls = recorded_calls(generate(300, faults=0.2).estate)
    recorded = [parse_tool_call(line) for line in recorded_lines(calls)]
    said = [detect(each, AlertThresholds(), NOW) for each in (calls, recorded)]
    assert said[0].signals == said[1].signals
    assert list(said[0].examined) == list(said[1].examined)


def test_what_spares_a_run_memory_changes_no_answer() -> None:
    estate = generate(300, faults=0.2).estate
    recorded = [parse_tool_call(line) for line in recorded_lines(recorded_calls(estate))]
    plain = detect(recorded, AlertThresholds(), NOW)
    rows = {row.id: row for row in inventory_of(estate).resources}
    others = {row.id: msgspec.structs.replace(row, status="stopped", template=True) for row in rows.values()}
    for known in (rows, others):
        spared = detect(iter(recorded), AlertThresholds(), NOW, inventory_first=True, known=known)
        assert spared.signals == plain.signals
        assert list(spared.examined) == list(plain.examined)


def test_equal_seeds_give_equal_estates_and_others_do_not() -> None:
    documents = [estate_document(generate(200, seed=seed).estate) for seed in (7, 7, 8)]
    assert documents[0] == documents[1] != documents[2]


@pytest.mark.parametrize("resources", [100, 1000, 3333])
def test_the_mix_is_the_documented_one(resources: int) -> None:
    estate = generate(resources).estate
    assert len(estate.resources) == resources
    kinds = [each.type.value for each in estate.resources]
    shares = [kinds.count(kind) / resources for kind in ("node", "storage", "disk")]
    assert shares == pytest.approx([0.02, 0.08, 0.3], abs=0.001)
    guests = kinds.count("vm") + kinds.count("system-container")
    assert len(estate.backup_tasks) / guests == pytest.approx(1.3, abs=0.1)
    assert len(estate.pbs_backups) + len(estate.pve_backups) == 2 * guests
