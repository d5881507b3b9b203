"""A model behind pydantic-ai's direct interface, as Patrol's `Provider`."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.messages import ModelResponse, PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from patrol.agent.causes import failure_of
from patrol.agent.classify import Stage, classify
from patrol.agent.failure import Cause, ModelError
from patrol.agent.model import CHARACTERS_PER_TOKEN, Finish, Prompt, Reply, ToolChoice, Usage, estimated_tokens
from patrol.agent.redact import redact
from patrol.agent.wire.characters import WholeText
from patrol.agent.wire.errors import ODD_ANSWERS, TRANSPORT, heard_of
from patrol.agent.wire.history import history_of
from patrol.agent.wire.replies import CallIds, estimated_prompt, heard_in, reply_of, usage_of
from patrol.agent.wire.retrying import Patience
from patrol.agent.wire.thoughts import SpokenText
from patrol.agent.wire.watch import Exchange, current


async def _nothing_to_close() -> None:
    """A model without connections of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """A model and how it is spoken to.

    `watched`: its exchanges are noted (see `watch`), so that a missing end can be told from an end.
    `marks_errors`: its wire format has a mark for tools' answers that are errors.
    `offers_no_tools_on_none`: it does not know a choice of no tools, so it must not see any.
    """

    model: Model
    name: str
    window: int | None = None
    streaming: bool = True
    watched: bool = False
    marks_errors: bool = False
    offers_no_tools_on_none: bool = False
    secrets: tuple[str, ...] = field(default=(), repr=False)
    close: Callable[[], Awaitable[None]] = _nothing_to_close


def provider_of(
    model: Model,
    *,
    name: str = "",
    window: int | None = None,
    streaming: bool = True,
    patience: Patience | None = None,
) -> "WireProvider":
    """Any model of the library as a provider: what it answers and raises is treated as a real one's."""
    wire = Wire(model=model, name=name or f"{model.system}:{model.model_name}", window=window, streaming=streaming)
    return WireProvider(wire, patience or Patience(sleep=asyncio.sleep, jitter=lambda: 0.5))


class WireProvider:
    """One model over the wire. Its requests may run at the same time."""

    def __init__(self, wire: Wire, patience: Patience) -> None:
        self._wire = wire
        self._patience = patience
        self._ids = CallIds()

    @property
    def name(self) -> str:
        """As it is configured."""
        return self._wire.name

    @property
    def window(self) -> int | None:
        """Tokens that it reads at once, as far as is known."""
        return self._wire.window

    async def close(self) -> None:
        """Gives back the connections."""
        await self._wire.close()

    async def ask(self, prompt: Prompt, *, on_text: Callable[[str], None] = lambda _text: None) -> Reply:
        """One answer. Asked again only where nothing was produced. Raises ModelError."""
        reply: Reply = await self._patience.retrying()(self._ask_once, prompt, on_text)
        return reply

    async def _ask_once(self, prompt: Prompt, on_text: Callable[[str], None]) -> Reply:
        attempt = _Attempt(self._wire, prompt)
        token = current.set(attempt.exchange)
        try:
            reply = attempt.read(await attempt.answer(on_text), self._ids.mint)
        finally:
            current.reset(token)
        if not reply.message.text.strip() and not reply.message.calls:
            raise attempt.nothing_in(reply)
        if not self._wire.streaming and reply.message.text:
            on_text(reply.message.text)
        return reply


