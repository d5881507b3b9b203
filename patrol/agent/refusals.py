"""Why a provider turned a request down, by its own names for errors and, failing those, by its sentences.

The sentences are those of OpenAI, Anthropic, Google, OpenRouter, Groq, Mistral, DeepSeek, vLLM, llama.cpp and Ollama.
Each pattern asks for whole words that belong together: a number, or a name that holds such a word, says nothing.
"""

import re
from collections.abc import Mapping, Sequence

from patrol.agent.failure import Cause

_CODES: Mapping[str, Cause] = {
    "insufficient_quota": Cause.PROVIDER_BILLING,
    "billing_error": Cause.PROVIDER_BILLING,
    "billing_not_active": Cause.PROVIDER_BILLING,
    "invalid_api_key": Cause.PROVIDER_AUTH,
    "authentication_error": Cause.PROVIDER_AUTH,
    "permission_error": Cause.PROVIDER_AUTH,
    "rate_limit_exceeded": Cause.PROVIDER_RATE_LIMITED,
    "rate_limit_error": Cause.PROVIDER_RATE_LIMITED,
    "model_not_found": Cause.MODEL_UNAVAILABLE,
    "context_length_exceeded": Cause.CONTEXT_WINDOW_TOO_SMALL,
    "exceed_context_size_error": Cause.CONTEXT_WINDOW_TOO_SMALL,
    "request_too_large": Cause.CONTEXT_WINDOW_TOO_SMALL,
    "tool_use_failed": Cause.UNREADABLE_ANSWER,  # the model wrote a call that the server could not read
}
"""Machine-readable names that providers give their errors: OpenAI, Anthropic, llama.cpp, Groq."""


def cause_of_code(code: str) -> Cause | None:
    """The cause that the first known name stands for; `code` may hold several, separated by spaces."""
    return next((_CODES[word] for word in code.lower().split() if word in _CODES), None)


_NAMED = r"(?:[`'\"][^`'\"]{1,200}[`'\"]|[\w./:@+-]{1,200})"
_ABSENT = r"(?:not (?:available|found|supported|loaded)|does not exist|unavailable|unknown)"

_PATTERNS: Mapping[Cause, Sequence[str]] = {
    Cause.MALFORMED_TOOL_HISTORY: (
        r"\btool[_ ](?:calls?|call_ids?|use|results?)\b.{0,200}\bmust be followed by\b",
        r"\binsufficient tool messages\b|\bresponding to each .{0,20}tool_call_id\b",
        r"\bwithout (?:a |corresponding )*`?tool_result|\bunexpected `?tool_(?:use_id|result)",
        r"\bnot the same number of function calls and responses\b",
    ),
    Cause.TOOL_CHOICE_REJECTED: (
        r"\btool[_ ]choice\b.{0,120}\b(?:not supported|unsupported|invalid|does not support|must be|not allowed)\b",
        r"\b(?:invalid|unsupported|unknown|does not support) (?:\w+ ){0,3}[`'\"]?tool[_ ]choice\b",
    ),
    Cause.NO_TOOL_CAPABLE_ENDPOINT: (r"\bno endpoints? (?:were )?found\b.{0,120}\btool",),
    Cause.MODEL_UNSUPPORTED_TOOLS: (
        r"\b(?:does not|doesn't|do not|don't|cannot) support (?:the use of )?(?:tools?|function calling|functions)\b",
        r"\b(?:tools?|tool use|tool calling|function calling) (?:is|are) (?:not supported|unsupported|not enabled)\b",
        r"\btools? param(?:eter)? requires --jinja\b|\btool choice requires --enable-auto-tool-choice\b",
    ),
    Cause.CONTEXT_WINDOW_TOO_SMALL: (
        r"\bmaximum (?:context|prompt) length\b|\bprompt is too long\b|\bn_ctx\b",
        r"\bexceed(?:s|ed)?\b.{0,80}\bcontext (?:window|length|size|limit)\b",
        r"\bcontext (?:window|length|size|limit) (?:is |was |has been )?exceeded\b",
        r"\b(?:greater|larger|longer) than the (?:maximum )?context (?:length|window|size)\b",
        r"\binput token count\b.{0,80}\bexceeds the maximum\b",
    ),
    Cause.MODEL_UNAVAILABLE: (
        rf"\b(?:model|deployment)[ :=]{{1,3}}{_NAMED}?,? ?(?:is |was )?{_ABSENT}\b",
        r"\b(?:no such|unknown|invalid|unsupported|unavailable) model\b|\bnot a valid model\b",
        r"^model: \S+$|\bmodels/\S+ is not found\b",
    ),
    Cause.PROVIDER_BILLING: (
        r"\binsufficient (?:balance|credits?|funds|quota)\b|\bpayment required\b|\bcredit balance is too low\b",
        r"\b(?:exceeded|exhausted|used up|out of|no|more|enough) (?:\w+ ){0,3}(?:quota|credits)\b",
        r"\benable billing\b|\bbilling (?:account|details|hard limit)\b",
    ),
    Cause.PROVIDER_AUTH: (r"\bAPI key (?:not valid|is invalid|expired|not found)\b|\b(?:invalid|expired) API key\b",),
    Cause.PROVIDER_RATE_LIMITED: (r"\brate[- ]limit(?:s|ed)?\b|\btoo many requests\b",),
}
"""In this order: what is more exact comes first."""

_COMPILED = {
    cause: [re.compile(pattern, re.IGNORECASE) for pattern in patterns] for cause, patterns in _PATTERNS.items()
}


def cause_of_words(words: str) -> Cause | None:
    """The cause that a refusal's sentences name, None if they name none that is known."""
    text = " ".join(words.split())
    return next((cause for cause, patterns in _COMPILED.items() if any(one.search(text) for one in patterns)), None)
