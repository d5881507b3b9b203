"""Trying a model: what works, and what does not with the sentence that mends it."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import SecretStr

from patrol.agent.causes import failure_of
from patrol.agent.failure import Cause, ModelError
from patrol.agent.model import Prompt, Reply
from patrol.agent.probe import Aspect, Probe, probe
from patrol.settings.model import ModelSection
from tests.agent.asking import FORMATS, KEY, section
from tests.agent.wire_server import (
    HTML,
    REFUSALS,
    Answer,
    Ask,
    Break,
    Call,
    How,
    Json,
    ModelServer,
    Point,
    Say,
    closed_port,
)

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def good(asked: Ask) -> Say:
    """A model that calls the tool and reads the answer."""
    if asked.turn == 0:
        return Say("", (Call("check_connection", {"word": "amber"}),), usage=(200, 20))
    return Say(f"It gave back {next(iter(asked.results.values()))}.", usage=(260, 30))


def tried(settings: ModelSection) -> Probe:
    return asyncio.run(probe(settings, now=NOW))


def problems(found: Probe) -> dict[Aspect, Cause]:
    return {trial.aspect: trial.cause for trial in found.trials if trial.cause is not None}


def fine(found: Probe) -> list[Aspect]:
    return [trial.aspect for trial in found.trials if trial.cause is None]


@pytest.mark.parametrize("wire", FORMATS)
@pytest.mark.parametrize("streaming", [True, False])
def test_a_model_that_works_is_tried_once_as_a_run_would(wire: str, *, streaming: bool) -> None:
    with ModelServer(good) as server:
        found = tried(section(server, wire, streaming=streaming))
    assert found.works
    assert fine(found) == list(Aspect)
    assert [(asked.stream, asked.tool_names) for asked in server.asks] == [(streaming, ["check_connection"])] * 2
    assert (found.spent.input_tokens, found.spent.output_tokens) == (460, 50)
    assert found.charged.cost_usd == 0.0


REFUSED: dict[str, tuple[Aspect, list[Aspect]]] = {
    "auth": (Aspect.KEY, [Aspect.REACHABLE]),
    "billing": (Aspect.KEY, [Aspect.REACHABLE]),
    "no model": (Aspect.ANSWERS, [Aspect.REACHABLE, Aspect.KEY]),
    "no tools": (Aspect.TOOLS, [Aspect.REACHABLE, Aspect.KEY]),
    "no endpoint": (Aspect.TOOLS, [Aspect.REACHABLE, Aspect.KEY]),
    "rate for an hour": (Aspect.ANSWERS, [Aspect.REACHABLE]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_is_told_where_it_belongs(name: str) -> None:
    aspect, before = REFUSED[name]
    with ModelServer(REFUSALS[name]) as server:
        found = tried(section(server))
    assert list(problems(found)) == [aspect]
    assert fine(found)[: len(before)] == before
    assert Aspect.TOOLS not in fine(found)


@pytest.mark.parametrize(
    ("answer", "aspect", "cause"),
    [
        (HTML, Aspect.ANSWERS, Cause.UNREADABLE_ANSWER),
        (Break(Point.MIDDLE), Aspect.ANSWERS, Cause.ANSWER_CUT_OFF),
        (Break(Point.REQUEST, How.HANG), Aspect.REACHABLE, Cause.PROVIDER_TIMEOUT),
        (Say("I cannot do that."), Aspect.TOOLS, Cause.MODEL_UNSUPPORTED_TOOLS),
        (Say('{"name": "check_connection", "arguments": {}}'), Aspect.TOOLS, Cause.TOOLS_IN_TEXT),
        (Say("", (Call("check_connection", '{"word'),)), Aspect.TOOLS, Cause.MODEL_UNSUPPORTED_TOOLS),
        (Say("", (Call("another", {}),)), Aspect.TOOLS, Cause.MODEL_UNSUPPORTED_TOOLS),
        (Say(""), Aspect.ANSWERS, Cause.EMPTY_ANSWER),
    ],
)
def test_what_a_run_would_fail_on_is_found_before_it(answer: Answer, aspect: Aspect, cause: Cause) -> None:
    with ModelServer(answer) as server:
        found = tried(section(server, silence=0.3))
    assert problems(found) == {aspect: cause}


def test_a_history_that_is_not_taken_is_found() -> None:
    def script(asked: Ask) -> Answer:
        return good(asked) if asked.turn == 0 else REFUSALS["no tools"]

    with ModelServer(script) as server:
        assert Aspect.TOOLS in problems(tried(section(server)))


def test_a_drip_ends_with_the_longest_silence_that_is_allowed_for_all_of_it() -> None:
    with ModelServer(Say("drip " * 50, pieces=50, pause_seconds=0.1)) as server:
        found = tried(section(server, silence=0.5))
    assert problems(found) == {Aspect.REACHABLE: Cause.PROVIDER_TIMEOUT}


@pytest.mark.parametrize("name", ["nonsense", "openai:gpt-5", "mistral:large"])
def test_settings_that_cannot_work_are_told_without_sending_anything(name: str) -> None:
    found = tried(ModelSection(name=name))
    assert problems(found) == {Aspect.REACHABLE: Cause.PROVIDER_NOT_CONFIGURED}


def test_the_key_is_never_shown() -> None:
    with ModelServer(REFUSALS["auth"]) as server:
        found = tried(section(server))
    assert KEY not in str(found)


# Ollama's own lists.


def ollama(script: object, installed: list[str], window: int | None = None) -> ModelServer:
    models = [{"name": name, "model": name} for name in installed]
    loaded: list[Json] = [{**models[0], "context_length": window}] if window is not None else []
    pages: dict[str, Json] = {"/api/tags": {"models": models}, "/api/ps": {"models": loaded}}
    return ModelServer(script, pages=pages)  # type: ignore[arg-type]


def ollama_section(server: ModelServer, **changes: object) -> ModelSection:
    made = ModelSection(name="ollama:qwen3", base_url=server.openai_url)
    return made.model_copy(update={"request_timeout": timedelta(seconds=3), **changes})


def test_a_model_that_ollama_does_not_have_is_told_from_its_list_alone() -> None:
    with ollama(good, ["gemma3:latest"]) as server:
        found = tried(ollama_section(server))
    assert problems(found) == {Aspect.ANSWERS: Cause.MODEL_UNAVAILABLE}
    assert server.asks == []
    assert any("ollama pull qwen3" in trial.said for trial in found.trials)


@pytest.mark.parametrize("installed", ["qwen3:latest", "qwen3"])
def test_a_name_without_a_tag_is_the_latest(installed: str) -> None:
    with ollama(good, [installed], 32_768) as server:
        assert tried(ollama_section(server)).works


def test_a_window_that_is_smaller_than_a_run_needs_is_a_problem() -> None:
    with ollama(good, ["qwen3:latest"], 4_096) as server:
        found = tried(ollama_section(server))
    assert problems(found) == {Aspect.WINDOW: Cause.CONTEXT_WINDOW_TOO_SMALL}
    assert any("4,096" in trial.said and "OLLAMA_CONTEXT_LENGTH" in trial.said for trial in found.trials)


def test_a_window_that_is_set_larger_than_it_is_is_a_problem() -> None:
    with ollama(good, ["qwen3:latest"], 32_768) as server:
        found = tried(ollama_section(server, context_window=131_072))
    assert problems(found) == {Aspect.WINDOW: Cause.CONTEXT_WINDOW_TOO_SMALL}


def test_a_server_without_ollama_s_lists_is_tried_all_the_same() -> None:
    with ModelServer(good) as server:
        assert tried(ollama_section(server)).works


def test_an_ollama_that_is_not_there_costs_nothing() -> None:
    address = closed_port()
    found = tried(ModelSection(name="ollama:qwen3", base_url=address))
    assert problems(found) == {Aspect.REACHABLE: Cause.PROVIDER_CONNECTION}
    assert address.removeprefix("http://").removesuffix("/v1") in found.trials[0].said
    assert found.spent.total == 0


def test_an_unknown_price_and_window_are_told_with_the_setting_that_names_them() -> None:
    with ModelServer(good) as server:
        settings = section(server).model_copy(update={"input_price": 0.5, "output_price": 2.0})
        found = tried(settings)
    said = {trial.aspect: trial.said for trial in found.trials}
    assert "context_window" in said[Aspect.WINDOW]
    assert said[Aspect.PRICE] == "0.5 USD for a million tokens sent, 2 USD received"
    assert found.charged.usd == pytest.approx((460 * 0.5 + 50 * 2.0) / 1e6)


class Away:
    """A provider that cannot be reached."""

    name = "google:gemini-2.5-pro"
    window = None

    async def ask(self, prompt: Prompt, *, on_text: Callable[[str], None] = lambda _text: None) -> Reply:
        raise ModelError(failure_of(Cause.PROVIDER_CONNECTION))

    async def close(self) -> None:
        """There is no connection."""


def test_the_price_of_a_known_model_is_called_the_dearest_of_its_list() -> None:
    """One with a price for short prompts and a higher one for long ones."""
    found = asyncio.run(probe(ModelSection(name=Away.name), now=NOW, open_model=lambda _settings: Away()))
    said = {trial.aspect: trial.said for trial in found.trials}
    assert said[Aspect.PRICE].startswith("2.5 USD for a million tokens sent, 15 USD received, the dearest of its list")


def test_a_hosted_model_without_a_price_says_what_is_counted_instead() -> None:
    settings = ModelSection(name="openai:my-own", base_url="https://gateway.invalid/v1", api_key=SecretStr(KEY))
    said = {trial.aspect: trial.said for trial in tried(settings).trials}
    assert "15 USD" in said[Aspect.PRICE]
    assert "input_price" in said[Aspect.PRICE]
