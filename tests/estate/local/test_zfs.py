"""ZFS pools: all forms that zpool prints, what the kernel tells without it, and what is asked of whom."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.model import GapReason
from patrol.estate.model import Status
from patrol.estate.sources.local.host import CommandResult, Host, ProgramMissingError, ProgramTimedOutError
from patrol.estate.sources.local.root_command import run_as_root
from patrol.estate.sources.local.zfs import PoolSpace, read_space, read_states, read_zfs, usage_of_list
from patrol.estate.sources.local.zfs_json import parse_status_json
from patrol.estate.sources.local.zfs_text import parse_number, parse_pool_list, parse_status, parse_table
from signals.pools import PoolDetector
from signals.storage_evidence import PoolRow, PoolsOutput, VdevRow, ZfsRow
from tests.estate.local.tree import WHERE, said
from tests.signals.storages import Judged

STATUS = """\
  pool: my tank
 state: DEGRADED
status: One or more devices could not be opened.
\tSufficient replicas exist.
  scan: resilver in progress since Tue Jan  6 11:54:30 2026
\t1.2T scanned at 100M/s, 15.3% done, 0 days 00:02:45 to go
config:

\tNAME            STATE     READ WRITE CKSUM
\tmy tank         DEGRADED     0     0     0
\t  raidz2-0      DEGRADED     0     0     0
\t    sda         ONLINE       0     0     0
\t    spare-1     DEGRADED     0     0     0
\t      sdb       FAULTED      3    1K 1.50M  too many errors
\t      sde       ONLINE       0     0     0  (resilvering)
\tdedup\t
\t  mirror-1      ONLINE       0     0     0
\t    sdf         ONLINE       0     0     0
\tlogs
\t  nvme0n1p1     ONLINE       0     0     0
\tcache
\t  nvme0n1p2     ONLINE       0     0     0
\tspares
\t  sde           INUSE     currently in use
\t  sdg           AVAIL

errors: Permanent errors have been detected in the following files:

        /tank/a file
        tank/data:<0x1>

  pool: other
 state: ONLINE
config:

\tNAME        STATE     READ WRITE CKSUM
\tother       ONLINE       0     0     0
\t  sdz       ONLINE       0     0     0

errors: 21 data errors, use '-v' for a list
"""


class ZfsHost(Host):
    """A host whose programs answer by the longest beginning of their command line that is known."""

    def __init__(
        self,
        root: Path,
        states: Mapping[str, str] | None = None,
        answers: Mapping[str, CommandResult | Exception] | None = None,
    ) -> None:
        super().__init__(root)
        self.answers = dict(answers or {})
        self.calls: list[str] = []
        if states is not None:
            self.path("/dev").mkdir(parents=True)
            self.path("/dev/zfs").touch()
            self.path("/proc/spl/kstat/zfs").mkdir(parents=True)
            self.path("/proc/spl/kstat/zfs/arcstats").touch()
            for name, state in states.items():
                self.path(f"/proc/spl/kstat/zfs/{name}").mkdir()
                if state:
                    self.path(f"/proc/spl/kstat/zfs/{name}/state").write_text(f"{state}\n")

    def run(self, argv: Sequence[str], *, timeout_seconds: float = 20) -> CommandResult:
        command = " ".join(argv)
        self.calls.append(command)
        known = [begin for begin in self.answers if command.startswith(begin)]
        if not known:
            raise ProgramMissingError(argv[0])
        answer = self.answers[max(known, key=len)]
        if isinstance(answer, Exception):
            raise answer
        return answer


OLD = said("", returncode=2, stderr="invalid option 'j'\nusage:\n")
GOOD = """\
  pool: tank
 state: ONLINE
config:

