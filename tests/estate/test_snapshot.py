"""The estate document: what it may hold, what is refused and where, and what is not read."""

import json
import os
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.model import Gap, GapReason, Sight, Topic
from patrol.estate.document import decode_estate
from patrol.estate.faults import EstateDocumentError, find_fault
from patrol.estate.model import Estate, Metric
from patrol.estate.schema import estate_schema
from patrol.estate.sources.model import CollectRequest
from patrol.estate.sources.snapshot import SnapshotReadError, SnapshotSource, load_inventory, read_document

NOW = datetime(2026, 3, 2, tzinfo=UTC)
REQUEST = CollectRequest(now=NOW, deadline_seconds=5)


def decoded(document: object) -> Estate:
    return decode_estate(json.dumps(document).encode())


def vm(**fields: object) -> dict[str, object]:
    return {"id": "vm:lab:101", "type": "vm", "name": "web", **fields}


def disk(**row: object) -> dict[str, object]:
    return {"id": "disk:h:sda", "type": "disk", "disk": row}


FAULTS = [
    ([], "$: expected 'object', got 'array'"),
    ({"resourcs": []}, "$: unknown key \"resourcs\" (did you mean 'resources'? allowed: version, collected_at,"),
    ({"version": 2}, "$.version: the document has version 2, this Patrol reads up to version 1 (upgrade patrold"),
    ({"version": 2, "new": 1}, "$.version: the document has version 2"),
    ({"version": 0}, "$.version: expected a number from 1 to 1, got 0"),
    ({"version": "1"}, "$.version: expected a number from 1 to 1, got '1'"),
    ({"resources": {}}, "$.resources: expected 'array', got 'object'"),
    ({"resources": [vm(), 3]}, "$.resources[1]: expected 'object', got 'int'"),
    ({"resources": [vm(), {"id": "x"}]}, "$.resources[1]: the key 'type' is missing"),
    ({"resources": [vm(type="vmm")]}, "$.resources[0].type: unknown value \"vmm\" (did you mean 'vm'? allowed: node,"),
    ({"resources": [vm(vmid="101")]}, "$.resources[0].vmid: expected 'int | null', got 'str'"),
    ({"resources": [vm(colour=1)]}, '$.resources[0]: unknown key "colour" (allowed: id, type,'),
    ({"resources": [vm(metrics={"cpuu": {"value": 1}})]}, '$.resources[0].metrics: unknown value "cpuu"'),
    ({"resources": [vm(metrics={"cpu": {"val": 1}})]}, '$.resources[0].metrics.cpu: unknown key "val" (did you mean'),
    ({"resources": [vm(metrics={"cpu": {}})]}, "$.resources[0].metrics.cpu: the key 'value' is missing"),
    ({"resources": [vm(first_seen="yesterday")]}, "$.resources[0].first_seen: invalid RFC3339 encoded datetime"),
    ({"resources": [disk(healthy=True)]}, "$.resources[0].disk: unknown key \"healthy\" (did you mean 'health'?"),
    ({"resources": [disk(attributes={"pendingSector": 1})]}, "$.resources[0].disk.attributes: unknown key"),
    ({"resources": [disk(failing=[{}, {"id": "x"}])]}, "$.resources[0].disk.failing[1].id: expected 'int | null'"),
    ({"gaps": [{"topic": "cpu"}]}, "$.gaps[0]: the key 'source' is missing"),
    ({"gaps": [{"source": "a", "topic": "cpus", "reason": "failed", "detail": ""}]}, "$.gaps[0].topic: unknown value"),
    ({"zones": {"lab": "Europe/Berln"}}, "$.zones[\"lab\"]: unknown time zone 'Europe/Berln'"),
    ({"zones": {"lab": ""}}, "$.zones[\"lab\"]: unknown time zone ''"),
    ({"zones": {"a b": 1}}, "$.zones[\"a b\"]: expected 'str', got 'int'"),
    ({"resources": [{"id": " ", "type": "vm"}]}, "$.resources[0].id: a resource needs an id or a name"),
    ({"resources": [vm(), vm(name="other")]}, "$.resources[1].id: 'vm:lab:101' is the id of $.resources[0] as well"),
]  # fmt: skip


