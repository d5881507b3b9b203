"""Work: claimed by one at a time, tried as often as it may be, and never gone without a word."""

import itertools
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from patrol.database import open_database
from patrol.run.lease import owner_is_gone
from patrol.triggers.queue import Rejection
from patrol.work.model import WorkKind, WorkReason, WorkState
from patrol.work.store import LEASE, WorkLostError, WorkStore
from tests.triggers.builders import NOW
from tests.work.builders import ORG, Line, work

ROOT = Path(__file__).resolve().parents[2]
INVESTIGATION = WorkKind.INVESTIGATION


@pytest.fixture
def line(any_database):
    return Line(any_database)


def claim(line: Line, owner: str = "me", at_once: int | None = None):
    return line.store(lambda store: store.claim(INVESTIGATION, owner, line.now, at_once=at_once))


def test_the_most_urgent_goes_first_and_of_equals_the_oldest(line):
    for one in (
        work("young", enqueued_at=NOW + timedelta(seconds=1)),
        work("old"),
        work("urgent", priority=5, enqueued_at=NOW + timedelta(seconds=2)),
    ):
        line.store(lambda store, one=one: store.add(one))
    assert [claim(line).id for _ in range(3)] == ["urgent", "old", "young"]
    assert claim(line) is None


def test_what_is_put_off_is_not_claimed_before_its_time(line):
    line.store(lambda store: store.add(work(not_before=NOW + timedelta(seconds=5))))
    assert claim(line) is None
    line.passes(5)
    assert claim(line).id == "w1"


def test_no_more_than_so_many_are_under_way(line):
    for name in "abc":
        line.store(lambda store, name=name: store.add(work(name)))
    assert [claim(line, at_once=2) is None for _ in range(3)] == [False, False, True]


def test_one_finding_is_enqueued_once_until_it_is_done(line):
    first = line.store(lambda store: store.enqueue(work("a", key="finding")))
    assert line.store(lambda store: store.enqueue(work("b", key="finding"))).id == first.id
    held = claim(line)
    assert line.store(lambda store: store.enqueue(work("c", key="finding"))).id == first.id
    line.store(lambda store: store.finish(held, NOW))
    assert line.store(lambda store: store.enqueue(work("d", key="finding"))).id == "d"


def test_every_change_is_kept_with_its_reason(line):
    line.store(lambda store: store.add(work()))
    line.store(lambda store: store.put_back(store.claim(INVESTIGATION, "me", NOW), NOW, NOW, "busy"))
    held = claim(line)
    line.store(lambda store: store.finish(held, NOW))
    changes = line.store(lambda store: store.changes("w1"))
    assert [(each.old_state, each.new_state, each.reason) for each in changes] == [
        (None, "waiting", "enqueued"),
        ("waiting", "running", "claimed"),
        ("running", "waiting", "put_back"),
        ("waiting", "running", "claimed"),
        ("running", "done", "done"),
    ]


def test_what_could_not_begin_was_no_attempt(line):
    line.store(lambda store: store.add(work(most_attempts=1)))
    for _ in range(3):
        held = claim(line)
        assert held.attempts == 1
        line.store(lambda store, held=held: store.put_back(held, line.now, line.now, "busy"))
    held = claim(line)
    assert line.store(lambda store: store.fail(held, NOW, "broke", retry_at=NOW)).state is WorkState.FAILED


def test_what_failed_is_tried_again_as_often_as_it_may_be(line):
    line.store(lambda store: store.add(work()))
    states = []
    for _ in range(3):
        held = claim(line)
        states.append(line.store(lambda store, held=held: store.fail(held, NOW, "broke", retry_at=NOW)).state)
    assert states == [WorkState.WAITING, WorkState.WAITING, WorkState.FAILED]
    assert claim(line) is None


# --- leases ---


