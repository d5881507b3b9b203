"""Who a host is: its name, the ids it is known by, and what it runs inside."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.identity import is_canonical
from patrol.estate.sources.local.host import Host
from patrol.estate.sources.local.identity import (
    find_surroundings,
    machine_alias,
    parse_cpu_list,
    parse_os_name,
    read_hostname,
    read_identity,
)
from tests.estate.local.tree import DeniedHost, TreeHost

KERNEL, CONFIGURED = "/proc/sys/kernel/hostname", "/etc/hostname"


def test_a_host_is_named_without_any_right(tmp_path: Path) -> None:
    files = {
        KERNEL: "nas\n",
        "/etc/machine-id": "0123456789abcdef0123456789abcdef\n",
        "/etc/os-release": 'NAME="Debian GNU/Linux"\nPRETTY_NAME="Debian GNU/Linux 13 (trixie)"\n',
        "/sys/devices/system/cpu/online": "0-3,6\n",
    }
    identity = read_identity(TreeHost(tmp_path, files))
    assert (identity.hostname, identity.host_id) == ("nas", "agent:local:nas")
    assert (identity.os, identity.cores, identity.surroundings) == ("Debian GNU/Linux 13 (trixie)", 5, "")
    (alias,) = identity.aliases
    assert alias.startswith("machine-id:")
    assert len(alias) == len("machine-id:") + 16


def test_the_machine_id_itself_is_not_shown() -> None:
    machine_id = "0123456789abcdef0123456789abcdef"
    alias = machine_alias(machine_id)
    assert alias.partition(":")[2] not in machine_id
    assert alias == machine_alias(f"{machine_id.upper()}\n")
    assert alias != machine_alias(machine_id[::-1])


@pytest.mark.parametrize("machine_id", ["", "\n", "uninitialized\n"])
def test_a_machine_without_id_has_no_alias(machine_id: str) -> None:
    assert machine_alias(machine_id) == ""


@pytest.mark.parametrize(
    ("files", "name"),
    [
        pytest.param({KERNEL: "nas\n", CONFIGURED: "old\n"}, "nas", id="the kernel's word first"),
        pytest.param({CONFIGURED: "# set by hand\n  nas\n"}, "nas", id="configured, with a comment"),
        pytest.param({KERNEL: "(none)\n", CONFIGURED: "nas\n"}, "nas", id="a kernel without name"),
        pytest.param({KERNEL: "localhost\n", CONFIGURED: "nas\n"}, "nas", id="a name that says nothing"),
        pytest.param({}, "localhost", id="no name anywhere"),
    ],
)
def test_the_name_of_a_host(files: dict[str, str], name: str, tmp_path: Path) -> None:
    assert read_hostname(TreeHost(tmp_path, files)) == name


def test_a_host_that_lets_nothing_be_read_has_an_identity_all_the_same() -> None:
    identity = read_identity(DeniedHost())
    assert (identity.host_id, identity.aliases, identity.os, identity.cores) == (
        "agent:local:localhost",
        (),
        "Linux",
        None,
    )


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("PRETTY_NAME='Alpine Linux v3.20'\n", "Alpine Linux v3.20"),
        ('NAME="Arch Linux"\n', "Arch Linux"),
        ('PRETTY_NAME="unclosed\n', "unclosed"),
        ("nothing\n", "Linux"),
    ],
)
def test_the_name_of_the_system(text: str, name: str) -> None:
    assert parse_os_name(text) == name


@pytest.mark.parametrize(
    ("text", "count"),
    [("0\n", 1), ("0-7\n", 8), ("0-1,4,8-9", 5), ("", None), ("all", None), ("3-1", None), ("1-x", None)],
)
def test_the_number_of_cpus(text: str, count: int | None) -> None:
    assert parse_cpu_list(text) == count


@pytest.mark.parametrize(
    ("files", "surroundings"),
    [
        pytest.param({"/run/systemd/container": "lxc\n"}, "container:lxc", id="told by the manager"),
        pytest.param({"/.dockerenv": ""}, "container:docker", id="Docker"),
        pytest.param({"/run/.containerenv": "engine=podman"}, "container:podman", id="Podman"),
        pytest.param({"/sys/class/dmi/id/sys_vendor": "QEMU\n"}, "vm:kvm", id="KVM"),
        pytest.param(
            {"/sys/class/dmi/id/sys_vendor": "Microsoft Corporation\n", "/sys/class/dmi/id/product_name": "Surface\n"},
            "",
            id="hardware of a maker of hypervisors",
        ),
        pytest.param({"/sys/class/dmi/id/product_name": "Virtual Machine\n"}, "vm:microsoft", id="Hyper-V"),
        pytest.param({"/sys/hypervisor/type": "xen\n"}, "vm:xen", id="Xen without DMI"),
        pytest.param({"/proc/cpuinfo": "processor: 0\nflags\t\t: fpu hypervisor sse\n"}, "vm", id="only the CPU tells"),
        pytest.param({"/proc/cpuinfo": "flags : fpu sse\n"}, "", id="bare metal"),
        pytest.param({"/proc/cpuinfo": "processor : 0\n"}, "", id="a CPU without flags"),
    ],
)
def test_what_a_host_runs_inside(files: dict[str, str], surroundings: str, tmp_path: Path) -> None:
    assert find_surroundings(TreeHost(tmp_path, files)) == surroundings


class OneFileHost(Host):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def read_text(self, absolute: str) -> str:
        return self.text


@given(st.text())
def test_any_text_gives_an_identity(text: str) -> None:
    identity = read_identity(OneFileHost(text))
    assert is_canonical(identity.host_id)
    assert identity.hostname
    assert identity.os
