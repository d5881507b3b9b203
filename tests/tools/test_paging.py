"""Pages together are the whole, each row once, in one order, for every selector and page size."""

from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from patrol.estate.model import Alert, Estate, ResolvedAlert
from patrol.tools.registry import TOOLS, Toolbox
from signals.backup_evidence import BackupTaskRow, PbsBackupRow, PbsJobRow, PveBackupRow
from signals.coverage import Coverage
from signals.detector import EvidencePage, Sweep
from signals.model import Origin
from signals.protection_evidence import ReplicationRow, SnapshotRow
from tests.tools.estates import NOW, array, cluster, disk, filesystem, guest, node, pool, readings, source, toolbox

EVERY_SELECTOR = [
    (tool.name, tool.selector_argument, name)
    for tool in TOOLS.values()
    for name in tool.selectors
    if name not in {"get", "config"}
]
ROWS = {
    "summary", "disks", "hosts", "smart", "raid", "arrays", "pools", "resources", "pbs", "pve", "recent_tasks", "tasks",
    "jobs", "alerts", "matches", "guests", "systems", "nodes", "vms", "containers", "physical_disks", "storage_pools",
    "raid_arrays", "clusters", "snapshots", "patterns", "predictions", "active", "dismissed",
}  # fmt: skip
GROUPS = {"proxmox", "docker", "kubernetes"}
NESTED = {"hosts": ("smart", "raid", "arrays")}


def estate_of(size: int) -> Estate:
    resources = [
        node("a", f"pve{number}", metrics=readings(5), units=[], sensors=[], interfaces=[], block_devices=[])
        for number in range(size)
    ]
    for number in range(size):
        kept = [SnapshotRow(snapshot_name=f"s{each}", time=1_700_000_000) for each in range(number % 3)]
        resources.append(guest("a", 100 + number, f"pve{number % 3}", filesystems=[filesystem("/", 5)], snapshots=kept))
        resources.append(cluster(f"fsid-{number}"))
        resources.append(disk(f"pve{number % 3}", f"sd{number}"))
        resources.append(pool(f"pve{number % 3}", f"pool{number}"))
        resources.append(array(f"pve{number % 3}", f"md{number}"))
    return Estate(
        sources=[source()],
        resources=resources,
        alerts=[Alert(id=str(number), resource_id="node:a:pve0") for number in range(size)],
        backup_tasks=[
            BackupTaskRow(id=f"t{number}", vmid=100 + number // 2, instance="a", start_time="2026-01-01T00:00:00Z")
            for number in range(2 * size)
        ],
        pbs_backups=[PbsBackupRow(vmid=100 + number, backup_type="vm") for number in range(size)],
        pve_backups=[PveBackupRow(vmid=100 + number) for number in range(size)],
        replication_jobs=[
            ReplicationRow(id=f"r{number}", guest_id=100 + number, instance="a") for number in range(size)
        ],
        resolved_alerts=[
            ResolvedAlert(id=str(number), resource_id="node:a:pve0", resolved_time=NOW) for number in range(size)
        ],
        pbs_jobs=[PbsJobRow(id=f"j{number}", type="sync") for number in range(size)],
    )


def rows_of(page: object) -> Iterator[bytes]:
    """Every row of a page, encoded, in the order in which the page shows it."""
    for field in msgspec.structs.fields(type(page)):
        rows = getattr(page, field.name)
        if field.name in GROUPS:
            yield from rows_of(rows)
        if field.name not in ROWS or not isinstance(rows, (list, dict)):
            continue
        for row in rows.values() if isinstance(rows, dict) else rows:
            inner = [each for name in NESTED.get(field.name, ()) for each in getattr(row, name, ())]
            yield from (msgspec.json.encode(each) for each in (inner or [row]))


def pages(box: Toolbox, tool: str, arguments: dict, limit: int) -> Iterator[object]:
    offset = 0
    while True:
        page = box.call(tool, {**arguments, "limit": limit, "offset": offset})
        yield page
        offset += limit
        if page.pagination is None or offset >= page.pagination.total:
            return


@pytest.mark.parametrize(("tool", "argument", "selector"), EVERY_SELECTOR)
@given(size=st.integers(0, 9), limit=st.integers(1, 12))
def test_pages_together_are_all_rows_once(tool: str, argument: str, selector: str, size: int, limit: int) -> None:
    box = toolbox(estate_of(size))
    arguments = {argument: selector, **({"query": "pve"} if selector == "search" else {})}
    whole = list(rows_of(box.call(tool, {**arguments, "limit": 5000})))
    found = list(pages(box, tool, arguments, limit))
    paged = [row for page in found for row in rows_of(page)]
    assert sorted(paged) == sorted(whole)
    coverage = Coverage()
    sweep = Sweep(tool, selector, ())
    for page in found:
        coverage.add(EvidencePage("c", page, Origin.PATROL, sweep, selector, {}))
    assert coverage.is_complete(sweep) == all(page.complete for page in found)


@pytest.mark.parametrize(("tool", "argument", "selector"), EVERY_SELECTOR)
def test_the_order_is_that_of_the_whole_where_there_is_one_list(tool: str, argument: str, selector: str) -> None:
    if selector in {"list", "health", "backups", "disk_health", "snapshots"}:
        return  # several lists side by side
    box = toolbox(estate_of(7))
    arguments = {argument: selector, **({"query": "pve"} if selector == "search" else {})}
    whole = list(rows_of(box.call(tool, {**arguments, "limit": 5000})))
    assert [row for page in pages(box, tool, arguments, 2) for row in rows_of(page)] == whole


def test_pagination_appears_as_documented() -> None:
    box = toolbox(estate_of(3))
    assert box.call("pulse_metrics", {"type": "disks", "limit": 3}).pagination is None
    shown = box.call("pulse_metrics", {"type": "disks", "limit": 2}).pagination
    assert (shown.total, shown.limit, shown.offset) == (3, 2, 0)
    beyond = box.call("pulse_metrics", {"type": "disks", "offset": 9})
    assert beyond.disks == []
    assert (beyond.pagination.total, beyond.pagination.offset) == (3, 9)


def test_attempts_default_to_fifty_rows_and_all_of_them_can_be_had() -> None:
    box = toolbox(estate_of(40))
    assert len(box.call("pulse_storage", {"type": "backup_tasks"}).tasks) == 50
    assert len(box.call("pulse_storage", {"type": "backup_tasks", "limit": 5000}).tasks) == 80


def test_the_newest_attempt_of_every_guest_is_shown_not_the_first_twenty() -> None:
    page = toolbox(estate_of(60)).call("pulse_storage", {"type": "backups", "limit": 5000})
    assert len(page.recent_tasks) == 60
    assert {row.resource_id for row in page.recent_tasks} == {f"vm:a:{100 + number}" for number in range(60)}
