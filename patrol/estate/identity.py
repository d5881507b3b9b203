"""Which resource is which: canonical ids, and the keys that prove two rows to be one thing.

Equal names never do. What proves it: the same id; for a disk its serial number or WWN; for a guest its
cluster, kind and VMID; for a Ceph cluster its fsid. Serial numbers that makers, USB bridges and hypervisors
hand out more than once prove nothing.
"""

import re
from collections.abc import Iterator, Sequence

from findings.identity import canonical_id, is_canonical
from findings.model import ResourceId
from patrol.estate.model import Resource, ResourceType
from signals.evidence import DiskRow

GUESTS = frozenset({ResourceType.VM, ResourceType.SYSTEM_CONTAINER})
HOSTS = frozenset(
    {
        ResourceType.NODE,
        ResourceType.AGENT,
        ResourceType.DOCKER_HOST,
        ResourceType.PBS,
        ResourceType.K8S_NODE,
    }
)
"""Types that other resources live on."""

_TYPES = frozenset(ResourceType)
_UNPROVING_SERIAL = re.compile(
    r"(?:([0-9xf*. -])\1*|unknown|none|null|n/?a|not .*|default.*|to be filled.*"
    r"|0?123456.*|qm\d+|drive-\w+|0+\d|disk\d*)\Z",
    re.IGNORECASE,
)
_VIRTUAL_MODEL = re.compile(r"qemu|virtual|vbox|virtio|msft", re.IGNORECASE)
_NOT_ALPHANUMERIC = re.compile(r"[^a-z0-9]+")
_WWN_PREFIX = re.compile(r"(?:naa|eui|nguid|uuid|t10|0x)[.:]?", re.IGNORECASE)
_REPRESENTATIVES = 8  # rows that claim one key and yet differ: more are not compared, they stay apart

Key = tuple[str, ...]


def has_canonical_form(text: str, resource_type: ResourceType | None = None) -> bool:
    """Whether `text` reads `<type>:<origin>:<native>` with a known type (or with exactly this one)."""
    kind, _, rest = text.partition(":")
    origin, _, native = rest.partition(":")
    known = kind in _TYPES if resource_type is None else kind == resource_type.value
    return known and bool(origin) and bool(native) and is_canonical(text)


def serial_of(row: DiskRow) -> str:
    """The serial number where it tells disks apart, else ""."""
    serial = (row.serial or "").strip()
    if not serial or _UNPROVING_SERIAL.match(serial) or _VIRTUAL_MODEL.search(row.model or ""):
        return ""
    return serial


def wwn_of(row: DiskRow) -> str:
    """The world-wide name as bare lower-case digits, "" if there is none."""
    digits = _NOT_ALPHANUMERIC.sub("", _WWN_PREFIX.sub("", (row.wwn or "").strip().lower()))
    return digits if len(digits) >= 8 and digits.strip("0") else ""


def device_name(row: DiskRow) -> str:
    """`sda` of `/dev/sda`, "" if the row names no device."""
    return (row.device or row.dev_path or "").strip().removeprefix("/dev/")


def same_disk(one: DiskRow, other: DiskRow) -> bool | None:
    """True: proven by WWN, or by serial number and model. False: proven different. None: neither."""
    wwns = (wwn_of(one), wwn_of(other))
    if all(wwns) and wwns[0] == wwns[1]:
        return True
    serials = (serial_of(one).casefold(), serial_of(other).casefold())
    if all(serials):
        return serials[0] == serials[1] and _models_agree(one.model, other.model)
    return False if all(wwns) else None


def _models_agree(one: str | None, other: str | None) -> bool:
    """Tools cut and decorate models differently (`ATA     Samsung SSD 860`, `Samsung_SSD_860_`)."""
    first, second = (_NOT_ALPHANUMERIC.sub("", (text or "").lower()) for text in (one, other))
    return first in second or second in first


