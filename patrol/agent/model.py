"""The words between Patrol and a language model: what is sent, what comes back. No library of any provider in here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

ToolArguments = Mapping[str, object]
"""Arguments of a tool call: a decoded JSON object."""


class ToolSpec(Protocol):
    """What a model is told of a tool. `input_schema`: JSON Schema of its arguments, an object."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def input_schema(self) -> dict[str, object]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRequest:
    """A call that the model wants. `id` is minted by Patrol: unique in its run, nine letters and digits.

    `arguments` is None where what came is no JSON object; then `problem` says what is wrong with it.
    """

    id: str
    name: str
    arguments: ToolArguments | None
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMessage:
    """What Patrol tells or asks the model."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantMessage:
    """What the model said. `raw`: the same in the provider's own form, which is what it is sent back as."""

    text: str
    calls: tuple[ToolRequest, ...] = ()
    raw: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The answer to one call: each call has exactly one. `content` is what `json.dumps` takes: text stays text."""

    call_id: str
    name: str
    content: object
    is_error: bool = False


Message = UserMessage | AssistantMessage | ToolResult


class ToolChoice(StrEnum):
    """Whether the model must call a tool."""

    AUTO = "auto"
    REQUIRED = "required"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One request. `system` is written by Patrol alone: text of a source never stands in it."""

    system: str
    messages: Sequence[Message]
    tools: Sequence[ToolSpec] = ()
    choice: ToolChoice = ToolChoice.AUTO
    max_output_tokens: int = 2_048


class Finish(StrEnum):
    """Why the model stopped."""

    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"  # the allowance for output was used up
    FILTERED = "filtered"  # the provider withheld the rest
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one request. `input_tokens` include `cached_tokens`; `output_tokens` include `reasoning_tokens`.

    `reported` False: the provider said nothing, the numbers are estimates.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    reported: bool = True

    @property
    def total(self) -> int:
        """All that was sent and received."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer. `model`: who answered, by the provider's word, "" if it does not say."""

    message: AssistantMessage
    usage: Usage
    finish: Finish
    model: str = ""


class Provider(Protocol):
    """A model that can be asked.

    `name`: as it is configured, `provider:model`. `window`: tokens that it reads at once, None if nobody knows.
    """

    @property
    def name(self) -> str: ...
    @property
    def window(self) -> int | None: ...

    async def ask(self, prompt: Prompt, *, on_text: Callable[[str], None] = lambda _text: None) -> Reply:
        """One answer. `on_text` is told text as it comes. Raises `patrol.agent.failure.ModelError`."""
        ...

    async def close(self) -> None:
        """Gives back connections."""
        ...


CHARACTERS_PER_TOKEN = 4
_TOKENS_PER_MESSAGE = 4


def estimated_tokens(text: str) -> int:
    """About how many tokens a text has: a quarter of its bytes, rounded up."""
    return -(-len(text.encode("utf-8", "replace")) // CHARACTERS_PER_TOKEN)


def message_overhead(messages: int) -> int:
    """Tokens that a number of messages cost beside their text."""
    return messages * _TOKENS_PER_MESSAGE
