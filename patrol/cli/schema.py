"""`patrol schema`: the shapes that others write or read, as JSON Schema (2020-12)."""

from collections.abc import Callable
from typing import Any

import msgspec
import typer

from patrol.cli.app import COMMANDS
from patrol.cli.output import write_json
from patrol.cli.run_document import run_schema
from patrol.estate.schema import estate_schema
from patrol.settings.model import Settings
from signals.alert_settings import AlertSettings
from signals.model import ToolCall

DIALECT = "https://json-schema.org/draft/2020-12/schema"

schema = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Adds the group."""
    app.add_typer(schema, name="schema", help=COMMANDS["schema"])


def tool_calls_schema() -> dict[str, Any]:
    """One line of a file of recorded tool calls."""
    made = msgspec.json.schema(ToolCall, schema_hook=_anything)
    # An output struct where a run holds it in memory; in a file, what was recorded of it.
    properties = made["$defs"]["ToolCall"]["properties"]
    properties["id"] = {"type": ["string", "integer"]}
    properties["output"] = {"type": ["object", "string", "null"]}
    return made


def _anything(kind: type) -> dict[str, Any]:
    if kind is object:
        return {"description": "Any JSON value."}
    raise NotImplementedError


def alerts_schema() -> dict[str, Any]:
    """The alert settings file."""
    return AlertSettings.model_json_schema()


def config_schema() -> dict[str, Any]:
    """The settings file, with its TOML types."""
    return Settings.model_json_schema()


SCHEMAS: dict[str, tuple[Callable[[], dict[str, Any]], str]] = {
    "estate": (estate_schema, "An estate document, as the source `snapshot` reads it."),
    "tool-calls": (tool_calls_schema, "One line of recorded tool calls, as `patrol detect` reads them."),
    "alerts": (alerts_schema, "The alert settings file."),
    "config": (config_schema, "The settings file."),
    "run": (run_schema, "What `patrol run --json` prints."),
}


def _command(made: Callable[[], dict[str, Any]]) -> Callable[[], None]:
    def print_schema() -> None:
        write_json({"$schema": DIALECT, **made()})

    return print_schema


for _name, (_made, _line) in SCHEMAS.items():
    schema.command(_name, help=_line)(_command(_made))
