import json
from urllib.parse import quote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from patrol.agent.redact import MARK, MAX_DETAIL_BYTES, bounded, redact

SECRET = "AKEY123456"


@pytest.mark.parametrize(
    "text",
    [
        "Error calling https://api.example/v1beta/models/x:generate?key={} : 503",
        "https://api.example/v1?alt=sse&access_token={}&x=1",
        '{{"error": {{"api_key": "{}"}}}}',
        '"{{\\"apiKey\\": \\"{}\\"}}"',
        "{{'x-api-key': '{}', 'accept': '*/*'}}",
        "Authorization: Bearer {}",
        '"authorization": "Bearer {}"',
        "sent bearer {} to it",
        "http://me:{}@ollama.lan:11434/v1",
        "postgresql://{}:pw@host/db",
        "x-goog-api-key: {}",
        "Incorrect API key provided: sk-proj-{}. You can find yours there.",
        "user_{} has no access",
        '{{"user_id": "{}"}}',
    ],
)
def test_what_looks_like_a_credential_goes_though_nobody_named_it(text: str) -> None:
    assert SECRET not in redact(text.format(SECRET))


@pytest.mark.parametrize(
    "text",
    [
        "the request has 1402 tokens: too many",
        "max_tokens=4096 is above the limit",
        "timeout after 4000ms",
        "a user-facing message about the basic settings of a token",
        "http://ollama.lan:11434/v1 refused",
        "the API key is missing",
    ],
)
def test_what_an_operator_needs_stays(text: str) -> None:
    assert redact(text) == text


def test_the_configured_key_goes_wherever_it_stands() -> None:
    key = 'odd"key/with+signs é'
    texts = [key, quote(key), quote(key, safe=""), json.dumps({"at": key}), repr([key]), f"model {key} said no"]
    assert all(MARK in redact(text, [key]) and "signs" not in redact(text, [key]) for text in texts)


PLAIN = st.text(max_size=60)


@given(before=PLAIN, after=PLAIN, key=st.text(min_size=4, max_size=60).map(str.strip), wrap=st.integers(0, 3))
def test_a_planted_key_never_survives(before: str, after: str, key: str, wrap: int) -> None:
    assume(len(key) >= 4)
    planted = [key, json.dumps(key), quote(key, errors="replace"), f"https://host/?key={quote(key, errors='replace')}"]
    heard = redact(f"{before}{planted[wrap]}{after}", [key])
    assume(key.lower() not in MARK and key.lower() not in f"{before} {after} https://host/?key=".lower())
    assert key not in heard.replace(MARK, "")


@given(text=st.text(), limit=st.integers(min_value=0, max_value=40))
def test_a_text_is_cut_between_characters_and_never_too_long(text: str, limit: int) -> None:
    cut = bounded(text, limit)
    assert len(cut.encode()) <= max(limit, 4)
    assert cut == text.encode("utf-8", "replace").decode() or text.startswith(cut.removesuffix(" ..."))


def test_a_long_text_is_bounded_after_it_was_cleaned() -> None:
    heard = redact("é" * MAX_DETAIL_BYTES + SECRET, [SECRET])
    assert len(heard.encode()) <= MAX_DETAIL_BYTES


def test_a_placeholder_tears_no_holes() -> None:
    assert redact("a key of a model", ["a", " ", "key"]) == "a key of a model"