\tNAME STATE READ WRITE CKSUM
\ttank ONLINE 0 0 0
\t  sda ONLINE 0 0 0
"""
SPACE = said("tank\t750\t250\n")


# --- text ------------------------------------------------------------------------------------------------------------


def test_the_tree_of_a_pool_is_read_with_roles_parents_counters_and_notes() -> None:
    tank, other = parse_status(STATUS)
    assert (tank.name, tank.state, tank.data_errors) == ("my tank", "DEGRADED", 2)
    assert tank.status == "One or more devices could not be opened. Sufficient replicas exist."
    assert tank.scan.startswith("resilver in progress since")
    assert "15.3% done" in tank.scan
    assert [(row.name, row.role, row.parent, row.state) for row in tank.vdevs] == [
        ("raidz2-0", "data", "", "DEGRADED"),
        ("sda", "data", "raidz2-0", "ONLINE"),
        ("spare-1", "data", "raidz2-0", "DEGRADED"),
        ("sdb", "data", "spare-1", "FAULTED"),
        ("sde", "data", "spare-1", "ONLINE"),
        ("mirror-1", "dedup", "", "ONLINE"),
        ("sdf", "dedup", "mirror-1", "ONLINE"),
        ("nvme0n1p1", "log", "", "ONLINE"),
        ("nvme0n1p2", "cache", "", "ONLINE"),
        ("sde", "spare", "", "INUSE"),
        ("sdg", "spare", "", "AVAIL"),
    ]
    sdb = tank.vdevs[3]
    assert (sdb.read_errors, sdb.write_errors, sdb.checksum_errors, sdb.note) == (3, 1024, 1572864, "too many errors")
    assert tank.vdevs[4].note == "(resilvering)"
    assert tank.vdevs[9].note == "currently in use"
    assert (other.name, other.data_errors, len(other.vdevs)) == ("other", 21, 1)


def test_a_device_that_is_shown_with_its_path_keeps_it() -> None:
    [row] = parse_status("config:\n\tNAME STATE READ WRITE CKSUM\n\ttank ONLINE 0 0 0\n\t  /dev/sda1 ONLINE 0 0 0\n")
    assert (row.vdevs[0].path, row.vdevs[0].name) == ("/dev/sda1", "/dev/sda1")


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("errors: No known data errors", 0),
        ("errors: 1 data errors, use '-v' for a list", 1),
        ("errors: List of errors unavailable: permission denied", 1),
        ("errors: Permanent errors have been detected in the following files:", 1),
        ("errors: something new", None),
        ("", None),
    ],
)
def test_data_errors_are_counted_or_not_known(line: str, count: int | None) -> None:
    assert parse_status(f"  pool: tank\n state: ONLINE\n{line}\n")[0].data_errors == count


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("1.20K", 1228),
        ("7M", 7 << 20),
        ("30%", 30),
        ("1.83x", 1),
        ("0B", 0),
        ("-", None),
        ("", None),
        ("9" * 18 + "E", (1 << 63) - 1),
        ("9" * 400, None),
    ],
)
def test_numbers_are_exact_or_rounded_with_a_unit(text: str, number: int | None) -> None:
    assert parse_number(text) == number


def test_rows_of_lists_that_do_not_fit_are_passed_over() -> None:
    rows = parse_pool_list("a\t1\t2\nodd\n", ("name", "used", "available"))
    assert rows == {"a": {"name": "a", "used": "1", "available": "2"}}


@given(st.text(alphabet="\t\n :-_KMonlineONLINEpoolstateerrorsNAMEREADmirorz0123456789", max_size=300))
def test_no_text_breaks_the_parser(text: str) -> None:
    for row in parse_status(text):
        assert row.data_errors is None or row.data_errors >= 0
    parse_table(text.splitlines())
    parse_table(["NAME STATE READ WRITE CKSUM", *text.splitlines()])


@given(st.integers(0, 3), st.integers(1, 4), st.integers(0, 1 << 40))
def test_what_is_printed_is_what_is_read(parity: int, leaves: int, count: int) -> None:
    group = f"raidz{parity}-0" if parity else "mirror-0"
    lines = ["NAME STATE READ WRITE CKSUM", "tank ONLINE 0 0 0", f"  {group} ONLINE 0 0 0"]
    lines += [f"    sd{i} ONLINE {count} 0 {i}" for i in range(leaves)]
    table = parse_table([f"\t{line}" for line in lines])
    assert table is not None
    assert [(row.parent, row.read_errors, row.checksum_errors) for row in table[1][1:]] == [
        (group, count, i) for i in range(leaves)
    ]


# --- JSON ------------------------------------------------------------------------------------------------------------


def document(**pool: object) -> str:
    return json.dumps({"output_version": {"command": "zpool status"}, "pools": {"tank": {"name": "tank", **pool}}})


def leaf(name: str, **fields: object) -> dict[str, object]:
    return {"name": name, "vdev_type": "disk", "state": "ONLINE", "path": f"/dev/{name}", **fields}


def test_the_json_form_says_the_same_as_the_text() -> None:
    text = document(
        state="DEGRADED",
        status="One device is gone.",
        error_count="2",
        scan_stats={"function": "RESILVER", "state": "SCANNING", "errors": "0", "end_time": "-"},
        vdevs={
            "tank": {
                "name": "tank",
                "vdev_type": "root",
                "read_errors": "1.00K",
                "vdevs": {
                    "mirror-0": {
                        "name": "mirror-0",
                        "state": "DEGRADED",
                        "vdevs": {
                            "sda": leaf("sda", checksum_errors="3", scan_processed="1G"),
                            "99": {"state": "CANT_OPEN", "was": "/dev/sdb1"},
                        },
                    }
                },
            }
        },
        logs={"sdl": leaf("sdl", state="HEALTHY", **{"class": "logs"})},
        l2cache={"sdc": leaf("sdc")},
        spares={"sds": leaf("sds", state="AVAIL"), "odd": 7},
    )
    [row] = parse_status_json(text)
    assert (row.name, row.state, row.status, row.data_errors, row.read_errors) == (
        "tank",
        "DEGRADED",
        "One device is gone.",
        2,
        1024,
    )
    assert row.scan == "resilver scanning with 0 errors"
    assert [(v.name, v.role, v.parent, v.state, v.note) for v in row.vdevs] == [
        ("mirror-0", "data", "", "DEGRADED", ""),
        ("sda", "data", "mirror-0", "ONLINE", "resilvering"),
        ("99", "data", "mirror-0", "UNAVAIL", "was /dev/sdb1"),
        ("sdl", "log", "", "ONLINE", ""),
        ("sdc", "cache", "", "ONLINE", ""),
        ("sds", "spare", "", "AVAIL", ""),
    ]
    assert (row.vdevs[1].checksum_errors, row.vdevs[1].path) == (3, "/dev/sda")


def test_flat_vdevs_and_times_of_the_last_scan_are_read_too() -> None:
    text = document(
        state="ONLINE",
        error_count=0,
        scan_stats={"function": "SCRUB", "state": "FINISHED", "errors": True, "end_time": "Sun Jan 11"},
        vdevs={"mirror-0": {"state": "ONLINE"}, "sda": leaf("sda", read_errors=1 << 70)},
    )
    [row] = parse_status_json(text)
    assert [v.name for v in row.vdevs] == ["mirror-0", "sda"]
    assert (row.scan, row.vdevs[1].read_errors) == ("scrub finished on Sun Jan 11", 0)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"pools": []}', "no pools available", "{"])
def test_what_is_not_the_document_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - msgspec.DecodeError is one, with the parser's own words
        parse_status_json(text)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["vdevs", "state", "name", "logs", "scan_stats", "error_count", "errors", "stats"]), inner
        )
    ),
    max_leaves=15,
)


@given(st.dictionaries(st.text(max_size=4), JSON_VALUES, max_size=3))
def test_no_document_breaks_the_json_parser(pools: dict[str, object]) -> None:
    for row in parse_status_json(json.dumps({"pools": pools})):
        assert isinstance(row, ZfsRow)


def test_vdevs_without_end_are_cut() -> None:
    vdev: dict[str, object] = leaf("x")
    for _ in range(50):
        vdev = {"state": "ONLINE", "vdevs": {"x": vdev}}
    assert len(parse_status_json(document(state="ONLINE", vdevs={"v": vdev}))[0].vdevs) < 12


# --- reading the host ------------------------------------------------------------------------------------------------


def test_a_host_without_zfs_has_nothing_and_no_gap(tmp_path: Path) -> None:
    part = read_zfs(ZfsHost(tmp_path), WHERE)
    assert (part.resources, part.gaps, part.complete) == ((), (), True)


def test_a_module_without_pools_and_without_tools_is_nothing_either(tmp_path: Path) -> None:
    part = read_zfs(ZfsHost(tmp_path, {}), WHERE)
    assert (list(part.resources), list(part.gaps)) == ([], [])


def test_a_container_does_not_take_its_hosts_pools_for_its_own(tmp_path: Path) -> None:
    host = ZfsHost(tmp_path, {"tank": "ONLINE"})
    host.path("/dev/zfs").unlink()
    assert read_states(host) == {"tank": "ONLINE"}  # a service without devices sees them all the same
    host.path("/.dockerenv").touch()
    assert read_states(host) is None


def test_the_newest_form_that_is_known_is_used(tmp_path: Path) -> None:
    host = ZfsHost(
        tmp_path,
        {"tank": "ONLINE"},
        {
            "zpool status -j": OLD,
            "zpool status -p": said("", returncode=2, stderr="invalid option 'p'"),
            "zpool status": said(GOOD),
            "zfs list": SPACE,
        },
    )
    part = read_zfs(host, WHERE)
    assert [call for call in host.calls if call.startswith("zpool")] == [
        "zpool status -j -p",
        "zpool status -p",
        "zpool status",
    ]
    [resource] = part.resources
    assert (resource.id, resource.type, resource.name, resource.parent) == (
        "storage:nas:tank",
        "storage",
        "tank",
        "agent:local:nas",
    )
    pool = resource.pool
    assert pool is not None
    assert pool.zfs is not None
    assert (pool.id, pool.node, pool.type, pool.status, pool.usage_percent) == (
        "storage:nas:tank",
        "nas",
        "zfspool",
        "online",
        75,
    )
    assert (resource.status, part.complete, list(part.gaps)) == (Status.ONLINE, True, [])


def test_json_is_read_where_it_is_known(tmp_path: Path) -> None:
    answers = {"zpool status -j -p": said(document(state="ONLINE")), "zfs list": SPACE}
    host = ZfsHost(tmp_path, {"tank": "ONLINE"}, answers)
    assert [resource.name for resource in read_zfs(host, WHERE).resources] == ["tank"]
    assert len(host.calls) == 2


def test_a_pool_that_failed_to_import_is_known_to_zpool_alone(tmp_path: Path) -> None:
    text = "  pool: temp2\n state: UNAVAIL\nconfig:\n\n\tNAME STATE READ WRITE CKSUM\n\ttemp2 UNAVAIL 0 0 0\n"
    lists = {
        "zfs list": said("", returncode=1, stderr="dataset does not exist"),
        "zpool list": said("temp2\t-\t-\t-\t-\tUNAVAIL\t-\n"),
    }
    [resource] = read_zfs(
        ZfsHost(tmp_path, {}, {"zpool status": said(text), "zpool status -j": OLD, **lists}), WHERE
    ).resources
    assert resource.status is Status.OFFLINE
    assert resource.pool is not None
    assert (resource.pool.status, resource.pool.usage_percent, resource.pool.total_gb) == ("unavail", None, None)


def test_usage_falls_back_to_the_size_of_the_devices(tmp_path: Path) -> None:
    answers: dict[str, CommandResult | Exception] = {
        "zpool status": said(GOOD),
        "zpool status -j": OLD,
        "zfs list": ProgramTimedOutError("zfs"),
        "zpool list": said("tank\t2147483648\t1073741824\t1073741824\t50\tONLINE\t6\n"),
    }
    [resource] = read_zfs(ZfsHost(tmp_path, {"tank": "ONLINE"}, answers), WHERE).resources
    assert resource.pool is not None
    assert (resource.pool.usage_percent, resource.pool.total_gb, resource.pool.used_gb) == (50, 2, 1)


def test_a_suspended_pool_is_told_by_the_kernel_and_asked_nothing(tmp_path: Path) -> None:
    answers = {"zpool status -j -p tank": said(document(state="ONLINE")), "zfs list -Hp -d 0 -o": SPACE}
    host = ZfsHost(tmp_path, {"bad pool": "SUSPENDED", "tank": "ONLINE"}, answers)
    part = read_zfs(host, WHERE)
    assert not any("bad pool" in call for call in host.calls)
    assert [(r.name, r.pool.status if r.pool else "") for r in part.resources] == [
        ("tank", "online"),
        ("bad pool", "suspended"),
    ]
    [gap] = part.gaps
    assert (gap.resource_id, part.complete) == ("storage:nas:bad~20pool", False)
    assert gap.fix.endswith("zpool clear bad pool")


def test_where_all_pools_are_suspended_no_program_is_started(tmp_path: Path) -> None:
    host = ZfsHost(tmp_path, {"a": "SUSPENDED"})
    assert [r.name for r in read_zfs(host, WHERE).resources] == ["a"]
    assert host.calls == []


@pytest.mark.parametrize(
    ("answer", "reason", "fix"),
    [
        (ProgramMissingError("zpool"), GapReason.TOOL_MISSING, "apt install zfsutils-linux"),
        (ProgramTimedOutError("zpool"), GapReason.TIMED_OUT, "dmesg"),
        (OSError(8, "Exec format error"), GapReason.FAILED, ""),
        (said("", returncode=1, stderr="Permission denied the ZFS utilities"), GapReason.NO_PERMISSION, run_as_root()),
        (said("", returncode=1, stderr="internal error\nmore"), GapReason.FAILED, ""),
        (said("", returncode=1), GapReason.FAILED, ""),
        (said("{"), GapReason.UNREADABLE, ""),
    ],
)
def test_without_zpool_the_state_stays_and_the_rest_is_a_gap_with_its_remedy(
    tmp_path: Path, answer: CommandResult | Exception, reason: GapReason, fix: str
) -> None:
    part = read_zfs(ZfsHost(tmp_path, {"tank": "DEGRADED", "old": ""}, {"zpool status": answer}), WHERE)
    assert [(r.name, r.pool.zfs.state if r.pool and r.pool.zfs else "") for r in part.resources] == [
        ("tank", "DEGRADED")
    ]
    [gap] = part.gaps
    assert (gap.reason, part.complete) == (reason, False)
    assert fix in gap.fix


def test_no_pools_is_an_answer_and_no_fault(tmp_path: Path) -> None:
    part = read_zfs(ZfsHost(tmp_path, {}, {"zpool status": said("no pools available\n")}), WHERE)
    assert (list(part.resources), list(part.gaps)) == ([], [])


def test_a_release_that_knows_no_form_at_all_is_a_gap(tmp_path: Path) -> None:
    answer = said("", returncode=2, stderr="unrecognized option")
    part = read_zfs(ZfsHost(tmp_path, {"tank": "ONLINE"}, {"zpool status": answer}), WHERE)
    assert [gap.reason for gap in part.gaps] == [GapReason.FAILED]


def test_space_is_dfs_rule_and_nothing_where_it_is_not_told(tmp_path: Path) -> None:
    host = ZfsHost(tmp_path, None, {"zfs list": said("tank\t3\t1\nodd\t-\t-\nshort\n")})
    assert read_space(host, ["tank"]) == {"tank": PoolSpace(used=3, available=1)}
    assert PoolSpace(used=3, available=1).usage_percent == 75
    assert PoolSpace(used=0, available=0).usage_percent is None


# --- real captures ---------------------------------------------------------------------------------------------------

LIST_COLUMNS = ("name", "health", "size", "alloc", "free", "frag", "cap", "dedup")
"""Columns of the captured lists."""


def rows_of(path: Path) -> list[PoolRow]:
    text = path.read_text()
    if path.suffix == ".json":
        rows = parse_status_json(text)
    elif "kstat" in path.name:
        rows = [ZfsRow(name=path.name.split("_")[2], state=text.strip())]
    elif "zpool_list_vdev" in path.name:
        table = parse_table(text.splitlines())
        assert table is not None
        rows = [ZfsRow(name=table[0].name, state=table[0].state, vdevs=table[1])]
    elif "zpool_list" in path.name:
        listed = parse_pool_list(text, LIST_COLUMNS)
        pools = {name: usage_of_list(row) for name, row in listed.items()}
        for name, pool in pools.items():
            pool.id = pool.name = name
            pool.zfs = ZfsRow(name=name, state=listed[name]["health"])
        return list(pools.values())
    else:
        rows = parse_status(text)
    return [PoolRow(id=row.name, name=row.name, zfs=row) for row in rows]


def verdict_of(rows: list[PoolRow]) -> str:
    severities = {str(s.severity) for s in Judged(PoolDetector, PoolsOutput(pools=rows)).signals}
    return next((severity for severity in ("critical", "warning") if severity in severities), "ok")


def vdevs_of(rows: list[PoolRow]) -> list[VdevRow]:
    return [vdev for row in rows if row.zfs for vdev in row.zfs.vdevs]


def test_all_real_captures_are_read_as_they_should_be(shared: Path) -> None:
    lines = (shared / "data" / "expected.jsonl").read_text().splitlines()
    expected = [row for row in map(json.loads, lines) if row["file"].startswith("zfs/")]
    assert len(expected) > 15
    for row in expected:
        expect, rows = row["expect"], rows_of(shared / "data" / row["file"])
        states = {pool.name: pool.zfs.state for pool in rows if pool.zfs}
        assert states == expect.get("pools", states), row["file"]
        assert verdict_of(rows) in {expect["verdict"], *expect.get("accept", ())}, row["file"]
        missing = {vdev.name for vdev in vdevs_of(rows) if vdev.state == "UNAVAIL"}
        assert len(missing) == len(expect.get("missing", ())), row["file"]
        for name, counts in expect.get("device_errors", {}).items():
            [vdev] = [vdev for vdev in vdevs_of(rows) if vdev.write_errors]
            assert [vdev.read_errors, vdev.write_errors, vdev.checksum_errors] == counts, row["file"]
            assert vdev.name.startswith(name.split("*", maxsplit=1)[0])


def test_lists_of_datasets_are_read_as_well(shared: Path) -> None:
    text = (shared / "data" / "zfs" / "telegraf_zfs_list_freebsd14.txt").read_text()
    rows = parse_pool_list(text, ("name", "available", "used", "snapshots", "dataset"))
    assert (len(rows), rows["zroot"]["used"], parse_number(rows["zroot"]["snapshots"])) == (14, "11959443456", None)
