"""Ending a run early, and the bounds of its time: what was asked for ends soon, what was seen by then counts."""

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from findings.kinds import Kind
from findings.model import GapReason
from patrol.agent.model import Prompt, Reply
from patrol.estate.sources.model import Collected, CollectRequest
from patrol.run import RunRequest
from patrol.run.cancel import Cancel, RunCancelledError
from patrol.run.collect import BoundedSource
from patrol.run.model_access import ModelAccess
from patrol.run.model_work.store import ModelWorkStore
from patrol.run.record_model import RunRecord, RunStatus, RunType
from patrol.run.store import RunInProgressError, RunStore
from patrol.triggers.model import Slot, TriggerReason
from tests.run.builders import HOST, NOW, GivenSource, House, estate, host
from tests.run.model_house import with_model


class Waits:
    """A source that answers when it is let go."""

    name = type = "waits"

    def __init__(self) -> None:
        self.asked, self.let_go = threading.Event(), threading.Event()

    def collect(self, request: CollectRequest) -> Collected:
        self.asked.set()
        self.let_go.wait(20)
        return Collected(estate=estate(host()))


class Thinks:
    """A model that thinks for ever."""

    window = None

    def __init__(self) -> None:
        self.asked, self.closed = threading.Event(), False

    async def ask(self, prompt: Prompt, *, on_text: Callable[[str], None]) -> Reply:
        self.asked.set()
        await asyncio.sleep(60)
        raise AssertionError("nobody waits that long")

    async def close(self) -> None:
        self.closed = True


def ended_by(cancel: Cancel, asked: threading.Event, run: Callable[[], object]) -> float:
    """Asks a run to end once it is so far; how long that takes."""
    at: list[float] = []

    def ask() -> None:
        assert asked.wait(20)
        at.append(time.monotonic())
        cancel.ask("the daemon stops")

    asker = threading.Thread(target=ask)
    asker.start()
    with pytest.raises(RunCancelledError, match="the daemon stops"):
        run()
    asker.join()
    return time.monotonic() - at[0]


def test_a_run_that_waits_for_its_sources_ends_at_once_and_its_record_says_why(house: House) -> None:
    source, cancel = Waits(), Cancel()
    patrol = replace(house.patrol(), sources=[BoundedSource(source=source, timeout_seconds=30)], cancel=cancel)
    took = ended_by(cancel, source.asked, lambda: patrol.run(RunRequest(run_id="promised")))
    source.let_go.set()
    run = RunStore(house.database).get("promised")
    assert (run.status, run.error_summary) == (RunStatus.CANCELLED, "the daemon stops")
    assert took < 5


def test_a_run_whose_model_thinks_ends_at_once(house: House) -> None:
    house, model, cancel = with_model(house), Thinks(), Cancel()
    access = ModelAccess(
        settings=house.settings,
        store=ModelWorkStore(house.database),
        clock=house.clock,
        opener=lambda *_: model,
        cancel=cancel,
    )
    patrol = replace(house.patrol(GivenSource([estate(host())])), analysts=access, cancel=cancel)
    took = ended_by(cancel, model.asked, lambda: patrol.run(RunRequest()))
    (run,) = RunStore(house.database).list_runs()
    assert run.status is RunStatus.CANCELLED
    assert model.closed
    assert took < 5


def test_who_asks_when_all_is_judged_gets_all_of_it(house: House) -> None:
    cancel = Cancel()

    def progress(stage: str, detail: str) -> None:
        if stage == "record":
            cancel.ask("too late")

    patrol = replace(house.patrol(GivenSource([estate(host())])), progress=progress, cancel=cancel)
    assert patrol.run(RunRequest()).run.status is RunStatus.HEALTHY


def test_a_wish_that_came_before_the_run_ends_it_too(house: House) -> None:
    cancel = Cancel()
    cancel.ask("the daemon stops")
    cancel.ask("another reason, which is not the first")
    with pytest.raises(RunCancelledError, match="the daemon stops"):
        replace(house.patrol(GivenSource([estate(host())])), cancel=cancel).run(RunRequest())


def test_where_collection_takes_longer_than_the_run_may_what_was_seen_by_then_is_judged(house: House) -> None:
    source = Waits()
    section = house.settings.patrol.model_copy(update={"run_deadline": timedelta(seconds=0.1)})
    house.settings = house.settings.model_copy(update={"patrol": section})
    full = GivenSource([estate(host(usage=97))])
    patrol = replace(
        house.patrol(full),
        sources=[
            BoundedSource(source=source, timeout_seconds=30),
            BoundedSource(source=full, timeout_seconds=30),
        ],
    )
    report = patrol.run(RunRequest())
    source.let_go.set()
    assert report.run.status is RunStatus.TIMED_OUT
    assert [finding.kind for finding in report.findings if finding.resource_id == HOST] == [Kind.HIGH_DISK]
    assert GapReason.TIMED_OUT in {gap.reason for gap in report.gaps}


def test_each_slot_takes_one_run_and_they_do_not_wait_for_each_other(house: House) -> None:
    runs = RunStore(house.database)

    def begun(name: str, reason: TriggerReason, kind: RunType) -> RunRecord:
        until = NOW + timedelta(hours=1)
        run = RunRecord(
            org_id="default", id=name, type=kind, trigger_reason=reason, started_at=NOW, lease_expires_at=until
        )
        runs.begin(run)
        return run

    assert begun("one", TriggerReason.SCHEDULED, RunType.FULL).slot is Slot.FULL
    assert begun("two", TriggerReason.MANUAL, RunType.SCOPED).slot is Slot.SCOPED
    for reason, kind, held_by in (
        (TriggerReason.MANUAL, RunType.FULL, "one"),
        (TriggerReason.ALERT_FIRED, RunType.SCOPED, "one"),
        (TriggerReason.MANUAL, RunType.SCOPED, "two"),
    ):
        with pytest.raises(RunInProgressError) as refused:
            begun("three", reason, kind)
        assert refused.value.run.id == held_by
