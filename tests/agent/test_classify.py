import pytest
from hypothesis import given
from hypothesis import strategies as st

from patrol.agent.causes import SENTENCES, failure_of
from patrol.agent.classify import Heard, Stage, classify
from patrol.agent.failure import Cause
from patrol.agent.window_words import named_window


def refused(status: int, words: str = "", code: str = "", retry_after: float | None = None) -> Cause:
    heard = Heard(stage=Stage.REFUSED, status=status, words=words, code=code, retry_after=retry_after)
    return classify(heard).cause


@pytest.mark.parametrize(
    ("status", "words", "cause"),
    [
        (401, "", Cause.PROVIDER_AUTH),
        (403, "", Cause.PROVIDER_AUTH),
        (400, "API key not valid. Please pass a valid API key.", Cause.PROVIDER_AUTH),
        (402, "", Cause.PROVIDER_BILLING),
        (400, "Your credit balance is too low to access the API.", Cause.PROVIDER_BILLING),
        (429, "You exceeded your current quota, please check your plan and billing details.", Cause.PROVIDER_BILLING),
        (403, "Insufficient Balance", Cause.PROVIDER_BILLING),
        (429, "", Cause.PROVIDER_RATE_LIMITED),
        (400, "Rate limit reached for requests", Cause.PROVIDER_RATE_LIMITED),
        (404, "No endpoints found that support tool use. To learn more", Cause.NO_TOOL_CAPABLE_ENDPOINT),
        (400, "registry.ollama.ai/library/gemma3:latest does not support tools", Cause.MODEL_UNSUPPORTED_TOOLS),
        (400, "Function calling is not enabled for this model", Cause.MODEL_UNSUPPORTED_TOOLS),
        (500, "tools param requires --jinja flag", Cause.PROVIDER_ERROR),
        (400, "tools param requires --jinja flag", Cause.MODEL_UNSUPPORTED_TOOLS),
        (400, "deepseek-reasoner does not support this tool_choice", Cause.TOOL_CHOICE_REJECTED),
        (400, "Invalid value for 'tool_choice': must be one of auto, none", Cause.TOOL_CHOICE_REJECTED),
        (400, "Thinking may not be enabled when tool_choice forces tool use: not allowed", Cause.TOOL_CHOICE_REJECTED),
        (404, "The model `gpt-9` does not exist or you do not have access to it.", Cause.MODEL_UNAVAILABLE),
        (404, 'model "qwen9" not found, try pulling it first', Cause.MODEL_UNAVAILABLE),
        (404, "model 'qwen9' not found", Cause.MODEL_UNAVAILABLE),
        (404, "model: claude-nope", Cause.MODEL_UNAVAILABLE),
        (404, "models/gemini-nope is not found for API version v1beta", Cause.MODEL_UNAVAILABLE),
        (400, "google/nope is not a valid model ID", Cause.MODEL_UNAVAILABLE),
        (
            400,
            "A message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
            Cause.MALFORMED_TOOL_HISTORY,
        ),
        (
            400,
            "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1",
            Cause.MALFORMED_TOOL_HISTORY,
        ),
        (400, "This model's maximum context length is 8192 tokens.", Cause.CONTEXT_WINDOW_TOO_SMALL),
        (400, "the request exceeds the available context size (4096 tokens)", Cause.CONTEXT_WINDOW_TOO_SMALL),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", Cause.CONTEXT_WINDOW_TOO_SMALL),
        (413, "", Cause.CONTEXT_WINDOW_TOO_SMALL),
        (500, "", Cause.PROVIDER_ERROR),
        (503, "", Cause.PROVIDER_OVERLOADED),
        (529, "", Cause.PROVIDER_OVERLOADED),
        (408, "", Cause.PROVIDER_TIMEOUT),
        (404, "Not Found", Cause.PROVIDER_NOT_CONFIGURED),
        (307, "", Cause.PROVIDER_ERROR),
    ],
)
def test_a_refusal_has_the_cause_that_it_tells(status: int, words: str, cause: Cause) -> None:
    assert refused(status, words) is cause


@pytest.mark.parametrize(
    ("status", "words", "cause"),
    [
        (400, "timeout after 4000ms", Cause.PROVIDER_ERROR),
        (400, "model-4021 said 402 and 401", Cause.PROVIDER_ERROR),
        (400, "1402 tokens", Cause.PROVIDER_ERROR),
        (404, "The model `credit-risk-7b` does not exist", Cause.MODEL_UNAVAILABLE),
        (400, "model credit-scorer failed", Cause.PROVIDER_ERROR),
        (404, "resource not found in model context", Cause.PROVIDER_NOT_CONFIGURED),
        (400, "the tool said: invalid model of a disk array is unsupported in no context window of mine", None),
        (500, "maximum context length is 8192 tokens", Cause.PROVIDER_ERROR),
        (500, "invalid api key, quota exceeded, rate limit", Cause.PROVIDER_ERROR),
    ],
)
def test_numbers_and_names_that_look_like_a_cause_are_none(status: int, words: str, cause: Cause | None) -> None:
    assert cause is None or refused(status, words) is cause


def test_a_quota_for_a_minute_is_a_rate_limit() -> None:
    assert refused(429, "You exceeded your current quota", retry_after=31.0) is Cause.PROVIDER_RATE_LIMITED
    assert refused(429, "You exceeded", code="insufficient_quota", retry_after=31.0) is Cause.PROVIDER_BILLING


@given(status=st.integers(500, 599), words=st.text())
def test_the_words_of_a_server_error_decide_nothing(status: int, words: str) -> None:
    assert refused(status, words) is refused(status)


@given(
    stage=st.sampled_from(Stage),
    status=st.none() | st.integers(100, 599),
    words=st.sampled_from(["", "rate limit", "quota exceeded", "model x not found"]),
)
def test_only_what_produced_nothing_may_be_asked_again(stage: Stage, status: int | None, words: str) -> None:
    failure = classify(Heard(stage=stage, status=status, words=words))
    if failure.asked_again:
        assert stage is Stage.NOT_SENT or (stage is Stage.REFUSED and status in {429, 500, 502, 503, 504, 529})


@pytest.mark.parametrize("cause", Cause)
def test_every_cause_has_a_sentence_that_says_what_to_do(cause: Cause) -> None:
    assert len(SENTENCES[cause]) > 40
    assert failure_of(cause).summary == SENTENCES[cause]


@pytest.mark.parametrize(
    ("words", "window"),
    [
        ('{"n_ctx": 4096, "n_prompt_tokens": 5000}', 4096),
        ("the request exceeds the available context size (8192 tokens), try increasing it", 8192),
        ("This model's maximum context length is 128,000 tokens. However you requested 9 tokens", 128_000),
        ("prompt is too long: 210000 tokens > 200000 maximum", 200_000),
        ("input length exceeds the context window of 32768", 32768),
        ("context length exceeded", None),
        ("context length of 12", None),
        ("model-128000 failed", None),
    ],
)
def test_the_window_is_read_where_an_error_names_it(words: str, window: int | None) -> None:
    assert named_window(words) == window


@given(st.text())
def test_any_text_names_a_window_or_none(words: str) -> None:
    window = named_window(words)
    assert window is None or 256 <= window <= 100_000_000


def test_a_request_that_is_too_large_brings_the_window_with_it() -> None:
    heard = Heard(stage=Stage.REFUSED, status=400, words="maximum context length is 8192 tokens")
    assert classify(heard).window == 8192
