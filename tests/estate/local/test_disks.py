"""Which block devices are physical disks, and what is said of those that cannot be read."""

import json
import shlex
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.model import GapReason, Topic
from patrol.estate.model import ResourceType
from patrol.estate.sources.local.disk_devices import find_block_devices, hidden_disks
from patrol.estate.sources.local.disks import AT_ONCE, read_disks
from patrol.estate.sources.local.host import (
    CommandResult,
    Host,
    ProgramMissingError,
    ProgramTimedOutError,
    Where,
)
from patrol.estate.sources.local.root_command import run_as_root

WHERE = Where(source="local", host_id="agent:local:nas", hostname="nas")


class FakeHost(Host):
    """A tree of files, and answers of smartctl by the device (or `DEVICE -d TYPE`) that it is asked about."""

    def __init__(self, root, answers=None):
        super().__init__(root)
        self.answers = answers
        self.asked = []

    def run(self, argv, *, timeout_seconds=20):
        if self.answers is None:
            raise ProgramMissingError(argv[0])
        self.asked.append(tuple(argv))
        assert timeout_seconds <= 15
        device = "--scan" if "--scan" in argv else argv[-1]
        if "-d" in argv:
            device = f"{device} {argv[argv.index('-d') + 1]}"
        answer = self.answers.get(device, {"smartctl": {"exit_status": 2}})
        if isinstance(answer, Exception):
            raise answer
        text = answer if isinstance(answer, str) else json.dumps(answer)
        return CommandResult(returncode=0, stdout=text, stderr="smartctl: no such option" if not text else "")


@pytest.fixture
def machine(tmp_path):
    """Builds a host: `disk(name, **files)` adds a block device, `host(answers)` is the machine."""

    class Machine:
        root = tmp_path

        def write(self, path, text):
            target = tmp_path / path.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text if isinstance(text, bytes) else text.encode())

        def disk(self, name, *, size=1000, udev=(), rotational=None, **device):
            self.write(f"/sys/block/{name}/size", f"{size}\n")
            if rotational is not None:
                self.write(f"/sys/block/{name}/queue/rotational", f"{rotational}\n")
            for file, text in device.items():
                self.write(f"/sys/block/{name}/device/{file}", text)
            if udev:
                self.write(f"/sys/block/{name}/dev", "8:0\n")
                self.write("/run/udev/data/b8:0", "\n".join(udev))

        def host(self, answers=None):
            return FakeHost(tmp_path, answers)

    return Machine()


def passed(serial="S1", **more):
    return {
        "smartctl": {"exit_status": 0},
        "device": {"name": "/dev/x", "type": "sat", "protocol": "ATA"},
        "model_name": "Whole Name Of It",
        "serial_number": serial,
        "smart_status": {"passed": True},
        "temperature": {"current": 31},
        "ata_smart_attributes": {"table": [{"id": 9, "name": "Power_On_Hours", "raw": {"value": 7}}]},
        **more,
    }


def refused(message):
    return {"smartctl": {"exit_status": 2, "messages": [{"string": message, "severity": "error"}]}}


def names(host):
    return [device.name for device in find_block_devices(host).disks]


# --- which devices ----------------------------------------------------------------------------------------------------


def test_physical_disks_are_found_and_nothing_that_is_made_of_them(machine):
    found = ("sda", "sdb", "sdaa", "hda", "nvme0n1", "nvme10n1", "mmcblk0")
    others = (
        "loop0",
        "ram0",
        "zram0",
        "dm-0",
        "md0",
        "md127",
        "zd16",
        "sr0",
        "nbd0",
        "drbd1",
        "vda",
        "xvda",
        "fd0",
        "rbd0",
    )
    hidden = ("nvme0c0n1", "mmcblk0boot0", "mmcblk0rpmb", "bcache0", "sg0")
    for name in (*found, *others, *hidden):
        machine.disk(name)
    assert sorted(names(machine.host())) == sorted(found)


