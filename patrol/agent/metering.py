"""Every request to a model is counted: written down before it is sent, with its estimate, and closed with what it cost.

So a crash or a hang in the middle still counts, and nothing is asked that the budget does not allow.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from patrol.agent.budget import BudgetRefusal, Limits, Spent, budget_refusal, day_start, month_start
from patrol.agent.charge import Charge, TokenPrice, charge
from patrol.agent.failure import Cause, ModelError
from patrol.agent.model import AssistantMessage, Prompt, Provider, Reply, Usage, estimated_tokens
from patrol.agent.tokens import prompt_tokens, text_of_call


class Phase(StrEnum):
    """What part of a run a request belongs to."""

    MAIN = "main"  # looking around
    EVALUATE = "evaluate"  # reporting what the detectors saw and it had not reported
    ASSESS = "assess"  # verdicts on known findings


class CallOutcome(StrEnum):
    """How far a request came."""

    SENT = "sent"  # nothing was heard yet, or ever: its estimate counts
    ANSWERED = "answered"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One request to a model. `seq`: its place among those of the run, from 1. `model`: as it is configured.

    `usage.reported` False: the tokens are an estimate. `cause` says why it failed, "" where it did not.
    `tool_calls`: how many the answer asked for.
    """

    run_id: str
    seq: int
    phase: Phase
    model: str
    started_at: datetime
    duration_seconds: float = 0.0
    outcome: CallOutcome = CallOutcome.SENT
    cause: str = ""
    usage: Usage
    charge: Charge
    tool_calls: int = 0

    @property
    def spent(self) -> Spent:
        """What counts against the budget."""
        return Spent(tokens=self.usage.total, usd=self.charge.usd)


class Ledger(Protocol):
    """Where requests are written down, at once."""

    def open_call(self, call: ModelCall) -> None:
        """Writes a request that is about to be sent."""
        ...

    def close_call(self, call: ModelCall) -> None:
        """Writes how it went: the same run and `seq`."""
        ...

    def spent(self, *, run_id: str | None = None, since: datetime | None = None) -> Spent:
        """What the requests of this run, or all that were sent since then, cost."""
        ...


class BudgetExceededError(Exception):
    """The request was not sent: the budget has no room for it. No failure of the model."""

    def __init__(self, refusal: BudgetRefusal) -> None:
        super().__init__(refusal.sentence)
        self.refusal = refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncation:
    """A server that answered and had read far less than was sent to it: what it says rests on a part of the prompt.

    `sent_tokens` is an estimate, `read_tokens` is the server's own word.
    """

    cause: Cause = Cause.CONTEXT_TRUNCATED
    sent_tokens: int
    read_tokens: int

    @property
    def sentence(self) -> str:
        """For the operator."""
        return (
            f"the model read {self.read_tokens:,} of about {self.sent_tokens:,} tokens that were sent: its context "
            "window is set smaller than it is told; raise it on the server, or set [model] context_window to what it is"
        )


SHORTFALL_RATIO = 0.5
SHORTFALL_LEAST_TOKENS = 2_000
"""Below this an estimate says too little: a few wrong guesses of how text becomes tokens are half of it."""

_RATIO_BOUNDS = (0.5, 3.0)
"""How far the provider's own count may move the estimate: a broken count must not switch the budget off."""

_NOTHING_PRODUCED = frozenset(
    {
        Cause.PROVIDER_AUTH,
        Cause.PROVIDER_BILLING,
        Cause.PROVIDER_RATE_LIMITED,
        Cause.PROVIDER_OVERLOADED,
        Cause.PROVIDER_NOT_CONFIGURED,
        Cause.MODEL_UNAVAILABLE,
        Cause.MODEL_UNSUPPORTED_TOOLS,
        Cause.NO_TOOL_CAPABLE_ENDPOINT,
        Cause.TOOL_CHOICE_REJECTED,
        Cause.MALFORMED_TOOL_HISTORY,
        Cause.CONTEXT_WINDOW_TOO_SMALL,
        Cause.CIRCUIT_OPEN,
    }
)
"""Refusals: the request was turned down before a model worked on it, so that nothing is charged."""


