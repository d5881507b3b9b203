"""Leases: whose process a run is, and when it is certain that nobody runs it any more."""

import os
import signal
import socket
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from findings.model import Topic
from patrol.run import CATCHES_UP, RunRequest
from patrol.run.lease import lease_owner, owner_is_gone
from patrol.run.record_model import RunRecord, RunStatus, RunType
from patrol.run.store import RunInProgressError, RunStore
from tests.run.builders import NOW, House, estate, gap, host


@pytest.fixture(scope="module")
def dead_owner() -> str:
    """The owner of a lease whose process ended."""
    program = "from patrol.run.lease import lease_owner; print(lease_owner())"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return ended.stdout.strip()


def test_an_owner_names_host_and_process_and_is_alive():
    assert lease_owner().startswith(f"{socket.gethostname()}:{os.getpid()}@")
    assert not owner_is_gone(lease_owner())


def test_a_process_that_ended_is_gone(dead_owner):
    assert owner_is_gone(dead_owner)


def test_a_zombie_is_gone():
    child = os.fork()
    if child == 0:
        signal.pause()
    owner = lease_owner().replace(f":{os.getpid()}@", f":{child}@").rpartition(".")[0]
    born = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[19]
    assert not owner_is_gone(f"{owner}.{born}")
    os.kill(child, signal.SIGKILL)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    assert owner_is_gone(f"{owner}.{born}")
    os.waitpid(child, 0)


def test_a_number_used_again_by_a_younger_process_is_gone():
    before, _, born = lease_owner().rpartition(".")
    assert owner_is_gone(f"{before}.{int(born) - 1}")


@pytest.mark.parametrize(
    "change",
    [
        lambda owner: owner.replace(socket.gethostname(), "another-host"),
        lambda owner: owner.replace("@", "@0000")[: owner.index("@") + 9] + ".1",  # another boot, or another container
        lambda owner: owner.partition("@")[0],  # written without knowledge of where it runs
        lambda _owner: "web1:4711",
        lambda _owner: "",
        lambda _owner: f"{socket.gethostname()}:99999999999999999999@00000000.1",
    ],
)
def test_what_cannot_be_known_is_taken_for_alive(change, dead_owner):
    assert not owner_is_gone(change(dead_owner))


def test_a_number_that_is_none_is_taken_for_alive(dead_owner):
    host_name, _, rest = dead_owner.partition(":")
    assert not owner_is_gone(f"{host_name}:{'9' * 30}@{rest.partition('@')[2]}")


def test_without_proc_nobody_is_certain(tmp_path, dead_owner):
    assert lease_owner(tmp_path) == f"{socket.gethostname()}:{os.getpid()}"
    assert not owner_is_gone(dead_owner, tmp_path)


# --- what follows for runs


def begun(house: House, owner: str, lease: timedelta = timedelta(hours=1)) -> RunRecord:
    started = house.clock.now
    run = RunRecord(
        org_id="default",
        id="left-behind",
        trigger_reason="scheduled",
        started_at=started,
        lease_owner=owner,
        lease_expires_at=started + lease,
    )
    RunStore(house.database).begin(run)
    return run


def test_a_run_whose_process_is_gone_is_closed_at_once(house, dead_owner):
    begun(house, dead_owner)
    report = house.run(estate(host(97)))
    closed = RunStore(house.database).get("left-behind")
    assert closed.status is RunStatus.CRASHED
    assert closed.completed_at == report.run.started_at
    assert report.run.new_findings == 1


def test_a_run_whose_process_may_be_alive_keeps_its_lease(house):
    begun(house, "another-host:1@00000000.1")
    with pytest.raises(RunInProgressError, match="left-behind"):
        house.run(estate(host()))
    assert RunStore(house.database).get("left-behind").status is RunStatus.RUNNING


def test_the_run_after_a_crash_says_that_it_catches_up_and_only_that_one(house, dead_owner):
    begun(house, dead_owner)
    caught_up, after = house.run(estate(host())), house.run(estate(host()))
    assert (list(caught_up.notes), list(after.notes)) == ([CATCHES_UP], [])


def test_a_catch_up_that_crashes_is_caught_up_on_as_well(house, dead_owner):
    for number in range(2):
        run = begun(house, dead_owner)
        house.clock.advance(minutes=1)
        RunStore(house.database).close_crashed(house.clock.now, lambda _owner: True)
        if number == 0:
            with house.database.write() as connection:
                connection.exec_driver_sql(f"UPDATE run SET id = 'earlier' WHERE id = '{run.id}'")
    assert RunStore(house.database).follows_crash(house.clock.now)
    house.run(estate(host()))
    assert not RunStore(house.database).follows_crash(house.clock.now)


def test_a_look_at_one_thing_does_not_catch_up_on_a_crash(house, dead_owner):
    begun(house, dead_owner)
    house.run(estate(host()), request=RunRequest(scope=("hosta",)))
    runs = RunStore(house.database)
    assert (runs.follows_crash(house.clock.now), runs.follows_crash(house.clock.now, RunType.SCOPED)) == (True, False)
    assert list(house.run(estate(host())).notes) == [CATCHES_UP]
    assert not runs.follows_crash(house.clock.now)


def test_a_crash_under_a_clock_that_was_ahead_keeps_no_run_from_its_model_after_it_is_right(house, dead_owner):
    house.clock.advance(days=400)
    begun(house, dead_owner)
    house.clock.advance(days=-400)
    assert [list(house.run(estate(host())).notes) for _ in range(2)] == [[], []]
    assert RunStore(house.database).get("left-behind").status is RunStatus.CRASHED


def test_what_the_first_run_of_all_follows_is_no_crash(house):
    assert not RunStore(house.database).follows_crash(house.clock.now)
    assert house.run(estate(host(), gaps=[gap(Topic.SMART)]), request=RunRequest()).run.started_at > NOW
