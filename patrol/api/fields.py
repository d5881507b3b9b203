"""What is wrong with the fields of a body, for whoever sent it: which, why, and which one was meant. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel

FIELDS_TOLD = 20
_LONGEST_NAME = 80
_LONGEST_TEXT = 200


def fields_told(found: Sequence[Mapping[str, Any]], model: object, *, skipped: int = 0) -> dict[str, str]:
    """What the schema says against a body, by dotted field; never a value.

    `model`: what the body had to be; anything but a model has no fields that could be near. `skipped`: how many steps
    lead to the body.
    """
    told: dict[str, str] = {}
    for each in found[:FIELDS_TOLD]:
        steps = each["loc"][skipped:]
        name = ".".join(str(step)[:_LONGEST_NAME] for step in steps or each["loc"]) or "body"
        is_unknown = each["type"] == "extra_forbidden"
        text = _unknown(str(steps[-1]), _fields(model, steps[:-1])) if is_unknown else str(each["msg"])
        told.setdefault(name, text[:_LONGEST_TEXT])
    return told


def _unknown(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name[:_LONGEST_NAME], known, n=1)
    if near:
        return f"there is no such field; nearest: {near[0]}"
    return f"there is no such field; there is {', '.join(known)}" if known else "there is no such field"


def _fields(model: object, steps: Iterable[object]) -> list[str]:
    """The names of the fields at that place. A step that names none is a place in a list, or one form of several."""
    models = list(_models(model))
    for step in steps:
        inner = [each.model_fields[step] for each in models if isinstance(step, str) and step in each.model_fields]
        if inner:
            models = [found for each in inner for found in _models(each.annotation)]
    return list(dict.fromkeys(name for each in models for name in each.model_fields))


def _models(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)
