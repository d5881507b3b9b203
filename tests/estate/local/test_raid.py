"""md arrays: what /proc/mdstat shows, what sysfs adds, and what mdadm prints."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.model import GapReason
from patrol.estate.model import Status
from patrol.estate.sources.local.raid import parse_mdstat, read_raid
from signals.raid import RaidDetector
from signals.storage_evidence import HostDisks, RaidOutput, RaidRow
from tests.estate.local.mdadm_detail import parse_detail
from tests.estate.local.tree import WHERE, DeniedHost, TreeHost
from tests.signals.storages import Judged


def array(line: str, *below: str) -> RaidRow:
    [row] = parse_mdstat("\n".join(["Personalities : [raid1]", f"md5 : {line}", *below, "unused devices: <none>"]))
    return row


def test_members_counts_and_work_are_read() -> None:
    row = array(
        "active raid6 sdb2[2](F) nvme0n1p1[1](S) sda2[0](W) sdc2[3](J)",
        "      195310144 blocks super 1.2 level 6, 512k chunk, algorithm 2 [4/3] [U_UU]",
        "      [=>...................]  recovery =  8.5% (16775552/195310144) finish=17.0min speed=259783K/sec",
        "      bitmap: 0/30 pages [0KB], 65536KB chunk",
    )
    assert (row.device, row.name, row.level) == ("/dev/md5", "md5", "raid6")
    assert row.state == "active, degraded, recovering"
    assert (row.raid_devices, row.active_devices, row.total_devices) == (4, 3, 4)
    assert (row.working_devices, row.failed_devices, row.spare_devices) == (3, 1, 1)
    assert (row.operation, row.rebuild_percent, row.rebuild_speed) == ("recovery", 8.5, "259783K/sec")
    assert [(member.device, member.state) for member in row.devices] == [
        ("/dev/sdb2", "faulty"),
        ("/dev/nvme0n1p1", "spare"),
        ("/dev/sda2", "write-mostly"),
        ("/dev/sdc2", "journal"),
    ]


@pytest.mark.parametrize(
    ("line", "below", "state", "operation"),
    [
        ("active raid1 a[0] b[1]", "100 blocks [2/2] [UU]", "active", None),
        ("active (auto-read-only) raid1 a[0] b[1]", "1 blocks [2/2] [UU]", "active, auto-read-only", None),
        ("active (read-only) raid0 a[0]", "1 blocks", "active, read-only", None),
        ("active raid1 a[0] b[1]", "1 blocks [2/2] [UU]\n  resync=PENDING", "active", "resync pending"),
        ("active raid1 a[0] b[1]", "1 blocks [2/1] [U_]\n  recovery=DELAYED", "active, degraded", "recovery delayed"),
        ("active raid5 a[0] b[1]", "1 blocks [2/2] [UU]\n  reshape = 1.0% (1/2)", "active, reshaping", "reshape"),
        ("active raid1 a[0] b[1]", "1 blocks [2/2] [UU]\n  check = 5% (1/2)", "active, checking", "check"),
        ("active raid1 a[0] b[1]", "1 blocks [2/2] [UU]\n  repair = 5% (1/2)", "active, repairing", "repair"),
        ("inactive a[0](S) b[1](S)", "1 blocks super 1.2", "inactive", None),
        ("inactive a[0](S) b[1](S)", "1 blocks super external:imsm", "container", None),
        ("active raid0 a[1] b[0]", "1 blocks super external:/md127/0 128k chunks", "active", None),
    ],
)
def test_states_are_words_and_work_is_named(line: str, below: str, state: str, operation: str | None) -> None:
    row = array(line, below)
    assert (row.state, row.operation) == (state, operation)
    assert row.level == ("container" if state == "container" else "" if state == "inactive" else row.level)


def test_a_line_without_a_map_has_no_counts() -> None:
    row = array("active raid1 sda1[0] sdb1[1]", "      [>....]  recovery = 12.6% (1/2)")
    assert (row.raid_devices, row.active_devices) == (None, None)


@given(st.text(alphabet="md0123456789 :active()inraidsb[]_UF/=%\n.", max_size=300))
def test_no_text_breaks_the_parsers(text: str) -> None:
    for row in parse_mdstat(f"md0 : {text}") + parse_detail(f"/dev/md0:\n{text}"):
        assert row.device.startswith("/dev/")
        assert row.active_devices is None or row.active_devices >= 0


@given(st.integers(1, 40), st.data())
def test_degraded_is_what_the_map_says(made_for: int, data: st.DataObject) -> None:
    active = data.draw(st.integers(0, made_for))
    row = array("active raid1 sda1[0]", f"1 blocks super 1.2 [{made_for}/{active}] [U]")
    assert ("degraded" in row.state) is (active < made_for)


# --- reading the host ------------------------------------------------------------------------------------------------


def test_a_kernel_without_md_has_no_arrays_and_no_gap(tmp_path: Path) -> None:
    part = read_raid(TreeHost(tmp_path, {}), WHERE)
    assert (part.resources, part.gaps, part.complete) == ((), (), True)


def test_an_array_is_a_resource_of_its_own_with_its_uuid_as_alias(tmp_path: Path) -> None:
    files = {
        "/proc/mdstat": "md0 : active raid1 sda1[0] sdb1[1]\n  1 blocks [2/2] [UU]\nmd4 : inactive sdc[0](S)\n",
        "/sys/block/md0/md/uuid": "7e81a856:abb9c1c2:4b71237a:9778cc66\n",
        "/sys/block/md0/md/array_state": "clean\n",
    }
    md0, md4 = read_raid(TreeHost(tmp_path, files), WHERE).resources
    assert (md0.id, md0.type, md0.parent, md0.status) == ("raid:nas:md0", "raid", "agent:local:nas", Status.ONLINE)
    assert md0.aliases == ["/dev/md0", "7e81a856:abb9c1c2:4b71237a:9778cc66"]
    assert md0.raid is not None
    assert (md0.raid.id, md0.raid.state) == ("raid:nas:md0", "active")
    assert (md4.status, md4.aliases) == (Status.OFFLINE, ["/dev/md4"])


@pytest.mark.parametrize(
    ("sysfs", "state", "counts"),
    [
        ({"raid_disks": "2", "degraded": "1"}, "active, degraded", (2, 1)),
        ({"raid_disks": "4 (3)", "degraded": "0"}, "active", (4, 4)),
        ({"array_state": "broken", "raid_disks": "2"}, "active, broken", (None, None)),
        ({"raid_disks": "odd", "degraded": "1"}, "active", (None, None)),
    ],
)
def test_sysfs_tells_what_a_line_leaves_out(
    tmp_path: Path, sysfs: dict[str, str], state: str, counts: tuple[int | None, int | None]
) -> None:
    files = {f"/sys/block/md1/md/{name}": f"{value}\n" for name, value in sysfs.items()}
    host = TreeHost(tmp_path, {"/proc/mdstat": "md1 : active raid0 sda1[0]\n", **files})
    [resource] = read_raid(host, WHERE).resources
    assert resource.raid is not None
    assert resource.raid.state == state
    assert (resource.raid.raid_devices, resource.raid.active_devices) == counts


def test_a_list_that_may_not_be_read_is_a_gap(tmp_path: Path) -> None:
    part = read_raid(DeniedHost(tmp_path), WHERE)
    [gap] = part.gaps
    assert (gap.reason, gap.fix, part.complete) == (
        GapReason.NO_PERMISSION,
        "let this user read /proc/mdstat",
        False,
    )


def test_a_list_that_cannot_be_read_is_a_gap_without_remedy(tmp_path: Path) -> None:
    host = TreeHost(tmp_path, {"/proc/mdstat/file": ""})  # a folder where the file should be
    [gap] = read_raid(host, WHERE).gaps
    assert (gap.reason, gap.fix) == (GapReason.FAILED, "")


# --- mdadm -----------------------------------------------------------------------------------------------------------


def test_the_detail_of_several_arrays_is_told_apart() -> None:
    first, second = parse_detail(
        "/dev/md0:\n  Raid Level : container\n  Working Devices : 2\n\n"
        "/dev/md1:\n  Raid Level : raid5\n  Raid Devices : 3\n  State : clean, degraded\n  Active Devices : 2\n"
        "  Check Status : 12% complete\n  Name : nas:1  (local to host nas)\n  UUID : aa:bb (local)\n"
        "    Number   Major   Minor   RaidDevice State\n       0     8     1        0      active sync   /dev/sda1\n"
        "       -     0     0        1      removed\n"
    )
    assert (first.state, first.level) == ("container", "container")
    assert (second.name, second.uuid, second.operation, second.rebuild_percent) == ("nas:1", "aa:bb", "check", 12)
    assert [(member.device, member.state, member.slot) for member in second.devices] == [
        ("/dev/sda1", "active sync", 0),
        ("", "removed", 1),
    ]


# --- real captures ---------------------------------------------------------------------------------------------------


def word_of(row: RaidRow) -> str:
    """The state of an array in the words of the expected readings."""
    words = row.state.split(", ")
    if row.level == "container":
        return "inactive_container"
    if "inactive" in words:
        return "inactive"
    if "degraded" in words:
        return "degraded,recovering" if "recovering" in words else "degraded"
    if row.failed_devices:
        return "ok_with_failed_members"
    at_work = {"resyncing": "resync", "checking": "check", "read-only": "ok_read_only"}
    return next((at_work[word] for word in words if word in at_work), "ok")


def verdict_of(rows: list[RaidRow]) -> str:
    judged = Judged(RaidDetector, RaidOutput(hosts=[HostDisks(hostname="nas", arrays=rows)]))
    severities = {str(signal.severity) for signal in judged.signals}
    unseen = any(look.look == "blind" for look in judged.notes.examined)
    return next((word for word in ("critical", "warning") if word in severities), "unknown" if unseen else "ok")


def test_all_real_captures_are_read_as_they_should_be(shared: Path) -> None:
    lines = (shared / "data" / "expected.jsonl").read_text().splitlines()
    expected = [row for row in map(json.loads, lines) if row["file"].startswith("mdstat/")]
    assert len(expected) > 15
    for row in expected:
        expect, text = row["expect"], (shared / "data" / row["file"]).read_text()
        arrays = parse_detail(text) if "detail" in row["file"] else parse_mdstat(text)
        assert arrays, row["file"]
        assert verdict_of(arrays) in {expect["verdict"], *expect.get("accept", ())}, row["file"]
        if "arrays" in expect:
            assert {array.name: word_of(array) for array in arrays} == expect["arrays"]
        if "degraded" in expect:
            assert any("degraded" in array.state for array in arrays) is expect["degraded"], row["file"]
        if "state" in expect:
            assert (arrays[0].state.strip(), arrays[0].failed_devices) == (expect["state"], expect["failed"])
