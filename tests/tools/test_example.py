"""The example document shows every kind of resource, and every tool answers from it."""

from pathlib import Path

import msgspec
import pytest

from patrol.estate.model import Estate, ResourceType
from patrol.estate.sources.snapshot import SnapshotSource, load_inventory
from patrol.history.model import Measure, SeriesKey
from patrol.tools.registry import TOOLS
from tests.tools.estates import GivenPast, toolbox

PAST = GivenPast(series={SeriesKey("storage:pve1:tank", Measure.USAGE): [30 + hour / 12 for hour in range(336)]})
EXAMPLE = Path(__file__).parents[2] / "config" / "estate.example.json"


@pytest.fixture(scope="module")
def estate() -> Estate:
    return SnapshotSource("example", EXAMPLE).load()


def test_every_kind_of_resource_is_shown(estate: Estate) -> None:
    assert {each.type for each in estate.resources} == set(ResourceType)


def test_every_section_of_the_document_is_shown(estate: Estate) -> None:
    empty = [name for name in Estate.__struct_fields__ if not getattr(estate, name)]
    assert empty == []
    assert load_inventory(EXAMPLE).complete


@pytest.mark.parametrize(
    ("tool", "argument", "selector"),
    [(tool.name, tool.selector_argument, name) for tool in TOOLS.values() for name in tool.selectors],
)
def test_every_selector_has_rows_and_is_complete(estate: Estate, tool: str, argument: str, selector: str) -> None:
    needs = {"search": {"query": "web"}, "get": {"resource_id": "web"}, "config": {"resource_id": "web"}}
    more = needs.get(selector, {})
    page = toolbox(estate, past=PAST).call(tool, {argument: selector, **more})
    assert page.complete
    assert len(msgspec.json.encode(page)) > 50


def test_backups_of_the_example_have_owners_and_offsets(estate: Estate) -> None:
    box = toolbox(estate)
    (task,) = box.call("pulse_storage", {"type": "backup_tasks"}).tasks
    assert (task.resource_id, task.start_time) == ("vm:lab:101", "2026-03-02T01:00:05+00:00")
    page = box.call("pulse_storage", {"type": "backups"})
    assert [row.resource_id for row in (*page.pbs, *page.pve)] == ["vm:lab:101", "system-container:lab:110"]
    (job,) = box.call("pulse_storage", {"type": "pbs_jobs"}).jobs
    assert job.resource_id == "storage:pbs1:main"


def test_smartctls_own_document_became_a_row(estate: Estate) -> None:
    (row,) = toolbox(estate).call("pulse_metrics", {"type": "disks", "disk_type": "nvme"}).disks
    assert (row.id, row.health, row.smart_complete) == ("disk:serial:EXNV0001X", "PASSED", True)
