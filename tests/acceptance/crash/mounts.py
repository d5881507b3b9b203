"""File systems of a test's own: a child with a view of mounts that nobody else sees, and that goes when it does."""

import ctypes
import os
import traceback
from collections.abc import Callable
from pathlib import Path

_NEW_MOUNTS, _NEW_USERS = 0x00020000, 0x10000000  # unshare(2)
_READ_ONLY, _REMOUNT, _RECURSIVE, _PRIVATE = 1, 32, 16384, 1 << 18  # mount(2)
_LIBC = ctypes.CDLL(None, use_errno=True)


def in_a_child(work: Callable[[], str]) -> str:
    """What `work` returns in a forked child of this process; an error of it is raised here, with its traceback."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        code, said = 1, ""
        try:
            said = work()
            code = 0
        except BaseException:  # noqa: BLE001 - told to the parent, which raises it
            said = traceback.format_exc()
        finally:
            os.write(writing, said.encode())
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as stream:
        said = stream.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code == 0, said or f"the child ended with {code}"
    return said


def have_own_mounts() -> bool:
    """Gives this process mounts of its own: as root, else as the root of a user namespace. False: not permitted."""
    user, group = os.geteuid(), os.getegid()
    if _LIBC.unshare(_NEW_MOUNTS) != 0:
        if _LIBC.unshare(_NEW_MOUNTS | _NEW_USERS) != 0:
            return False
        for name, text in (("setgroups", b"deny"), ("uid_map", b"0 %d 1" % user), ("gid_map", b"0 %d 1" % group)):
            try:
                Path(f"/proc/self/{name}").write_bytes(text)
            except OSError:  # the namespace may be had, but not used
                return False
    return bool(_LIBC.mount(None, b"/", None, _RECURSIVE | _PRIVATE, None) == 0)


def are_permitted() -> bool:
    """Whether this machine lets tests mount file systems of their own. Containers often do not."""
    return in_a_child(lambda: "yes" if have_own_mounts() and _mounted("/mnt", 0, "size=64k") == 0 else "no") == "yes"


def mount_in_memory(folder: Path, options: str) -> None:
    """Mounts an empty file system in memory. Raises OSError."""
    _check(_mounted(str(folder), 0, options), folder)


def remount(folder: Path, options: str, *, read_only: bool) -> None:
    """Mounts a file system in memory anew, with what it holds. Raises OSError, also where a file is open to write."""
    _check(_mounted(str(folder), _REMOUNT | (_READ_ONLY if read_only else 0), options), folder)


def _mounted(folder: str, flags: int, options: str) -> int:
    done: int = _LIBC.mount(b"tmpfs", folder.encode(), b"tmpfs", ctypes.c_ulong(flags), options.encode())
    return done


def _check(answer: int, folder: Path) -> None:
    if answer != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(folder))