@pytest.mark.parametrize(
    "device",
    [
        {"vendor": "QEMU", "model": "QEMU HARDDISK"},
        {"model": "QEMU NVMe Ctrl"},
        {"vendor": "ATA", "model": "VBOX HARDDISK"},
        {"vendor": "VMware", "model": "Virtual disk"},
        {"vendor": "Msft", "model": "Virtual Disk"},
        {"vendor": "Google", "model": "PersistentDisk"},
        {"model": "Amazon Elastic Block Store"},
        {"vendor": "LIO-ORG", "model": "disk0"},
        {"vendor": "SYNOLOGY", "model": "iSCSI Storage"},
    ],
)
def test_virtual_and_remote_disks_are_none(machine, device):
    machine.disk("sda", **device)
    assert read_disks(machine.host({}), WHERE) == read_disks(machine.host(None), WHERE)
    part = read_disks(machine.host({}), WHERE)
    assert (part.resources, part.gaps, part.complete) == ((), (), True)


def test_a_card_reader_without_a_card_is_no_disk(machine):
    machine.disk("sdc", size=0)
    machine.disk("sdd", size="x")
    assert names(machine.host()) == []


def test_a_host_without_block_devices_has_no_disks_and_no_gap(machine):
    host = machine.host({})
    part = read_disks(host, WHERE)
    assert (part.resources, part.gaps, part.complete) == ((), (), True)
    assert host.asked == []


def test_in_a_container_the_disks_of_the_machine_around_it_are_not_its_own(machine):
    machine.disk("sda")
    machine.disk("sdb")
    machine.write("/dev/sdb", "")
    assert names(machine.host()) == ["sdb"]


@pytest.mark.parametrize(
    ("vendor", "model"),
    [
        ("DELL", "PERC H740P Mini"),
        ("HP", "LOGICAL VOLUME"),
        ("AVAGO", "MR9361-8i"),
        ("ATA", "DELLBOSS VD"),
        ("Intel", "Raid 1 Volume"),
        ("Adaptec", "RAID 5"),
        ("Areca", "ARC-1882-VOL#000"),
    ],
)
def test_a_volume_of_a_raid_controller_is_a_gap_where_no_disks_are_found_behind_it(machine, vendor, model):
    machine.disk("sda", vendor=vendor, model=model)
    part = read_disks(machine.host({"--scan": {"devices": []}}), WHERE)
    assert part.resources == []
    (gap,) = part.gaps
    assert (gap.topic, gap.reason, gap.resource_id) == (Topic.SMART, GapReason.NOT_REPORTED, None)
    assert model in gap.detail
    assert gap.fix == "sudo smartctl --scan-open"


def test_disks_behind_a_controller_are_read_through_it(machine):
    machine.disk("sda", vendor="DELL", model="PERC H740P Mini")
    scan = {
        "devices": [
            {"name": "/dev/sda", "type": "scsi"},
            *({"name": "/dev/bus/0", "type": f"megaraid,{n}"} for n in (0, 1)),
        ]
    }
    host = machine.host({"--scan": scan, "/dev/bus/0 megaraid,0": passed("S1"), "/dev/bus/0 megaraid,1": passed("S2")})
    part = read_disks(host, WHERE)
    assert [resource.id for resource in part.resources] == ["disk:serial:S1", "disk:serial:S2"]
    assert part.resources[0].disk.device == "bus/0 megaraid,0"
    assert "nas/bus/0 megaraid,0" in (part.resources[0].name, *part.resources[0].aliases)
    assert "/dev/bus/0" not in part.resources[0].aliases
    assert part.complete


@pytest.mark.parametrize(
    "scan", ["", "no json", "[]", '{"devices": 3}', ProgramTimedOutError("smartctl"), OSError("no")]
)
def test_a_scan_that_fails_finds_nothing_and_the_volume_says_so(machine, scan):
    machine.disk("sda", vendor="DELL", model="PERC H740P Mini")
    part = read_disks(machine.host({"--scan": scan}), WHERE)
    assert [gap.reason for gap in part.gaps] == [GapReason.NOT_REPORTED]


