"""A model server for tests: real HTTP on a free port, both wire formats, every fault on demand.

It speaks OpenAI's chat completions (`server.openai_url`, also what Ollama speaks) and Anthropic's messages
(`server.anthropic_url`), streamed and not, as the request asks for. A script says what comes back:

    def script(ask: Ask) -> Answer:
        if ask.turn == 0:
            return Say("Looking.", calls=(Call("patrol_read", {"resource_id": "vm:lab:101"}),))
        return Say("All is well.")

    with ModelServer(script) as server:
        provider = open_provider(ModelSection(name="openai:test-model", base_url=server.openai_url))
        ...
    assert server.asks[0].tool_names == ["patrol_read"]

`in_turn(a, b, c)` is a script that gives one answer after the other and stays with the last one. An answer is

- `Say`: text, thinking and calls of tools. `usage=None` reports none, `usage=(in, out)` reports these tokens,
  `finish` is the reason in the wire format's words, `pause_seconds` waits before each piece (a slow drip);
- `Status(code, ...)`: a refusal, such as `Status(429, retry_after="7")`; `REFUSALS` names the usual ones;
- `Raw(body, content_type)`: these very bytes with status 200, such as an HTML page or a recorded answer;
- `Break(at, how, say)`: begins to say something, then closes, resets or says nothing more, at a `Point`.

`closed_port()` is an address where nobody listens. `server.asks` holds every request in order of arrival;
`server.pages` are further answers by path (lists of models, Ollama's own interface).
All of it runs in one thread with a loop of its own: starting and stopping takes about a millisecond, and
stopping ends what hangs. A script runs in that thread: it must not block.
"""

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import TracebackType
from typing import Any, Self

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool. `arguments`: an object, or text that is sent as it stands, however broken."""

    name: str
    arguments: object = field(default_factory=dict)
    id: str | None = "call-of-the-server"


@dataclass(frozen=True, slots=True)
class Say:
    """A good answer. `usage` (input, output) in tokens: "auto" counts a quarter of the bytes, None says nothing."""

    text: str = ""
    calls: Sequence[Call] = ()
    thinking: str = ""
    finish: str | None = "auto"
    usage: tuple[object, object] | str | None = "auto"
    cached: int = 0
    pieces: int = 3
    pause_seconds: float = 0.0
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """A refusal. `body`: JSON, or text that is sent as HTML."""

    code: int
    body: Json | str | None = None
    retry_after: str | None = None


@dataclass(frozen=True, slots=True)
class Raw:
    """These bytes, with status 200."""

    body: bytes
    content_type: str = "application/json"


class Point(StrEnum):
    """Where a conversation can break."""

    REQUEST = "request"  # the request was read, no byte comes back
    HEADERS = "headers"  # status and headers came, no byte of the answer
    FIRST = "first"  # the first piece came
    MIDDLE = "middle"  # half of the pieces came
    HALF_CHUNK = "half_chunk"  # half of the pieces and half of the next one
    END = "end"  # all but the reason for the end and what follows it


class How(StrEnum):
    """What happens there."""

    CLOSE = "close"  # the connection ends, mid-transfer
    FINISH = "finish"  # the transfer ends properly, as if all had been said
    RESET = "reset"
    HANG = "hang"


@dataclass(frozen=True, slots=True)
class Break:
    """Begins to say `say`, and stops at a point."""

    at: Point
    how: How = How.CLOSE
    say: Say = Say("A sentence that is long enough to be cut into pieces.")


Answer = Say | Status | Raw | Break

HTML = Raw(b"<!DOCTYPE html><html><head><title>Sign in</title></head><body>Sign in</body></html>", "text/html")

REFUSALS: Mapping[str, Status] = {
    "auth": Status(401, {"error": {"message": "Incorrect API key provided: sk-live-abcdefgh", "type": "auth"}}),
    "forbidden": Status(403, {"error": {"message": "Your key may not use this project.", "type": "forbidden"}}),
    "billing": Status(402, {"error": {"message": "Payment required.", "code": 402}}),
    "quota": Status(429, {"error": {"message": "You exceeded your current quota.", "code": "insufficient_quota"}}),
    "no model": Status(404, {"error": {"message": "The model `nope` does not exist.", "code": "model_not_found"}}),
    "no tools": Status(400, {"error": {"message": "registry.example/nope does not support tools", "type": "api"}}),
    "no endpoint": Status(404, {"error": {"message": "No endpoints found that support tool use.", "code": 404}}),
    "too long": Status(
        400,
        {
            "error": {
                "message": "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
                "code": "context_length_exceeded",
            }
        },
    ),
    "rate": Status(429, {"error": {"message": "Too many requests.", "type": "rate_limit_error"}}, retry_after="1"),
    "rate for an hour": Status(429, {"error": {"message": "Too many requests."}}, retry_after="3600"),
    "broken": Status(500, {"error": {"message": "The server had an error.", "type": "server_error"}}),
    "bad gateway": Status(502, "<html><body><h1>502 Bad Gateway</h1></body></html>"),
    "unavailable": Status(503, {"error": {"message": "Loading model", "type": "unavailable_error"}}),
    "overloaded": Status(529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
}


@dataclass(frozen=True, slots=True)
class Ask:
    """One request for an answer, as it arrived. `turn`: how often the model has spoken in its history."""

    path: str
    headers: Mapping[str, str]
    body: Json

    @property
    def anthropic(self) -> bool:
        return self.path.partition("?")[0].endswith("/messages")

    @property
    def stream(self) -> bool:
        return bool(self.body.get("stream"))

    @property
    def model(self) -> str:
        return str(self.body.get("model", ""))

    @property
    def messages(self) -> list[Json]:
        return list(self.body.get("messages", ()))

    @property
    def turn(self) -> int:
        return sum(1 for message in self.messages if message.get("role") == "assistant")

    @property
    def tool_names(self) -> list[str]:
        return [str(tool.get("name") or tool.get("function", {}).get("name")) for tool in self.body.get("tools", ())]

    @property
    def results(self) -> dict[str, str]:
        """The tools' answers by the id of their call."""
        if not self.anthropic:
            return {one["tool_call_id"]: _text(one["content"]) for one in self.messages if one["role"] == "tool"}
        blocks = [block for one in self.messages if isinstance(one["content"], list) for block in one["content"]]
        return {one["tool_use_id"]: _text(one["content"]) for one in blocks if one.get("type") == "tool_result"}

    @property
    def text(self) -> str:
        """The whole request as JSON text: what has left the house."""
        return json.dumps(self.body, ensure_ascii=False)


