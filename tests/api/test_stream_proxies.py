"""A stream through proxies that collect what they pass on: events in time where they let them, and always the end."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from patrol.api.live.hub import LiveRun, Pace
from patrol.cli.daemon_call import DaemonPlace
from patrol.daemon.serving import HttpServer, listen
from patrol.run.record_model import RunStatus
from patrol.settings.interface import parse_listen
from tests.api.builders import House
from tests.api.filled import Filled
from tests.api.proxies import NGINX, holding, nginx

PATH = "/api/ai/patrol/stream?run_id=r1"
AT_ONCE_SECONDS = 4.0
"""More than a busy machine needs, and less than a server keeps a connection for the next request (5 s)."""


@contextmanager
def serving(house: House) -> Iterator[int]:
    """The port of a server as the daemon has it."""
    sockets = listen(parse_listen("127.0.0.1:0"))
    started, over = threading.Event(), threading.Event()

    async def life() -> None:
        server = HttpServer(house.app, sockets)
        await server.start()
        started.set()
        await asyncio.to_thread(over.wait)
        house.stream.close()
        assert await server.stop(20)

    thread = threading.Thread(target=asyncio.run, args=(life(),))
    thread.start()
    try:
        assert started.wait(30)
        yield sockets[0].getsockname()[1]
    finally:
        over.set()
        thread.join()


PROXIES = ["nginx", 4_096, 16_384]


@pytest.fixture(params=PROXIES)
def place(request: pytest.FixtureRequest, api: Filled, tmp_path: Path) -> Iterator[DaemonPlace]:
    """The server behind a proxy."""
    token = api.headers["Authorization"].removeprefix("Bearer ")
    with ExitStack() as stack:
        if request.param == "nginx" and NGINX is None:
            pytest.skip("no nginx is installed (Debian: apt install nginx-light)")
        port = stack.enter_context(serving(api.house))
        if request.param == "nginx":
            yield DaemonPlace(socket_path=stack.enter_context(nginx(tmp_path, port)), token=token)
        else:
            front = stack.enter_context(holding(port, request.param))
            yield DaemonPlace(url=f"http://127.0.0.1:{front}", token=token)


class Following:
    """Reads a stream in a thread. `heard`: types of events with the instants at which they came."""

    def __init__(self, place: DaemonPlace, last: str = "") -> None:
        self.heard: list[tuple[str, str, float]] = []
        self._thread = threading.Thread(target=self._read, args=(place, last))
        self._thread.start()

    def _read(self, place: DaemonPlace, last: str) -> None:
        for event_id, event in place.events(PATH, last):
            self.heard.append((event["type"], event_id, time.monotonic()))

    def ends(self) -> list[str]:
        """The types of all events, at the end of the stream."""
        self._thread.join(AT_ONCE_SECONDS)
        assert not self._thread.is_alive()
        return [kind for kind, _, _ in self.heard]

    def hears(self, kind: str) -> bool:
        until = time.monotonic() + AT_ONCE_SECONDS
        while time.monotonic() < until:
            if kind in [each for each, _, _ in self.heard]:
                return True
            time.sleep(0.01)
        return False


def wait_for_listeners(house: House, count: int = 1) -> None:
    until = time.monotonic() + 20
    while house.stream.listeners < count:
        assert time.monotonic() < until
        time.sleep(0.01)


def completed(api: Filled, live: LiveRun) -> None:
    live.complete("healthy", "all clear")


def failed(api: Filled, live: LiveRun) -> None:
    live.fail("error", "OSError: no")


def recorded(status: RunStatus) -> Callable[[Filled, LiveRun], None]:
    """Its end is only a record: it was given up in the queue, taken over, or closed by another process."""

    def end(api: Filled, live: LiveRun) -> None:
        api.house.stream.pace = Pace(heartbeat=0.05, look_up=0.05)
        api.ran("r1", status=status, error_summary="why")

    return end


@pytest.mark.parametrize(
    ("end", "last"),
    [
        (completed, "complete"),
        (failed, "error"),
        (recorded(RunStatus.CRASHED), "error"),
        (recorded(RunStatus.CANCELLED), "error"),
        (recorded(RunStatus.DROPPED), "error"),
    ],
    ids=["complete", "error", "crashed elsewhere", "cancelled elsewhere", "dropped"],
)
def test_the_last_event_comes_however_the_run_ends(
    place: DaemonPlace, api: Filled, end: Callable[[Filled, LiveRun], None], last: str
) -> None:
    api.house.stream.pace = Pace(heartbeat=0.05, look_up=0.05)
    live = api.house.stream.begin("r1")
    following = Following(place)
    wait_for_listeners(api.house)
    live.text("looks fine")
    end(api, live)
    kinds = following.ends()
    assert kinds[-1] == last
    assert kinds.count(last) == 1


def test_a_stream_that_is_taken_up_again_goes_on_where_it_was(place: DaemonPlace, api: Filled) -> None:
    live = api.house.stream.begin("r1")
    for number in range(40):
        live.tool_started(f"c{number}", "pulse_query", {"text": "x" * 1_000})
    stream = place.events(PATH, "r1:2")
    first = [next(stream)[0] for _ in range(5)]
    stream.close()  # type: ignore[attr-defined]  # it is a generator
    live.complete("healthy", "all clear")
    following = Following(place, first[-1])
    following.ends()
    assert first == [f"r1:{number}" for number in range(3, 8)]
    assert [event_id for _, event_id, _ in following.heard] == [f"r1:{number}" for number in range(8, 44)]


@pytest.mark.parametrize("place", ["nginx"], indirect=True)
def test_events_come_at_once_through_a_real_proxy_as_it_is_set_up_by_default(place: DaemonPlace, api: Filled) -> None:
    live = api.house.stream.begin("r1")
    following = Following(place)
    assert following.hears("snapshot")
    live.text("looks fine")
    assert following.hears("content")
    live.tool_started("c1", "pulse_query", {})
    assert following.hears("tool_start")
    live.complete("healthy", "all clear")
    assert following.ends() == ["snapshot", "content", "tool_start", "complete"]