def test_namespaces_of_one_controller_are_one_disk(machine):
    for name in ("nvme0n1", "nvme0n2", "nvme0n3"):
        machine.disk(name, model="M", serial="N1")
        machine.write(f"/sys/block/{name}/wwid", f"eui.002538{name[-1]}00000001")
    machine.disk("nvme1n1", model="M", serial="N2")
    part = read_disks(machine.host({"/dev/nvme0": passed("N1")}), WHERE)
    first, second = part.resources
    assert (first.id, first.name, first.disk.size_bytes) == ("disk:serial:N1", "nas/nvme0", 3 * 512_000)
    assert {"/dev/nvme0", "/dev/nvme0n1", "/dev/nvme0n2", "nvme0n3"} <= set(first.aliases)
    assert (second.id, second.name) == ("disk:serial:N2", "nas/nvme1n1")


# --- identity ---------------------------------------------------------------------------------------------------------


def test_the_kernel_and_udev_name_a_disk_without_any_right(machine):
    machine.disk(
        "sda",
        vendor="ATA     ",
        model="Samsung SSD 860 ",
        vpd_pg80=b"\x00\x80\x00\x14S3Z8NB0K      \n",
        wwid="naa.5002538e4038abcd",
        rotational=0,
        udev=("S:disk/by-id/ata-Samsung_SSD_860_EVO_S3Z8NB0K", "E:ID_MODEL=Samsung_SSD_860_EVO", "S:disk/by-path/x"),
    )
    (resource,) = read_disks(
        machine.host({"/dev/sda": refused("Smartctl open device: /dev/sda failed: Permission denied")}), WHERE
    ).resources
    assert (resource.id, resource.type, resource.parent) == (
        "disk:serial:S3Z8NB0K",
        ResourceType.DISK,
        "agent:local:nas",
    )
    row = resource.disk
    assert (row.model, row.serial, row.wwn) == ("Samsung SSD 860 EVO", "S3Z8NB0K", "0x5002538e4038abcd")
    assert (row.type, row.size_bytes, row.node) == ("sata", 512_000, "nas")
    assert row.health == "UNKNOWN"
    assert not row.smart_complete
    expected = {"nas/sda", "/dev/sda", "ata-Samsung_SSD_860_EVO_S3Z8NB0K", "S3Z8NB0K", "0x5002538e4038abcd"}
    assert expected <= {resource.name, *resource.aliases}


@pytest.mark.parametrize(
    ("device", "udev", "expected"),
    [
        ({"serial": "N1"}, (), "disk:serial:N1"),
        ({}, ("E:ID_BUS=ata", "E:ID_SERIAL_SHORT=U1"), "disk:serial:U1"),
        ({}, ("E:ID_BUS=scsi", "E:ID_SERIAL_SHORT=5000c5", "E:ID_SCSI_SERIAL=Z1"), "disk:serial:Z1"),
        ({}, ("E:ID_WWN=0x5000c50012345678",), "disk:wwn:0x5000c50012345678"),
        ({}, ("E:ID_WWN=0x1", "E:ID_WWN_WITH_EXTENSION=0x5000c50012345678"), "disk:wwn:0x5000c50012345678"),
        ({"wwid": "t10.ATA     Samsung"}, (), "disk:nas:sda"),
        ({"wwid": "eui.0025385b71b0c0d1"}, (), "disk:wwn:eui.0025385b71b0c0d1"),
        ({"serial": "0000000000", "wwid": "naa.5000c50012345678"}, (), "disk:wwn:0x5000c50012345678"),
        ({"serial": "N/A"}, (), "disk:nas:sda"),
        ({"serial": "unknown"}, (), "disk:nas:sda"),
        ({"serial": "123456789ABC"}, (), "disk:nas:sda"),
        ({}, (), "disk:nas:sda"),
    ],
)
def test_the_id_is_the_serial_else_the_wwn_else_the_place(machine, device, udev, expected):
    machine.disk("sda", udev=udev, **device)
    (resource,) = read_disks(machine.host(None), WHERE).resources
    assert resource.id == expected