def _text(content: object) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content)
    return str(content)


_MODELS: Json = {"object": "list", "data": [{"id": "test-model"}]}

Script = Callable[[Ask], Answer]


def in_turn(*answers: Answer) -> Script:
    """One answer after the other, the last one again and again."""
    waiting = list(answers)
    return lambda _ask: waiting.pop(0) if len(waiting) > 1 else waiting[0]


def closed_port() -> str:
    """An address on this machine where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}/v1"


class ModelServer:
    """The server, running while it is entered."""

    def __init__(self, script: Script | Answer, *, pages: Mapping[str, Json] | None = None) -> None:
        self.script: Script = script if callable(script) else in_turn(script)
        self.asks: list[Ask] = []
        self.gets: list[str] = []
        self.pages: dict[str, Json] = {
            "/v1/models": {"object": "list", "data": [{"id": "test-model"}]},
            **(pages or {}),
        }
        self.address = ""
        self._ready = threading.Event()
        self._stop: Callable[[], object] = lambda: None
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="model server", daemon=True)

    @property
    def openai_url(self) -> str:
        return f"{self.address}/v1"

    @property
    def anthropic_url(self) -> str:
        return self.address

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()
        self._thread.join()
        if self._failure is not None and error is None:
            raise self._failure

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # noqa: BLE001 - told to the test's thread, which would wait for ever
            self._failure = error
            self._ready.set()

    async def _serve(self) -> None:
        conversations: set[asyncio.Task[None]] = set()

        def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.ensure_future(self._converse(reader, writer))
            conversations.add(task)
            task.add_done_callback(conversations.discard)

        server = await asyncio.start_server(begin, "127.0.0.1", 0, limit=1 << 24)
        self.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        self._stop = lambda: loop.call_soon_threadsafe(stop.set)
        self._ready.set()
        await stop.wait()
        server.close()
        for task in list(conversations):
            task.cancel()
        await asyncio.gather(*conversations, return_exceptions=True)
        await asyncio.sleep(0)  # the transports close in the loop's next round

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client went away, which is its right
        except Exception as error:  # noqa: BLE001 - a fault of the script fails the test, at the end of the server
            self._failure = error
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer; whether the connection stays open."""
        request = await _read(reader)
        if request is None:
            return False
        path, headers, body = request
        plain = path.partition("?")[0]
        if plain in self.pages or not plain.endswith(("/chat/completions", "/messages")):
            self.gets.append(path)
            page = self.pages.get(plain)
            _whole(writer, 200 if page is not None else 404, page if page is not None else {"detail": "Not Found"})
            await writer.drain()
            return True
        ask = Ask(path, headers, json.loads(body))
        self.asks.append(ask)
        return await _answer(writer, ask, self.script(ask))