@dataclass(slots=True, kw_only=True)
class Meter:
    """The count of one run. `phase` is set by whoever begins another one.

    `price` None: unknown. `truncated`: the first answer of a server that had read less than was sent.
    """

    ledger: Ledger
    limits: Limits
    price: TokenPrice | None
    run_id: str
    model: str
    clock: Callable[[], datetime]
    phase: Phase = Phase.MAIN
    truncated: Truncation | None = None
    calls: list[ModelCall] = field(default_factory=list)
    _ratio: float = 1.0

    def refusal(self, expected: Spent) -> BudgetRefusal | None:
        """Why nothing of this size may be spent now, or None. What other processes spent counts as well."""
        now = self.clock()
        return budget_refusal(
            self.limits,
            self.ledger.spent(run_id=self.run_id),
            self.ledger.spent(since=day_start(now)),
            self.ledger.spent(since=month_start(now)),
            expected,
            now,
        )

    def expected(self, input_tokens: int, output_tokens: int) -> Spent:
        """What a request of this size is charged at most."""
        usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens, reported=False)
        return Spent(tokens=usage.total, usd=charge(usage, self.price).usd)

    @property
    def input_tokens(self) -> int:
        """Of all requests so far; those still open with their estimate."""
        return sum(call.usage.input_tokens for call in self.calls)

    @property
    def output_tokens(self) -> int:
        """The same for what came back."""
        return sum(call.usage.output_tokens for call in self.calls)

    @property
    def cost_usd(self) -> float:
        """What the run is charged so far."""
        return sum(call.charge.usd for call in self.calls)

    @property
    def is_assumed(self) -> bool:
        """Whether some of it is charged at an assumed price."""
        return any(call.charge.cost_usd is None and call.charge.assumed_usd for call in self.calls)

    def begin(self, prompt: Prompt) -> tuple[ModelCall, int]:
        """Asks the budget and writes the request down as sent. Returns it, and its tokens by their bytes alone.

        Raises BudgetExceededError, and what the ledger raises: then nothing may be sent.
        """
        by_bytes = prompt_tokens(prompt)
        expected = Usage(
            input_tokens=round(by_bytes * self._ratio), output_tokens=prompt.max_output_tokens, reported=False
        )
        charged = charge(expected, self.price)
        refusal = self.refusal(Spent(tokens=expected.total, usd=charged.usd))
        if refusal is not None:
            raise BudgetExceededError(refusal)
        call = ModelCall(
            run_id=self.run_id,
            seq=len(self.calls) + 1,
            phase=self.phase,
            model=self.model,
            started_at=self.clock(),
            usage=expected,
            charge=charged,
        )
        self.ledger.open_call(call)
        self.calls.append(call)
        return call, by_bytes

    def answered(self, call: ModelCall, by_bytes: int, reply: Reply) -> None:
        """Closes a request that was answered."""
        usage = _reported(reply.usage, call.usage, reply.message)
        self._close(call, CallOutcome.ANSWERED, usage, tool_calls=len(reply.message.calls))
        if not usage.reported:
            return
        if by_bytes > SHORTFALL_LEAST_TOKENS and usage.input_tokens < SHORTFALL_RATIO * by_bytes:
            if self.truncated is None:
                self.truncated = Truncation(sent_tokens=by_bytes, read_tokens=usage.input_tokens)
            return  # what it read says nothing about how it counts
        least, most = _RATIO_BOUNDS
        self._ratio = min(most, max(least, usage.input_tokens / max(1, by_bytes)))

    def failed(self, call: ModelCall, cause: Cause, usage: Usage | None) -> None:
        """Closes a request that gave no answer. `usage` None: it may have cost as much as was estimated."""
        self._close(call, CallOutcome.FAILED, call.usage if usage is None else usage, cause=cause)

    def _close(
        self, call: ModelCall, outcome: CallOutcome, usage: Usage, *, cause: str = "", tool_calls: int = 0
    ) -> None:
        closed = replace(
            call,
            outcome=outcome,
            cause=str(cause),
            usage=usage,
            charge=charge(usage, self.price),
            tool_calls=tool_calls,
            duration_seconds=max(0.0, (self.clock() - call.started_at).total_seconds()),
        )
        self.calls[call.seq - 1] = closed
        self.ledger.close_call(closed)


@dataclass(frozen=True, slots=True)
class MeteredProvider:
    """A provider whose every request is allowed by the budget and counted."""

    provider: Provider
    meter: Meter

    @property
    def name(self) -> str:
        """That of the provider."""
        return self.provider.name

    @property
    def window(self) -> int | None:
        """That of the provider."""
        return self.provider.window

    async def ask(self, prompt: Prompt, *, on_text: Callable[[str], None] = lambda _text: None) -> Reply:
        """One answer. Raises BudgetExceededError before anything is sent, ModelError, and what the ledger raises."""
        call, by_bytes = self.meter.begin(prompt)
        try:
            reply = await self.provider.ask(prompt, on_text=on_text)
        except ModelError as error:
            self.meter.failed(call, error.failure.cause, _usage_of(error))
            raise
        except asyncio.CancelledError:
            self.meter.failed(call, Cause.INTERRUPTED, None)
            raise
        except Exception:
            self.meter.failed(call, Cause.INTERNAL_ERROR, None)
            raise
        self.meter.answered(call, by_bytes, reply)
        return reply

    async def close(self) -> None:
        """Closes the provider."""
        await self.provider.close()


def _usage_of(error: ModelError) -> Usage | None:
    """What a failed request cost; None: nobody knows, it may be as much as was estimated."""
    usage = error.usage
    if usage is not None and (usage.reported or usage.total) and _is_credible(usage):
        return usage
    nothing = error.failure.asked_again or error.failure.cause in _NOTHING_PRODUCED
    return Usage() if nothing else None


_MOST_TOKENS = 20_000_000
"""More than any model reads at once: a count above it is a fault of whoever counted."""


def _is_credible(usage: Usage) -> bool:
    counts = (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.reasoning_tokens)
    return all(0 <= count <= _MOST_TOKENS for count in counts)


def _reported(usage: Usage, estimate: Usage, message: AssistantMessage) -> Usage:
    """The tokens of an answer. What the provider left out, or what cannot be, is estimated and marked so."""
    said = usage if _is_credible(usage) else Usage(reported=False)
    was_silent = not (message.text or message.calls)
    if said.reported and said.input_tokens and (said.output_tokens or was_silent):
        return said
    heard = estimated_tokens(message.text) + sum(
        estimated_tokens(text_of_call(call.name, call.arguments)) for call in message.calls
    )
    return replace(
        said,
        input_tokens=said.input_tokens or estimate.input_tokens,
        output_tokens=said.output_tokens or heard,
        reported=False,
    )
