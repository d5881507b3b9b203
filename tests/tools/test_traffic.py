"""`network` and `diskio` of pulse_metrics, `config` of pulse_query, `resolved` of pulse_alerts."""

from datetime import timedelta

import msgspec
import pytest

from patrol.estate.model import Estate, GuestConfig, ResolvedAlert, ResourceType
from patrol.tools.model import ErrorCode, ToolError
from signals.traffic_evidence import BlockDeviceRow, InterfaceRow
from tests.tools.estates import NOW, guest, node, source, toolbox


def answer(estate: Estate, tool: str, **arguments: object) -> dict[str, object]:
    return msgspec.json.decode(msgspec.json.encode(toolbox(estate).call(tool, arguments)))


def hosts() -> Estate:
    return Estate(
        sources=[source()],
        resources=[
            node(
                "a",
                "pve1",
                interfaces=[InterfaceRow(name="eno1", rx_bytes=7, rx_bytes_per_second=1.5, window_seconds=3600)],
                block_devices=[BlockDeviceRow(device="sda", read_bytes=512, io_time_ms=3)],
            ),
            node("a", "pve2", interfaces=[]),
            guest("a", 101, "pve1"),
        ],
    )


def test_interfaces_stand_under_the_host_that_was_asked_for_them() -> None:
    page = answer(hosts(), "pulse_metrics", type="network")
    assert page["hosts"] == [
        {
            "hostname": "pve1",
            "interfaces": [{"name": "eno1", "rx_bytes": 7, "window_seconds": 3600.0, "rx_bytes_per_second": 1.5}],
            "id": "node:a:pve1",
            "type": "node",
        },
        {"hostname": "pve2", "id": "node:a:pve2", "type": "node"},
    ]
    assert page["total"] == 2


def test_disks_stand_under_the_host_that_was_asked_for_them() -> None:
    page = answer(hosts(), "pulse_metrics", type="diskio", host="pve1")
    assert page["hosts"] == [
        {
            "hostname": "pve1",
            "devices": [{"device": "sda", "read_bytes": 512, "io_time_ms": 3}],
            "id": "node:a:pve1",
            "type": "node",
        }
    ]


# --- config

CONFIG = GuestConfig(
    os_type="l26",
    disks=["scsi0: tank:vm-101-disk-0"],
    raw={
        "net0": "virtio",
        "cipassword": "hunter2",
        "sshkeys": "ssh-ed25519",
        "env": "DB=1",
        "apiKey": "1",
        "memory": "4",
    },
)


def configured() -> Estate:
    return Estate(
        sources=[source()],
        resources=[
            node("a", "pve1"),
            guest("a", 101, "pve1", config=CONFIG, boot_with_host=True),
            guest("a", 102, "pve1", type=ResourceType.SYSTEM_CONTAINER),
        ],
    )


def test_a_configuration_shows_how_a_guest_is_set_up_and_no_secret() -> None:
    page = answer(configured(), "pulse_query", action="config", resource_id="101")
    assert (page["id"], page["guest_type"], page["vmid"], page["node"]) == ("vm:a:101", "vm", 101, "pve1")
    assert (page["os_type"], page["onboot"], page["disks"]) == ("l26", True, ["scsi0: tank:vm-101-disk-0"])
    hidden = {key for key, value in page["raw"].items() if value == "(hidden)"}
    assert hidden == {"cipassword", "sshkeys", "env", "apiKey"}
    assert page["complete"]


def test_a_configuration_that_was_not_read_is_a_gap() -> None:
    page = answer(configured(), "pulse_query", action="config", resource_id="102")
    assert not page.get("complete")
    assert [(each["topic"], each["resource_id"]) for each in page["gaps"]] == [("config", "system-container:a:102")]


@pytest.mark.parametrize(("arguments", "allowed"), [({}, "vm:a:101"), ({"resource_id": "pve1"}, "system-container")])
def test_what_has_no_configuration_is_told_what_has_one(arguments: dict[str, object], allowed: str) -> None:
    with pytest.raises(ToolError) as caught:
        answer(configured(), "pulse_query", action="config", **arguments)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert allowed in caught.value.allowed


# --- alerts that are over


def over(number: int, *, hours: float | None, severity: str = "warning") -> ResolvedAlert:
    ended = None if hours is None else NOW - timedelta(hours=hours)
    return ResolvedAlert(
        id=f"a{number}", resource_id="101", severity=severity, type="cpu", resolved_time=ended, start_time=NOW
    )


def test_alerts_that_ended_within_a_day_are_listed_the_newest_first() -> None:
    estate = hosts()
    estate.resolved_alerts = [
        over(1, hours=24),
        over(2, hours=24.01),
        over(3, hours=1, severity="critical"),
        over(4, hours=None),
        over(5, hours=-1),
    ]
    page = answer(estate, "pulse_alerts", action="resolved")
    assert [row["id"] for row in page["alerts"]] == ["a3", "a1"]
    assert page["total"] == 2
    row = page["alerts"][0]
    assert (row["level"], row["node"], row["instance"], row["resolved_time"]) == (
        "critical",
        "pve1",
        "a",
        "2026-03-02T05:00:00Z",
    )
    only = answer(estate, "pulse_alerts", action="resolved", severity="warning", node="pve1")
    assert [row["id"] for row in only["alerts"]] == ["a1"]


def test_alerts_that_are_over_are_no_open_alerts() -> None:
    estate = hosts()
    estate.resolved_alerts = [over(1, hours=1)]
    assert answer(estate, "pulse_alerts", action="list")["alerts"] == []