def minted_id(resource: Resource, *, host: str, source: str) -> ResourceId:
    """The canonical id of a resource whose given id is none.

    `host`: name of what it lives on, "" if unknown. The native part is what the field calls it: VMID, serial
    number, array or pool, host name, else the given id.
    """
    kind = resource.type
    place = resource.instance or host or source or "unknown"
    name = resource.name or resource.id or "unnamed"
    if kind in GUESTS and resource.vmid is not None:
        return canonical_id(kind, place, str(resource.vmid))
    if kind is ResourceType.DISK:
        return _disk_id(resource, host or place)
    if kind is ResourceType.RAID:
        return canonical_id(kind, host or place, name.removeprefix("/dev/"))
    if kind is ResourceType.STORAGE and resource.ceph is not None:
        return canonical_id(kind, "ceph", resource.ceph.fsid or name)
    if kind is ResourceType.STORAGE and resource.pool is not None and resource.pool.btrfs is not None:
        return canonical_id(kind, host or place, resource.pool.btrfs.uuid or name)
    return canonical_id(kind, place, name)


def _disk_id(resource: Resource, host: str) -> ResourceId:
    row = resource.disk or DiskRow()
    if serial := serial_of(row):
        return canonical_id(ResourceType.DISK, "serial", serial)
    if wwn_of(row):
        return canonical_id(ResourceType.DISK, "wwn", (row.wwn or "").strip())
    return weak_disk_id(resource, host)


def weak_disk_id(resource: Resource, host: str) -> ResourceId:
    """`disk:<host>:<device>`: changes when the kernel names disks in another order."""
    row = resource.disk or DiskRow()
    return canonical_id(ResourceType.DISK, host, device_name(row) or resource.name or resource.id or "unnamed")


def strong_aliases(resource: Resource) -> list[ResourceId]:
    """Ids that the serial number and WWN of a disk give, beside the one it has."""
    if resource.type is not ResourceType.DISK or resource.disk is None:
        return []
    row = resource.disk
    ids = []
    serial = (row.serial or "").strip()
    # The usual case first: most disks are already called by their serial number.
    if serial and resource.id != f"disk:serial:{serial}" and serial_of(row):
        ids.append(canonical_id(ResourceType.DISK, "serial", serial))
    if row.wwn and wwn_of(row):
        ids.append(canonical_id(ResourceType.DISK, "wwn", row.wwn.strip()))
    return [text for text in ids if text != resource.id]


def proofs(resource: Resource) -> Iterator[Key]:
    """Keys, beside an id, of which one in common makes two rows one resource."""
    if resource.type in GUESTS:
        if resource.vmid is not None and resource.instance:
            yield resource.type.value, resource.instance, str(resource.vmid)
    elif resource.type is ResourceType.DISK and resource.disk is not None:
        if serial := serial_of(resource.disk):
            yield "serial", serial.casefold()
        if resource.disk.wwn and (wwn := wwn_of(resource.disk)):
            yield "wwn", wwn
    elif resource.ceph is not None and resource.ceph.fsid:
        yield "ceph", resource.ceph.fsid.casefold()


def groups_of_same(resources: Sequence[Resource]) -> list[list[Resource]]:
    """Rows of one thing together, each group and the groups themselves in the order of first appearance."""
    leader = list(range(len(resources)))
    claims: dict[Key | ResourceId, list[int]] = {}

    def root(position: int) -> int:
        while leader[position] != position:
            leader[position] = leader[leader[position]]
            position = leader[position]
        return position

    for position, resource in enumerate(resources):
        keys: list[Key | ResourceId] = [resource.id, *proofs(resource)]
        for key in keys:
            claimed = claims.get(key)
            if claimed is None:
                claims[key] = [position]
                continue
            for earlier in claimed:
                if _is_same(resources[earlier], resource, by_id=key is resource.id):
                    one, other = sorted((root(earlier), root(position)))
                    leader[other] = one
                    break
            else:
                if len(claimed) < _REPRESENTATIVES:
                    claimed.append(position)
    groups: dict[int, list[Resource]] = {}
    for position, resource in enumerate(resources):
        groups.setdefault(root(position), []).append(resource)
    return list(groups.values())


def _is_same(one: Resource, other: Resource, *, by_id: bool) -> bool:
    """Whether a key in common holds: a serial number needs the model too, an id loses to a proof against it."""
    if one.type is not other.type:
        return False
    if one.disk is None or other.disk is None:
        return True
    proof = same_disk(one.disk, other.disk)
    if proof is None and by_id and one.id.startswith("disk:serial:"):
        # An id made of a serial number that proves nothing: one disk only where it is the same place.
        return one.parent == other.parent and device_name(one.disk) == device_name(other.disk)
    return proof if proof is not None else by_id
