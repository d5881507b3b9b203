"""Runs followed live: every listener hears every event once, in order, or is told where things stand; then the end."""

import asyncio
import itertools
import json
import threading
import time
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patrol.accounts.model import Scope
from patrol.accounts.users import UserStore
from patrol.api.live.events import BUFFERED, CUT, NAME_BYTES, TAIL_BYTES, TEXT_BYTES, Event, cut
from patrol.api.live.hub import AT_ONCE, REMEMBERED, REMEMBERED_RUNS, LastHeard, Listener, Pace, RunFeed, StreamHub
from patrol.api.live.wire import CONNECTED, encode, parse_last
from patrol.run.record_model import RunRecord, RunStatus
from tests.api.builders import START, House, basic, bearer
from tests.api.filled import Filled

ORG = "default"
BEGINNING = ["phase", "start"]


def hub() -> StreamHub:
    return StreamHub(lambda: START)


def run_of(run_id: str = "r1", status: RunStatus = RunStatus.RUNNING, **more: Any) -> RunRecord:
    return RunRecord(org_id=ORG, id=run_id, trigger_reason="manual", status=status, started_at=START, **more)


def awaited(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return asyncio.run(work())


async def all_of(listener: Listener) -> list[Event]:
    found: list[Event] = []
    while events := await listener.next(0.01):
        found.extend(events)
    return found


def types(events: list[Event]) -> list[str]:
    return [str(event["type"]) for event in events]


def heard(hub: StreamHub, *, run_id: str = "", last: LastHeard | None = None, org_id: str = ORG) -> list[Event]:
    """What somebody hears who comes now."""

    async def work() -> list[Event]:
        with hub.listen(org_id, run_id=run_id, last=last) as listener:
            return await all_of(listener)

    return awaited(work)


# --- what is told ---


def test_a_run_tells_its_stages_its_words_its_calls_and_its_end_in_order() -> None:
    async def work() -> list[Event]:
        told = hub()
        with told.listen() as listener:
            live = told.begin("r1")
            live.progress("collect", "pve1")
            live.text("looks fine")
            live.tool_started("c1", "pulse_query", {"action": "list"})
            live.tool_ended("c1", "pulse_query", {"total": 1}, success=True)
            live.finding_rejected("no evidence")
            live.complete("healthy", "all clear")
            live.fail("error", "too late to fail")
            live.text("and too late for words")
            return await all_of(listener)

    events = awaited(work)
    assert types(events) == [*BEGINNING, "phase", "content", "tool_start", "tool_end", "finding_rejected", "complete"]
    assert [event["seq"] for event in events] == list(range(1, 9))
    assert events[-1]["status"] == "healthy"
    start, end = events[4:6]
    assert (start["tool_id"], start["tool_name"], start["tool_input"]) == ("c1", "pulse_query", '{"action":"list"}')
    assert (end["tool_id"], end["tool_output"], end["tool_success"]) == ("c1", '{"total":1}', True)


@pytest.mark.parametrize(
    ("status", "last"),
    [
        (RunStatus.HEALTHY, "complete"),
        (RunStatus.CRITICAL, "complete"),
        (RunStatus.INCOMPLETE, "complete"),
        (RunStatus.TIMED_OUT, "complete"),
        (RunStatus.CANCELLED, "error"),
        (RunStatus.CRASHED, "error"),
        (RunStatus.ERROR, "error"),
        (RunStatus.DROPPED, "error"),
        (RunStatus.SKIPPED, "error"),
    ],
)
@pytest.mark.parametrize("begins", [True, False])
def test_however_a_run_ends_it_has_a_last_event(status: RunStatus, last: str, begins: bool) -> None:
    told = hub()
    feed = RunFeed(told)
    if begins:
        feed.run_began(run_of())
    feed.run_ended(run_of(status=status, error_summary="why"), None)
    feed.run_ended(run_of(status=status), None)
    events = heard(told, run_id="r1")
    assert types(events) == ["snapshot", last]
    assert (events[-1]["status"], events[-1]["content"]) == (status, "why")


# --- coming late, coming back ---


def told_run(count: int, *, ended: bool = False) -> StreamHub:
    """A run that has told so many events."""
    told = hub()
    live = told.begin("r1")
    for number in range(count - 2 - ended):
        live.text(f"{number} ")
    if ended:
        live.complete("healthy", "all clear")
    return told


def test_who_comes_late_is_told_where_things_stand() -> None:
    told = told_run(5)
    told.begin("r1").progress("detect", "checks")
    live = told.begin("r1")
    live.tool_started("c1", "pulse_storage", {})
    live.tool_started("c2", "pulse_query", {})
    live.tool_ended("c2", "pulse_query", {}, success=True)
    [snapshot] = heard(told)
    assert (snapshot["resync_reason"], snapshot["seq"]) == ("late_joiner", 9)
    assert (snapshot["phase"], snapshot["tool_name"], snapshot["content"]) == ("detect", "pulse_storage", "0 1 2 ")
    live.progress("sweep", "a bound ended the call")
    [snapshot] = heard(told)
    assert "tool_name" not in snapshot


@pytest.mark.parametrize(
    ("rule", "count", "last", "expected", "reason"),
    [
        ("nothing missed", 10, LastHeard("r1", 10), [], None),
        ("a few missed", 10, LastHeard("r1", 7), [8, 9, 10], None),
        ("as many as are remembered", BUFFERED + 5, LastHeard("r1", 5), list(range(6, BUFFERED + 6)), None),
        ("one more than that", BUFFERED + 5, LastHeard("r1", 4), [BUFFERED + 5], "buffer_rotated"),
        ("a number that never was", 10, LastHeard("r1", 99), [10], "stale_last_event_id"),
        ("of a run that nobody knows", 10, LastHeard("r0", 3), [10], "stale_last_event_id"),
        ("of any run", 10, LastHeard("", 3), [10], "stale_last_event_id"),
    ],
)
def test_who_comes_back_hears_what_was_missed(
    rule: str, count: int, last: LastHeard, expected: list[int], reason: str | None
) -> None:
    events = heard(told_run(count), last=last)
    assert [event["seq"] for event in events] == expected, rule
    assert [event.get("resync_reason") for event in events if event["type"] == "snapshot"] == [reason] * bool(reason)


def test_the_number_of_one_run_means_nothing_in_the_next() -> None:
    told = told_run(9, ended=True)
    told.begin("r2").text("another")
    events = heard(told, last=LastHeard("r1", 8))
    assert [(event["run_id"], event["type"]) for event in events] == [("r1", "complete"), ("r2", "snapshot")]


def test_who_comes_back_after_the_end_hears_the_end() -> None:
    told = told_run(9, ended=True)
    assert types(heard(told, last=LastHeard("r1", 8))) == ["complete"]
    assert types(heard(told, run_id="r1")) == ["snapshot", "complete"]
    assert heard(told) == []


def test_a_run_that_begins_while_somebody_listens_is_heard_whole() -> None:
    async def work() -> list[Event]:
        told = hub()
        with told.listen(run_id="r1") as listener:
            assert await listener.next(0.01) == []
            told.begin("r1").text("a")
            told.begin("r2").text("b")
            return await all_of(listener)

    events = awaited(work)
    assert [(event["run_id"], event["type"]) for event in events] == [
        ("r1", "phase"),
        ("r1", "start"),
        ("r1", "content"),
    ]


def test_other_organisations_hear_nothing() -> None:
    assert heard(told_run(5), org_id="elsewhere") == []


STEPS = st.lists(st.one_of(st.integers(1, 90), st.just(0)), min_size=1, max_size=12)


@given(STEPS)
def test_whoever_comes_and_goes_hears_each_event_once_or_a_snapshot_in_its_place(steps: list[int]) -> None:
    """A step of 0: the listener goes and comes back; else so many events are told."""

    async def work() -> None:
        told = hub()
        live = told.begin("r1")
        last, seqs = None, []
        for step in steps:
            for _ in range(step):
                live.text("x")
            if step:
                continue
            with told.listen(run_id="r1", last=last) as listener:
                for event in await all_of(listener):
                    seqs.append((event["seq"], event["type"] == "snapshot"))
                    last = LastHeard("r1", event["seq"])
        for (before, _), (seq, is_snapshot) in itertools.pairwise(seqs):
            assert seq > before
            assert is_snapshot or seq == before + 1

    awaited(work)


# --- what is not told ---

SECRET = "tango-whiskey-7"


def tool_event(document: object) -> Event:
    """The event of a call that was answered so, where a secret is configured."""
    told = StreamHub(lambda: START, secrets=lambda: [SECRET])
    live = told.begin("r1")
    live.tool_ended("c1", "pulse_query", document, success=True)
    [event] = heard(told, last=LastHeard("r1", 2))
    return event


@pytest.mark.parametrize(
    ("document", "shown"),
    [
        ({"detail": f"login as me:{SECRET} failed"}, '{"detail":"login as me:[redacted] failed"}'),
        ({"url": "https://me:pw@nas/share"}, '{"url":"https://[redacted]@nas/share"}'),
        ({"raw": {"password": "hunter2"}}, '{"raw":{"password":"[redacted]"}}'),
        ({"line": "--api-key=abcdef123 --x"}, '{"line":"--api-key=[redacted] --x"}'),
        ({"note": "Bearer abcdefgh12345"}, '{"note":"Bearer [redacted]"}'),
        ({"key": "high_disk"}, '{"key":"high_disk"}'),
        ({"id": "vm:lab:101", "state": "läuft"}, '{"id":"vm:lab:101","state":"läuft"}'),
        ({1: {2}}, '{"1":"{2}"}'),
    ],
)
def test_no_secret_is_told_of_what_goes_into_a_tool_or_comes_out(document: object, shown: str) -> None:
    assert tool_event(document)["tool_output"] == shown
    told = StreamHub(lambda: START, secrets=lambda: [SECRET])
    told.begin("r1").tool_started("c1", "pulse_query", document)
    told.begin("r1").finding_rejected(f"not_found: {SECRET}")
    start, rejected = heard(told, last=LastHeard("r1", 2))
    assert (start["tool_input"], rejected["content"]) == (shown, "not_found: [redacted]")


@given(st.integers(TEXT_BYTES - 60, TEXT_BYTES + 60), st.sampled_from([0, 10, 5_000, 60_000]))
def test_no_part_of_a_secret_is_left_where_a_text_is_cut(before: int, after: int) -> None:
    shown = tool_event({"detail": "x " * (before // 2) + SECRET + " y" * after})["tool_output"]
    assert "tango" not in shown
    assert len(shown.encode()) <= TEXT_BYTES


@pytest.mark.parametrize("length", [50, 1_000, 3_000])
def test_a_text_full_of_long_secrets_shows_no_part_of_one(length: int) -> None:
    told = StreamHub(lambda: START, secrets=lambda: ["q" * length])
    told.begin("r1").tool_ended("c1", "pulse_query", {"detail": f"{'q' * length} " * 400}, success=True)
    [event] = heard(told, last=LastHeard("r1", 2))
    assert "qq" not in event["tool_output"]
    assert event["tool_output"].endswith(CUT)


def test_a_document_that_cannot_be_shown_costs_nothing() -> None:
    endless: dict[str, object] = {}
    endless["self"] = endless
    assert tool_event(endless)["tool_output"] == "cannot be shown: ValueError"


# --- bounds ---


def test_no_word_of_a_long_answer_is_cut_off() -> None:
    told, text = hub(), "".join(f"{number} ä " for number in range(4_000))
    told.begin("r1").text(text)
    events = heard(told, last=LastHeard("r1", 2))
    assert "".join(event["content"] for event in events) == text
    assert all(len(event["content"].encode()) <= TEXT_BYTES for event in events)


def test_the_name_of_a_tool_is_what_a_model_says_and_is_cut() -> None:
    told = hub()
    told.begin("r1").tool_started("c1", "x" * 100_000, {})
    [event] = heard(told, last=LastHeard("r1", 2))
    assert len(event["tool_name"]) == NAME_BYTES
    [snapshot] = heard(told)
    assert snapshot["tool_name"] == event["tool_name"]


def test_a_listener_holds_little_of_what_it_has_not_sent_yet() -> None:
    async def work() -> None:
        told = told_run(100)
        with told.listen(run_id="r1", last=LastHeard("r1", 1)) as listener:
            seqs = []
            while events := await listener.next(0.01):
                assert len(events) <= AT_ONCE
                seqs.extend(event["seq"] for event in events)
            assert seqs == list(range(2, 101))

    awaited(work)


def test_who_listens_to_one_run_is_not_woken_by_another() -> None:
    async def work() -> None:
        told = hub()
        with told.listen(run_id="r1") as listener:
            waiting = asyncio.create_task(listener.next(0.05))
            await asyncio.sleep(0)
            began = time.monotonic()
            told.begin("r2").text("x")
            assert await waiting == []
            assert time.monotonic() - began >= 0.04

    awaited(work)


def test_texts_are_cut_at_characters() -> None:
    text = "ä" * TEXT_BYTES
    shown = cut(text)
    assert shown.endswith(CUT)
    assert len(shown.encode()) <= TEXT_BYTES
    assert shown.removesuffix(CUT).strip("ä") == ""
    assert cut("short \ud800") == "short ?"


def test_a_snapshot_shows_the_end_of_a_long_text() -> None:
    told = hub()
    live = told.begin("r1")
    for _ in range(20):
        live.text("ä" * 4_000)
    [snapshot] = heard(told)
    assert snapshot["content_truncated"] is True
    assert len(snapshot["content"].encode()) <= TAIL_BYTES
    assert snapshot["content"].strip("ä") == ""


def test_what_is_remembered_is_bounded() -> None:
    now = START
    told = StreamHub(lambda: now)
    for number in range(REMEMBERED_RUNS * 3):
        told.end(run_of(f"r{number}", RunStatus.HEALTHY))
    assert sum(told.knows(f"r{number}") for number in range(REMEMBERED_RUNS * 3)) <= REMEMBERED_RUNS + 1
    now += REMEMBERED + timedelta(seconds=1)
    told.begin("new")
    assert not told.knows(f"r{REMEMBERED_RUNS * 3 - 1}")


def test_five_hundred_listeners_are_woken_by_threads_and_leave_nothing_behind() -> None:
    told = hub()

    async def one() -> int:
        count = 0
        with told.listen(run_id="r1") as listener:
            while True:
                for event in await listener.next(5):
                    count += 1
                    if event["type"] == "complete":
                        return count

    async def work() -> list[int]:
        tasks = [asyncio.create_task(one()) for _ in range(500)]
        await asyncio.sleep(0)  # each of them comes as far as to wait
        assert told.listeners == 500
        thread = threading.Thread(target=publish)
        thread.start()
        counts = await asyncio.gather(*tasks)
        thread.join()
        return counts

    def publish() -> None:
        live = told.begin("r1")
        for _ in range(50):
            live.text("x")
        live.complete("healthy", "")

    assert set(awaited(work)) == {53}
    assert told.listeners == 0


def test_closing_ends_every_listening() -> None:
    async def work() -> None:
        told = hub()
        with told.listen() as listener:
            waiting = asyncio.create_task(listener.next(30))
            await asyncio.sleep(0)
            told.close()
            told.close()
            assert await waiting == []
            assert listener.is_over

    awaited(work)


# --- over the wire ---


def test_an_event_on_the_wire() -> None:
    line = encode({"run_id": "r1", "seq": 3, "ts_ms": 1, "type": "content", "content": "a\nb"})
    assert line == b'id: r1:3\ndata: {"run_id":"r1","seq":3,"ts_ms":1,"type":"content","content":"a\\nb"}\n\n'


@pytest.mark.parametrize(
    ("text", "run_id", "last"),
    [
        ("", "r1", None),
        ("r1:3", "", LastHeard("r1", 3)),
        ("3", "r1", LastHeard("r1", 3)),
        ("3", "", LastHeard("", 3)),
        ("a:b:7", "", LastHeard("a:b", 7)),
        ("r1:-1", "", LastHeard("", 0)),
        ("r1:9999999999999999999", "", LastHeard("", 0)),
        ("junk", "r1", LastHeard("", 0)),
        ("r1:٣", "", LastHeard("", 0)),
    ],
)
def test_the_last_event_id(text: str, run_id: str, last: LastHeard | None) -> None:
    assert parse_last(text, run_id) == last


def events_of(body: bytes) -> list[dict[str, Any]]:
    blocks = body.decode().split("\n\n")
    return [json.loads(line[6:]) for block in blocks for line in block.splitlines() if line.startswith("data: ")]


STREAM = "/api/ai/patrol/stream"


def test_a_stream_of_one_run_ends_with_it_and_no_proxy_holds_it_back(api: Filled) -> None:
    live = api.house.stream.begin("r1")
    live.text("fine")
    live.complete("healthy", "all clear")
    answer = api.get(STREAM, params={"run_id": "r1"}, headers={"Last-Event-ID": "r1:2"})
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert (answer.headers["x-accel-buffering"], "no-store" in answer.headers["cache-control"]) == ("no", True)
    assert answer.headers["connection"] == "close"
    assert answer.content.startswith(CONNECTED)
    assert [event["type"] for event in events_of(answer.content)] == ["content", "complete"]
    again = api.get(STREAM, params={"run_id": "r1", "seq": "3"})
    assert [event["type"] for event in events_of(again.content)] == ["complete"]


QUICK = Pace(heartbeat=0.01, look_up=0.01, check=0.01)


def test_a_run_that_ended_elsewhere_has_its_last_event_too(api: Filled) -> None:
    api.house.stream.pace = QUICK
    api.ran("r1", status=RunStatus.CRASHED, error_summary="the process ended")
    [event] = events_of(api.get(STREAM, params={"run_id": "r1"}).content)
    assert (event["type"], event["status"], event["content"]) == ("error", "crashed", "the process ended")


def test_a_run_that_another_process_was_given_and_ended_does_not_leave_its_listeners_waiting(api: Filled) -> None:
    api.house.stream.pace = QUICK
    api.house.stream.begin("r1").text("under way here")
    api.ran("r1", status=RunStatus.CRASHED, error_summary="its lease was over")
    events = events_of(api.get(STREAM, params={"run_id": "r1"}, headers={"Last-Event-ID": "r1:2"}).content)
    assert [(event["type"], event["seq"]) for event in events] == [("content", 3), ("error", 4)]


def test_the_last_event_after_a_restart_follows_on_what_was_heard_before(api: Filled) -> None:
    api.house.stream.pace = QUICK
    api.ran("r1", status=RunStatus.CANCELLED, error_summary="Patrol was stopped")
    [event] = events_of(api.get(STREAM, params={"run_id": "r1"}, headers={"Last-Event-ID": "r1:57"}).content)
    assert (event["type"], event["seq"]) == ("error", 58)


def test_a_run_that_nobody_knows_has_no_stream(api: Filled) -> None:
    assert api.get(STREAM, params={"run_id": "nobody"}).json()["code"] == "run_not_found"


async def followed(house: House, headers: dict[str, str], until: Callable[[list[bytes]], bool]) -> list[bytes]:
    """Follows all runs as a server does it, and vanishes."""
    chunks: list[bytes] = []
    gone = asyncio.Event()

    async def receive() -> dict[str, Any]:
        if not asked.is_set():
            asked.set()
            return {"type": "http.request", "body": b"", "more_body": False}
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        chunks.append(message.get("body", b""))
        if until(chunks):
            gone.set()

    asked = asyncio.Event()
    raw = [(name.lower().encode(), value.encode()) for name, value in {"Host": "192.0.2.1:7667", **headers}.items()]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": STREAM,
        "raw_path": STREAM.encode(),
        "query_string": b"",
        "headers": raw,
        "client": ("203.0.113.9", 4711),
        "server": ("192.0.2.1", 7667),
    }
    async with asyncio.timeout(10):
        await house.app(scope, receive, send)
    return chunks


def test_who_vanishes_leaves_nothing_behind(api: Filled) -> None:
    house = api.house
    house.stream.begin("r1")
    awaited(lambda: followed(house, api.headers, lambda chunks: b"snapshot" in b"".join(chunks)))
    assert house.stream.listeners == 0


def test_signs_of_life_while_nothing_happens(api: Filled) -> None:
    api.house.stream.pace = QUICK
    chunks = awaited(lambda: followed(api.house, api.headers, lambda chunks: b"ping" in b"".join(chunks)))
    assert b": ping " in b"".join(chunks)


def test_who_is_shut_out_does_not_hear_on(api: Filled) -> None:
    house = api.house
    house.stream.pace = QUICK
    token = house.token(Scope.AI_EXECUTE, expires_at=START + timedelta(minutes=1))

    def until(chunks: list[bytes]) -> bool:
        if b"ping" in b"".join(chunks):
            house.now = START + timedelta(minutes=2)
        return False

    awaited(lambda: followed(house, bearer(token), until))  # ends by itself
    assert house.stream.listeners == 0


def test_who_is_removed_does_not_hear_on_by_a_password(api: Filled) -> None:
    house = api.house
    house.stream.pace = QUICK
    house.user("ann", administrator=True)

    def until(chunks: list[bytes]) -> bool:
        if b"ping" in b"".join(chunks):
            house.database.transact(lambda each: UserStore(each).remove("ann", now=house.now, author="me"))
            chunks.clear()
        return False

    awaited(lambda: followed(house, basic("ann"), until))
    assert house.stream.listeners == 0
