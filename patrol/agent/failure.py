"""Why a model gave no answer: a stable cause, a sentence for the operator, and whether asking again can help."""

from dataclasses import dataclass
from enum import StrEnum

from patrol.agent.model import Usage


class Cause(StrEnum):
    """Why the model did not do its part. The words are stable: they are stored, shown and counted."""

    INTERRUPTED = "interrupted"  # Patrol was told to stop
    MALFORMED_TOOL_HISTORY = "malformed_tool_history"
    TOOL_CHOICE_REJECTED = "tool_choice_rejected"
    NO_TOOL_CAPABLE_ENDPOINT = "no_tool_capable_endpoint"
    MODEL_UNSUPPORTED_TOOLS = "model_unsupported_tools"
    MODEL_UNAVAILABLE = "model_unavailable"
    CONTEXT_WINDOW_TOO_SMALL = "context_window_too_small"
    CONTEXT_TRUNCATED = "context_truncated"  # the server answered, but had read less than was sent
    PROVIDER_BILLING = "provider_billing"
    PROVIDER_RATE_LIMITED = "provider_rate_limited"
    PROVIDER_OVERLOADED = "provider_overloaded"
    PROVIDER_AUTH = "provider_auth"
    PROVIDER_NOT_CONFIGURED = "provider_not_configured"
    PROVIDER_CONNECTION = "provider_connection"
    PROVIDER_TIMEOUT = "provider_timeout"
    PROVIDER_ERROR = "provider_error"  # it answered with an error that is none of the others
    UNREADABLE_ANSWER = "unreadable_answer"  # not what the wire format says: HTML, cut JSON, missing parts
    ANSWER_CUT_OFF = "answer_cut_off"  # the connection ended in the middle
    EMPTY_ANSWER = "empty_answer"
    OUTPUT_LIMIT = "output_limit"  # all of the allowance was used and nothing could be done with it
    TOOLS_IN_TEXT = "tools_in_text"  # it writes tool calls as text instead of making them
    PHASE_TIMEOUT = "phase_timeout"  # the time for the model in a run was over
    CIRCUIT_OPEN = "circuit_open"  # it failed often enough just now; it is asked again later
    INTERNAL_ERROR = "internal_error"  # a fault of Patrol's own


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One failure, told. `summary` is for the operator and says what to do next; `detail` is what was heard, redacted.

    `temporary`: asking again later, unchanged, can help. `asked_again`: it may be asked again at once without a
    second charge, for nothing was produced. `retry_after` in seconds, where the provider said so.
    `window`: the context window in tokens that the provider named, if it named one.
    """

    cause: Cause
    summary: str
    detail: str = ""
    temporary: bool = False
    asked_again: bool = False
    retry_after: float | None = None
    window: int | None = None


class ModelError(Exception):
    """The model gave no answer that can be used. `usage`: what it cost all the same, as far as is known."""

    def __init__(self, failure: Failure, usage: Usage | None = None) -> None:
        super().__init__(f"{failure.cause}: {failure.summary}")
        self.failure = failure
        self.usage = usage
