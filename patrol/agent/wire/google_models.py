"""Google's Gemini API."""

import httpx2
from google.genai.types import HttpRetryOptions
from pydantic_ai.models import Model
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.providers.google import GoogleProvider

from patrol.agent.endpoint import Endpoint


def build(endpoint: Endpoint, api_key: str, client: httpx2.AsyncClient) -> Model:
    """The model at an endpoint. The SDK does not ask again."""
    provider = GoogleProvider(
        api_key=api_key,
        base_url=None if endpoint.own_address else endpoint.base_url,
        http_client=client,
        retry_options=HttpRetryOptions(attempts=1),
    )
    return GoogleModel(endpoint.model, provider=provider)
