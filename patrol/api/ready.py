"""Answers that are ready: what many ask at the same time is made once, and kept as long as it is true.

Fifty dashboards that show the same list would otherwise each have it read, made and encoded, and all of these would
wait for each other: it is work of the processor, which threads cannot share.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import datetime, timedelta
from weakref import WeakValueDictionary

from fastapi import Response
from starlette.concurrency import run_in_threadpool

KEPT_FOR = timedelta(seconds=5)
"""A silence that ends is seen this much later at most; any change of the database is seen at once."""
MOST_ANSWERS = 32
MOST_BYTES = 4 << 20
AT_ONCE = 2
"""Answers that are made at the same time: more would take as long, and hold more memory."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """`mark`: of the database before it was read. `number`: how many answers had been begun by then."""

    body: bytes
    headers: dict[str, str]
    mark: int | None
    number: int
    at: datetime

    def response(self) -> Response:
        return Response(self.body, headers=self.headers)


class ReadyAnswers:
    """Answers by what was asked. `mark`: equal for two moments between which nothing changed, None for nobody knows.

    Invariant: an answer shows everything that was committed before it was asked for.
    """

    def __init__(self, mark: Callable[[], int | None], clock: Callable[[], datetime]) -> None:
        self._mark = mark
        self._clock = clock
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._turns: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()
        self._places = asyncio.Semaphore(AT_ONCE)
        self._begun = 0

    async def answer(self, question: Hashable, make: Callable[[], Response]) -> Response:
        """The answer to a question: all that it depends on, whoever asks included. `make` is called in a thread."""
        asked_at = self._begun
        ready = self._ready(question)
        if ready is not None:
            return ready.response()
        turn = self._turns.setdefault(question, asyncio.Lock())
        async with turn:
            ready = self._ready(question, asked_at)
            if ready is not None:
                return ready.response()
            async with self._places:
                self._begun += 1
                number, mark, now = self._begun, self._mark(), self._clock()
                made = await run_in_threadpool(make)
        if made.status_code == 200:
            headers = {name: value for name, value in made.headers.items() if name != "content-length"}
            self._keep(question, _Kept(bytes(made.body), headers, mark, number, now))
        return made

    def _ready(self, question: Hashable, asked_at: int | None = None) -> _Kept | None:
        """What is kept and still true, or was begun after this question was asked."""
        kept = self._kept.get(question)
        if kept is None or not timedelta() <= self._clock() - kept.at < KEPT_FOR:
            return None
        is_after = asked_at is not None and kept.number > asked_at
        is_same = kept.mark is not None and kept.mark == self._mark()
        return kept if is_after or is_same else None

    def _keep(self, question: Hashable, kept: _Kept) -> None:
        self._kept.pop(question, None)
        if len(kept.body) > MOST_BYTES:
            return
        self._kept[question] = kept
        while len(self._kept) > MOST_ANSWERS or sum(len(each.body) for each in self._kept.values()) > MOST_BYTES:
            self._kept.popitem(last=False)
