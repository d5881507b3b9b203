"""`baselines` and `patterns` of pulse_metrics: claimed only where the stored past bears them."""

from datetime import datetime, timedelta

import msgspec
import pytest

from findings.kinds import Kind
from patrol.estate.model import Estate
from patrol.history.model import Measure, SeriesKey
from patrol.tools.registry import Toolbox
from tests.findings.builders import finding
from tests.tools.estates import NOW, GivenFindings, GivenPast, guest, node, pool, readings, source, toolbox

CPU = SeriesKey("node:a:pve1", Measure.CPU)
TANK = SeriesKey("storage:pve1:tank", Measure.USAGE)
SRV = SeriesKey("node:a:pve1", Measure.DISK, "/srv")
FLAT = [20.0] * 300


def estate() -> Estate:
    return Estate(
        sources=[source()],
        resources=[
            node("a", "pve1", metrics=readings(20)),
            guest("a", 101, "pve1", metrics=readings(5)),
            guest("a", 102, "pve1"),
            pool("pve1", "tank", usage_percent=40),
        ],
    )


def answer(
    selector: str, past: GivenPast, known: GivenFindings | None = None, **arguments: object
) -> dict[str, object]:
    page = toolbox(estate(), known, past).call("pulse_metrics", {"type": selector, **arguments})
    return msgspec.json.decode(msgspec.json.encode(page))


def at_hour(hour: int, high: float, low: float, *, days: int = 10) -> list[float]:
    """`high` in one hour of each day (UTC), `low` in all others."""
    newest = NOW.replace(minute=0) - timedelta(hours=1)
    times = [newest - timedelta(hours=back) for back in reversed(range(24 * days))]
    return [high if at.hour == hour else low for at in times]


# --- baselines


def test_a_baseline_is_mean_spread_and_extremes_of_the_hours_that_were_seen() -> None:
    page = answer("baselines", GivenPast(series={CPU: [10.0, 30.0] * 25, SRV: FLAT}))
    assert page["baselines"]["node:a:pve1"] == {
        "cpu": {"mean": 20.0, "std_dev": 10.0, "min": 10.0, "max": 30.0, "hours": 50},
        "disk /srv": {"mean": 20.0, "std_dev": 0.0, "min": 20.0, "max": 20.0, "hours": 300},
    }
    assert page["complete"]


def test_what_was_seen_for_less_than_fifty_hours_has_no_baseline_yet() -> None:
    page = answer("baselines", GivenPast(series={CPU: FLAT[:49]}))
    assert page["baselines"] == {}
    told = {each["resource_id"]: each["detail"] for each in page["gaps"]}
    assert told["node:a:pve1"] == "49 of the 50 hours that make a baseline were seen"
    assert told["storage:pve1:tank"].startswith("0 of the 50")
    assert {each["reason"] for each in page["gaps"]} == {"no_history"}


def test_one_resource_can_be_asked_for() -> None:
    page = answer("baselines", GivenPast(series={CPU: FLAT, TANK: FLAT}), resource_id="tank")
    assert (page["resource_id"], list(page["baselines"])) == ("storage:pve1:tank", ["storage:pve1:tank"])


@pytest.mark.parametrize("selector", ["baselines", "patterns"])
def test_without_history_nothing_is_complete(selector: str) -> None:
    page = Toolbox(estate(), NOW).call("pulse_metrics", {"type": selector})
    assert not page.complete
    assert [each.detail for each in page.gaps] == ["no history is kept here"]


# --- patterns


def patterns(past: GivenPast, known: GivenFindings | None = None) -> list[tuple[object, object, object]]:
    page = answer("patterns", past, known)
    return [(row["resource_id"], row["pattern_type"], row["confidence"]) for row in page.get("patterns", [])]


def test_an_hour_that_is_high_every_day_is_a_daily_peak() -> None:
    page = answer("patterns", GivenPast(series={CPU: at_hour(2, 80, 10)}))
    (row,) = page["patterns"]
    assert (row["resource_id"], row["pattern_type"], row["confidence"]) == ("node:a:pve1", "daily_peak", 1.0)
    assert row["description"] == "cpu peaks at 02:00 UTC: 80% where 13% is usual, on 10 of 10 days"
    assert row["last_seen"] == "2026-03-02T02:00:00Z"


@pytest.mark.parametrize(
    "series",
    [
        FLAT,
        at_hour(2, 24, 10),  # high, but not by much
        at_hour(2, 80, 10, days=4),  # too few days
        at_hour(2, 80, 10, days=2) + at_hour(3, 80, 10, days=2) + FLAT[:72],  # at another hour each time
    ],
)
def test_what_is_small_young_or_irregular_is_no_pattern(series: list[float]) -> None:
    assert patterns(GivenPast(series={CPU: series})) == []


def test_a_series_that_goes_up_is_a_pattern_and_a_prediction() -> None:
    page = answer("patterns", GivenPast(series={TANK: [40 + hour / 10 for hour in range(336)]}))
    (row,) = page["patterns"]
    assert (row["pattern_type"], row["confidence"]) == ("growing", 1.0)
    assert "+2.4 points a day" in row["description"]
    (claim,) = page["predictions"]
    assert (claim["resource_id"], claim["issue_type"], claim["confidence"]) == (
        "storage:pve1:tank",
        "storage_full",
        0.75,
    )
    days = (datetime.fromisoformat(claim["predicted_time"]) - NOW) / timedelta(days=1)
    assert 10 <= days <= 12
    assert "free or add space" in claim["recommendation"]


def test_what_stopped_growing_a_while_ago_is_not_predicted() -> None:
    page = answer("patterns", GivenPast(series={TANK: [40 + hour / 10 for hour in range(336)] + [73.0] * 60}))
    assert page["predictions"] == []


def test_a_finding_that_came_back_is_a_pattern() -> None:
    back = finding(Kind.HIGH_DISK, resource_id="node:a:pve1", subject="/srv", regression_count=3)
    once = finding(Kind.HIGH_DISK, resource_id="node:a:pve1", subject="/")
    elsewhere = finding(Kind.HIGH_DISK, resource_id="vm:a:999", regression_count=3)
    known = GivenFindings(findings=[back, once, elsewhere])
    assert patterns(GivenPast(series={}), known) == [("node:a:pve1", "recurring", 1.0)]
