"""Which mounted file systems are worth a look, from /proc/self/mountinfo. Pure.

    36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
    (1)(2)(3)   (4)   (5)      (6)      (7)   (8) (9)   (10)         (11)
    3 device number, 4 root within the file system, 5 mount point, 6 options of this mount, 7 optional fields up
    to a dash, 9 type, 10 device, 11 options of the file system (proc_pid_mountinfo(5))

The kernel writes blanks and backslashes in names as octal; every other byte stands as it is, valid UTF-8 or not.
"""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass

_OCTAL = re.compile(rb"\\([0-3][0-7]{2})")

NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "ceph", "lustre", "afs", "9p", "virtiofs", "gfs2", "ocfs2"})
"""File systems that something beyond this kernel answers for, as for any FUSE one: a look may wait for ever."""

# Kernel interfaces without storage behind them, and tmpfs, ramfs and devtmpfs: these live in memory, are bounded by
# their options, and what fills them shows as memory use; a full one is gone with the next boot.
_WITHOUT_STORAGE = frozenset(
    {
        "autofs",
        "binder",
        "binderfs",
        "binfmt_misc",
        "bpf",
        "cgroup",
        "cgroup2",
        "configfs",
        "cpuset",
        "debugfs",
        "devpts",
        "devtmpfs",
        "efivarfs",
        "fuse.gvfsd-fuse",
        "fuse.gvfs-fuse-daemon",
        "fuse.lxcfs",
        "fuse.portal",
        "fuse.snapfuse",
        "fuse.squashfuse",
        "fusectl",
        "hugetlbfs",
        "mqueue",
        "nfsd",
        "nsfs",
        "proc",
        "pstore",
        "ramfs",
        "resctrl",
        "rootfs",
        "rpc_pipefs",
        "securityfs",
        "selinuxfs",
        "smackfs",
        "sysfs",
        "tmpfs",
        "tracefs",
        "xenfs",
    }
)
_IMAGES = frozenset({"squashfs", "iso9660", "erofs", "cramfs", "romfs", "udf"})
"""Images are made to be exactly full."""

_LAYERS = frozenset({"overlay", "aufs", "shiftfs", "fuse.fuse-overlayfs", "fuse.mergerfs", "unionfs"})
"""Views of other file systems, which are judged themselves."""

_NOT_OURS = re.compile(
    r"(/var)?/(proc|sys|dev|snap)(/|\Z)"
    r"|/run/(?!media/)"
    r"|/var/lib/docker/(overlay2?|aufs|btrfs|zfs|devicemapper|fuse-overlayfs|containers|plugins)(/|\Z)"
    r"|/var/lib/containers/storage/(overlay|vfs|btrfs|zfs)"
    r"|/var/lib/(containerd|kubelet|lxcfs)/"
    r"|/etc/(hosts|hostname|resolv\.conf)\Z"
)
"""Where container engines, snapd and the boot put mounts of their own: the storage behind them is another mount."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """One line of mountinfo. `point` is the path to ask the kernel about, `name` the same path fit to be shown."""

    number: str  # "major:minor"
    root: str
    point: str
    type: str
    device: str
    writable: bool  # this mount
    filesystem_writable: bool  # the file system behind it

    @property
    def name(self) -> str:
        """The mount point as text that can be shown (see `shown`)."""
        return shown(self.point)

    @property
    def remote(self) -> bool:
        """Whether a look at it depends on something beyond this kernel."""
        return self.type in NETWORK or self.type.startswith("fuse")


def shown(path: str) -> str:
    r"""A path as printable text, what cannot be printed (and a backslash) as `\xhh`; no two paths look the same."""
    return path if path.isprintable() and "\\" not in path else "".join(_escaped(char) for char in path)


def _escaped(char: str) -> str:
    if "\udc80" <= char <= "\udcff":
        return f"\\x{ord(char) - 0xDC00:02x}"
    if char == "\\" or not char.isprintable():
        return "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogatepass"))
    return char


def parse_mountinfo(content: bytes) -> list[Mount]:
    """The lines of mountinfo that can be understood, in their order."""
    mounts = (_mount(line) for line in content.split(b"\n"))
    return [mount for mount in mounts if mount is not None]


def _mount(line: bytes) -> Mount | None:
    fields = line.split(b" ")
    try:
        dash = fields.index(b"-", 6)
    except ValueError:
        return None
    if len(fields) < dash + 3:
        return None
    options = fields[dash + 3] if len(fields) > dash + 3 else b""
    kind, device = _text(fields[dash + 1]), _text(fields[dash + 2])
    return Mount(
        number=_text(fields[2]),
        root=_text(fields[3]),
        point=_text(fields[4]),
        type=kind,
        device=device,
        writable=b"ro" not in fields[5].split(b","),
        filesystem_writable=b"ro" not in options.split(b","),
    )


def _text(field: bytes) -> str:
    return os.fsdecode(_OCTAL.sub(lambda match: bytes([int(match[1], 8)]), field))


def select(mounts: Iterable[Mount]) -> list[Mount]:
    """One mount for each file system with storage of its own, in the order of their mount points.

    Of several mounts of one device the one that shows its top stays (a bind mount shows a part), then the
    shortest path. btrfs subvolumes share one space, whichever is on top. ZFS datasets all stay: their space
    is the pool's, and which of them have a limit of their own only their sizes tell.
    """
    visible = {mount.point: mount for mount in mounts}  # a later mount on the same point hides the earlier one
    chosen: dict[str, Mount] = {}
    for mount in sorted(filter(is_storage, visible.values()), key=_preference):
        chosen.setdefault(mount.device if mount.type in {"zfs", "btrfs"} else mount.number, mount)
    return sorted(chosen.values(), key=lambda mount: mount.point)


def is_storage(mount: Mount) -> bool:
    """Whether a mount is a file system that can fill up by itself."""
    if mount.type in _LAYERS:
        return mount.point == "/"  # in a container: the one root it has
    return not (
        mount.type in _WITHOUT_STORAGE
        or mount.type in _IMAGES
        or _NOT_OURS.match(mount.point)
        or (mount.type == "zfs" and "@" in mount.device)  # a snapshot
    )


def _preference(mount: Mount) -> tuple[bool, int, str]:
    return (mount.root != "/" and mount.type != "btrfs", len(mount.point), mount.point)


def zfs_pool(mount: Mount) -> str:
    """The pool of a ZFS dataset, from its name."""
    return mount.device.split("/", maxsplit=1)[0]