@pytest.mark.parametrize(("document", "message"), FAULTS, ids=[case[1][:60] for case in FAULTS])
def test_a_fault_is_named_with_its_place_and_what_would_be_right(document: object, message: str) -> None:
    with pytest.raises(EstateDocumentError) as caught:
        decoded(document)
    assert str(caught.value).startswith(message)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "data",
    [b"", b"nonsense", b'{"resources": [', b"\xff\xfe{\x00", b'{"a":' * 100_000, b"[" * 100_000, b'{"version":1e999}'],
)
def test_junk_is_refused_in_one_line(data: bytes) -> None:
    with pytest.raises(EstateDocumentError) as caught:
        decode_estate(data)
    assert caught.value.fault.place.startswith("$")
    assert "\n" not in str(caught.value)


def test_a_byte_order_mark_is_no_fault() -> None:
    assert decode_estate(b"\xef\xbb\xbf{}") == Estate()


def test_repeats_of_equal_content_are_one_and_two_sources_are_two_observations() -> None:
    assert len(decoded({"resources": [vm(), vm()]}).resources) == 1
    assert len(decoded({"resources": [vm(source="a"), vm(source="b", name="other")]}).resources) == 2
    assert len(decoded({"resources": [{"id": "", "type": "vm", "name": name} for name in "ab"]}).resources) == 2


def test_times_without_zone_take_that_of_their_instance_else_utc() -> None:
    reading = {"value": 1, "at": "2026-01-01T10:00:00"}
    estate = decoded(
        {
            "collected_at": "2026-03-01T12:00:00",
            "zones": {"lab": "Australia/Brisbane"},
            "resources": [
                vm(instance="lab", first_seen="2026-01-01T00:00:00", metrics={"cpu": reading}),
                {"id": "b", "type": "vm", "first_seen": "2026-01-01T00:00:00"},
                {"id": "c", "type": "vm", "first_seen": "0001-01-01T00:00:00", "instance": "lab"},
            ],
            "alerts": [{"id": "1", "resource_id": "b", "start_time": "2026-01-01T00:00:00+02:00"}],
        }
    )
    assert estate.collected_at == datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert estate.resources[0].first_seen == datetime(2025, 12, 31, 14, tzinfo=UTC)
    assert estate.resources[0].metrics[Metric.CPU].at == datetime(2026, 1, 1, tzinfo=UTC)
    assert estate.resources[1].first_seen == datetime(2026, 1, 1, tzinfo=UTC)
    assert estate.resources[2].first_seen.tzinfo is UTC
    assert estate.alerts[0].start_time == datetime(2025, 12, 31, 22, tzinfo=UTC)


SMARTCTL = {
    "json_format_version": [1, 0],
    "smartctl": {"exit_status": 0},
    "device": {"name": "/dev/sda", "type": "sat", "protocol": "ATA"},
    "serial_number": "S1",
    "smart_status": {"passed": True},
    "something new": {"of": "a later version"},
}


def test_smartctls_own_output_is_a_disk_and_what_it_lacks_is_a_gap() -> None:
    document = {"resources": [{"id": "d", "type": "disk", "disk": SMARTCTL}, vm()]}
    estate = decoded(document)
    row = estate.resources[0].disk
    assert (row.serial, row.health) == ("S1", "PASSED")
    asleep = {"smartctl": {"exit_status": 2, "messages": [{"string": "Device is in STANDBY mode, exit(2)"}]}}
    (gap,) = decoded({"resources": [disk(**asleep)]}).gaps
    assert (gap.topic, gap.reason, gap.resource_id) == (Topic.SMART, GapReason.ASLEEP, "disk:h:sda")


