"""What clients of a daemon live through: `python -m tests.bench.daemon_client PORT TASK [name=value ...]`.

A process of its own, so that its work is not counted as the daemon's. Prints one JSON document; `stream` prints a line
first when all listen, and waits for one on standard input before it asks for a run. Milliseconds throughout.
"""

import asyncio
import json
import math
import os
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Self

FINDINGS = "/api/ai/patrol/findings"
_MOST_BYTES = 64 << 20  # of one answer: more is a fault, and is not held
_PATIENCE = 60.0


@dataclass
class Answer:
    """One answer of the daemon."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass
class Times:
    """How long each request took, and what came back."""

    took: list[float] = field(default_factory=list)
    refused: int = 0
    bytes: int = 0

    def figures(self, seconds: float) -> dict[str, float]:
        return {
            "requests": len(self.took),
            "refused": self.refused,
            "each_second": len(self.took) / seconds,
            "kib_each": self.bytes / 1024 / max(1, len(self.took)),
            "p50": percentile(self.took, 0.50),
            "p99": percentile(self.took, 0.99),
            "most": max(self.took, default=math.nan),
        }


def percentile(values: list[float], share: float) -> float:
    """The smallest value that is at least so large as this share of all."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)] if values else math.nan


class Line:
    """One kept-alive connection."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 20)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._writer is not None
        self._writer.close()

    async def send(self, path: str, body: object = None, **headers: str) -> None:
        assert self._writer is not None
        content = b"" if body is None else json.dumps(body).encode()
        lines = [f"{'GET' if body is None else 'POST'} {path} HTTP/1.1", f"Host: 127.0.0.1:{self._port}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        if body is not None:
            lines += ["Content-Type: application/json", f"Content-Length: {len(content)}"]
        self._writer.write("\r\n".join([*lines, "", ""]).encode() + content)
        await self._writer.drain()

    async def head(self) -> Answer:
        """Status and headers; the body is still to come."""
        assert self._reader is not None
        first, *lines = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
        return Answer(int(first.split(" ")[1]), headers, b"")

    async def ask(self, path: str, body: object = None, **headers: str) -> Answer:
        async with asyncio.timeout(_PATIENCE):
            await self.send(path, body, **headers)
            answer = await self.head()
            length = int(answer.headers.get("content-length", "0"))
            assert self._reader is not None
            assert length <= _MOST_BYTES
            answer.body = await self._reader.readexactly(length)
            return answer

    async def text_line(self) -> bytes:
        """The next line of an answer that does not end (its chunks' sizes are lines too)."""
        assert self._reader is not None
        return await self._reader.readline()


async def at_once(clients: int, seconds: float, work: Callable[[float, Times], Awaitable[None]]) -> dict[str, float]:
    """So many clients, each on its own connection, until the time is over."""
    times, began = Times(), time.perf_counter()
    await asyncio.gather(*(work(began + seconds, times) for _ in range(clients)))
    return times.figures(time.perf_counter() - began)


async def noted(line: Line, times: Times, path: str, body: object = None, **headers: str) -> Answer:
    began = time.perf_counter()
    answer = await line.ask(path, body, **headers)
    times.took.append((time.perf_counter() - began) * 1000)
    times.refused += answer.status not in {200, 304}
    times.bytes += len(answer.body)
    return answer


async def lists(port: int, *, clients: int, seconds: float, path: str, every: float) -> dict[str, float]:
    """The same list again and again: at once when it came (`every` 0), or each client so many seconds apart."""
    started = iter(range(clients))

    async def one(end: float, times: Times) -> None:
        await asyncio.sleep(every * next(started) / clients)
        async with Line(port) as line:
            while (began := time.perf_counter()) < end:
                await noted(line, times, path)
                await asyncio.sleep(max(0.0, began + every - time.perf_counter()) if every else 0)

    return await at_once(clients, seconds, one)


async def pages(port: int, *, clients: int, seconds: float, path: str, every: float) -> dict[str, float]:
    """Each client reads a list to its end by the cursors that it is given, and begins anew."""
    started = iter(range(clients))

    async def one(end: float, times: Times) -> None:
        await asyncio.sleep(every * next(started) / clients)
        cursor = ""
        async with Line(port) as line:
            while (began := time.perf_counter()) < end:
                answer = await noted(line, times, f"{path}&cursor={cursor}" if cursor else path)
                cursor = answer.headers.get("x-next-cursor", "")
                await asyncio.sleep(max(0.0, began + every - time.perf_counter()) if every else 0)

    return await at_once(clients, seconds, one)


async def acknowledge(port: int, *, clients: int, count: int) -> dict[str, float]:
    """So many findings acknowledged, each by one of the clients."""
    ids: list[str] = []
    async with Line(port) as line:
        cursor = ""
        while len(ids) < count:
            page = await line.ask(f"{FINDINGS}?state=active&limit=500&cursor={cursor}")
            ids += [each["id"] for each in json.loads(page.body) if each["acknowledged_at"] is None]
            cursor = page.headers.get("x-next-cursor", "")
            if not cursor:
                break
    remaining = iter(ids[:count])

    async def one(_end: float, times: Times) -> None:
        async with Line(port) as line:
            for finding_id in remaining:
                await noted(line, times, "/api/ai/patrol/acknowledge", {"finding_id": finding_id})

    return await at_once(clients, math.inf, one)


async def health(port: int, *, seconds: float, run: bool) -> dict[str, float]:
    """How late the loop of the daemon is: what it does is next to nothing, so what it takes is waiting for the loop.

    `run`: while a run is under way, until that is over.
    """
    times, began = Times(), time.perf_counter()
    async with Line(port) as line, Line(port) as other:
        run_id = await started_run(other) if run else ""
        looked_at = began
        while True:
            await noted(line, times, "/healthz")
            now = time.perf_counter()
            if run and now - looked_at > 0.25:
                looked_at = now
                if await has_ended(other, run_id):
                    break
            if now - began > (_PATIENCE if run else seconds):
                break
            await asyncio.sleep(0.01)
    return times.figures(time.perf_counter() - began)


async def started_run(line: Line) -> str:
    answer = await line.ask("/api/ai/patrol/run", {})
    assert answer.status in {200, 202}, answer.body[:500]
    return str(json.loads(answer.body)["run_id"])


async def has_ended(line: Line, run_id: str) -> bool:
    answer = await line.ask(f"/api/ai/patrol/runs/{run_id}")
    return answer.status == 200 and json.loads(answer.body)["status"] not in {"queued", "running"}


async def streams(port: int, *, clients: int) -> dict[str, float]:
    """So many listeners held open; then one run, and how late each of them hears each event of it."""
    late: list[float] = []
    heard: list[int] = []
    lines = [Line(port) for _ in range(clients)]

    async def listen(line: Line) -> None:
        await line.__aenter__()
        await line.send("/api/ai/patrol/stream", Accept="text/event-stream")
        head = await line.head()
        assert head.status == 200, head.status

    async def follow(line: Line) -> None:
        count = 0
        while text := await line.text_line():
            if text.startswith(b"data: "):
                now, event = time.time() * 1000, json.loads(text[6:])
                late.append(now - event["ts_ms"])
                count += 1
                if event["type"] in {"complete", "error"}:
                    break
        heard.append(count)

    for start in range(0, clients, 50):
        await asyncio.gather(*(listen(line) for line in lines[start : start + 50]))
    print(json.dumps({"listening": clients}), flush=True)  # noqa: T201 - what the parent waits for
    await asyncio.to_thread(sys.stdin.readline)
    async with asyncio.timeout(_PATIENCE):
        following = [asyncio.create_task(follow(line)) for line in lines]
        async with Line(port) as line:
            await started_run(line)
        await asyncio.gather(*following)
    for line in lines:
        await line.__aexit__()
    return {
        "listeners": clients,
        "events_each": min(heard),
        "events_most": max(heard),
        "p50": percentile(late, 0.50),
        "p99": percentile(late, 0.99),
        "most": max(late),
    }


TASKS: dict[str, Callable[..., Awaitable[dict[str, float]]]] = {
    "lists": lists,
    "pages": pages,
    "acknowledge": acknowledge,
    "health": health,
    "streams": streams,
}


def main() -> None:
    """Carries one task out."""
    port, task, *given = sys.argv[1:]
    values = {name: json.loads(value) for name, _, value in (each.partition("=") for each in given)}
    figures = asyncio.run(TASKS[task](int(port), **values))
    used = os.times()
    print(json.dumps({**figures, "client_cpu_seconds": used.user + used.system}))  # noqa: T201


if __name__ == "__main__":
    main()
