"""Which part of the alert settings speaks for a type of resource."""

from typing import NamedTuple

from signals.evidence import InventoryRow
from signals.thresholds.limit import Limited


class Family(NamedTuple):
    """Names of the fields of AlertSettings. "" where the format has none for this family."""

    defaults: str
    switch: str = ""  # no usage limits and no connectivity checks for the whole family
    offline_switch: str = ""  # no connectivity checks
    delay_type: str = ""
    is_guest: bool = False
    on_disks: bool = False  # its file systems lie on disks whose type is known


GUEST = Family("guest_defaults", "disable_all_guests", "disable_all_guests_offline", "guest", is_guest=True)
NODE = Family("node_defaults", "disable_all_nodes", "disable_all_nodes_offline", "node", on_disks=True)
AGENT = Family("agent_defaults", "disable_all_agents", "disable_all_agents_offline", "agent", on_disks=True)
DOCKER_HOST = Family(
    "agent_defaults", "disable_all_docker_hosts", "disable_all_docker_hosts_offline", "docker-host", on_disks=True
)
CONTAINER = Family("docker_defaults", "disable_all_docker_containers", delay_type="app-container")
DOCKER_SERVICE = Family("docker_defaults", "disable_all_docker_services", delay_type="docker-service")
PBS = Family("pbs_defaults", "disable_all_pbs", "disable_all_pbs_offline", "pbs")
PMG = Family("node_defaults", "disable_all_pmg", "disable_all_pmg_offline", "pmg")
STORAGE = Family("storage_default", "disable_all_storage", delay_type="storage")
TRUENAS_DISK = Family("truenas_disk_defaults", "disable_all_truenas", delay_type="truenas-disk")
UNKNOWN = Family("node_defaults")
"""A type that no table knows has the limits of nodes, as everything had in the documented shapes."""

_KUBERNETES_TYPES = ("k8s-cluster", "k8s-node", "k8s-deployment", "k8s-namespace", "pod")
_TRUENAS_TYPES = ("truenas-system", "truenas-pool", "truenas-dataset")
_VMWARE_TYPES = ("vmware-host", "vmware-vm", "vmware-datastore", "vmware-network")

FAMILIES: dict[str, Family] = {
    "vm": GUEST,
    "qemu": GUEST,
    "system-container": GUEST,
    "lxc": GUEST,
    "container": GUEST,
    "guest": GUEST,
    "node": NODE,
    "agent": AGENT,
    "host": AGENT,
    "raid": AGENT,
    "disk": AGENT,
    "docker-host": DOCKER_HOST,
    "app-container": CONTAINER,
    "docker-service": DOCKER_SERVICE,
    "pbs": PBS,
    "pmg": PMG,
    "storage": STORAGE,
    "truenas-disk": TRUENAS_DISK,
    **{name: Family("kubernetes_defaults", "disable_all_kubernetes", delay_type=name) for name in _KUBERNETES_TYPES},
    **{name: Family("truenas_defaults", "disable_all_truenas", delay_type=name) for name in _TRUENAS_TYPES},
    **{name: Family("vmware_defaults", "disable_all_vmware", delay_type=name) for name in _VMWARE_TYPES},
}


def family_of_resource(resource: InventoryRow) -> Family:
    """The family of a resource. A disk belongs to the host it is in, an agent where that is not known."""
    if resource.type == "disk":
        owner = FAMILIES.get(resource.parent.partition(":")[0], AGENT)
        return owner if owner.on_disks else AGENT
    return FAMILIES.get(resource.type, UNKNOWN)


_OVERRIDE_KEYS = {
    Limited.CPU: ("cpu",),
    Limited.MEMORY: ("memory",),
    Limited.DISK: ("disk", "usage"),
    Limited.STORAGE: ("usage", "disk"),
    Limited.TEMPERATURE: ("temperature",),
    Limited.DISK_TEMPERATURE: ("disk_temperature", "temperature"),
    Limited.NETWORK_IN: ("network_in",),
    Limited.NETWORK_OUT: ("network_out",),
    Limited.DISK_READ: ("disk_read",),
    Limited.DISK_WRITE: ("disk_write",),
}


def override_keys(metric: Limited, *, inherited: bool = False) -> tuple[str, ...]:
    """Fields of an override that mean this metric, the nearest first; none where the format has no word for it.

    `inherited`: of a host's override, for a disk in it. Its `temperature` is not that of its disks.
    """
    if inherited:
        return ("disk_temperature",) if metric is Limited.DISK_TEMPERATURE else ()
    return _OVERRIDE_KEYS.get(metric, ())
