"""Does the model work as a run needs it? Tried as a run would: same model, same address, streaming, tools.

It costs a few hundred tokens and sends nothing of the estate. Only an operator who asks for it (`patrol doctor`) has
it done; no timer does, since each request would load a local model and could cost money.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from importlib import import_module
from typing import cast

from patrol.agent.causes import failure_of
from patrol.agent.charge import Charge, TokenPrice, charge, configured_price
from patrol.agent.endpoint import Endpoint, ProviderKind, parse_endpoint
from patrol.agent.failure import Cause, Failure, ModelError
from patrol.agent.local_server import Look
from patrol.agent.model import Prompt, Provider, Reply, ToolResult, Usage, UserMessage
from patrol.agent.price import LOCAL_WINDOW, price_of
from patrol.agent.wire.opening import open_provider
from patrol.settings.model import ModelSection

LEAST_WINDOW = 16_384
"""Below this a run's own words, tools and answers leave no room for what it is about."""


class Aspect(StrEnum):
    """One thing that must be so."""

    REACHABLE = "reachable"
    KEY = "key"
    ANSWERS = "answers"
    TOOLS = "tools"
    WINDOW = "window"
    PRICE = "price"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """How one thing was found. `said`: what was found, and for a problem what mends it. `cause` None: it is so."""

    aspect: Aspect
    said: str
    cause: Cause | None = None


@dataclass(slots=True)
class Probe:
    """All that was found out; what could not be tried is not in it. `spent`: what it cost."""

    trials: list[Trial] = field(default_factory=list)
    spent: Usage = field(default_factory=Usage)
    charged: Charge = field(default_factory=lambda: Charge(cost_usd=0.0))

    @property
    def works(self) -> bool:
        """Whether a run can use the model."""
        return all(trial.cause is None for trial in self.trials)

    def fine(self, aspect: Aspect, said: str) -> None:
        """Notes that something is as it must be."""
        self.trials.append(Trial(aspect=aspect, said=said))

    def wrong(self, aspect: Aspect, failure: Failure) -> None:
        """Notes a problem."""
        heard = f" ({failure.cause}: {failure.detail})" if failure.detail else f" ({failure.cause})"
        self.trials.append(Trial(aspect=aspect, said=failure.summary + heard, cause=failure.cause))

    def add(self, usage: Usage | None, price: TokenPrice | None) -> None:
        """Counts what a request cost."""
        if usage is None:
            return
        self.spent = Usage(
            input_tokens=self.spent.input_tokens + usage.input_tokens,
            output_tokens=self.spent.output_tokens + usage.output_tokens,
            cached_tokens=self.spent.cached_tokens + usage.cached_tokens,
            reported=self.spent.reported and usage.reported,
        )
        self.charged = charge(self.spent, price)


def _open_for_one_try(settings: ModelSection) -> Provider:
    """It tells how the model is now: nothing is asked again."""
    return open_provider(settings, remaining=lambda: 0.0)


async def probe(
    settings: ModelSection, *, now: datetime, open_model: Callable[[ModelSection], Provider] = _open_for_one_try
) -> Probe:
    """Tries the model that the settings name. Raises nothing of the model's; what fails is told."""
    found = Probe()
    try:
        endpoint = parse_endpoint(settings.name, settings.base_url)
        provider = open_model(settings)
    except ModelError as error:
        found.wrong(Aspect.REACHABLE, error.failure)
        return found
    configured = configured_price(settings)
    price = configured or price_of(endpoint, now)
    try:
        window = await _try(provider, endpoint, settings, found, price)
    finally:
        await provider.close()
    _judge_window(found, settings, provider, window)
    _judge_price(found, endpoint, price, is_listed=configured is None)
    return found


