"""OpenAI's chat completions, as OpenAI speaks them and as everybody else does: Ollama, llama.cpp, vLLM, gateways."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2
from openai import AsyncOpenAI
from openai.types import chat
from openai.types.chat import ChatCompletionChunk, chat_completion_chunk
from pydantic import BaseModel
from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.messages import ModelResponseStreamEvent
from pydantic_ai.models import Model
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIStreamedResponse
from pydantic_ai.profiles import merge_profile
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.ollama import OllamaProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import RequestUsage

from patrol.agent.endpoint import Endpoint, ProviderKind

_NO_KEY = "none"  # the SDK wants one; servers on this network need none


def build(endpoint: Endpoint, api_key: str, client: httpx2.AsyncClient) -> Model:
    """The model at an endpoint. The SDK neither asks again nor has a time limit of its own."""
    openai = AsyncOpenAI(
        api_key=api_key or _NO_KEY,
        base_url=endpoint.base_url,
        http_client=client,
        timeout=client.timeout,
        max_retries=0,
    )
    openai.organization = openai.project = None  # the SDK takes them from the environment, for whatever address
    if endpoint.kind is ProviderKind.OLLAMA:
        provider: OllamaProvider | OpenAIProvider = OllamaProvider(openai_client=openai)
    else:
        provider = OpenAIProvider(openai_client=openai)
    profile = provider.model_profile(endpoint.model)
    if not endpoint.own_address or endpoint.kind is ProviderKind.OLLAMA:
        # The older name of the limit is the one that other servers know.
        profile = merge_profile(profile, OpenAIModelProfile(openai_chat_supports_max_completion_tokens=False))
    return TolerantChatModel(endpoint.model, provider=provider, profile=profile)


@dataclass
class TolerantStream(OpenAIStreamedResponse):
    """A stream whose count of tokens may be anything, and whose calls may all have the number 0.

    Some gateways (Gemini's among them) number every call of an answer 0; the library would make one of them. What
    begins with another id and a name is another call.
    """

    _slots: dict[object, tuple[str, int]] = field(default_factory=dict, init=False)
    _begun: int = field(default=0, init=False)

    def _map_tool_call_delta(self, choice: chat_completion_chunk.Choice) -> Iterable[ModelResponseStreamEvent]:
        for delta in choice.delta.tool_calls or ():
            told, number = self._slots.get(delta.index, ("", -1))
            is_named = delta.function is not None and bool(delta.function.name)
            if number < 0 or (is_named and told and delta.id and delta.id != told):
                number, self._begun = self._begun, self._begun + 1
            self._slots[delta.index] = (delta.id or told, number)
            delta.index = number
        return super()._map_tool_call_delta(choice)

    def _map_usage(self, response: ChatCompletionChunk) -> RequestUsage:
        return usage_told(response.usage)


class TolerantChatModel(OpenAIChatModel):
    """Reads what servers leave out or write otherwise, where it is clear what they mean; nothing else is mended."""

    @property
    def _streamed_response_cls(self) -> type[OpenAIStreamedResponse]:
        return TolerantStream

    def _map_usage(self, response: chat.ChatCompletion) -> RequestUsage:
        return usage_told(response.usage)

    def _validate_completion(self, response: chat.ChatCompletion) -> Any:
        """The answer in full form; the library's hook for this. Raises ModelAPIError for an error inside it."""
        told = response.model_dump(warnings=False)
        error = told.get("error")
        if error and not told.get("choices"):
            raise ModelAPIError(self.model_name, "an error inside the answer", body=error, in_stream=True)
        return super()._validate_completion(chat.ChatCompletion.model_construct(**_filled(told, self.model_name)))


def _filled(told: Mapping[str, Any], model: str) -> dict[str, Any]:
    choices = told.get("choices")
    filled = [_choice(choice, index) for index, choice in enumerate(choices)] if isinstance(choices, list) else choices
    about = {
        "id": told.get("id") or "",
        "object": "chat.completion",
        "created": told.get("created") or 0,
        "model": told.get("model") or model,
    }
    # The count of tokens is read from what was told, see `usage_told`: a broken one must not cost the answer.
    return {**told, **about, "choices": filled, "usage": _counts(told.get("usage"))}


def _choice(choice: Any, index: int) -> Any:
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(message, Mapping):
        return choice
    calls = message.get("tool_calls")
    mended = [_call(call) for call in calls] if isinstance(calls, list) else None
    return {**choice, "index": index, "message": {**message, "role": "assistant", "tool_calls": mended or None}}


def _call(call: Any) -> Any:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping):
        return call
    arguments = function.get("arguments")
    if arguments is None:
        arguments = ""
    elif not isinstance(arguments, str):
        arguments = json.dumps(arguments)
    return {**call, "id": call.get("id") or "", "type": "function", "function": {**function, "arguments": arguments}}


def _counts(usage: object) -> dict[str, Any] | None:
    if not isinstance(usage, Mapping):
        return None
    sent, got = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    if sent is None or got is None:
        return None
    counts: dict[str, Any] = {"prompt_tokens": sent, "completion_tokens": got, "total_tokens": sent + got}
    for name, key in (("prompt_tokens_details", "cached_tokens"), ("completion_tokens_details", "reasoning_tokens")):
        details = usage.get(name)
        value = _count(details.get(key)) if isinstance(details, Mapping) else None
        if value is not None:
            counts[name] = {key: value}
    return counts


def usage_told(usage: object) -> RequestUsage:
    """The tokens as the server counts them; what cannot be a count was not told."""
    told = usage.model_dump(warnings=False) if isinstance(usage, BaseModel) else usage
    counts = _counts(told)
    if counts is None:
        return RequestUsage()
    reasoning = counts.get("completion_tokens_details", {}).get("reasoning_tokens", 0)
    return RequestUsage(
        input_tokens=counts["prompt_tokens"],
        output_tokens=counts["completion_tokens"],
        cache_read_tokens=counts.get("prompt_tokens_details", {}).get("cached_tokens", 0),
        details={"reasoning_tokens": reasoning} if reasoning else {},
    )


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value < 1e12 and value == int(value) else None