@pytest.mark.parametrize(
    ("name", "fields", "expected"),
    [
        ("nvme0n1", {}, "nvme"),
        ("sda", {"rotational": 1}, "hdd"),
        ("sda", {"rotational": 0, "vendor": "ATA"}, "sata"),
        ("sda", {"rotational": 0, "vendor": "SAMSUNG", "sas_address": "0x5"}, "sas"),
        ("sda", {"rotational": 0, "vendor": "Generic"}, None),
        ("sda", {}, None),
        ("mmcblk0", {"rotational": 0}, None),
    ],
)
def test_the_type_is_what_the_kernel_knows(machine, name, fields, expected):
    machine.disk(name, **fields)
    (device,) = find_block_devices(machine.host()).disks
    assert device.row.type == expected


def test_what_smartctl_says_of_a_disk_behind_a_bridge_wins_over_the_bridge(machine):
    machine.disk("sda", vendor="USB", model="SATA Bridge", udev=("E:ID_BUS=usb", "E:ID_SERIAL_SHORT=BRIDGE1"))
    (resource,) = read_disks(machine.host({"/dev/sda": passed("REAL")}), WHERE).resources
    assert resource.id == "disk:serial:REAL"
    assert (resource.disk.model, resource.disk.device, resource.disk.dev_path) == (
        "Whole Name Of It",
        "sda",
        "/dev/sda",
    )


def test_the_paths_of_a_multipath_disk_are_one_disk(machine):
    for name in ("sda", "sdb"):
        machine.disk(name, vendor="HGST", model="HUH", serial="K1", wwid="naa.5000cca2510001")
    answers = {"/dev/sda": refused("Smartctl open device: /dev/sda failed: No such device"), "/dev/sdb": passed("K1")}
    part = read_disks(machine.host(answers), WHERE)
    (resource,) = part.resources
    assert resource.disk.health == "PASSED"
    assert resource.disk.device == "sda"
    assert {"nas/sda", "nas/sdb", "/dev/sda", "/dev/sdb"} <= {resource.name, *resource.aliases}
    assert part.gaps == []


def test_a_serial_number_that_two_disks_share_names_neither(machine):
    machine.disk("sda", serial="DD56419883914", wwid="naa.5000cca2510001")
    machine.disk("sdb", serial="DD56419883914", wwid="naa.5000cca2510002")
    machine.disk("sdc", serial="DD56419883914")
    part = read_disks(machine.host(None), WHERE)
    assert [resource.id for resource in part.resources] == [
        "disk:wwn:0x5000cca2510001",
        "disk:wwn:0x5000cca2510002",
        "disk:nas:sdc",
    ]
    assert all("DD56419883914" not in resource.aliases for resource in part.resources)


def test_a_disk_seen_directly_and_through_its_controller_is_one(machine):
    machine.disk("sda", vendor="DELL", model="PERC H330")
    machine.disk("sdb", vendor="ATA", model="ST1", serial="S1")
    scan = {"devices": [{"name": "/dev/bus/0", "type": "megaraid,0"}, {"name": "/dev/bus/0", "type": "megaraid,1"}]}
    answers = {
        "--scan": scan,
        "/dev/sdb": passed("S1"),
        "/dev/bus/0 megaraid,0": passed("S1"),
        "/dev/bus/0 megaraid,1": passed("S2"),
    }
    part = read_disks(machine.host(answers), WHERE)
    assert [(resource.id, resource.name) for resource in part.resources] == [
        ("disk:serial:S1", "nas/sdb"),
        ("disk:serial:S2", "nas/bus/0 megaraid,1"),
    ]


