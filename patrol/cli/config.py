"""`patrol config`: what is in force and where it comes from, whether a file is right, the sample file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit, urlunsplit

import typer
from pydantic import BaseModel, SecretStr

from patrol.agent.budget import limits_of
from patrol.agent.endpoint import parse_endpoint
from patrol.agent.failure import ModelError
from patrol.agent.redact import redact
from patrol.cli.app import COMMANDS
from patrol.cli.configuration import ConfigOption, load
from patrol.cli.display import cell, console, table
from patrol.cli.exit_codes import CommandError
from patrol.cli.options import JsonOption
from patrol.cli.output import write, write_json
from patrol.cli.stored import known_in_force
from patrol.settings.durations import say
from patrol.settings.load import LoadedSettings, Origin, OriginKind
from patrol.settings.sample import sample_text
from patrol.settings.schema import known_keys, lists
from signals.alert_settings import AlertSettingsError, load_alert_settings

HIDDEN = "********"

config = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Adds the group."""
    app.add_typer(config, name="config", help=COMMANDS["config"])


@config.command("sample")
def sample() -> None:
    """Prints a settings file with every key, its meaning and its built-in value."""
    write(sample_text().rstrip("\n"))


@config.command("validate")
def validate(
    settings_file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="The file to check.")] = None,
    config_file: ConfigOption = None,
) -> None:
    """Checks the settings and says every mistake. Exit code 2 if there is one."""
    loaded = load(settings_file or config_file)
    model = loaded.settings.model
    if model.name:
        try:
            parse_endpoint(model.name, model.base_url)
        except ModelError as error:
            raise CommandError(f"[model] {error.failure.summary}") from error
    if loaded.settings.alerts.file is not None:
        try:
            load_alert_settings(loaded.settings.alerts.file)
        except AlertSettingsError as error:
            raise CommandError(f"[alerts] file: {error}") from error
    write(f"{_name(loaded)}: no mistakes")


@config.command("show")
def show(config_file: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Prints every value in force and where it was set. Secrets are not shown."""
    loaded = known_in_force(load(config_file))
    if as_json:
        write_json(_document(loaded))
        return
    rows = table(("Key", "Value", "Set by"), whole=("Key",))
    for key, value, origin in values_in_force(loaded):
        rows.add_row(cell(key), cell(_spoken(value)), cell(_place(origin), "dim" if origin.kind == "default" else ""))
    output = console()
    output.print(f"Settings: {_name(loaded)}")
    output.print(rows)


def values_in_force(loaded: LoadedSettings) -> Iterator[tuple[str, object, Origin]]:
    """Every key, its value as it may be shown, and its origin, in the order of the sample file."""
    limits = limits_of(loaded.settings.budget)
    built_in = {f"budget.{name}_tokens": getattr(limits, name).tokens for name in ("run", "day", "month")}
    for key in known_keys():
        section, _, name = key.partition(".")
        value = getattr(getattr(loaded.settings, section), name)
        if key == "storage.url":
            yield key, without_password(loaded.database_url), loaded.origin(key)
        else:
            yield key, _shown(built_in.get(key, value)), loaded.origin(key)
    for name in lists():
        entries = getattr(loaded.settings, name)
        yield name, [_entry(entry) for entry in entries], loaded.origin(name)


def without_password(url: str) -> str:
    """A database URL as it may be shown."""
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    if not at or ":" not in user:
        return url if "?" not in url else url.partition("?")[0]
    return urlunsplit((parts.scheme, f"{user.partition(':')[0]}:{HIDDEN}@{host}", parts.path, "", ""))


def _entry(entry: BaseModel) -> dict[str, object]:
    return {key: _shown(getattr(entry, key)) for key in type(entry).model_fields}


def _shown(value: object) -> object:
    if isinstance(value, SecretStr):
        return HIDDEN
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, tuple):
        return [_shown(each) for each in value]
    told = say(value)
    # An address may hold a password or a key, wherever it is set.
    return redact(told, max_bytes=len(told.encode()) + 100) if isinstance(told, str) and "://" in told else told


def _spoken(value: object) -> str:
    if isinstance(value, list):
        return "; ".join(_spoken(part) for part in value) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{key} = {_spoken(part)}" for key, part in value.items())
    if isinstance(value, bool):
        return "true" if value else "false"
    return "not set" if value is None or value == "" else str(value)


def _place(origin: Origin) -> str:
    if origin.kind is OriginKind.DEFAULT:
        return "default"
    return f"{origin.kind.value} {origin.place}"


def _name(loaded: LoadedSettings) -> str:
    return str(loaded.file) if loaded.file else "no file: built-in values and the environment"


def _document(loaded: LoadedSettings) -> dict[str, object]:
    return {
        "file": str(loaded.file) if loaded.file else None,
        "settings": {
            key: {"value": value, "origin": origin.kind.value, "place": origin.place}
            for key, value, origin in values_in_force(loaded)
        },
    }