def test_a_gap_of_smartctls_output_names_source_and_disk(tmp_path: Path) -> None:
    unread = {"smartctl": {"exit_status": 2}}
    estate = collected(written(tmp_path, {"resources": [{"id": "", "name": "sda", "type": "disk", "disk": unread}]}))
    assert [(each.source, each.resource_id) for each in estate.gaps] == [("snap", "disk:snap:sda")]


@pytest.mark.parametrize(
    "junk", [{"smartctl": 1}, {"smart_status": []}, {"device": {}}, {"device": {"name": 3}, "wwn": "x"}]
)
def test_junk_in_smartctls_place_is_read_as_nothing(junk: dict[str, object]) -> None:
    estate = decoded({"resources": [disk(**junk)]})
    assert estate.resources[0].disk.health == "UNKNOWN"
    assert not estate.resources[0].disk.smart_complete


@pytest.mark.parametrize("number", [str(2**63), str(-(2**63) - 1), "1" + "0" * 400])
def test_a_number_beyond_every_counter_is_refused_where_it_stands_and_never_ends_a_run(number: str) -> None:
    text = '{"resources": [{"id": "a", "type": "storage", "pool": {"zfs": {"read_errors": %s}}}]}'
    with pytest.raises(EstateDocumentError, match=r"^\$\.resources\[0\]\.pool\.zfs\.read_errors: "):
        decode_estate((text % number).encode())


def test_a_number_longer_than_a_page_is_refused_as_well() -> None:
    text = '{"resources": [{"id": "a", "type": "storage", "pool": {"zfs": {"read_errors": -1%s}}}]}'
    with pytest.raises(EstateDocumentError, match="out of range"):
        decode_estate((text % ("0" * 5000)).encode())


@pytest.mark.parametrize("number", [0, 2**63 - 1])
def test_the_largest_number_of_a_counter_is_kept(number: int) -> None:
    text = '{"resources": [{"id": "a", "type": "storage", "pool": {"zfs": {"read_errors": %d}}}]}'
    (found,) = decode_estate((text % number).encode()).resources
    assert found.pool is not None
    assert found.pool.zfs is not None
    assert found.pool.zfs.read_errors == number


@pytest.mark.parametrize("spelling", ["pendingSectors", "pending_sectors"])
@pytest.mark.parametrize("key", ["attributes", "smart_attributes", "smartAttributes"])
def test_counters_may_be_spelled_as_documented(key: str, spelling: str) -> None:
    row = decoded({"resources": [disk(**{key: {spelling: 8}})]}).resources[0].disk
    assert getattr(row, key).pending_sectors == 8


def test_what_patrol_writes_it_reads() -> None:
    estate = decoded({"resources": [{"id": "d", "type": "disk", "disk": SMARTCTL}, vm(vmid=101, instance="lab")]})
    again = decode_estate(msgspec.json.encode(estate))
    assert msgspec.to_builtins(again) == msgspec.to_builtins(decode_estate(msgspec.json.encode(again)))
    assert [row.id for row in again.resources] == [row.id for row in estate.resources]


def written(folder: Path, document: object) -> Path:
    path = folder / "estate.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def collected(path: object) -> Estate:
    return SnapshotSource("snap", str(path)).collect(REQUEST).estate


def test_a_document_without_sources_is_this_sources_and_read_what_it_carries(tmp_path: Path) -> None:
    estate = collected(written(tmp_path, {"resources": [vm(vmid=7, metrics={"cpu": {"value": 1}}, units=[])]}))
    (state,) = estate.sources
    assert (state.name, state.type, state.connected) == ("snap", "snapshot", True)
    assert state.read == [Topic.INVENTORY, Topic.CPU, Topic.UNITS]
    assert estate.resources[0].source == "snap"
    assert estate.resources[0].filesystems is None


