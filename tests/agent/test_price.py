from datetime import UTC, datetime

import pytest

from patrol.agent.endpoint import parse_endpoint
from patrol.agent.price import FREE, known_window, price_of

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("ollama:qwen3", ""),
        ("ollama:qwen3", "http://192.168.1.4:11434"),
        ("openai:gpt-4o", "http://vllm.lan/v1"),
        ("anthropic:claude-sonnet-4-5", "http://gateway/"),
    ],
)
def test_a_model_on_this_network_is_free(name: str, url: str) -> None:
    assert price_of(parse_endpoint(name, url), NOW) == FREE


@pytest.mark.parametrize(
    ("name", "sent", "got"),
    [
        ("openai:gpt-4o-mini", 0.15, 0.60),
        ("anthropic:claude-3-5-haiku-latest", 0.80, 4.0),
        ("google:gemini-2.0-flash", 0.10, 0.40),
    ],
)
def test_a_known_model_has_its_list_price(name: str, sent: float, got: float) -> None:
    price = price_of(parse_endpoint(name), NOW)
    assert price is not None
    assert price.input_usd * 1e6 == pytest.approx(sent)
    assert price.output_usd * 1e6 == pytest.approx(got)
    assert 0 <= price.cached_usd <= price.input_usd


def test_where_long_prompts_cost_more_the_dearest_price_counts() -> None:
    price = price_of(parse_endpoint("google:gemini-2.5-pro"), NOW)
    assert price is not None
    assert price.input_usd * 1e6 == pytest.approx(2.5)


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("openai:my-own-model", ""),
        ("openai:gpt-4o", "https://gateway.example.com/v1"),
        ("openai:google/some-model", "https://gateway.example.com/v1"),
        ("google:gemini-99-nope", ""),
        ("ollama:gpt-oss:120b-cloud", ""),
    ],
)
def test_an_unknown_price_is_none_and_never_zero(name: str, url: str) -> None:
    assert price_of(parse_endpoint(name, url), NOW) is None
    assert known_window(parse_endpoint(name, url)) is None


def test_a_gateway_that_the_tables_know_has_its_own_prices() -> None:
    endpoint = parse_endpoint("openai:openai/gpt-4o-mini", "https://openrouter.ai/api/v1")
    assert price_of(endpoint, NOW) is not None
