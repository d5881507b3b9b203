"""The one writer of a database in a process: a thread that carries out transactions, one after the other.

SQLite has one writer whatever is done about it. In one place, writers wait for their turn in the order they came,
instead of asking again and again for a lock that whoever asks luckily gets; and nobody waits for ever: not for a turn
that does not come, not for a writer that is not there any more.
"""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from sqlalchemy import Connection

from patrol.database.errors import DatabaseBusyError, DatabaseClosedError

Result = TypeVar("Result")

DRAIN_SECONDS = 30.0
"""How long the end waits for what was accepted before it."""
_LOOKED_AFTER_SECONDS = 1.0
"""How soon somebody who waits for a step under way notices that nobody carries it out any more."""
_END = None


class _Step:
    """Work for the writer, and the answer to whoever asked for it."""

    def __init__(self, work: Callable[[Connection], Any]) -> None:
        self.work = work
        self.answer: Future[Any] = Future()

    def carry_out(self, begun: AbstractContextManager[Connection]) -> None:
        """Does the work in its transaction; whatever comes of it is the answer. Nobody may have given up on it."""
        try:
            with begun as connection:
                result = self.work(connection)
        except BaseException as error:  # noqa: BLE001 - it is raised where the work was asked for
            self.answer.set_exception(error)
            del self  # else the error, its traceback and this step would keep each other
        else:
            self.answer.set_result(result)


class Writer:
    """Carries out work in transactions on a thread of its own, begun with the first of them.

    `begin` makes the transaction of one step. `turn_seconds`: how long a step may wait until it is begun.
    Invariant: steps are begun in the order they came, none before the one before it has ended.
    """

    def __init__(
        self, place: str, begin: Callable[[], AbstractContextManager[Connection]], turn_seconds: float
    ) -> None:
        self._place = place
        self._begin = begin
        self._turn_seconds = turn_seconds
        self._steps: SimpleQueue[_Step | None] = SimpleQueue()
        self._door = threading.Lock()  # held while a step is accepted: none gets in behind the end
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def carry_out(self, work: Callable[[Connection], Result]) -> Result:
        """What `work` returns or raises, done on the writer's thread in a transaction of its own.

        What was begun goes on to its end even where whoever asked is interrupted. Raises DatabaseBusyError where no
        turn came in time, and at once inside of a step; DatabaseClosedError where there is no writer any more.
        """
        if threading.current_thread() is self._thread:
            raise self._busy()  # the step before it, which would have to end first, is the one that asks
        step = _Step(work)
        answer: Future[Result] = step.answer
        try:
            self._accept(step)
            self._wait_for(answer)
        except BaseException:
            answer.cancel()  # whoever asked does not wait any more: what was not begun is not wanted
            raise
        return answer.result()

    def _wait_for(self, answer: Future[Result]) -> None:
        """Until it is there. Raises what `carry_out` raises where it does not come."""
        end = time.monotonic() + self._turn_seconds
        while True:
            waits = _LOOKED_AFTER_SECONDS if answer.running() else min(_LOOKED_AFTER_SECONDS, end - time.monotonic())
            try:
                answer.exception(max(0.0, waits))
            except TimeoutError:
                if not answer.done():
                    self._check_alive()
                if time.monotonic() >= end and answer.cancel():
                    raise self._busy() from None
            else:
                return

    def close(self, drain_seconds: float = DRAIN_SECONDS) -> None:
        """Carries out what was accepted, then ends; may be called twice. What comes later is refused.

        After `drain_seconds` it waits no longer: what was not begun by then is refused as well.
        """
        with self._door:
            self._is_closed = True
            thread = self._thread
        if thread is not None:
            self._steps.put(_END)
            thread.join(drain_seconds)
            self._refuse_waiting()

    def _accept(self, step: _Step) -> None:
        self._check_alive()
        with self._door:
            if self._is_closed:
                raise self._gone()
            if self._thread is None:
                thread = threading.Thread(target=self._work, name="patrol-writer", daemon=True)
                thread.start()
                self._thread = thread  # now that it is alive: others look at it without the door
            self._steps.put(step)
        self._check_alive()  # it may have ended between the two: then nobody looks at what was put there

    def _work(self) -> None:
        step: _Step | None = None
        try:
            while (step := self._steps.get()) is not _END:
                if step.answer.set_running_or_notify_cancel():
                    step.carry_out(self._begin())
                step = None  # an answer that nobody needs any more is not kept until the next one
        finally:
            if step is not None and not step.answer.done():
                step.answer.set_exception(self._gone())
            self._refuse_waiting()

    def _refuse_waiting(self) -> None:
        while True:
            try:
                step = self._steps.get_nowait()
            except Empty:
                return
            if step is not _END and step.answer.set_running_or_notify_cancel():
                step.answer.set_exception(self._gone())

    def _check_alive(self) -> None:
        """A thread is missing where this process was forked off another one, or where it was ended from outside."""
        if self._thread is not None and not self._thread.is_alive():
            raise self._gone()

    def _busy(self) -> DatabaseBusyError:
        return DatabaseBusyError(self._place, "another step of this process holds the database", "Try again")

    def _gone(self) -> DatabaseClosedError:
        wrong = "it was closed" if self._is_closed else "the thread that writes to it is gone"
        return DatabaseClosedError(self._place, wrong, "Open it again: nothing more is stored this way")


@contextmanager
def lent(writer: Writer) -> Iterator[Connection]:
    """The writer's connection, for the thread that asks: a step that lasts as long as the block, in which it waits.

    Raises what `Writer.carry_out` raises; an error of the block is one of the step.
    """
    given: Future[Connection] = Future()
    ended: Future[None] = Future()

    def lend(connection: Connection) -> None:
        given.set_result(connection)
        ended.result()

    with ThreadPoolExecutor(1, thread_name_prefix="patrol-borrower") as asking:
        asked = asking.submit(writer.carry_out, lend)
        asked.add_done_callback(lambda _: given.cancel())  # there was no turn, or nothing could be begun
        try:
            connection = given.result()
        except CancelledError:
            asked.result()
            raise
        try:
            yield connection
        except BaseException as error:  # noqa: BLE001 - it rolls back there, and comes from there
            ended.set_exception(error)
        else:
            ended.set_result(None)
        asked.result()
