"""Opening a model: what is set decides, and what cannot work is told with what to write instead."""

import asyncio
import sys
from datetime import UTC, datetime

import pytest
from pydantic import SecretStr

from patrol.agent.endpoint import parse_endpoint
from patrol.agent.failure import Cause, ModelError
from patrol.agent.price import LOCAL_WINDOW
from patrol.agent.wire.opening import open_provider
from patrol.settings.model import ModelSection
from tests.agent.asking import FORMATS, ask, converse, prompt, section
from tests.agent.wire_server import Break, How, ModelServer, Point, Say

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def problem(name: str, base_url: str = "", key: str | None = None) -> str:
    section = ModelSection(name=name, base_url=base_url, api_key=SecretStr(key) if key else None)
    with pytest.raises(ModelError) as caught:
        open_provider(section)
    assert caught.value.failure.cause is Cause.PROVIDER_NOT_CONFIGURED
    return caught.value.failure.summary


@pytest.mark.parametrize("name", ["", "qwen3", "ollama:", ":qwen3", "mistral:large", "ollama", "openai: "])
def test_a_name_that_says_no_provider_is_refused_with_those_that_there_are(name: str) -> None:
    assert all(word in problem(name) for word in ("ollama:", "openai:", "anthropic:", "google:"))


@pytest.mark.parametrize("name", ["openai:gpt-5", "anthropic:claude-sonnet-4-5", "google:gemini-2.5-flash"])
def test_a_hosted_provider_without_a_key_says_where_to_put_it(name: str) -> None:
    assert "api_key_file" in problem(name)


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("ollama.lan:11434", "http://"),
        ("ftp://host/v1", "http://"),
        ("http://", "http://"),
        ("http://host:99999/v1", "http://"),
        ("http://ho st/v1", "http://"),
        ("http://[::1/v1", "http://"),
        ("http://me:secret@host/v1", "api_key_file"),
        ("http://host/v1?key=secret", "leave"),
        ("http://host/v1/chat/completions", "leave off"),
        ("http://host/v1/messages", "leave off"),
    ],
)
def test_an_address_that_cannot_be_one_is_refused_without_being_repeated(url: str, word: str) -> None:
    told = problem("openai:m", url)
    assert word in told
    assert "secret" not in told


@pytest.mark.parametrize(
    ("name", "url", "model", "address"),
    [
        ("ollama:qwen3:8b", "", "qwen3:8b", "http://localhost:11434/v1"),
        ("ollama:qwen3", "http://ollama.lan:11434", "qwen3", "http://ollama.lan:11434/v1"),
        ("ollama:qwen3", "http://ollama.lan:11434/v1/", "qwen3", "http://ollama.lan:11434/v1"),
        ("OpenAI:gpt-5", "", "gpt-5", "https://api.openai.com/v1"),
        ("openai:google/some-model", "http://gw/v1", "google/some-model", "http://gw/v1"),
        ("openai:a/b:c/d", "http://gw/v1", "a/b:c/d", "http://gw/v1"),
        ("anthropic:claude", "", "claude", "https://api.anthropic.com"),
    ],
)
def test_the_first_word_decides_and_the_rest_is_the_model(name: str, url: str, model: str, address: str) -> None:
    endpoint = parse_endpoint(name, url)
    assert (endpoint.model, endpoint.base_url) == (model, address)


@pytest.mark.parametrize(
    ("name", "url", "local"),
    [
        ("ollama:qwen3", "", True),
        ("ollama:qwen3-coder:480b-cloud", "", False),
        ("openai:m", "http://192.168.1.4/v1", True),
        ("openai:m", "", False),
        ("anthropic:m", "https://gateway.example.com", False),
    ],
)
def test_what_stays_on_this_network_is_told_from_the_address(name: str, url: str, *, local: bool) -> None:
    assert parse_endpoint(name, url).local is local


@pytest.mark.parametrize("name", ["openai:gpt-5", "anthropic:claude-sonnet-4-5", "google:gemini-2.5-flash"])
def test_hosted_models_open_with_a_key_and_their_window_is_known(name: str) -> None:
    provider = open_provider(ModelSection(name=name, api_key=SecretStr("sk-something")))
    assert provider.name == name
    assert (provider.window or 0) >= 100_000


def test_the_window_that_is_set_goes_before_what_is_known() -> None:
    section = ModelSection(name="openai:gpt-5", api_key=SecretStr("sk-something"), context_window=16_384)
    assert open_provider(section).window == 16_384


def test_of_a_local_model_only_a_small_window_is_relied_on() -> None:
    assert open_provider(ModelSection(name="ollama:gpt-5")).window == LOCAL_WINDOW
    assert open_provider(ModelSection(name="ollama:gpt-5", context_window=131_072)).window == 131_072


@pytest.mark.parametrize(("extra", "library"), [("anthropic", "anthropic"), ("google", "google.genai.types")])
def test_a_missing_extra_is_told_with_the_command_that_installs_it(
    extra: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, f"patrol.agent.wire.{extra}_models", raising=False)
    monkeypatch.setitem(sys.modules, library, None)  # Python's own way to say that it is not installed
    assert f"pip install 'patrold[{extra}]'" in problem(f"{extra}:some-model", key="sk-something")


@pytest.mark.parametrize("wire", FORMATS)
def test_nothing_of_the_environment_goes_to_an_address_that_is_set(wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(name, "of-the-environment")
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.setenv(name, "http://elsewhere.invalid/v1")
    with ModelServer(Say("Yes.")) as server:
        ask(section(server, wire))
    assert "of-the-environment" not in str(server.asks[0].headers)


def test_a_server_on_this_network_needs_no_key() -> None:
    with ModelServer(Say("Yes.")) as server:
        provider = open_provider(ModelSection(name="openai:m", base_url=server.openai_url))
        asyncio.run(converse(provider, prompt()))
    assert len(server.asks) == 1


async def cancelled(server: ModelServer) -> None:
    provider = open_provider(section(server))
    try:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await provider.ask(prompt())
    finally:
        await provider.close()


@pytest.mark.parametrize("at", [Point.REQUEST, Point.MIDDLE])
def test_a_model_that_is_not_waited_for_any_longer_leaves_nothing_open(at: Point) -> None:
    with ModelServer(Break(at, How.HANG)) as server:
        asyncio.run(cancelled(server))
    assert len(server.asks) == 1