def test_sources_and_gaps_of_a_document_are_kept_as_they_are(tmp_path: Path) -> None:
    gap = {"source": "pve", "topic": "smart", "reason": "no_permission", "detail": "d", "fix": "f", "sight": "lost"}
    estate = collected(written(tmp_path, {"sources": [{"name": "pve"}], "resources": [vm()], "gaps": [gap]}))
    assert [each.name for each in estate.sources] == ["pve"]
    assert estate.resources[0].source == "pve"
    assert estate.gaps == [
        Gap(
            source="pve",
            topic=Topic.SMART,
            reason=GapReason.NO_PERMISSION,
            detail="d",
            fix="f",
            sight=Sight.LOST,
        )
    ]


def test_a_source_of_a_document_that_was_not_connected_is_lost_from_sight(tmp_path: Path) -> None:
    sources = [{"name": "lab", "connected": False}, {"name": "nas"}]
    document = {"sources": sources, "resources": [vm(source="nas")]}
    (gap,) = collected(written(tmp_path, document)).gaps
    assert (gap.source, gap.topic, gap.sight) == ("lab", Topic.INVENTORY, Sight.LOST)
    assert gap.detail.endswith("says that lab was not connected")
    told = {"source": "lab", "topic": "inventory", "reason": "timed_out", "detail": "no answer"}
    (gap,) = collected(written(tmp_path, {**document, "gaps": [told]})).gaps
    assert gap.detail == "no answer"


@pytest.mark.parametrize("document", [{}, {"resources": []}, {"sources": [{"name": "pve"}]}])
def test_an_empty_document_never_means_that_everything_is_gone(tmp_path: Path, document: object) -> None:
    estate = collected(written(tmp_path, document))
    assert [(each.topic, each.sight, each.resource_id) for each in estate.gaps] == [(Topic.INVENTORY, Sight.LOST, None)]
    inventory = load_inventory(written(tmp_path, document))
    assert not inventory.complete
    assert inventory.gaps


UNREAD = [
    ("missing.json", None, GapReason.FAILED),
    ("nul\0.json", None, GapReason.FAILED),
    (".", None, GapReason.FAILED),
    ("bad.json", b"{", GapReason.UNREADABLE),
    ("typo.json", b'{"resourcs": []}', GapReason.UNREADABLE),
]


@pytest.mark.parametrize(("name", "content", "reason"), UNREAD)
def test_a_document_that_cannot_be_read_is_a_gap_of_the_source(
    tmp_path: Path, name: str, content: bytes | None, reason: GapReason
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    estate = collected(f"{tmp_path}/{name}")
    assert [each.connected for each in estate.sources] == [False]
    (gap,) = estate.gaps
    assert (gap.topic, gap.reason, gap.sight) == (Topic.INVENTORY, reason, Sight.LOST)
    assert gap.detail


def test_a_document_beyond_the_bound_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, {"resources": [vm()]})
    with pytest.raises(SnapshotReadError) as caught:
        read_document(str(path), max_bytes=10)
    assert caught.value.reason is GapReason.TOO_LARGE


def test_a_pipe_is_read_to_its_end_and_not_waited_for_for_ever() -> None:
    reader, writer = os.pipe()
    with pytest.raises(SnapshotReadError) as caught:
        read_document(f"/dev/fd/{reader}", deadline_seconds=0.01)
    assert caught.value.reason is GapReason.TIMED_OUT
    thread = threading.Thread(target=lambda: (os.write(writer, b"{}"), os.close(writer)))
    thread.start()
    assert read_document(f"/dev/fd/{reader}", deadline_seconds=5) == b"{}"
    thread.join()
    os.close(reader)


def test_standard_input_is_read_once_and_answers_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with written(tmp_path, {"resources": [vm()]}).open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        source = SnapshotSource("snap", "-")
        first, second = (source.collect(REQUEST).estate for _ in range(2))
    assert [row.id for row in first.resources] == [row.id for row in second.resources] == ["vm:lab:101"]


