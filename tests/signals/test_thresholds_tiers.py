"""The tiers around a trigger, in exact and in proactive mode, and how a value is judged."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.model import Look, Severity
from signals.thresholds import Limit, Limited
from signals.thresholds.tiers import tiered


@pytest.mark.parametrize(
    ("metric", "guest", "trigger", "tiers"),
    [
        (Limited.CPU, False, 80, (75, 80, None)),
        (Limited.MEMORY, False, 85, (80, 85, None)),
        (Limited.MEMORY, True, 85, (80, 85, None)),
        (Limited.DISK, True, 90, (85, 90, 95)),
        (Limited.STORAGE, False, 85, (80, 85, 90)),
        (Limited.DISK, False, 96, (91, 96, 100)),
        (Limited.DISK, False, 100, (95, 100, None)),
        (Limited.DISK, False, 8, (4, 8, 13)),
        (Limited.DISK, False, 10, (5, 10, 15)),
        (Limited.DISK, False, 12, (10, 12, 17)),
        (Limited.TEMPERATURE, False, 80, (75, 80, None)),
        (Limited.DISK_TEMPERATURE, False, 120, (115, 120, None)),
    ],
)
def test_exact_mode_warns_at_the_trigger(
    metric: Limited, trigger: float, tiers: tuple[float, float, float | None], *, guest: bool
) -> None:
    limit = tiered(metric, trigger, trigger - 5, "x", guest=guest)
    assert (limit.watch, limit.trigger, limit.critical) == tiers
    assert limit.provenance == "x"


@pytest.mark.parametrize(
    ("metric", "guest", "trigger", "tiers"),
    [
        (Limited.CPU, False, 80, (65, 75, None)),
        (Limited.MEMORY, False, 90, (75, 85, None)),
        (Limited.MEMORY, True, 90, (78, 85, None)),
        (Limited.DISK, True, 90, (75, 82, 87)),
        (Limited.STORAGE, False, 85, (70, 77, 82)),
        (Limited.STORAGE, False, 100, (85, 92, 97)),
        (Limited.DISK, False, 8, (4, 8, 10)),
        (Limited.DISK, False, 14, (5, 10, 11)),
        (Limited.DISK, False, 11, (5, 10, 15)),
        (Limited.TEMPERATURE, False, 80, (75, 80, None)),
    ],
)
def test_proactive_mode_warns_ahead_of_the_trigger_and_is_never_inverted(
    metric: Limited, trigger: float, tiers: tuple[float, float, float | None], *, guest: bool
) -> None:
    limit = tiered(metric, trigger, trigger - 5, "x", guest=guest, proactive=True)
    assert (limit.watch, limit.trigger, limit.critical) == tiers


def test_proactive_mode_says_so_and_keeps_the_width_of_the_hysteresis() -> None:
    limit = tiered(Limited.DISK, 90, 80, "alerts.json: nodeDefaults.disk", proactive=True)
    assert limit.provenance == "alerts.json: nodeDefaults.disk (proactive, ahead of 90)"
    assert limit.clear == 72


@given(
    metric=st.sampled_from(list(Limited)),
    trigger=st.floats(0, 100, exclude_min=True),
    width=st.floats(0, 1),
    guest=st.booleans(),
    proactive=st.booleans(),
)
def test_tiers_are_in_order_for_every_trigger(
    metric: Limited, trigger: float, width: float, *, guest: bool, proactive: bool
) -> None:
    limit = tiered(metric, trigger, trigger * width, "x", guest=guest, proactive=proactive)
    assert limit.watch is not None
    assert 0 <= limit.watch < limit.trigger <= trigger
    assert 0 <= limit.clear < limit.trigger
    if limit.critical is not None:
        assert limit.trigger < limit.critical <= 100
        assert limit.severity(100) is Severity.CRITICAL
    assert limit.look(100) is Look.PRESENT
    assert limit.severity(limit.trigger) is Severity.WARNING


@pytest.mark.parametrize(
    ("trigger", "clear", "value", "look"),
    [
        (90, 85, 90.1, Look.PRESENT),
        (90, 85, 90, Look.HELD),
        (90, 85, 85, Look.HELD),
        (90, 85, 84.9, Look.CLEAR),
        (100, 95, 100, Look.PRESENT),
        (100, 95, 99.9, Look.HELD),
        (48, 48, 48, Look.HELD),
        (110, 105, 110, Look.HELD),
        (110, 105, 110.1, Look.PRESENT),
        (48, 48, 47.9, Look.CLEAR),
    ],
)
def test_a_value_is_present_above_the_trigger_and_clear_below_clear(
    trigger: float, clear: float, value: float, look: Look
) -> None:
    assert Limit(trigger=trigger, clear=clear, provenance="x").look(value) is look


@pytest.mark.parametrize(
    ("critical", "value", "severity"),
    [
        (None, 100, Severity.WARNING),
        (95, 95, Severity.WARNING),
        (95, 95.1, Severity.CRITICAL),
        (100, 99.9, Severity.WARNING),
        (100, 100, Severity.CRITICAL),
        (1080, 1080, Severity.WARNING),
        (1080, 1080.1, Severity.CRITICAL),
    ],
)
def test_a_value_is_critical_above_the_critical_tier(critical: float | None, value: float, severity: Severity) -> None:
    assert Limit(trigger=90, clear=85, provenance="x", critical=critical).severity(value) is severity