class _Attempt:
    """One request that is really sent."""

    def __init__(self, wire: Wire, prompt: Prompt) -> None:
        self.wire = wire
        self.prompt = prompt
        self.exchange = Exchange()
        self._stream: StreamedResponse | None = None
        self._listener_error: Exception | None = None

    async def answer(self, on_text: Callable[[str], None]) -> ModelResponse:
        """The library's answer. Raises ModelError."""
        try:
            response = await (self._streamed(on_text) if self.wire.streaming else self._whole())
        except (ModelAPIError, *TRANSPORT, *ODD_ANSWERS) as error:
            if error is self._listener_error:
                raise
            complete = self._complete()
            if complete is not None:
                return complete  # all was said, and only then the connection broke: asking again would cost twice
            # Not `from error`: what the libraries say may hold the key, and would stand in every traceback.
            raise self._failed(error) from None
        if self.wire.watched and not self._ended(response):
            raise self._cut(response)
        return response

    def read(self, response: ModelResponse, mint: Callable[[], str]) -> Reply:
        """The answer in Patrol's words. Raises ModelError for parts that are not what their types say."""
        try:
            return reply_of(response, self.prompt, mint)
        except ODD_ANSWERS as error:
            raise self._failed(error) from None

    async def _whole(self) -> ModelResponse:
        return await model_request(
            self.wire.model,
            history_of(self.prompt, marks_errors=self.wire.marks_errors),
            model_settings=self._settings(),
            model_request_parameters=self._parameters(),
        )

    async def _streamed(self, on_text: Callable[[str], None]) -> ModelResponse:
        spoken, whole = SpokenText(), WholeText()
        async with self._open() as stream:
            self._stream = stream
            async for event in stream:
                text = ""
                match event:
                    case PartStartEvent(part=TextPart(content=text)):
                        pass
                    case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                        pass
                    case _:
                        continue
                self._tell(on_text, whole.feed(spoken.feed(text)))
            self._tell(on_text, whole.feed(spoken.finish()) + whole.finish())
            return stream.get()

    def _tell(self, on_text: Callable[[str], None], text: str) -> None:
        """Tells of text. What the listener raises is its own, and is kept apart from the model's failures."""
        if not text:
            return
        try:
            on_text(text)
        except Exception as error:
            self._listener_error = error
            raise

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[StreamedResponse]:
        async with model_request_stream(
            self.wire.model,
            history_of(self.prompt, marks_errors=self.wire.marks_errors),
            model_settings=self._settings(),
            model_request_parameters=self._parameters(),
        ) as stream:
            yield stream

    def _settings(self) -> ModelSettings:
        settings = ModelSettings(max_tokens=self.prompt.max_output_tokens)
        if self._tools():
            settings["tool_choice"] = self.prompt.choice.value
        return settings

    def _parameters(self) -> ModelRequestParameters:
        return ModelRequestParameters(function_tools=self._tools())

    def _tools(self) -> list[ToolDefinition]:
        if self.prompt.choice is ToolChoice.NONE and self.wire.offers_no_tools_on_none:
            return []
        return [
            ToolDefinition(
                name=tool.name, description=tool.description, parameters_json_schema=tool.input_schema, strict=False
            )
            for tool in self.prompt.tools
        ]

    def _ended(self, response: ModelResponse) -> bool:
        """Whether the end was told: by the marker of the stream, or by the reason for it."""
        told = (response.provider_details or {}).get("finish_reason")
        return bool(told) or not self.wire.streaming or self.exchange.end_told or not self.exchange.readable

    def _complete(self) -> ModelResponse | None:
        """The answer of a stream that broke after the reason for its end had come."""
        response = self._partial()
        told = response is not None and (response.provider_details or {}).get("finish_reason")
        return response if told else None

    def _partial(self) -> ModelResponse | None:
        return self._stream.get() if self._stream is not None else None

    def _failed(self, error: BaseException) -> ModelError:
        before = self.wire.watched and self.exchange.status is None and isinstance(error, ODD_ANSWERS)
        heard = heard_of(error, self.exchange, self.wire.secrets)
        if before and not isinstance(error, ModelAPIError):
            detail = redact(f"{type(error).__name__}: {error}", self.wire.secrets)
            return ModelError(failure_of(Cause.INTERNAL_ERROR, detail=detail), Usage())
        return ModelError(classify(heard), self._cost_of(heard.stage))

    def _cost_of(self, stage: Stage) -> Usage | None:
        """What a failed request has cost: nothing, what was sent and heard, or nobody knows."""
        if stage in {Stage.NOT_SENT, Stage.REFUSED} or self.exchange.is_page:
            return Usage()
        return None if stage in {Stage.SILENT, Stage.LOST} else self._spent()

    def _spent(self) -> Usage:
        """What was sent and heard of a request that failed on the way."""
        partial = self._partial()
        if partial is None:
            sent = estimated_prompt(self.prompt)
            got = self.exchange.received // CHARACTERS_PER_TOKEN if self.exchange.begun else 0
            return Usage(input_tokens=sent, output_tokens=got, reported=False)
        usage = usage_of(partial.usage, self.prompt, heard_in(partial))
        heard = estimated_tokens(heard_in(partial))
        return Usage(
            input_tokens=usage.input_tokens,
            output_tokens=max(usage.output_tokens, heard),
            cached_tokens=usage.cached_tokens,
            reported=False,
        )

    def _cut(self, response: ModelResponse) -> ModelError:
        """A stream that ended without its end: an answer of another kind, if nothing of a model was in it."""
        if not response.parts and not self.exchange.is_stream:
            detail = redact(self.exchange.beginning, self.wire.secrets)
            return ModelError(failure_of(Cause.UNREADABLE_ANSWER, detail=detail), self._spent())
        detail = "the stream ended without its end marker"
        return ModelError(failure_of(Cause.ANSWER_CUT_OFF, detail=detail), self._spent())

    def nothing_in(self, reply: Reply) -> ModelError:
        """The failure of an answer in which nothing was said and nothing called."""
        if reply.finish is Finish.LENGTH:
            thought = "it thought and did not come to an answer" if reply.usage.reasoning_tokens else ""
            return ModelError(failure_of(Cause.OUTPUT_LIMIT, detail=thought), reply.usage)
        detail = "the provider withheld the answer (content filter)" if reply.finish is Finish.FILTERED else ""
        return ModelError(failure_of(Cause.EMPTY_ANSWER, detail=detail), reply.usage)
