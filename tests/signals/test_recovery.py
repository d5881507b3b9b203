"""JSON inside text and cut-off JSON: complete values count, nothing crashes, the work is linear."""

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signals.recovery import recover

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)
DOCUMENTS = st.dictionaries(st.text(min_size=1), JSON_VALUES, min_size=1) | st.lists(
    st.dictionaries(st.text(min_size=1), JSON_VALUES, min_size=1), min_size=1
)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('{"a": 1}', [{"a": 1}]),
        ('Here you are: {"a": 1} (cached)', [{"a": 1}]),
        ('{see below} {"a": 1}', [{"a": 1}]),
        ('No cache, live data: {"a": [1, 2]}', [{"a": [1, 2]}]),
        ('[{"a": 1}] and {"b": 2}', [[{"a": 1}], {"b": 2}]),
        ('{"a": NaN, "b": -Infinity, "c": 1e999}', [{"a": None, "b": None, "c": "1e999"}]),
        ('{"a": %s}' % ("9" * 41), [{"a": "9" * 41}]),
        ("not valid json at all", []),
        ("", []),
        ("{}", [{}]),
        ("[]", [[]]),
    ],
)
def test_whole_documents_are_found_in_any_text(text: str, values: list[object]) -> None:
    found = recover(text)
    assert [document.value for document in found] == values
    assert not any(document.cut for document in found)


@pytest.mark.parametrize("line", ["[12345.678901] usb 1-1: new device\n", "[] ", '{"seen": 1}\n'])
def test_many_small_documents_do_not_hide_the_one_behind_them(line: str) -> None:
    assert recover(line * 1000 + '{"a": 1}')[-1] == ({"a": 1}, False)


@pytest.mark.parametrize("unit", ["[1] ", '{"a": 1} ', '{"a": 1} {"b"} '])
def test_what_was_not_looked_at_any_more_counts_as_cut_off(unit: str) -> None:
    assert recover(unit * 10_000)[-1] == ({}, True)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"pools": [{"id": 1}, {"id": 2}, {"id"', {"pools": [{"id": 1}, {"id": 2}]}),
        ('{"pools": [{"id": 1}], "gaps": [', {"pools": [{"id": 1}]}),
        ('{"hosts": [{"name": "a", "smart": [{"b": 1}, {"dev', {"hosts": [{"name": "a", "smart": [{"b": 1}]}]}),
        ('[{"a": 1}, {"b"', [{"a": 1}]),
        ('{"a": 1, "b": 9', {"a": 1}),
        ('[{"a": "x"}, {"b": tru', [{"a": "x"}]),
        ('[{"a": "x"}, {"b": "\\u00', [{"a": "x"}]),
    ],
)  # fmt: skip
def test_complete_rows_before_a_cut_count(text: str, value: object) -> None:
    (document,) = recover(text)
    assert document.cut
    assert document.value == value


@given(DOCUMENTS, st.text(alphabet=st.characters(exclude_characters='{["')), st.text())
def test_a_document_survives_what_stands_around_it(document: object, before: str, after: str) -> None:
    assert recover(before + json.dumps(document) + after)[0] == (document, False)


@given(DOCUMENTS, st.data())
def test_what_is_left_of_a_cut_document_was_in_it(document: object, data: st.DataObject) -> None:
    text = json.dumps(document)
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    for found in recover(cut):
        assert _is_part(found.value, document)


def _is_part(part: object, whole: object) -> bool:
    """Whether `part` is `whole` with members left out, somewhere inside it."""
    if _fits(part, whole):
        return True
    inner = whole.values() if isinstance(whole, dict) else whole if isinstance(whole, list) else ()
    return any(_is_part(part, each) for each in inner)


def _fits(part: object, whole: object) -> bool:
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(name in whole and _fits(value, whole[name]) for name, value in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) <= len(whole) and all(map(_fits, part, whole))
    return part == whole


@given(st.text())
def test_any_text_is_read_without_an_error(text: str) -> None:
    recover(text)


@given(st.text(alphabet='{}[]",:1a \\'))
def test_any_heap_of_brackets_is_read_without_an_error(text: str) -> None:
    recover(text)


@pytest.mark.parametrize("unit", ["{", "[", '{"a":', '{"', '"', '{"a":[', '[{"a":1},', '{"a":{"b":1,', "\\", '{"a":1}'])
def test_hostile_text_costs_linear_work(unit: str) -> None:
    """Twice the text may cost about twice the work: counted in calls, since a clock would make this test flaky."""

    def calls(text: str) -> int:
        count = 0

        def tell(_frame: object, event: str, _argument: object) -> None:
            nonlocal count
            count += event in ("call", "c_call")

        sys.setprofile(tell)
        try:
            recover(text)
        finally:
            sys.setprofile(None)
        return count

    once, twice = calls(unit * 4_000), calls(unit * 8_000)
    assert twice <= 2.2 * once + 1000


def test_a_string_longer_than_the_window_and_deep_nesting_are_read() -> None:
    long = {"text": "x" * 50_000, "rows": [{"a": 1}]}
    assert recover(json.dumps(long)) == [(long, False)]
    deep: object = "end" * 3000
    for _ in range(12):
        deep = {"in": deep}
    assert recover(json.dumps(deep)) == [(deep, False)]
