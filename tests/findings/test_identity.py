import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.identity import canonical_id, finding_key, is_canonical

parts = st.text(min_size=1, max_size=80).filter(lambda text: not any("\ud800" <= each <= "\udfff" for each in text))
types = st.from_regex(r"[a-z][a-z-]{0,15}", fullmatch=True)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (("disk", "serial", "S3Z8NB0K"), "disk:serial:S3Z8NB0K"),
        (("disk", "web1", "nvme0n1"), "disk:web1:nvme0n1"),
        (("storage", "pve:lab", "a b"), "storage:pve~3alab:a~20b"),
        (("storage", "web1", "a:b"), "storage:web1:a:b"),
        (("agent", "local", "größe"), "agent:local:gr~c3~b6~c3~9fe"),
        (("vm", "x", "~"), "vm:x:~7e"),
    ],
)
def test_ids_are_written_in_one_alphabet(parts, expected):
    assert canonical_id(*parts) == expected


@pytest.mark.parametrize("empty", [("", "a", "b"), ("a", "", "b"), ("a", "b", "")])
def test_an_id_has_three_parts(empty):
    with pytest.raises(ValueError, match="an id needs"):
        canonical_id(*empty)


@given(types, parts, parts)
def test_every_id_is_canonical(kind, origin, native):
    assert is_canonical(canonical_id(kind, origin, native))


@given(st.tuples(types, parts, parts), st.tuples(types, parts, parts))
def test_different_things_have_different_ids(one, other):
    assert (canonical_id(*one) == canonical_id(*other)) is (one == other)


def test_long_names_stay_apart_and_in_bounds():
    long = "x" * 300
    first, second = canonical_id("disk", "serial", long + "a"), canonical_id("disk", "serial", long + "b")
    assert len(first) == len(second) == 200
    assert first != second


@pytest.mark.parametrize("text", ["", ":a", "a b", "a" * 201, "a\n", "-a"])
def test_other_texts_are_no_ids(text):
    assert not is_canonical(text)


@given(parts, parts, st.text(max_size=10))
def test_a_key_is_a_function_of_resource_kind_and_subject(resource, kind, subject):
    key = finding_key(resource, kind, subject)
    assert key == finding_key(resource, kind, subject)
    assert re.fullmatch(r"[0-9a-f]{32}", key)
    assert key != finding_key(resource, kind, subject + "x")
    assert key != finding_key(resource + "x", kind, subject)