def test_one_wwn_with_two_serial_numbers_is_two_disks(machine):
    machine.disk("sda", serial="A1", wwid="naa.5000cca2510001")
    machine.disk("sdb", serial="A2", wwid="naa.5000cca2510001")
    assert len(read_disks(machine.host(None), WHERE).resources) == 2


# --- reading ----------------------------------------------------------------------------------------------------------


def test_a_disk_that_was_read_is_whole_and_has_no_gap(machine):
    machine.disk("sda", serial="S1")
    host = machine.host({"/dev/sda": passed("S1")})
    said = []
    part = read_disks(host, WHERE, progress=said.append)
    assert (part.resources[0].disk.health, part.resources[0].disk.temperature) == ("PASSED", 31)
    assert part.resources[0].disk.smart_complete
    assert (part.gaps, part.complete) == ([], True)
    assert host.asked == [("smartctl", "--json", "-x", "-n", "standby", "/dev/sda")]
    assert said


@pytest.mark.parametrize(
    ("answer", "reason", "fix"),
    [
        (
            refused("Smartctl open device: /dev/sda failed: Permission denied"),
            GapReason.NO_PERMISSION,
            run_as_root(),
        ),
        (PermissionError(13, "Permission denied"), GapReason.NO_PERMISSION, run_as_root()),
        (refused("Device is in STANDBY mode, exit(2)"), GapReason.ASLEEP, ""),
        (ProgramTimedOutError("smartctl"), GapReason.TIMED_OUT, ""),
        (OSError(5, "Input/output error"), GapReason.FAILED, ""),
        (OSError(), GapReason.FAILED, ""),
        (refused("Smartctl open device: /dev/sda failed: No such device"), GapReason.FAILED, ""),
        ({"device": {"protocol": "ATA"}, "smart_support": {"available": False}}, GapReason.NOT_REPORTED, ""),
        (
            {"device": {"protocol": "ATA"}, "smart_support": {"available": True, "enabled": False}},
            GapReason.NOT_REPORTED,
            "sudo smartctl -s on /dev/sda",
        ),
        ("", GapReason.UNREADABLE, ""),
        ("{", GapReason.UNREADABLE, ""),
        (passed(ata_smart_attributes={}), GapReason.UNREADABLE, ""),
    ],
)
def test_what_could_not_be_read_is_one_gap_on_the_disk_with_its_fix(machine, answer, reason, fix):
    machine.disk("sda", serial="S1")
    part = read_disks(machine.host({"/dev/sda": answer}), WHERE)
    (resource,), (gap,) = part.resources, part.gaps
    assert (gap.reason, gap.fix, gap.topic) == (reason, fix, Topic.SMART)
    assert (gap.source, gap.resource_id) == ("local", resource.id)
    assert "sda" in gap.detail
    assert not resource.disk.smart_complete
    assert not part.complete


def test_the_command_for_root_is_found_by_root(tmp_path):
    assert run_as_root(str(tmp_path)) == f"sudo {shlex.quote(sys.executable)} -m patrol run"
    (tmp_path / "patrol").write_text("#!/bin/sh\n")
    (tmp_path / "patrol").chmod(0o755)
    assert run_as_root(str(tmp_path)) == "sudo patrol run"


@pytest.mark.parametrize(("name", "capability"), [("sda", "CAP_SYS_RAWIO"), ("nvme0n1", "CAP_SYS_ADMIN")])
def test_the_missing_right_is_named(machine, name, capability):
    machine.disk(name)
    part = read_disks(machine.host({f"/dev/{name}": refused("Permission denied")}), WHERE)
    assert capability in part.gaps[0].detail


