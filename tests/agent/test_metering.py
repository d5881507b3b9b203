"""Every request is allowed, written down before it is sent, and closed with what it cost, however it ends."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from patrol.agent.budget import NOTHING, Cap, Limits, Spent, Window
from patrol.agent.charge import FlatPrice
from patrol.agent.failure import Cause, Failure, ModelError
from patrol.agent.metering import (
    BudgetExceededError,
    CallOutcome,
    Meter,
    MeteredProvider,
    ModelCall,
    Phase,
)
from patrol.agent.model import (
    AssistantMessage,
    Finish,
    Prompt,
    Reply,
    ToolRequest,
    ToolResult,
    Usage,
    UserMessage,
)
from patrol.agent.tokens import prompt_tokens
from tests.agent.scripted import ScriptedProvider, Spec, says, wants

NOW = datetime(2026, 11, 30, 23, 59, 50, tzinfo=UTC)
PRICE = FlatPrice(input_usd=0.001, output_usd=0.01)


@dataclass
class Notebook:
    """A ledger in memory. `lines`: each entry as it was written."""

    lines: list[ModelCall] = field(default_factory=list)
    before: Spent = NOTHING

    def open_call(self, call: ModelCall) -> None:
        assert call.outcome is CallOutcome.SENT
        self.lines.append(call)

    def close_call(self, call: ModelCall) -> None:
        assert any(each.seq == call.seq for each in self.lines)
        self.lines.append(call)

    def spent(self, *, run_id: str | None = None, since: datetime | None = None) -> Spent:
        last = {(each.run_id, each.seq): each for each in self.lines}
        total = Spent() if run_id else self.before
        for call in last.values():
            if run_id in (None, call.run_id) and (since is None or call.started_at >= since):
                total += call.spent
        return total


@dataclass
class House:
    notebook: Notebook = field(default_factory=Notebook)
    limits: Limits = field(default_factory=Limits)
    price: FlatPrice | None = PRICE
    now: datetime = NOW

    def meter(self) -> Meter:
        return Meter(
            ledger=self.notebook,
            limits=self.limits,
            price=self.price,
            run_id="run-1",
            model="openai:m",
            clock=lambda: self.now,
        )


@pytest.fixture
def house() -> House:
    return House()


def ask(meter: Meter, *steps: object, prompt: Prompt | None = None, times: int = 1) -> ScriptedProvider:
    provider = ScriptedProvider(*steps)
    metered = MeteredProvider(provider, meter)

    async def go() -> None:
        for _ in range(times):
            await metered.ask(prompt or sized(100))

    asyncio.run(go())
    return provider


def sized(tokens: int, output: int = 50) -> Prompt:
    """A prompt of about so many tokens."""
    return Prompt(system="s" * 4, messages=[UserMessage(text="x" * 4 * (tokens - 9))], max_output_tokens=output)


def failing(cause: Cause, usage: Usage | None = None, **changes: object) -> ModelError:
    return ModelError(Failure(cause=cause, summary="no", **changes), usage)


# --- what is written


def test_a_request_is_written_with_its_estimate_before_it_is_sent_and_closed_with_what_it_cost(house):
    meter = house.meter()
    seen: list[ModelCall] = []

    def answer(_prompt: Prompt) -> Reply:
        seen.extend(house.notebook.lines)
        house.now += timedelta(seconds=4)
        return says("fine", sent=120, got=7)

    ask(meter, answer)
    [sent] = seen
    assert (sent.outcome, sent.usage.input_tokens, sent.usage.output_tokens) == (CallOutcome.SENT, 100, 50)
    assert not sent.usage.reported
    assert sent.charge.cost_usd == pytest.approx(0.1 + 0.5)
    closed = house.notebook.lines[-1]
    assert (closed.seq, closed.outcome, closed.phase) == (1, CallOutcome.ANSWERED, Phase.MAIN)
    assert closed.usage == Usage(input_tokens=120, output_tokens=7)
    assert closed.charge.cost_usd == pytest.approx(0.12 + 0.07)
    assert closed.duration_seconds == 4
    assert (meter.input_tokens, meter.output_tokens, meter.is_assumed) == (120, 7, False)


def test_each_part_of_a_run_is_told_apart_and_the_calls_it_asked_for_are_counted(house):
    meter = house.meter()
    ask(meter, wants(("a", {}), ("b", {})))
    meter.phase = Phase.ASSESS
    ask(meter, says("done"))
    assert [(each.seq, each.phase, each.tool_calls) for each in meter.calls] == [
        (1, Phase.MAIN, 2),
        (2, Phase.ASSESS, 0),
    ]


def test_the_provider_is_what_it_was():
    inner = ScriptedProvider(says("x"), window=8_192)
    metered = MeteredProvider(inner, House().meter())
    assert (metered.name, metered.window) == (inner.name, 8_192)
    asyncio.run(metered.close())
    assert inner.closed


def test_an_unknown_price_is_charged_at_an_assumed_one_and_said(house):
    house.price = None
    meter = house.meter()
    ask(meter, says("x", sent=1_000_000, got=0))
    assert meter.calls[0].charge.cost_usd is None
    assert meter.cost_usd == pytest.approx(15, rel=1e-4)
    assert meter.is_assumed


# --- what failed


@pytest.mark.parametrize(
    ("error", "tokens"),
    [
        (failing(Cause.PROVIDER_RATE_LIMITED, temporary=True, asked_again=True), 0),
        (failing(Cause.PROVIDER_CONNECTION, temporary=True, asked_again=True), 0),
        (failing(Cause.PROVIDER_AUTH), 0),
        (failing(Cause.CIRCUIT_OPEN), 0),
        (failing(Cause.PROVIDER_TIMEOUT, temporary=True), 150),
        (failing(Cause.ANSWER_CUT_OFF), 150),
        (failing(Cause.ANSWER_CUT_OFF, Usage(reported=False)), 150),
        (failing(Cause.EMPTY_ANSWER, Usage(input_tokens=90, output_tokens=2_000)), 2_090),
        (failing(Cause.OUTPUT_LIMIT, Usage(input_tokens=-5, output_tokens=2)), 150),
    ],
)
def test_a_failure_costs_what_is_known_else_the_estimate_and_nothing_only_where_nothing_was_made(house, error, tokens):
    meter = house.meter()
    with pytest.raises(ModelError):
        ask(meter, error)
    [call] = meter.calls
    assert (call.outcome, call.cause) == (CallOutcome.FAILED, str(error.failure.cause))
    assert call.usage.total == tokens
    assert house.notebook.lines[-1] == call


def test_what_is_interrupted_while_it_waits_may_have_cost_all(house):
    meter = house.meter()

    async def go() -> None:
        async with asyncio.timeout(0.01):
            await MeteredProvider(ScriptedProvider(says("late"), seconds=5), meter).ask(sized(100))

    with pytest.raises(TimeoutError):
        asyncio.run(go())
    assert (meter.calls[0].outcome, meter.calls[0].cause) == (CallOutcome.FAILED, "interrupted")
    assert meter.calls[0].usage.total == 150


def test_a_fault_of_our_own_is_counted_and_goes_on(house):
    meter = house.meter()
    with pytest.raises(ZeroDivisionError):
        ask(meter, ZeroDivisionError())
    assert (meter.calls[0].cause, meter.calls[0].usage.total) == ("internal_error", 150)


@pytest.mark.parametrize(
    "usage",
    [
        Usage(reported=False),
        Usage(input_tokens=0, output_tokens=0),
        Usage(input_tokens=-1, output_tokens=3),
        Usage(input_tokens=10**15, output_tokens=3),
    ],
)
def test_tokens_that_nobody_told_or_that_cannot_be_are_estimated_and_marked(house, usage):
    meter = house.meter()
    call = ToolRequest(id="call00001", name="look", arguments={"a": 1})
    ask(meter, Reply(message=AssistantMessage(text="x" * 40, calls=(call,)), usage=usage, finish=Finish.STOP))
    told = meter.calls[0].usage
    assert (told.input_tokens, told.output_tokens, told.reported) == (100, 13, False)


# --- the budget


def test_a_request_without_room_is_neither_sent_nor_written(house):
    house.limits = Limits(run=Cap(tokens=100))
    meter = house.meter()
    provider = ScriptedProvider(says("x"))
    with pytest.raises(BudgetExceededError) as caught:
        asyncio.run(MeteredProvider(provider, meter).ask(sized(100)))
    assert caught.value.refusal.window is Window.RUN
    assert not isinstance(caught.value, ModelError)
    assert (provider.prompts, meter.calls, house.notebook.lines) == ([], [], [])


def test_the_third_turn_is_not_sent_where_only_two_have_room(house):
    house.limits = Limits(run=Cap(tokens=400))
    meter = house.meter()
    provider = ScriptedProvider(says("x", sent=100, got=50))
    with pytest.raises(BudgetExceededError):
        asyncio.run(three_times(MeteredProvider(provider, meter)))
    assert len(provider.prompts) == 2
    assert house.notebook.spent(run_id="run-1") == Spent(tokens=300, usd=meter.cost_usd)


async def three_times(provider: MeteredProvider) -> None:
    for _ in range(3):
        await provider.ask(sized(100))


def test_what_other_runs_spent_counts_for_the_day(house):
    house.limits = Limits(day=Cap(tokens=10**9, usd=1.0))
    house.notebook.before = Spent(tokens=5, usd=0.99)
    with pytest.raises(BudgetExceededError) as caught:
        ask(house.meter(), says("x"))
    assert caught.value.refusal.window is Window.DAY


def test_looking_costs_nothing_and_a_run_can_be_refused_before_it_begins(house):
    meter = house.meter()
    assert meter.refusal(meter.expected(6_000, 2_000)) is None
    house.limits = Limits(day=Cap(tokens=10**9, usd=1.0))
    assert house.meter().refusal(meter.expected(6_000, 2_000)) is not None
    assert house.notebook.lines == []


# --- how well it is estimated


def test_the_estimate_follows_what_the_provider_counts(house):
    meter = house.meter()
    ask(meter, says("x", sent=150), times=2)
    sent = [each for each in house.notebook.lines if each.outcome is CallOutcome.SENT]
    assert [each.usage.input_tokens for each in sent] == [100, 150]


def test_a_count_that_cannot_be_does_not_switch_the_estimate_off(house):
    meter = house.meter()
    ask(meter, says("x", sent=1), times=2)
    assert house.notebook.lines[-2].usage.input_tokens == 50


def test_a_server_that_read_a_part_of_what_was_sent_is_told_and_its_answer_given(house):
    meter = house.meter()
    ask(meter, says("all fine", sent=2_051), prompt=sized(15_750))
    truncated = meter.truncated
    assert (truncated.cause, truncated.sent_tokens, truncated.read_tokens) == ("context_truncated", 15_750, 2_051)
    assert "2,051 of about 15,750 tokens" in truncated.sentence
    ask(meter, says("x", sent=15_000), prompt=sized(15_750))
    assert meter.truncated is truncated, "an answer that rests on a part stays one"
    assert house.notebook.lines[-2].usage.input_tokens == 15_750


@pytest.mark.parametrize(("sent", "read"), [(2_000, 100), (8_000, 4_000), (8_000, 0), (8_000, 20_000)])
def test_small_prompts_small_shortfalls_and_silence_are_no_truncation(house, sent, read):
    meter = house.meter()
    ask(meter, says("x", sent=read), prompt=sized(sent))
    assert meter.truncated is None


def test_all_that_is_sent_is_in_the_estimate():
    call = ToolRequest(id="call00001", name="look", arguments={"page": 2})
    prompt = Prompt(
        system="s" * 400,
        messages=[
            UserMessage(text="\N{SNOWMAN}" * 400),
            AssistantMessage(text="t" * 40, calls=(call,)),
            ToolResult(call_id=call.id, name="look", content={"rows": ["r" * 400]}),
            ToolResult(call_id=call.id, name="look", content="plain" * 80),
        ],
        tools=[Spec("look", "d" * 400)],
    )
    assert prompt_tokens(prompt) == 100 + 300 + (10 + 1 + 3) + 104 + 100 + (101 + 5) + 5 * 4
