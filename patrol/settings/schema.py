"""The keys that exist, and which of them somebody meant who wrote another."""

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from patrol.settings.model import Settings

_CLOSE = 0.6
_VERY_CLOSE = 0.8


def sections() -> dict[str, type[BaseModel]]:
    """Name of each table and the model behind it, in the order of the file."""
    return {
        name: field.annotation
        for name, field in Settings.model_fields.items()
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
    }


def lists() -> dict[str, tuple[type[BaseModel], ...]]:
    """Name of each array of tables and the models that its entries may be."""
    return {
        name: tuple(_models(field.annotation))
        for name, field in Settings.model_fields.items()
        if name not in sections()
    }


def _models(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif get_origin(annotation) is not None:
        for part in get_args(annotation):
            yield from _models(part)


def known_keys() -> dict[str, FieldInfo]:
    """Every key outside the arrays of tables, dotted: `patrol.interval`."""
    return {
        f"{section}.{key}": field for section, model in sections().items() for key, field in model.model_fields.items()
    }


def nearest_key(unknown: str) -> str:
    """The known dotted key that `unknown` most likely means, "" if none is near.

    The same last word in another table goes before a similar word: people put a right key into the wrong table.
    """
    tables = [*sections(), *lists()]
    names = [*known_keys(), *tables, *_list_keys()]
    if "." not in unknown and (table := _closest(unknown, tables, _VERY_CLOSE)):
        return table
    word = unknown.rpartition(".")[2]
    same_word = [name for name in names if name.rpartition(".")[2] == word]
    if len(same_word) == 1:
        return same_word[0]
    section = unknown.rpartition(".")[0]
    siblings = [name for name in names if section and name.startswith(f"{section}.")]
    return _closest(unknown, same_word or siblings) or _closest(unknown, names) or _by_last_word(word, names)


def _list_keys() -> Iterator[str]:
    for name, models in lists().items():
        yield from dict.fromkeys(f"{name}.{key}" for model in models for key in model.model_fields)


def _closest(unknown: str, names: Iterable[str], likeness: float = _CLOSE) -> str:
    return next(iter(get_close_matches(unknown, list(names), n=1, cutoff=likeness)), "")


def _by_last_word(word: str, names: Iterable[str]) -> str:
    by_word: Mapping[str, str] = {name.rpartition(".")[2]: name for name in names}
    near = _closest(word, by_word)
    return by_word[near] if near else ""
