"""Anthropic's messages."""

import httpx2
from anthropic import AsyncAnthropic
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider

from patrol.agent.endpoint import Endpoint


def build(endpoint: Endpoint, api_key: str, client: httpx2.AsyncClient) -> Model:
    """The model at an endpoint. The SDK neither asks again nor has a time limit of its own."""
    anthropic = AsyncAnthropic(
        api_key=api_key,
        base_url=endpoint.base_url.removesuffix("/v1"),
        http_client=client,
        timeout=client.timeout,
        max_retries=0,
    )
    return AnthropicModel(endpoint.model, provider=AnthropicProvider(anthropic_client=anthropic))
