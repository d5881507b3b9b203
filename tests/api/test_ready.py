"""Answers that are made once for many: never older than what was committed before somebody asked."""

import asyncio
import threading
from datetime import UTC, datetime, timedelta

from fastapi import Response

from patrol.api.ready import KEPT_FOR, MOST_ANSWERS, MOST_BYTES, ReadyAnswers


class Kitchen:
    """Makes answers, and counts them. `hold`: until `go`, as one that takes its time."""

    def __init__(self, mark: int | None = 1) -> None:
        self.mark = mark
        self.now = datetime(2026, 11, 30, tzinfo=UTC)
        self.made = 0
        self.status = 200
        self.body = b""
        self.hold, self.begun, self.go = False, threading.Event(), threading.Event()
        self.answers = ReadyAnswers(lambda: self.mark, lambda: self.now)

    def make(self) -> Response:
        self.made += 1
        said = self.body or str(self.mark).encode()  # read before the wait, like a snapshot
        if self.hold:
            self.begun.set()
            assert self.go.wait(10)
        return Response(said, self.status, headers={"X-Next-Cursor": "there"})

    async def ask(self, question: str = "q") -> Response:
        return await self.answers.answer(question, self.make)

    def asked(self, *questions: str) -> list[bytes]:
        async def all_of_them() -> list[bytes]:
            return [bytes((await self.ask(each)).body) for each in questions]

        return asyncio.run(all_of_them())


def test_what_did_not_change_is_made_once_and_told_with_its_headers():
    it = Kitchen()
    first, second = asyncio.run(it.ask()), asyncio.run(it.ask())
    assert it.made == 1
    assert (second.body, sorted(second.headers.items())) == (first.body, sorted(first.headers.items()))


def test_another_question_has_another_answer():
    it = Kitchen()
    it.asked("a", "b", "a")
    assert it.made == 2


def test_what_changed_is_made_anew():
    it = Kitchen()
    assert it.asked("q") == [b"1"]
    it.mark = 2
    assert it.asked("q") == [b"2"]


def test_time_alone_changes_what_is_told():
    it = Kitchen()
    it.asked("q")
    it.now += KEPT_FOR
    it.asked("q")
    it.now -= timedelta(hours=1)  # a clock that was set back
    it.asked("q")
    assert it.made == 3


def test_where_nobody_knows_of_changes_nothing_is_kept():
    it = Kitchen(mark=None)
    it.asked("q", "q")
    assert it.made == 2


def test_a_refusal_is_not_kept():
    it = Kitchen()
    it.status = 400
    it.asked("q", "q")
    assert it.made == 2


def test_many_at_once_wait_for_one_answer_that_was_begun_after_they_asked():
    async def life(it: Kitchen) -> list[bytes]:
        it.hold = True
        first = asyncio.create_task(it.ask())
        await asyncio.to_thread(it.begun.wait, 10)
        it.mark = 2  # somebody changes something, and asks then
        others = [asyncio.create_task(it.ask()) for _ in range(50)]
        await asyncio.sleep(0)
        it.go.set()
        return [bytes((await each).body) for each in (first, *others)]

    it = Kitchen()
    assert asyncio.run(life(it)) == [b"1"] + [b"2"] * 50
    assert it.made == 2


def test_many_at_once_share_their_answer_also_where_nobody_knows_of_changes():
    async def life(it: Kitchen) -> None:
        it.hold = True
        first = asyncio.create_task(it.ask())
        await asyncio.to_thread(it.begun.wait, 10)
        others = [asyncio.create_task(it.ask()) for _ in range(50)]
        await asyncio.sleep(0)
        it.go.set()
        await asyncio.gather(first, *others)

    it = Kitchen(mark=None)
    asyncio.run(life(it))
    assert it.made == 2


def test_few_answers_are_kept_the_oldest_go_and_huge_ones_never_stay():
    it = Kitchen()
    it.asked(*(str(number) for number in range(MOST_ANSWERS + 1)))
    it.asked("0")
    assert it.made == MOST_ANSWERS + 2
    it.body = b"x" * (MOST_BYTES + 1)
    before = it.made
    it.asked("huge", "huge")
    assert it.made == before + 2
