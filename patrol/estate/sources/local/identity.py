"""Who this host is: name, ids, system, and what it runs inside."""

import hashlib
import shlex
from dataclasses import dataclass

from findings.identity import canonical_id
from findings.model import ResourceId
from patrol.estate.model import ResourceType
from patrol.estate.sources.local.host import Host, find_text

_NAMELESS = frozenset({"", "(none)", "localhost", "localhost.localdomain"})
_FALLBACK_NAME = "localhost"
_ALIAS_DIGITS = 16

# What hypervisors write into the DMI vendor or product name (public tables of systemd-detect-virt).
_HYPERVISORS = (
    ("qemu", "kvm"),
    ("kvm", "kvm"),
    ("proxmox", "kvm"),
    ("openstack", "kvm"),
    ("google compute engine", "kvm"),
    ("amazon ec2", "amazon"),
    ("vmware", "vmware"),
    ("virtualbox", "virtualbox"),
    ("innotek", "virtualbox"),
    ("virtual machine", "microsoft"),
    ("xen", "xen"),
    ("bhyve", "bhyve"),
    ("parallels", "parallels"),
    ("apple virtualization", "apple"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What names the host. `surroundings`: "container:lxc", "vm:kvm" and so on, "" on bare metal."""

    hostname: str
    host_id: ResourceId
    aliases: tuple[str, ...]
    os: str
    cores: int | None
    surroundings: str


def read_identity(host: Host) -> Identity:
    """Reads without any right, and always answers: a host without a name is `localhost`."""
    hostname = read_hostname(host)
    alias = machine_alias(find_text(host, "/etc/machine-id") or "")
    release = find_text(host, "/etc/os-release") or find_text(host, "/usr/lib/os-release") or ""
    return Identity(
        hostname=hostname,
        host_id=canonical_id(ResourceType.AGENT, "local", hostname),
        aliases=(alias,) if alias else (),
        os=parse_os_name(release),
        cores=parse_cpu_list(find_text(host, "/sys/devices/system/cpu/online") or ""),
        surroundings=find_surroundings(host),
    )


def read_hostname(host: Host) -> str:
    """The kernel's name of the host, else the configured one."""
    configured = "\n".join(
        line for line in (find_text(host, "/etc/hostname") or "").splitlines() if not line.lstrip().startswith("#")
    )
    for text in (find_text(host, "/proc/sys/kernel/hostname") or "", configured):
        name = text.strip()
        if name.lower() not in _NAMELESS:
            return name.split()[0]
    return _FALLBACK_NAME


def machine_alias(machine_id: str) -> str:
    """An alias that survives renaming; "" where the machine has no id.

    A digest, for machine-id(5) asks that the id itself is not shown to others.
    """
    machine_id = machine_id.strip().lower()
    if not machine_id or machine_id == "uninitialized":
        return ""
    return f"machine-id:{hashlib.sha256(f'patrol:{machine_id}'.encode()).hexdigest()[:_ALIAS_DIGITS]}"


def parse_os_name(os_release: str) -> str:
    """The pretty name of os-release(5), else "Linux"."""
    names: dict[str, str] = {}
    for line in os_release.splitlines():
        key, found, value = line.partition("=")
        if found:
            names[key.strip()] = _unquoted(value)
    return names.get("PRETTY_NAME") or names.get("NAME") or "Linux"


def _unquoted(value: str) -> str:
    try:
        return " ".join(shlex.split(value))
    except ValueError:  # an unclosed quote
        return value.strip().strip("\"'")


def parse_cpu_list(text: str) -> int | None:
    """How many CPUs a list like `0-3,8` names; None if it is empty or no such list."""
    count = 0
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        if not (first.isascii() and first.isdecimal() and (not last or (last.isascii() and last.isdecimal()))):
            return None
        count += max(int(last or first) - int(first) + 1, 0)
    return count or None


def find_surroundings(host: Host) -> str:
    """The container or virtual machine that this host is, as far as it shows without any right."""
    container = _find_container(host)
    if container:
        return f"container:{container}"
    dmi = " ".join(
        find_text(host, f"/sys/class/dmi/id/{name}") or "" for name in ("sys_vendor", "product_name", "bios_vendor")
    ).lower()
    for mark, name in _HYPERVISORS:
        if mark in dmi:
            return f"vm:{name}"
    hypervisor = (find_text(host, "/sys/hypervisor/type") or "").strip()
    if hypervisor:
        return f"vm:{hypervisor}"
    return "vm" if "hypervisor" in _cpu_flags(find_text(host, "/proc/cpuinfo") or "") else ""


def _find_container(host: Host) -> str:
    manager = (find_text(host, "/run/systemd/container") or "").strip()
    if manager:
        return manager
    for mark, name in (("/run/.containerenv", "podman"), ("/.dockerenv", "docker")):
        if find_text(host, mark) is not None:
            return name
    return ""


def _cpu_flags(cpuinfo: str) -> list[str]:
    for line in cpuinfo.splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("flags", "Features"):
            return value.split()
    return []