async def _try(
    provider: Provider, endpoint: Endpoint, settings: ModelSection, found: Probe, price: TokenPrice | None
) -> int | None:
    """Lists, then a round trip. Gives the window that a local server works with, where it tells."""
    key = settings.api_key.get_secret_value().strip() if settings.api_key is not None else ""
    look = _look(endpoint)
    try:
        if look is not None:
            await _need_model(look, endpoint, key)
        async with asyncio.timeout(settings.request_timeout.total_seconds()):
            await _round_trip(provider, found, price)
    except ModelError as error:
        found.add(error.usage, price)
        _note_failure(found, error.failure)
        return None
    except TimeoutError:
        _note_failure(found, failure_of(Cause.PROVIDER_TIMEOUT))
        return None
    return await _local_window(look, endpoint, key)


def _look(endpoint: Endpoint) -> Look | None:
    if endpoint.kind is not ProviderKind.OLLAMA:
        return None
    # Loaded here since it brings an HTTP client, which a run without a model never needs.
    return cast("Look", import_module("patrol.agent.wire.ollama").look)


async def _need_model(look: Look, endpoint: Endpoint, key: str) -> None:
    if (await look(endpoint, key)).lacks(endpoint.model):
        raise ModelError(_not_pulled(endpoint), Usage())


async def _local_window(look: Look | None, endpoint: Endpoint, key: str) -> int | None:
    if look is None:
        return None
    try:
        return (await look(endpoint, key)).window
    except ModelError:
        return None  # it answered a moment ago: its window is just not known


def _not_pulled(endpoint: Endpoint) -> Failure:
    summary = f"Ollama does not have this model: run `ollama pull {endpoint.model}` there, or change [model] name"
    return failure_of(Cause.MODEL_UNAVAILABLE, summary=summary)


@dataclass(frozen=True, slots=True)
class _Tool:
    name: str = "check_connection"
    description: str = "Takes one word and gives it back. For checking the connection."
    input_schema: dict[str, object] = field(
        default_factory=lambda: {
            "type": "object",
            "properties": {"word": {"type": "string", "description": "the word that was asked for"}},
            "required": ["word"],
        }
    )


_SYSTEM = "This checks a connection. Use the tool you are given when you are asked to, and answer in one sentence."
_QUESTION = UserMessage(text='Call check_connection with the word "amber". Then say in one sentence what came back.')
_OUTPUT_TOKENS = 1_024  # models that think need some before they call


async def _round_trip(provider: Provider, found: Probe, price: TokenPrice | None) -> None:
    """A call and the answer to it, as in a run. Raises ModelError."""
    tool = _Tool()
    asked = Prompt(system=_SYSTEM, messages=(_QUESTION,), tools=(tool,), max_output_tokens=_OUTPUT_TOKENS)
    first = await provider.ask(asked)
    found.add(first.usage, price)
    call = next((call for call in first.message.calls if call.name == tool.name), None)
    if call is None or call.arguments is None:
        raise ModelError(_no_call(first, tool.name))
    answers = [
        ToolResult(call_id=each.id, name=each.name, content=dict(each.arguments or {})) for each in first.message.calls
    ]
    last = await provider.ask(
        Prompt(
            system=_SYSTEM,
            messages=(_QUESTION, first.message, *answers),
            tools=(tool,),
            max_output_tokens=_OUTPUT_TOKENS,
        )
    )
    found.add(last.usage, price)
    who = f" as {last.model}" if last.model else ""
    found.fine(Aspect.REACHABLE, "yes")
    found.fine(Aspect.KEY, "accepted, or none is needed")
    found.fine(Aspect.ANSWERS, f"yes{who}")
    found.fine(Aspect.TOOLS, "yes: it called one and read the answer")


def _no_call(reply: Reply, tool: str) -> Failure:
    if reply.message.calls:
        problem = next((call.problem for call in reply.message.calls if call.problem), "it called another tool")
        return failure_of(Cause.MODEL_UNSUPPORTED_TOOLS, detail=problem)
    if tool in reply.message.text:
        return failure_of(Cause.TOOLS_IN_TEXT)
    said = json.dumps(reply.message.text[:200], ensure_ascii=False)
    return failure_of(Cause.MODEL_UNSUPPORTED_TOOLS, detail=f"asked to call a tool, it answered {said}")


