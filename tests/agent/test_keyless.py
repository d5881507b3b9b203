"""The key of a provider is in nothing that a model says or calls, wherever a stream cuts it."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from patrol.agent.keyless import KeyGuard, KeylessProvider, keyless
from patrol.agent.redact import MARK
from tests.agent.asking import prompt
from tests.agent.scripted import ScriptedProvider, says, wants

KEY = "abab-ab"
"""It begins as it ends, which is the hard case."""


@given(st.lists(st.text("ab-", max_size=9), max_size=12))
def test_pieces_say_what_the_whole_would(pieces: list[str]) -> None:
    guard = KeyGuard(KEY)
    said = "".join(map(guard.feed, pieces)) + guard.finish()
    assert said == "".join(pieces).replace(KEY, MARK)
    assert KEY not in said


def test_nothing_waits_that_cannot_become_the_key() -> None:
    guard = KeyGuard(KEY)
    assert [guard.feed(piece) for piece in ("All is well.", " ab", "out", " abab")] == [
        "All is well.",
        " ",
        "about",
        " ",
    ]
    assert guard.finish() == "abab"


def test_words_and_calls_come_without_the_key() -> None:
    said: list[str] = []
    given_away = {"id": KEY, "more": [{KEY: f"<{KEY}>"}, 7, None]}
    scripted = ScriptedProvider(wants(("look", given_away), text=f"Your key is {KEY}."))
    reply = asyncio.run(KeylessProvider(scripted, KEY).ask(prompt(), on_text=said.append))
    assert "".join(said) == reply.message.text == f"Your key is {MARK}."
    assert reply.message.calls[0].arguments == {"id": MARK, "more": [{MARK: f"<{MARK}>"}, 7, None]}


def test_a_provider_without_a_key_is_left_as_it_is() -> None:
    scripted = ScriptedProvider(says("abc"))
    assert keyless(scripted, "") is keyless(scripted, "x") is scripted
