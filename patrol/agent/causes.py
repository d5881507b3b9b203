"""What each cause means: a sentence for the operator that ends with what to do, and whether waiting can help."""

from collections.abc import Mapping

from patrol.agent.failure import Cause, Failure

SENTENCES: Mapping[Cause, str] = {
    Cause.INTERRUPTED: ("Patrol was stopped while the model worked; the next run asks it again"),
    Cause.MALFORMED_TOOL_HISTORY: (
        "the provider refused the conversation: a tool call and its answer did not match; "
        "please report it with the detail below"
    ),
    Cause.TOOL_CHOICE_REJECTED: (
        "the provider does not let Patrol ask for a tool call; choose a model or server that supports tool_choice"
    ),
    Cause.NO_TOOL_CAPABLE_ENDPOINT: (
        "the gateway has no endpoint for this model that supports tools; choose another model in [model] name"
    ),
    Cause.MODEL_UNSUPPORTED_TOOLS: (
        "the model or its server does not support tools, which Patrol needs; choose another model in [model] name, "
        "or start the server with tool support"
    ),
    Cause.MODEL_UNAVAILABLE: (
        "the provider does not have this model; check [model] name, and with Ollama pull the model first"
    ),
    Cause.CONTEXT_WINDOW_TOO_SMALL: (
        "the request is larger than the model's context window; raise it on the server, set [model] context_window "
        "to what it is, or choose a model with a larger one"
    ),
    Cause.CONTEXT_TRUNCATED: (
        "the server read only a part of the request; raise its context window (Ollama: num_ctx), or set "
        "[model] context_window to what it is"
    ),
    Cause.PROVIDER_BILLING: ("the provider refuses for want of credit or quota; check the account's billing page"),
    Cause.PROVIDER_RATE_LIMITED: (
        "the provider limits how often it may be asked; Patrol asks again later, or space the runs with [model] every"
    ),
    Cause.PROVIDER_OVERLOADED: ("the provider is overloaded or starting; Patrol asks again later"),
    Cause.PROVIDER_AUTH: (
        "the provider refuses the key; put a valid one into [model] api_key_file (or the file that systemd hands over)"
    ),
    Cause.PROVIDER_NOT_CONFIGURED: ("the model is not set up; see [model] in the settings"),
    Cause.PROVIDER_CONNECTION: (
        "the provider cannot be reached; check that it runs, [model] base_url, name resolution and the firewall"
    ),
    Cause.PROVIDER_TIMEOUT: (
        "the provider was silent for longer than [model] request_timeout; check its load, or raise the time for a "
        "slow model"
    ),
    Cause.PROVIDER_ERROR: ("the provider answered with an error; the detail says which"),
    Cause.UNREADABLE_ANSWER: (
        "what came back is not an answer of a model; check that [model] base_url names the API (often ending in /v1) "
        "and that no sign-in page or proxy stands before it"
    ),
    Cause.ANSWER_CUT_OFF: (
        "the connection ended in the middle of the answer; check the server's log and proxies before it"
    ),
    Cause.EMPTY_ANSWER: ("the model answered with nothing; if it stays so, choose another model"),
    Cause.OUTPUT_LIMIT: (
        "the model used up its allowance for output without an answer, often by thinking; choose a model that thinks "
        "less"
    ),
    Cause.TOOLS_IN_TEXT: (
        "the model writes tool calls as text instead of making them; choose a model, or a server with the model's "
        "chat template, that supports tools"
    ),
    Cause.PHASE_TIMEOUT: (
        "the time for the model in a run was over; raise [model] phase_timeout or choose a faster model"
    ),
    Cause.CIRCUIT_OPEN: ("the model failed repeatedly just now and is asked again later"),
    Cause.INTERNAL_ERROR: ("a fault in Patrol itself; please report it with the detail below"),
}

TEMPORARY = frozenset(
    {
        Cause.INTERRUPTED,
        Cause.PROVIDER_RATE_LIMITED,
        Cause.PROVIDER_OVERLOADED,
        Cause.PROVIDER_CONNECTION,
        Cause.PROVIDER_TIMEOUT,
        Cause.ANSWER_CUT_OFF,
        Cause.EMPTY_ANSWER,
        Cause.PHASE_TIMEOUT,
        Cause.CIRCUIT_OPEN,
    }
)
"""Causes that can pass without anybody changing anything."""


def failure_of(
    cause: Cause,
    *,
    detail: str = "",
    summary: str = "",
    temporary: bool | None = None,
    asked_again: bool = False,
    retry_after: float | None = None,
    window: int | None = None,
) -> Failure:
    """The failure of a cause, with its sentence for the operator; `detail` is expected to be redacted."""
    return Failure(
        cause=cause,
        summary=summary or SENTENCES[cause],
        detail=detail,
        temporary=cause in TEMPORARY if temporary is None else temporary,
        asked_again=asked_again,
        retry_after=retry_after,
        window=window,
    )
