"""Memory of a process that mostly waits: what was let go goes back, and what stays is not looked through again."""

import ctypes
import gc
from collections.abc import Callable

_M_TRIM_THRESHOLD = -1
_M_ARENA_MAX = -8
"""Names of malloc.h, mallopt(3)."""
_KEPT_BYTES = 128 << 10


def give_back_early(mallopt: Callable[[int, int], int] | None = None) -> bool:
    """Lets what a run needed go back to the system at its end; whether this C library can be told so (glibc can).

    By itself it keeps a heap for each thread, and the more of it the more was ever needed: after a run over a thousand
    resources with 10,000 findings open, 30 MiB for nothing. Python's own pools ask it for large pieces only, so that
    one heap is enough. To be called before there are threads. `mallopt`: that of the process, if not given.
    """
    tell = mallopt or getattr(ctypes.CDLL(None), "mallopt", None)
    if tell is None:
        return False
    return all([tell(_M_ARENA_MAX, 1), tell(_M_TRIM_THRESHOLD, _KEPT_BYTES)])


def leave_alone() -> None:
    """Keeps what is there now out of all later collections of cycles: modules, routes, settings. To be called once.

    A full collection looks at each of 160,000 objects of a start, and holds the event loop for 0.1 s each time.
    """
    gc.collect()
    gc.freeze()
