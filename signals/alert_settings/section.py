"""One object of the alert settings file: how it is read, and how it is written back."""

from typing import Self, TypeGuard

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer, model_validator
from pydantic.alias_generators import to_camel

Document = dict[str, object]
"""A JSON object as it was decoded."""


class Section(BaseModel):
    """camelCase on the wire, snake_case here. Keys that this format does not name are kept as they are.

    A null means the same as an absent key. `model_fields_set` names what the file itself says, so that a
    limit can tell the operator's words from the format's defaults.
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="allow",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        defer_build=True,  # most commands read no alert settings
    )

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: object) -> object:
        if not isinstance(value, dict):
            return value  # a built default, or something that the type check refuses
        wire = cls.wire_names()
        return cls.normalise({key: item for key, item in value.items() if item is not None or key not in wire})

    @classmethod
    def normalise(cls, document: Document) -> Document:
        """Rewrites older forms and values that mean "the default"; leaves wrong types for the type check."""
        return document

    @classmethod
    def wire_names(cls) -> dict[str, str]:
        """Key in the file -> field of the class."""
        return {info.alias or name: name for name, info in cls.model_fields.items()}

    @model_serializer(mode="wrap")
    def _write(self, handler: SerializerFunctionWrapHandler) -> Document:
        document: Document = handler(self)
        wire = type(self).wire_names()
        return {key: item for key, item in document.items() if item is not None or key not in wire}

    def says(self, field: str) -> bool:
        """Whether the file itself gives this field or extra key. A foreign key that is spelt like a field does not."""
        named = field in type(self).model_fields
        return field in self.model_fields_set and not (named and field in self.extras())

    def extras(self) -> Document:
        """Keys that this format does not name, with their values."""
        return self.__pydantic_extra__ or {}

    @classmethod
    def of(cls, document: Document) -> Self:
        """The section that a JSON object describes. Raises pydantic's ValidationError."""
        return cls.model_validate(document)


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a decoded JSON value is a number (true and false are not)."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def positive_or_absent(document: Document, *keys: str) -> Document:
    """Drops the named numbers that are 0 or less: in this format they mean "the default"."""
    return {key: value for key, value in document.items() if not (key in keys and is_number(value) and value <= 0)}


def words(value: object) -> object:
    """A list of words without blanks and repetitions; numbers become words; anything else stays for the type check."""
    if not isinstance(value, list):
        return value
    given = [str(item) if isinstance(item, int) and not isinstance(item, bool) else item for item in value]
    seen = {""}
    kept: list[object] = []
    for item in given:
        word = item.strip() if isinstance(item, str) else item
        if isinstance(word, str):
            if word in seen:
                continue
            seen.add(word)
        kept.append(word)
    return kept