async def _read(reader: asyncio.StreamReader) -> tuple[str, dict[str, str], bytes] | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines if line)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    return first.split(" ", 2)[1], headers, await reader.readexactly(int(headers.get("content-length", "0")))


async def _answer(writer: asyncio.StreamWriter, ask: Ask, answer: Answer) -> bool:
    match answer:
        case Status():
            _whole(writer, answer.code, answer.body, {"retry-after": answer.retry_after} if answer.retry_after else {})
        case Raw():
            _head(writer, 200, answer.content_type, {"content-length": str(len(answer.body))})
            writer.write(answer.body)
        case Say():
            return await _say(writer, ask, answer, None)
        case Break():
            return await _say(writer, ask, answer.say, answer)
    await writer.drain()
    return True


async def _say(writer: asyncio.StreamWriter, ask: Ask, say: Say, breaking: Break | None) -> bool:
    """Says all of it, or breaks off; whether the connection stays open."""
    if breaking is not None and breaking.at is Point.REQUEST:
        return await _break(writer, breaking.how)
    pieces, tail = pieces_of(ask, say)
    if ask.stream:
        _head(writer, 200, "text/event-stream", {"transfer-encoding": "chunked"})
    else:
        length = sum(len(piece) for piece in (*pieces, *tail))
        _head(writer, 200, "application/json", {"content-length": str(length)})
    sent = [*pieces, *tail] if breaking is None else pieces[: _stop_at(breaking.at, len(pieces))]
    for piece in sent:
        if say.pause_seconds:
            await writer.drain()
            await asyncio.sleep(say.pause_seconds)
        writer.write(_chunk(piece) if ask.stream else piece)
    if breaking is not None:
        if breaking.at is Point.HALF_CHUNK:
            following = (*pieces, *tail)[len(sent)]
            half = following[: len(following) // 2]
            if ask.stream:  # a proper chunk of half a piece where the transfer ends well, else a chunk's first half
                half = _chunk(half) if breaking.how is How.FINISH else _chunk(following)[: len(following) // 2]
            writer.write(half)
        return await _break(writer, breaking.how, chunked=ask.stream)
    if ask.stream:
        writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True


def _stop_at(point: Point, pieces: int) -> int:
    return {Point.HEADERS: 0, Point.FIRST: 1, Point.END: pieces}.get(point, pieces // 2)


async def _break(writer: asyncio.StreamWriter, how: How, *, chunked: bool = False) -> bool:
    match how:
        case How.RESET:
            writer.transport.abort()
        case How.HANG:
            await writer.drain()
            await asyncio.Event().wait()
        case How.FINISH if chunked:
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        case _:
            await writer.drain()
    return False


def _chunk(piece: bytes) -> bytes:
    return f"{len(piece):x}\r\n".encode() + piece + b"\r\n"


def _head(writer: asyncio.StreamWriter, status: int, content_type: str, headers: Mapping[str, str]) -> None:
    lines = [f"HTTP/1.1 {status} Said", f"content-type: {content_type}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    writer.write("\r\n".join((*lines, "", "")).encode())


def _whole(
    writer: asyncio.StreamWriter, status: int, body: Json | str | None, headers: Mapping[str, str] | None = None
) -> None:
    text = body if isinstance(body, str) else json.dumps(body if body is not None else {"error": {"message": "no"}})
    content_type = "text/html" if isinstance(body, str) else "application/json"
    data = text.encode()
    _head(writer, status, content_type, {"content-length": str(len(data)), **(headers or {})})
    writer.write(data)


def pieces_of(ask: Ask, say: Say) -> tuple[list[bytes], list[bytes]]:
    """What is sent, piece by piece: the answer itself, and what ends it."""
    if ask.anthropic:
        return _anthropic_events(ask, say) if ask.stream else _halves(_anthropic_message(ask, say))
    return _openai_chunks(ask, say) if ask.stream else _halves(_openai_message(ask, say))


def _halves(body: Json) -> tuple[list[bytes], list[bytes]]:
    data = json.dumps(body).encode()
    third = len(data) // 3
    return [data[:third], data[third : 2 * third]], [data[2 * third :]]


def _usage(ask: Ask, say: Say) -> tuple[object, object] | None:
    if say.usage == "auto":
        said = say.text + say.thinking + "".join(_arguments(call) or "" for call in say.calls)
        return len(ask.text.encode()) // 4, max(1, len(said.encode()) // 4)
    return say.usage if isinstance(say.usage, tuple) else None


def _arguments(call: Call) -> str | None:
    return call.arguments if isinstance(call.arguments, str | None) else json.dumps(call.arguments)


def _parts(text: str, count: int) -> Iterator[str]:
    size = max(1, -(-len(text) // max(1, count)))
    yield from (text[start : start + size] for start in range(0, len(text), size))


# OpenAI's chat completions


def _openai_finish(say: Say) -> str | None:
    return ("tool_calls" if say.calls else "stop") if say.finish == "auto" else say.finish


def _openai_usage(ask: Ask, say: Say) -> Json:
    usage = _usage(ask, say)
    if usage is None:
        return {}
    used: Json = {"prompt_tokens": usage[0], "completion_tokens": usage[1]}
    if isinstance(usage[0], int) and isinstance(usage[1], int):
        used["total_tokens"] = usage[0] + usage[1]
    if say.cached:
        used["prompt_tokens_details"] = {"cached_tokens": say.cached}
    return {"usage": used}


def _openai_calls(say: Say) -> list[Json]:
    calls: list[Json] = []
    for index, call in enumerate(say.calls):
        identity = {} if call.id is None else {"id": call.id}
        function = {"name": call.name, "arguments": _arguments(call)}
        calls.append({"index": index, **identity, "type": "function", "function": function})
    return calls


def _openai_message(ask: Ask, say: Say) -> Json:
    message: Json = {"role": "assistant", "content": say.text or None}
    if say.thinking:
        message["reasoning_content"] = say.thinking
    if say.calls:
        message["tool_calls"] = _openai_calls(say)
    choice = {"index": 0, "message": message, "finish_reason": _openai_finish(say)}
    about = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1_700_000_000}
    return {**about, "model": say.model or ask.model, "choices": [choice], **_openai_usage(ask, say)}


def _openai_chunks(ask: Ask, say: Say) -> tuple[list[bytes], list[bytes]]:
    about = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000}
    about["model"] = say.model or ask.model

    def chunk(delta: Json, finish: str | None = None) -> bytes:
        return _event({**about, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    pieces = [chunk({"role": "assistant", "content": ""})]
    pieces += [chunk({"reasoning_content": part}) for part in _parts(say.thinking, say.pieces)]
    pieces += [chunk({"content": part}) for part in _parts(say.text, say.pieces)]
    for call in _openai_calls(say):
        arguments = call["function"]["arguments"]
        first = {**call, "function": {**call["function"], "arguments": "" if arguments else arguments}}
        pieces.append(chunk({"tool_calls": [first]}))
        later = [{"index": call["index"], "function": {"arguments": part}} for part in _parts(arguments or "", 2)]
        pieces += [chunk({"tool_calls": [part]}) for part in later]
    tail = [chunk({}, _openai_finish(say))]
    usage = _openai_usage(ask, say)
    if usage:
        tail.append(_event({**about, "choices": [], **usage}))
    return pieces, [*tail, b"data: [DONE]\n\n"]


def _event(body: Json, name: str = "") -> bytes:
    return (f"event: {name}\n" if name else "").encode() + b"data: " + json.dumps(body).encode() + b"\n\n"


# Anthropic's messages


def _anthropic_finish(say: Say) -> str | None:
    return ("tool_use" if say.calls else "end_turn") if say.finish == "auto" else say.finish


def _anthropic_usage(ask: Ask, say: Say) -> Json:
    usage = _usage(ask, say)
    if usage is None:
        return {}
    return {"usage": {"input_tokens": usage[0], "output_tokens": usage[1], "cache_read_input_tokens": say.cached}}


def _anthropic_blocks(say: Say) -> list[Json]:
    blocks: list[Json] = []
    if say.thinking:
        blocks.append({"type": "thinking", "thinking": say.thinking, "signature": "c2lnbmVk"})
    if say.text:
        blocks.append({"type": "text", "text": say.text})
    blocks += [
        {"type": "tool_use", "id": call.id or "", "name": call.name, "input": call.arguments} for call in say.calls
    ]
    return blocks


def _anthropic_message(ask: Ask, say: Say) -> Json:
    about = {"id": "msg_1", "type": "message", "role": "assistant", "model": say.model or ask.model}
    ending = {"stop_reason": _anthropic_finish(say), "stop_sequence": None}
    return {**about, "content": _anthropic_blocks(say), **ending, **_anthropic_usage(ask, say)}


def _anthropic_events(ask: Ask, say: Say) -> tuple[list[bytes], list[bytes]]:
    usage = _anthropic_usage(ask, say)
    start = {**_anthropic_message(ask, say), "content": [], "stop_reason": None}
    if usage:
        start["usage"] = {**usage["usage"], "output_tokens": 1}
    pieces = [_event({"type": "message_start", "message": start}, "message_start")]
    for index, block in enumerate(_anthropic_blocks(say)):
        empty, kind, key, whole = _anthropic_delta(block)
        pieces.append(
            _event({"type": "content_block_start", "index": index, "content_block": empty}, "content_block_start")
        )
        pieces += [
            _event(
                {"type": "content_block_delta", "index": index, "delta": {"type": kind, key: part}},
                "content_block_delta",
            )
            for part in _parts(whole, say.pieces)
        ]
        if block["type"] == "thinking":
            signature = {"type": "signature_delta", "signature": block["signature"]}
            pieces.append(
                _event({"type": "content_block_delta", "index": index, "delta": signature}, "content_block_delta")
            )
        pieces.append(_event({"type": "content_block_stop", "index": index}, "content_block_stop"))
    delta = {"stop_reason": _anthropic_finish(say), "stop_sequence": None}
    used = {"usage": {"output_tokens": usage["usage"]["output_tokens"]}} if usage else {}
    tail = [_event({"type": "message_delta", "delta": delta, **used}, "message_delta")]
    return pieces, [*tail, _event({"type": "message_stop"}, "message_stop")]


def _anthropic_delta(block: Json) -> tuple[Json, str, str, str]:
    """The empty block that begins, the kind of its pieces, where they stand in, and all of its content."""
    match block["type"]:
        case "text":
            return {"type": "text", "text": ""}, "text_delta", "text", block["text"]
        case "thinking":
            empty = {"type": "thinking", "thinking": "", "signature": ""}
            return empty, "thinking_delta", "thinking", block["thinking"]
        case _:
            content = block["input"]
            text = content if isinstance(content, str) else json.dumps(content)
            return {**block, "input": {}}, "input_json_delta", "partial_json", text