def test_a_claim_that_is_renewed_is_not_taken_back(line):
    line.store(lambda store: store.add(work()))
    held = claim(line)
    line.passes(40)
    line.store(lambda store: store.renew(held, line.now + LEASE))
    line.passes(40)
    assert line.store(lambda store: store.take_back(line.now)) == []
    assert line.store(lambda store: store.finish(held, line.now)).state is WorkState.DONE


def test_a_claim_whose_owner_went_silent_is_given_to_another_and_lost_for_the_first(line):
    line.store(lambda store: store.add(work()))
    first = claim(line, "first")
    line.passes(LEASE.total_seconds())
    [back] = line.store(lambda store: store.take_back(line.now))
    assert (back.state, back.reason) == (WorkState.WAITING, WorkReason.LEASE_EXPIRED)
    second = claim(line, "second")
    assert (second.lease_owner, second.attempts) == ("second", 2)
    for act in (
        lambda store: store.renew(first, line.now + LEASE),
        lambda store: store.finish(first, line.now),
        lambda store: store.fail(first, line.now, "late"),
        lambda store: store.put_back(first, line.now, line.now),
    ):
        with pytest.raises(WorkLostError):
            line.store(act)
    assert line.store(lambda store: store.finish(second, line.now)).state is WorkState.DONE


def test_a_lease_of_a_clock_that_was_far_ahead_does_not_hold_for_ever(line):
    line.store(lambda store: store.add(work()))
    line.now += timedelta(days=365)
    claim(line)
    line.now = NOW
    assert [each.id for each in line.store(lambda store: store.take_back(line.now))] == ["w1"]


def test_an_owner_that_is_known_to_be_gone_is_not_waited_for(line):
    line.store(lambda store: store.add(work()))
    claim(line, "gone")
    assert line.store(lambda store: store.take_back(NOW, lambda owner: owner == "other")) == []
    assert [each.id for each in line.store(lambda store: store.take_back(NOW, lambda owner: owner == "gone"))] == ["w1"]


def test_work_that_ends_its_process_each_time_is_given_up_and_owes_its_record(line):
    line.store(lambda store: store.add(work(kind=WorkKind.RUN, run_id="r1", most_attempts=1)))
    line.store(lambda store: store.claim(WorkKind.RUN, "me", NOW))
    line.passes(LEASE.total_seconds())
    [failed] = line.store(lambda store: store.take_back(line.now))
    assert (failed.state, failed.record_owed) == (WorkState.FAILED, True)
    assert [each.run_id for each in line.store(WorkStore.list_owed)] == ["r1"]
    line.store(lambda store: store.settle(failed))
    assert line.store(WorkStore.list_owed) == []


def test_a_run_that_went_well_owes_nothing(line):
    line.store(lambda store: store.add(work(kind=WorkKind.RUN, run_id="r1")))
    held = line.store(lambda store: store.claim(WorkKind.RUN, "me", NOW))
    assert not line.store(lambda store: store.finish(held, NOW)).record_owed


def test_only_what_waits_can_be_dropped(line):
    line.store(lambda store: store.add(work()))
    held = claim(line)
    assert line.store(lambda store: store.drop(held, NOW, WorkReason.CANCELLED)) is None
    line.store(lambda store: store.finish(held, NOW))
    with pytest.raises(WorkLostError):
        line.store(lambda store: store.finish(held, NOW))


def test_ended_work_is_forgotten_unless_its_record_is_owed(line):
    line.store(lambda store: store.add(work("plain")))
    line.store(lambda store: store.add(work("owed", kind=WorkKind.RUN, run_id="r1")))
    line.store(lambda store: store.add(work("open")))
    for name in ("plain", "owed"):
        line.store(lambda store, name=name: store.drop(store.find(name), NOW, WorkReason.CANCELLED))
    assert line.store(lambda store: store.forget(NOW + timedelta(seconds=1))) == 1
    left = {name: line.store(lambda store, name=name: store.find(name)) for name in ("plain", "owed", "open")}
    assert [name for name, found in left.items() if found is None] == ["plain"]


