"""Which kind of disk a file system lies on."""

from pathlib import Path

import pytest

from patrol.estate.sources.local.block import find_disk_type
from tests.estate.local.tree import TreeHost


def host_with(root: Path, disks: dict[str, dict[str, str]]) -> TreeHost:
    """Disks by name (`sda`, or `sda/sda1` for a partition) with their attributes, as sysfs shows them."""
    host = TreeHost(root, {})
    host.path("/sys/class/block").mkdir(parents=True)
    for name, attributes in disks.items():
        host.path(f"/sys/devices/{name}").mkdir(parents=True, exist_ok=True)
        host.path(f"/sys/class/block/{name.rpartition('/')[2]}").symlink_to(f"../../devices/{name}")
        for attribute, value in attributes.items():
            host.write(f"/sys/devices/{name}/{attribute}", f"{value}\n")
    return host


SSD = {"queue/rotational": "0", "device/vendor": "ATA     "}


@pytest.mark.parametrize(
    ("disks", "device", "kind"),
    [
        ({"nvme0n1": {}, "nvme0n1/nvme0n1p2": {"partition": "2"}}, "/dev/nvme0n1p2", "nvme"),
        ({"sda": {"queue/rotational": "1", "device/vendor": "ATA"}}, "/dev/sda", "hdd"),
        ({"sda": SSD, "sda/sda1": {"partition": "1"}}, "/dev/sda1", "sata"),
        (
            {"sda": {"queue/rotational": "0", "device/vendor": "SEAGATE", "device/sas_address": "0x5"}},
            "/dev/sda",
            "sas",
        ),
        ({"sda": {"queue/rotational": "0", "device/vendor": "USB"}}, "/dev/sda", ""),
        ({"sda": {"queue/rotational": "1", "device/vendor": "QEMU"}}, "/dev/sda", ""),
        ({"sda": {}}, "/dev/sda", ""),
        ({"vda": {"queue/rotational": "1"}}, "/dev/vda", ""),
        ({"sda": SSD, "dm-0": {"slaves/sda": ""}}, "/dev/dm-0", "sata"),
        ({"sda": SSD, "nvme0n1": {}, "md0": {"slaves/sda": "", "slaves/nvme0n1": ""}}, "/dev/md0", ""),
        ({}, "tmpfs", ""),
        ({}, "", ""),
    ],
)
def test_the_kind_follows_from_the_disk_below(
    tmp_path: Path, disks: dict[str, dict[str, str]], device: str, kind: str
) -> None:
    assert find_disk_type(host_with(tmp_path, disks), "0:99", device) == kind


def test_the_device_number_tells_what_a_mapped_name_does_not(tmp_path: Path) -> None:
    host = host_with(tmp_path, {"sda": SSD, "dm-3": {"slaves/sda": ""}})
    host.path("/sys/dev/block").mkdir(parents=True)
    host.path("/sys/dev/block/253:3").symlink_to("../../devices/dm-3")
    assert find_disk_type(host, "253:3", "/dev/mapper/vg-root") == "sata"


def test_devices_that_stand_on_each_other_end_somewhere(tmp_path: Path) -> None:
    host = host_with(tmp_path, {"dm-0": {"slaves/dm-1": ""}, "dm-1": {"slaves/dm-0": ""}})
    assert find_disk_type(host, "0:0", "/dev/dm-0") == ""
