"""The sample file: every key with its description, its bounds and its default, made from the schema."""

import json
import textwrap
from collections.abc import Iterator
from datetime import timedelta
from enum import StrEnum
from typing import get_args

from annotated_types import Ge, Le
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from patrol.settings.durations import say
from patrol.settings.schema import lists, sections
from patrol.settings.values import DAEMON

_WIDTH = 100

_HEAD = """\
Settings of Patrol. Everything here is optional: what stands behind a "#" is the built-in value or an example.
Patrol uses the first of: --config FILE, $PATROL_CONFIG, ./patrol.toml (yours alone, never for root),
/etc/patrol/patrol.toml. The environment goes before the file: [model] name is PATROL_MODEL__NAME.
Durations are written like "10m", "1h30m", "48h" or "7d". `patrol config validate` checks a file,
`patrol config show` says what is in force and where each value comes from.
"""

_LISTS = {
    "sources": (
        "What Patrol looks at. Without any entry: the Linux host that it runs on.",
        (
            '[[sources]]\ntype = "local"',
            '[[sources]]\ntype = "snapshot"\nname = "lab"\nfile = "lab-estate.json"',
        ),
    ),
    "accept_gap": (
        "What Patrol need not see. It stays in the list, but no longer makes a run incomplete.",
        ('[[accept_gap]]\nsource = "local"\ntopic = "smart"\nreason = "disks are watched by the storage box"',),
    ),
}


def sample_text() -> str:
    """The text of config/patrol.example.toml."""
    blocks = [_comment(_HEAD.strip().splitlines())]
    blocks += ["\n".join(_section(name, model)) for name, model in sections().items()]
    blocks += ["\n".join(_list(name, models)) for name, models in lists().items()]
    return "\n\n".join(blocks) + "\n"


def _section(name: str, model: type[BaseModel]) -> Iterator[str]:
    yield _wrapped(model.__doc__ or "")
    yield f"[{name}]"
    for key, field in model.model_fields.items():
        yield _wrapped(f"{key}: {describe_field(field)}")
        yield f"#{key} = {_toml(field)}"


def _list(name: str, models: tuple[type[BaseModel], ...]) -> Iterator[str]:
    intro, examples = _LISTS[name]
    yield _wrapped(intro)
    for model in models:
        kind = (
            f' of type "{get_args(model.model_fields["type"].annotation)[0]}"' if "type" in model.model_fields else ""
        )
        yield _wrapped(f"Keys of an entry{kind}:")
        for key, field in model.model_fields.items():
            if key != "type":
                default = "" if field.is_required() else f" Default: {json.dumps(say(field.default))}."
                yield _wrapped(f"{key}: {describe_field(field)}{default}", "#   ")
    for example in examples:
        yield "#" + example.replace("\n", "\n#")


def describe_field(field: FieldInfo) -> str:
    """What the key means, with its choices and bounds."""
    text, daemon, _ = (field.description or "").partition(DAEMON)
    choices = field.annotation
    if isinstance(choices, type) and issubclass(choices, StrEnum):
        text += f" One of {', '.join(choices)}."
    for option in get_args(choices):
        if isinstance(option, type) and issubclass(option, StrEnum):
            text += f" One of {', '.join(option)}."
    lowest = next((part.ge for part in field.metadata if isinstance(part, Ge)), None)
    highest = next((part.le for part in field.metadata if isinstance(part, Le)), None)
    if highest is not None:
        text += f" {say(lowest)} to {say(highest)}."
    return f"{text} {daemon}"


def _toml(field: FieldInfo) -> str:
    value = field.default
    if value is None or value == "":
        return f"{json.dumps((field.examples or [''])[0])}  # an example"
    return json.dumps(say(value) if isinstance(value, timedelta) else value)


def _wrapped(text: str, first: str = "# ") -> str:
    return "\n".join(textwrap.wrap(" ".join(text.split()), _WIDTH, initial_indent=first, subsequent_indent=first))


def _comment(lines: list[str]) -> str:
    return "\n".join(f"# {line}" for line in lines)
