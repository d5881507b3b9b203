"""What systemd is told of this process, and what it asks for: sd_notify(3), without its library."""

import os
import socket
import time
from collections.abc import MutableMapping
from dataclasses import dataclass
from datetime import timedelta

_LONGEST_STATUS = 300
_PATIENCE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Notifier:
    """Sends states to the socket at `address`; "": nobody listens. Raises OSError where it is not there any more."""

    address: str = ""

    def __call__(self, *states: str) -> None:
        """Sends these states, together."""
        if not self.address:
            return
        path = f"\0{self.address[1:]}" if self.address.startswith("@") else self.address
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
            sender.settimeout(_PATIENCE_SECONDS)
            sender.sendto("\n".join(states).encode("utf-8", "replace"), path)


def ready() -> str:
    """Started, or done with new settings."""
    return "READY=1"


def reloading() -> tuple[str, str]:
    """New settings are being read; `ready` ends it. The time is that of systemd's own clock."""
    return "RELOADING=1", f"MONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}"


def stopping() -> str:
    """The end has begun."""
    return "STOPPING=1"


def alive() -> str:
    """What the watchdog waits for."""
    return "WATCHDOG=1"


def status(text: str) -> str:
    """What `systemctl status` shows."""
    return f"STATUS={' '.join(text.split())[:_LONGEST_STATUS]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Supervision:
    """What systemd asks of this process. `watchdog`: the longest time without a sign of life, None for any."""

    notifier: Notifier
    watchdog: timedelta | None = None


def take_supervision(environment: MutableMapping[str, str], process_id: int | None = None) -> Supervision:
    """Reads what systemd put into the environment, and takes it out: programs that are started here are not meant.

    What cannot be read counts as not asked for.
    """
    address = environment.pop("NOTIFY_SOCKET", "")
    microseconds = environment.pop("WATCHDOG_USEC", "")
    meant = environment.pop("WATCHDOG_PID", "")
    mine = meant in ("", str(os.getpid() if process_id is None else process_id))
    watchdog = timedelta(microseconds=int(microseconds)) if mine and microseconds.isdecimal() else None
    return Supervision(notifier=Notifier(address), watchdog=watchdog or None)