def test_work_belongs_to_its_organisation(line):
    line.store(lambda store: store.add(work()))
    with pytest.raises(ValueError, match="does not belong"):
        line.store(lambda store: store.add(replace(work(), org_id="other")))
    other = line.database.transact(lambda connection: WorkStore(connection, "other").claim(INVESTIGATION, "me", NOW))
    assert other is None


def test_every_refusal_of_a_trigger_can_be_recorded():
    assert {str(each) for each in Rejection} <= {str(each) for each in WorkReason}


# --- many at once ---


def test_threads_never_have_one_piece_of_work_at_the_same_time(line):
    names = [f"w{number}" for number in range(24)]
    for name in names:
        line.store(lambda store, name=name: store.add(work(name)))
    got: list[str] = []
    start = threading.Barrier(4)

    def take(owner: int) -> None:
        start.wait()
        while (held := claim(line, f"owner{owner}")) is not None:
            got.append(held.id)
            line.store(lambda store, held=held: store.finish(held, NOW))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(take, range(4)))
    assert sorted(got) == sorted(names)


PROGRAM = """
import sys
from datetime import UTC, datetime
from patrol.database import open_database
from patrol.work.model import WorkKind
from patrol.work.store import WorkStore
database = open_database(sys.argv[1])
now = datetime(2026, 3, 1, 12, tzinfo=UTC)
def take(connection):
    store = WorkStore(connection, "default")
    held = store.claim(WorkKind.INVESTIGATION, sys.argv[2], now)
    if held is not None:
        store.finish(held, now)
    return held
while (held := database.transact(take)) is not None:
    print(held.id)
database.close()
"""


HOLDING = """
import sys, time
from datetime import UTC, datetime
from patrol.database import open_database
from patrol.run.lease import lease_owner
from patrol.work.model import WorkKind
from patrol.work.store import WorkStore
database = open_database(sys.argv[1])
now = datetime(2026, 3, 1, 12, tzinfo=UTC)
held = database.transact(
    lambda connection: WorkStore(connection, "default").claim(WorkKind.INVESTIGATION, lease_owner(), now)
)
print(held.id, flush=True)
time.sleep(60)
"""


def test_work_of_a_process_that_was_killed_goes_to_another_at_once(tmp_path):
    url = f"sqlite:///{tmp_path / 'patrol.db'}"
    database = open_database(url)
    line = Line(database)
    line.store(lambda store: store.add(work()))
    process = subprocess.Popen([sys.executable, "-c", HOLDING, url], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout.readline() == "w1\n"
    assert line.store(lambda store: store.take_back(NOW, owner_is_gone)) == []
    process.kill()
    process.communicate(timeout=10)
    assert [each.id for each in line.store(lambda store: store.take_back(NOW, owner_is_gone))] == ["w1"]
    assert claim(line, "other").attempts == 2
    database.close()


@pytest.mark.parametrize("sort", ["file", "postgresql"])
def test_processes_never_have_one_piece_of_work_at_the_same_time(sort, tmp_path, postgresql):
    running = postgresql() if sort == "postgresql" else None
    url = f"sqlite:///{tmp_path / 'patrol.db'}"
    if running is not None:
        running.create("two_processes")
        url = running.url("two_processes")
    database = open_database(url)
    names = [f"w{number}" for number in range(30)]
    database.transact(lambda connection: [WorkStore(connection, ORG).add(work(name)) for name in names])
    started = [
        subprocess.Popen([sys.executable, "-c", PROGRAM, url, owner], stdout=subprocess.PIPE, text=True, cwd=ROOT)
        for owner in ("one", "other")
    ]
    got = list(itertools.chain.from_iterable(process.communicate(timeout=60)[0].split() for process in started))
    assert [process.returncode for process in started] == [0, 0]
    assert sorted(got) == sorted(names)
    database.close()