def test_an_inventory_lists_all_by_id(tmp_path: Path) -> None:
    resources = [vm(), {"id": "7", "type": "vm", "vmid": 7, "instance": "lab", "first_seen": "2026-01-01T00:00:00Z"}]
    resources.append({"id": "s", "type": "storage", "pool": {"disk_type": "nvme"}})
    resources.append({"id": "d", "type": "disk", "disk": {"type": "hdd"}})
    inventory = load_inventory(written(tmp_path, {"resources": resources}))
    assert inventory.complete
    assert [(row.id, row.aliases, row.disk_type) for row in inventory.resources] == [
        ("disk:snapshot:d", ["d"], "hdd"),
        ("storage:snapshot:s", ["s"], "nvme"),
        ("vm:lab:101", [], ""),
        ("vm:lab:7", ["7"], ""),
    ]
    assert inventory.resources[3].first_seen == "2026-01-01T00:00:00+00:00"


def test_the_schema_is_closed_at_every_depth_and_says_that_smartctl_may_stand_for_a_disk() -> None:
    schema = estate_schema()
    assert schema["$ref"] == "#/$defs/Estate"
    objects = [part for part in schema["$defs"].values() if part.get("type") == "object"]
    assert all(part["additionalProperties"] is False for part in objects)
    assert "PoolRow" in schema["$defs"]
    disk_part = schema["$defs"]["Resource"]["properties"]["disk"]["anyOf"]
    assert any("smartctl" in part.get("properties", {}) for part in disk_part)


KEYS = st.sampled_from(
    [
        "version",
        "resources",
        "id",
        "type",
        "disk",
        "gaps",
        "zones",
        "metrics",
        "cpu",
        "value",
        "smartctl",
        "device",
        "x",
    ]
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=5), KEYS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=20,
)


def fault_of(data: bytes) -> str:
    """What is wrong with a document, "" if it is one; any other exception is a failure of the test."""
    try:
        decode_estate(data)
    except EstateDocumentError as error:
        return str(error)
    return ""


@given(VALUES)
def test_any_json_is_an_estate_or_a_document_error(document: object) -> None:
    assert fault_of(json.dumps(document).encode())[:1] in {"", "$"}


@given(st.binary(max_size=60))
def test_any_bytes_are_an_estate_or_a_document_error(data: bytes) -> None:
    assert fault_of(data)[:1] in {"", "$"}


def test_a_document_without_fault_has_none() -> None:
    assert (
        find_fault({"resources": [vm(metrics={"cpu": {"value": 1}}, disk=None)], "zones": {"a": "UTC"}}, Estate) is None
    )


@pytest.mark.parametrize(("hours", "is_read"), [(1.99, True), (2, True), (2.01, False), (-1, True)])
def test_a_document_older_than_its_bound_tells_nothing_of_today(tmp_path: Path, hours: float, is_read: bool) -> None:
    file = tmp_path / "estate.json"
    collected = NOW - timedelta(hours=hours)
    file.write_text(json.dumps({"collected_at": collected.isoformat(), "resources": [vm()]}))
    source = SnapshotSource("nightly", file, max_age=timedelta(hours=2))
    estate = source.collect(REQUEST).estate
    assert bool(estate.resources) is is_read
    if not is_read:
        (gap,) = estate.gaps
        assert (gap.topic, gap.reason, gap.sight) == (Topic.INVENTORY, GapReason.OUTDATED, Sight.LOST)
        assert "max_age of the source nightly" in gap.fix
        assert not estate.sources[0].connected


def test_a_document_without_a_time_is_as_old_as_its_file(tmp_path: Path) -> None:
    file = tmp_path / "estate.json"
    file.write_text(json.dumps({"resources": [vm()]}))
    os.utime(file, (NOW.timestamp() - 3 * 3600,) * 2)
    assert SnapshotSource("s", file, max_age=timedelta(hours=2)).collect(REQUEST).estate.gaps
    assert SnapshotSource("s", file, max_age=timedelta(hours=4)).collect(REQUEST).estate.resources
    assert SnapshotSource("s", file).collect(REQUEST).estate.resources
