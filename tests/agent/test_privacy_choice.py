"""Which privacy is in force where nobody set one."""

import pytest

from patrol.agent.privacy import privacy_in_force
from patrol.settings.model import ModelSection
from patrol.settings.values import Privacy


@pytest.mark.parametrize(
    ("name", "base_url"),
    [
        ("ollama:qwen3", ""),
        ("openai:qwen3", "http://localhost:8080/v1"),
        ("openai:qwen3", "http://127.0.0.1:8080/v1"),
        ("openai:qwen3", "http://10.1.2.3/v1"),
        ("openai:qwen3", "http://[fd00::1]:8000/v1"),
        ("openai:qwen3", "http://[::ffff:192.168.1.4]/v1"),
        ("openai:qwen3", "http://gpubox:8000/v1"),
        ("ollama:qwen3", "http://ollama.lan:11434/v1"),
        ("openai:qwen3", "http://llm.home.arpa./v1"),
        ("openai:qwen3", "http://LLM.local/v1"),
        ("openai:qwen3", "gpubox:8000"),
    ],
)
def test_a_model_in_this_network_hears_everything(name: str, base_url: str) -> None:
    assert privacy_in_force(ModelSection(name=name, base_url=base_url)) is Privacy.FULL


@pytest.mark.parametrize(
    ("name", "base_url"),
    [
        ("openai:gpt-5", ""),
        ("anthropic:claude", ""),
        ("ollama:qwen3", "https://ollama.example.com/v1"),
        ("ollama:gpt-oss:120b-cloud", ""),
        ("ollama:gpt-oss:120b-cloud", "http://localhost:11434/v1"),
        ("openai:qwen3", "http://8.8.8.8/v1"),
        ("openai:qwen3", "http://[::ffff:8.8.8.8]/v1"),
        ("openai:qwen3", "http://134744072/v1"),
        ("openai:qwen3", "http://local.example.com/v1"),
        ("openai:qwen3", "http://nothere@example.com/v1"),
        ("openai:qwen3", "http://[broken/v1"),
        ("", ""),
    ],
)
def test_a_model_elsewhere_hears_pseudonyms(name: str, base_url: str) -> None:
    assert privacy_in_force(ModelSection(name=name, base_url=base_url)) is Privacy.PSEUDONYMS


@pytest.mark.parametrize("privacy", list(Privacy))
def test_what_is_set_wins(privacy: Privacy) -> None:
    assert privacy_in_force(ModelSection(name="openai:gpt-5", privacy=privacy)) is privacy
    assert privacy_in_force(ModelSection(name="ollama:qwen3", privacy=privacy)) is privacy
