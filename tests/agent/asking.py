"""What the tests of the wire share: a provider at a server, one question, waiting that takes no time."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from pydantic import SecretStr

from patrol.agent.failure import ModelError
from patrol.agent.model import Message, Prompt, Provider, Reply, ToolChoice, ToolSpec, UserMessage
from patrol.agent.wire.opening import open_provider
from patrol.settings.model import ModelSection
from tests.agent.scripted import Spec
from tests.agent.wire_server import ModelServer

KEY = "sk-test-0123456789abcdef"
FORMATS = ("openai", "anthropic")
LOOK = Spec("look", "Looks at a resource.", {"type": "object", "properties": {"at": {"type": "string"}}})


@dataclass
class Pauses:
    """Sleeps without sleeping. `slept`: how long, in seconds."""

    slept: list[float] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


def section(
    server: ModelServer | str, wire: str = "openai", *, silence: float = 5.0, streaming: bool = True, model: str = "m"
) -> ModelSection:
    """Settings for a server (or an address), with a silence shorter than settings may name."""
    url = server if isinstance(server, str) else server.anthropic_url if wire == "anthropic" else server.openai_url
    made = ModelSection(name=f"{wire}:{model}", base_url=url, api_key=SecretStr(KEY), streaming=streaming)
    return made.model_copy(update={"request_timeout": timedelta(seconds=silence)})


def prompt(
    *messages: Message,
    tools: Sequence[ToolSpec] = (LOOK,),
    choice: ToolChoice = ToolChoice.AUTO,
    system: str = "You patrol.",
) -> Prompt:
    return Prompt(system=system, messages=messages or (UserMessage(text="Go on."),), tools=tools, choice=choice)


def ask(
    settings: ModelSection,
    question: Prompt | None = None,
    *,
    pauses: Pauses | None = None,
    on_text: Callable[[str], None] = lambda _text: None,
    remaining: Callable[[], float] | None = None,
) -> Reply:
    """One answer, from a provider that is opened and closed for it."""

    async def once() -> Reply:
        provider = open_provider(settings, sleep=(pauses or Pauses()).sleep, remaining=remaining)
        try:
            return await provider.ask(question or prompt(), on_text=on_text)
        finally:
            await provider.close()

    return asyncio.run(once())


def refusal(settings: ModelSection, question: Prompt | None = None, **options: object) -> ModelError:
    """The error that an answer ends in."""
    try:
        reply = ask(settings, question, **options)  # type: ignore[arg-type]
    except ModelError as error:
        return error
    raise AssertionError(f"it answered: {reply}")


async def converse(provider: Provider, question: Prompt) -> Reply:
    try:
        return await provider.ask(question)
    finally:
        await provider.close()
