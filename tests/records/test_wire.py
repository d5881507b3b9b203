"""Questions and answers survive the way between a command and a daemon, whatever is in them."""

import dataclasses
import inspect
import json
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from findings.silence import Silence, SilenceKind
from patrol.records.desk import Refusal
from patrol.records.every import AnyQuestion, parse_question
from patrol.records.wire import Asked, Reply

QUESTIONS: list[Any] = list(get_args(AnyQuestion))
ANSWERS: list[Any] = list(dict.fromkeys(get_type_hints(question.answer)["return"] for question in QUESTIONS))
FEW = settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])

TEXTS = st.text(max_size=20)
TIMES = st.datetimes(timezones=st.just(UTC))
SIMPLE: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXTS,
    bool: st.booleans(),
    int: st.integers(-(2**53), 2**53),
    float: st.floats(allow_nan=False, allow_infinity=False),
    datetime: TIMES,
    type(None): st.none(),
    object: st.none() | st.booleans() | st.integers(0, 9) | TEXTS | st.lists(TEXTS, max_size=2),
    Silence: st.builds(
        Silence,
        org_id=TEXTS,
        id=TEXTS,
        kind=st.just(SilenceKind.MAINTENANCE),
        resource_id=st.text(min_size=1, max_size=9),
        resource_name=TEXTS,
        starts_at=st.just(datetime(2026, 1, 1, tzinfo=UTC)),
        ends_at=st.integers(1, 10**6).map(lambda count: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=count)),
        reason=st.text(min_size=1, max_size=9).map(lambda text: f"because {text}"),
        author=st.just("ann"),
        created_at=TIMES,
    ),
}


def of(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a type, made of all that it is made of."""
    if hint in SIMPLE:
        return SIMPLE[hint]
    if inspect.isclass(hint) and get_origin(hint) is None:
        return of_class(hint)
    return MADE_OF[get_origin(hint)](get_args(hint))


MADE_OF: dict[Any, Callable[[Any], st.SearchStrategy[Any]]] = {
    typing.Annotated: lambda parts: st.integers(parts[1].ge, parts[1].le),
    typing.Literal: st.sampled_from,
    typing.Union: lambda parts: st.one_of(*map(of, parts)),
    types.UnionType: lambda parts: st.one_of(*map(of, parts)),
    list: lambda parts: st.lists(of(parts[0]), max_size=2),
    Sequence: lambda parts: st.lists(of(parts[0]), max_size=2),
    tuple: lambda parts: st.lists(of(parts[0]), max_size=2).map(tuple),
    frozenset: lambda parts: st.frozensets(of(parts[0]), max_size=2),
    dict: lambda parts: st.dictionaries(of(parts[0]), of(parts[1]), max_size=2),
    Mapping: lambda parts: st.dictionaries(of(parts[0]), of(parts[1]), max_size=2),
}


def of_class(kind: Any) -> st.SearchStrategy[Any]:
    if issubclass(kind, Enum):
        return st.sampled_from(list(kind))
    if issubclass(kind, msgspec.Struct):
        return st.builds(kind, **{each.name: of(each.type) for each in msgspec.structs.fields(kind)})
    assert dataclasses.is_dataclass(kind), kind
    hints = get_type_hints(kind)
    return st.builds(kind, **{each.name: of(hints[each.name]) for each in dataclasses.fields(kind)})


@pytest.mark.parametrize("kind", QUESTIONS, ids=lambda each: each.__name__)
@FEW
@given(data=st.data())
def test_a_question_is_the_same_at_the_other_end(kind: Any, data: st.DataObject) -> None:
    question = data.draw(of(kind))
    sent = json.dumps({"version": "1", "question": msgspec.to_builtins(question)})
    received = msgspec.convert(json.loads(sent), type=Asked)
    assert parse_question(received.question) == question


@pytest.mark.parametrize("kind", ANSWERS, ids=lambda each: each.__name__)
@FEW
@given(data=st.data())
def test_an_answer_is_the_same_at_the_other_end_and_makes_the_same_document(kind: Any, data: st.DataObject) -> None:
    answer = data.draw(of(kind))
    reply = Reply(version="1", database="/x", answer=msgspec.Raw(msgspec.json.encode(answer)))
    received = msgspec.json.decode(msgspec.json.encode(reply), type=Reply)
    again = msgspec.json.decode(received.answer, type=kind)
    assert again == answer
    assert msgspec.json.encode(again, order="sorted") == msgspec.json.encode(answer, order="sorted")


@given(of(Refusal))
def test_a_refusal_is_the_same_at_the_other_end(refusal: Refusal) -> None:
    reply = Reply(version="1", database="/x", refusal=refusal)
    assert msgspec.json.decode(msgspec.json.encode(reply), type=Reply).refusal == refusal


def test_no_two_questions_have_one_name() -> None:
    names = [each.__struct_config__.tag for each in QUESTIONS]
    assert len(names) == len(set(names)) > 20