def test_without_smartctl_the_disks_are_known_and_one_gap_says_what_to_install(machine):
    machine.disk("sda", serial="S1")
    machine.disk("sdb", serial="S2")
    part = read_disks(machine.host(None), WHERE)
    assert [resource.id for resource in part.resources] == ["disk:serial:S1", "disk:serial:S2"]
    assert all(resource.disk.health is None for resource in part.resources)
    (gap,) = part.gaps
    assert (gap.reason, gap.fix, gap.resource_id) == (GapReason.TOOL_MISSING, "apt install smartmontools", None)


def test_without_smartctl_a_volume_of_a_controller_is_not_a_second_gap(machine):
    machine.disk("sda", vendor="DELL", model="PERC H740P Mini")
    assert [gap.reason for gap in read_disks(machine.host(None), WHERE).gaps] == [GapReason.TOOL_MISSING]


def test_a_card_has_no_smart_to_read_and_a_stick_is_not_expected_to(machine):
    machine.disk("mmcblk0")
    machine.write("/sys/block/mmcblk0/device/name", "SD64G\n")
    machine.disk("sdb", model="Flash Drive")
    machine.write("/sys/block/sdb/removable", "1\n")
    host = machine.host({"/dev/sdb": refused("/dev/sdb: Unknown USB bridge [0x0781:0x5581 (0x100)]")})
    part = read_disks(host, WHERE)
    assert sorted(resource.name for resource in part.resources) == ["nas/mmcblk0", "nas/sdb"]
    assert sorted(resource.disk.model for resource in part.resources) == ["Flash Drive", "SD64G"]
    assert (part.gaps, part.complete) == ([], True)
    assert len(host.asked) == 1


def test_a_stick_that_needs_a_right_says_so(machine):
    machine.disk("sdb")
    machine.write("/sys/block/sdb/removable", "1\n")
    part = read_disks(machine.host({"/dev/sdb": refused("Permission denied")}), WHERE)
    assert [gap.reason for gap in part.gaps] == [GapReason.NO_PERMISSION]


class SlowHost(FakeHost):
    """Notes how many disks are being read at the same time."""

    def __init__(self, root, answers):
        super().__init__(root, answers)
        self.running = self.most = 0
        self.lock = threading.Lock()
        self.together = threading.Event()

    def run(self, argv, *, timeout_seconds=20):
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
            if self.running == AT_ONCE:
                self.together.set()
        self.together.wait(timeout=5)
        with self.lock:
            self.running -= 1
        return super().run(argv, timeout_seconds=timeout_seconds)


def test_disks_are_read_a_few_at_a_time_and_come_in_order(machine):
    devices = [f"sd{letter}" for letter in "abcdefghij"]
    for name in devices:
        machine.disk(name, serial=f"SN-{name}")
    host = SlowHost(machine.root, {f"/dev/{name}": passed(f"SN-{name}") for name in devices})
    part = read_disks(host, WHERE)
    assert host.most == AT_ONCE
    assert [resource.name for resource in part.resources] == [f"nas/{name}" for name in devices]


# --- foreign answers --------------------------------------------------------------------------------------------------


def test_scans_of_real_machines_name_the_disks_behind_controllers(shared):
    found = {
        path.name: [device.name for device in hidden_disks(json.loads(path.read_text()))]
        for path in sorted((shared / "data" / "smartctl_scan").iterdir())
    }
    assert found["scrutiny_smartctl_scan_megaraid.json"] == ["bus/0 megaraid,0", "bus/0 megaraid,1"]
    assert found["netdata_type-sat_scan.json"] == []
    assert found["scrutiny_smartctl_scan_nvme.json"] == []


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12) | st.sampled_from(["/dev/bus/0", "megaraid,1"]),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["devices", "name", "type", "x"]), inner)
    ),
    max_leaves=12,
)


@given(json_values)
def test_any_scan_is_read(scanned):
    for device in hidden_disks(scanned):
        assert device.path.startswith("/dev/")
        assert "," in device.smart_type
