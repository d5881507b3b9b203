"""What is said to systemd, and what is read of what it asks."""

import socket
import time
from datetime import timedelta

import pytest

from patrol.daemon.notify import Notifier, reloading, status, take_supervision


def test_states_go_out_together_in_one_datagram(tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ears:
        ears.bind(str(tmp_path / "notify"))
        Notifier(str(tmp_path / "notify"))("READY=1", "STATUS=well")
        assert ears.recv(100) == b"READY=1\nSTATUS=well"


def test_an_abstract_socket_is_reached_as_well():
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ears:
        name = f"patrol-test-{time.monotonic_ns()}"
        ears.bind(f"\0{name}")
        Notifier(f"@{name}")("READY=1")
        assert ears.recv(100) == b"READY=1"


def test_where_nobody_listens_nothing_is_said_and_where_somebody_is_gone_that_is_an_error(tmp_path):
    Notifier()("READY=1")
    with pytest.raises(OSError, match=r"."):
        Notifier(str(tmp_path / "gone"))("READY=1")


def test_a_status_is_one_line():
    assert status("one\nREADY=1\ttwo") == "STATUS=one READY=1 two"
    assert len(status("x" * 1000)) < 400


def test_the_time_of_a_reload_is_that_of_the_monotonic_clock():
    _, told = reloading()
    microseconds = int(told.removeprefix("MONOTONIC_USEC="))
    assert abs(microseconds / 1e6 - time.clock_gettime(time.CLOCK_MONOTONIC)) < 1


def test_what_systemd_asks_is_taken_out_of_the_environment():
    environment = {"NOTIFY_SOCKET": "/run/x", "WATCHDOG_USEC": "90000000", "WATCHDOG_PID": "7", "PATH": "/bin"}
    asked = take_supervision(environment, process_id=7)
    assert (asked.notifier.address, asked.watchdog) == ("/run/x", timedelta(seconds=90))
    assert environment == {"PATH": "/bin"}


@pytest.mark.parametrize(
    "environment",
    [{}, {"WATCHDOG_USEC": "0"}, {"WATCHDOG_USEC": "soon"}, {"WATCHDOG_USEC": "9", "WATCHDOG_PID": "8"}],
)
def test_a_watchdog_that_is_not_ours_is_none(environment):
    assert take_supervision(environment, process_id=7).watchdog is None
