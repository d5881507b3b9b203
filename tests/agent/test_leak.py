"""Tool calls and reasoning written as text never reach anybody."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patrol.agent.leak import LeakGuard, cleaned

TOOLS = ("pulse_query", "pulse_read", "patrol_report_finding")
LEAKS = {
    "DeepSeek markup": "Here is my answer<\uff5cDSML\uff5cfunction_calls>...",
    "ASCII bars": "Here is my answer<|DSML|function_calls>...",
    "tool_call": 'My response\n<tool_call>{"name":"foo"}</tool_call>',
    "tool_calls": 'Answer here\n<tool_calls>\n{"name":"bar"}\n</tool_calls>',
    "function_call": "Done.\n<function_call>test</function_call>",
    "a closing tag alone": "Done.</function_calls>",
    "plugin": "Done.<|plugin|>",
    "full-width interpreter": "Done.<\uff5cinterpreter\uff5c>x",
    "minimax": "Done.\nminimax:tool_call x",
    "a call as code": 'I will check. pulse_read(target_host="x", command="lsblk")',
    "a call as code with a space": "Done. pulse_query (action='list')",
    "an object": 'Done.\n{"name": "pulse_query", "arguments": {"action": "list"}}',
    "an object in a fence": 'Done.\n```json\n{"name": "pulse_query", "arguments": {}}\n```',
    "an object in a line": 'Now: {"name": "pulse_query", "arguments": {}}',
    "an object in a list": 'Now: [{"name": "pulse_query", "arguments": {}}]',
    "an object with another word for the name": 'Done.\n{"tool": "pulse_query"}',
}


@pytest.mark.parametrize("text", LEAKS.values(), ids=LEAKS)
def test_a_leak_and_what_follows_it_is_swallowed(text: str) -> None:
    guard = LeakGuard(TOOLS)
    shown = guard.feed(text + " and more") + guard.flush()
    assert guard.leaked
    assert not any(
        word in shown for word in ("DSML", "tool_call", "function_call", "pulse_", "<", "{", "minimax", "more")
    )


@pytest.mark.parametrize("text", LEAKS.values(), ids=LEAKS)
@pytest.mark.parametrize("size", [1, 3, 10])
def test_a_leak_in_pieces_is_the_same_leak(text: str, size: int) -> None:
    whole, pieces = LeakGuard(TOOLS), LeakGuard(TOOLS)
    shown = whole.feed(text) + whole.flush()
    parts = "".join(pieces.feed(text[at : at + size]) for at in range(0, len(text), size)) + pieces.flush()
    assert pieces.leaked
    assert parts.strip() in shown.strip() or shown.strip() in parts.strip()
    assert not any(word in parts for word in ("DSML", "tool_call", "function_call", "pulse_", "{", "minimax"))


@pytest.mark.parametrize(
    "text",
    [
        "All is well: 3 < 4, and <b> is no tag of ours.",
        "The tool pulse_query was used, and pulse_query found nothing.",
        'The row is {"id": "vm:a:1", "status": "running"}.',
        '```json\n{"id": 1}\n```',
        "a <thoughtful> remark",
        "function_call is a word",
        "mypulse_query(x)",
    ],
)
def test_other_text_comes_through_unchanged(text: str) -> None:
    guard = LeakGuard(TOOLS)
    assert "".join(guard.feed(character) for character in text) + guard.flush() == text
    assert not guard.leaked


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("<think>is it?</think>It is.", "It is."),
        ("A<THINK>x</think>B<thought>y</thought>C", "ABC"),
        ("A<|reasoning|>x<|/reasoning|>B", "AB"),
        ("A<think>never closed", "A"),
        ("A<think>x<think>y</think></think>B", "AB"),
        ("</think>A</thought>B", "AB"),
        ("<think>pulse_query(x)</think>Fine.", "Fine."),
    ],
)
def test_reasoning_is_dropped_wherever_it_stands(text: str, kept: str) -> None:
    assert cleaned(text, TOOLS) == kept
    guard = LeakGuard(TOOLS)
    assert ("".join(guard.feed(character) for character in text) + guard.flush()).strip() == kept
    assert not guard.leaked


def test_words_run_together_before_a_leak_go_with_it() -> None:
    text = "Good.\nI'llcheckthedevicenodesinsidethecontainertoanswerthat.pulse_read(x)"
    assert cleaned(text, TOOLS) == "Good."


@given(st.text(alphabet="<>|/{}\"' \nthinkpulse_query(:name", max_size=60), st.integers(1, 9))
def test_pieces_never_show_what_the_whole_hides(text: str, size: int) -> None:
    pieces = LeakGuard(TOOLS)
    parts = "".join(pieces.feed(text[at : at + size]) for at in range(0, len(text), size)) + pieces.flush()
    assert "pulse_query(" not in parts
    assert "<think>" not in parts