_BEFORE = {
    Cause.PROVIDER_CONNECTION: Aspect.REACHABLE,
    Cause.PROVIDER_TIMEOUT: Aspect.REACHABLE,
    Cause.PROVIDER_NOT_CONFIGURED: Aspect.REACHABLE,
    Cause.PROVIDER_AUTH: Aspect.KEY,
    Cause.PROVIDER_BILLING: Aspect.KEY,
    Cause.MODEL_UNSUPPORTED_TOOLS: Aspect.TOOLS,
    Cause.NO_TOOL_CAPABLE_ENDPOINT: Aspect.TOOLS,
    Cause.TOOL_CHOICE_REJECTED: Aspect.TOOLS,
    Cause.TOOLS_IN_TEXT: Aspect.TOOLS,
    Cause.MALFORMED_TOOL_HISTORY: Aspect.TOOLS,
}
"""Where a failure belongs; what is not here belongs to its answers."""

_KEY_UNTRIED = frozenset({Cause.PROVIDER_RATE_LIMITED, Cause.PROVIDER_OVERLOADED, Cause.PROVIDER_ERROR})


def _note_failure(found: Probe, failure: Failure) -> None:
    """The problem, and before it what must be fine for it to come up at all."""
    aspect = _BEFORE.get(failure.cause, Aspect.ANSWERS)
    if aspect is not Aspect.REACHABLE:
        found.fine(Aspect.REACHABLE, "yes")
    if aspect in {Aspect.ANSWERS, Aspect.TOOLS} and failure.cause not in {*_KEY_UNTRIED, Cause.UNREADABLE_ANSWER}:
        found.fine(Aspect.KEY, "accepted, or none is needed")
    found.wrong(aspect, failure)


def _judge_window(found: Probe, settings: ModelSection, provider: Provider, local: int | None) -> None:
    configured = settings.context_window
    # What Patrol merely relies on where a local server tells nothing is no knowledge of that server.
    relied_on = None if parse_endpoint(settings.name, settings.base_url).local else provider.window
    window = min((each for each in (configured, local) if each is not None), default=relied_on)
    if window is None:
        said = f"unknown, {LOCAL_WINDOW:,} tokens are relied on: "
        said += "set [model] context_window to what the server is started with"
        found.fine(Aspect.WINDOW, said)
    elif window < LEAST_WINDOW or (local is not None and configured is not None and local < configured):
        what = f"the server reads {window:,} tokens at once"
        if configured is not None and window < configured:
            what += f", and [model] context_window says {configured:,}"
        mend = f"; raise it on the server (Ollama: OLLAMA_CONTEXT_LENGTH) to {LEAST_WINDOW:,} or more"
        found.wrong(Aspect.WINDOW, failure_of(Cause.CONTEXT_WINDOW_TOO_SMALL, summary=what + mend))
    else:
        found.fine(Aspect.WINDOW, f"{window:,} tokens")


def _judge_price(found: Probe, endpoint: Endpoint, price: TokenPrice | None, *, is_listed: bool) -> None:
    if price is None:
        assumed = charge(Usage(input_tokens=1_000_000), None).usd, charge(Usage(output_tokens=1_000_000), None).usd
        said = (
            f"unknown: budgets count {assumed[0]:g} USD for a million tokens sent and {assumed[1]:g} USD received; "
            "set [model] input_price and output_price"
        )
        found.fine(Aspect.PRICE, said)
    elif price.input_usd == 0 and price.output_usd == 0:
        found.fine(Aspect.PRICE, "free: it is on this network" if endpoint.local else "free, as [model] says")
    else:
        sent, got = price.input_usd * 1e6, price.output_usd * 1e6
        of_list = ", the dearest of its list prices (long prompts may cost more than short ones)" if is_listed else ""
        found.fine(Aspect.PRICE, f"{sent:g} USD for a million tokens sent, {got:g} USD received{of_list}")
