"""Reading the settings: file, environment, secrets; every mistake in one answer, every value with its origin."""

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import SecretStr, ValidationError
from pydantic_settings import SettingsError as EnvironmentValueError

from patrol.settings.model import Settings
from patrol.settings.places import default_database_url, find_settings_file
from patrol.settings.problems import SettingsProblemError, describe, said_of, unknown, variable_name
from patrol.settings.schema import known_keys, lists, nearest_key, sections

_PREFIX = "PATROL_"
# Not settings: the first names the file, the others belong to the tests and CI, which run the command as well.
_OTHER_VARIABLES = frozenset({"PATROL_CONFIG", "PATROL_REFERENCE", "PATROL_CI"})
_SECRETS = ("model.api_key", "storage.url")
_MAX_SECRET_BYTES = 64 << 10
_MAX_FILE_BYTES = 1 << 20
_BOM = b"\xef\xbb\xbf"


class OriginKind(StrEnum):
    """Where a value was set."""

    ENVIRONMENT = "environment"
    STORED = "stored"  # by an operator, in the database
    FILE = "file"
    SECRET = "secret"  # noqa: S105 - the word for a value read from a file of its own
    DEFAULT = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a value was set: `place` is the variable or the file."""

    kind: OriginKind
    place: str = ""


DEFAULT = Origin(kind=OriginKind.DEFAULT)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedSettings:
    """The settings in force. `origins` by dotted key: what is not in there is a default."""

    settings: Settings
    file: Path | None
    database_url: str = field(repr=False)
    origins: Mapping[str, Origin]
    notes: Sequence[str] = ()

    def origin(self, key: str) -> Origin:
        """Where the value of a dotted key was set."""
        return self.origins.get(key, DEFAULT)


def load_settings(option: Path | None = None) -> LoadedSettings:
    """Reads the settings file in force and this process's environment.

    Raises SettingsProblemError, with every mistake that could be found.
    """
    environment = {name.upper(): value for name, value in os.environ.items() if name.upper().startswith(_PREFIX)}
    found = find_settings_file(option, environment, Path.cwd(), os.geteuid())
    data: dict[str, Any] = {} if found.path is None else read_file(found.path)
    origins = _file_origins(data, found.path) | _environment_origins(environment)
    problems = [*_unknown_variables(environment), *_fill_secrets(data, origins, environment)]
    settings = validate(data, origins, found.path, problems)
    url = settings.storage.url
    return LoadedSettings(
        settings=settings,
        file=found.path,
        database_url=url.get_secret_value() if url else default_database_url(os.environ, Path.home(), os.geteuid()),
        origins=origins,
        notes=(found.note,) if found.note else (),
    )


def validate(
    data: dict[str, Any], origins: Mapping[str, Origin], file: Path | None, problems: Sequence[str] = ()
) -> Settings:
    """The settings that `data` and this process's environment give.

    Raises SettingsProblemError with all that is wrong, and `problems` that were found before.
    """
    found = [*_unknown_tables(data, file), *problems]
    try:
        settings = Settings(**data)
    except ValidationError as error:
        raise SettingsProblemError([*found, *describe(error, origins, file)]) from error
    except EnvironmentValueError as error:
        wrong = f"environment: {error}; lists and tables are written as JSON"
        raise SettingsProblemError([*found, wrong]) from error
    if found:
        raise SettingsProblemError(found)
    return settings


def read_file(path: Path) -> dict[str, object]:
    """The tables of a settings file; relative paths in it are taken from its folder. Raises SettingsProblemError."""
    try:
        with path.open("rb") as stream:
            content = stream.read(_MAX_FILE_BYTES + 1)
        if len(content) > _MAX_FILE_BYTES:
            raise SettingsProblemError([f"{path}: larger than {_MAX_FILE_BYTES} bytes: this is no settings file"])
        text = content.removeprefix(_BOM).decode("utf-8")
        data = tomllib.loads(text)
    except OSError as error:
        raise SettingsProblemError([f"{path}: cannot be read: {error.strerror or error}"]) from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise SettingsProblemError([f"{path}: line {line}: not UTF-8 text"]) from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsProblemError([f"{path}: not valid TOML: {error}"]) from error
    except RecursionError as error:
        raise SettingsProblemError([f"{path}: not valid TOML: nested too deeply"]) from error
    _anchor_paths(data, path.absolute().parent)
    return data


def _anchor_paths(table: dict[str, object], folder: Path) -> None:
    for key, value in table.items():
        if isinstance(value, dict):
            _anchor_paths(value, folder)
        elif isinstance(value, list):
            for entry in value:
                if isinstance(entry, dict):
                    _anchor_paths(entry, folder)
        elif isinstance(value, str) and (key == "file" or key.endswith("_file")) and value:
            table[key] = str(folder / Path(value).expanduser())


def _file_origins(data: Mapping[str, object], path: Path | None) -> dict[str, Origin]:
    origin = Origin(kind=OriginKind.FILE, place=str(path))
    keys: list[str] = []
    for name, value in data.items():
        keys += [f"{name}.{key}" for key in value] if isinstance(value, dict) else [name]
    return dict.fromkeys(keys, origin)


def _environment_origins(environment: Mapping[str, str]) -> dict[str, Origin]:
    origins: dict[str, Origin] = {}
    for variable in environment:
        key = _key_of(variable)
        # A whole table can be given as one JSON value: each of its keys then has this origin.
        for known in [name for name in known_keys() if name.startswith(f"{key}.")] or [key]:
            origins[known] = Origin(kind=OriginKind.ENVIRONMENT, place=variable)
    return origins


def _key_of(variable: str) -> str:
    return variable[len(_PREFIX) :].lower().replace("__", ".")


def _unknown_tables(data: dict[str, object], path: Path | None) -> list[str]:
    """Takes unknown names out of `data`: as arguments of the settings class some would change how it reads."""
    problems: list[str] = []
    for name in [name for name in data if name not in Settings.model_fields]:
        del data[name]
        problems.append(f"{path or 'settings'}: {said_of(name, unknown(name))}")
    return problems


def _unknown_variables(environment: Mapping[str, str]) -> list[str]:
    known = {*known_keys(), *sections(), *lists()}
    problems: list[str] = []
    for variable in sorted(environment):
        key = _key_of(variable)
        if variable in _OTHER_VARIABLES or key in known:
            continue
        nearest = nearest_key(key)
        nearest = nearest if nearest in known else nearest.partition(".")[0]  # a list is one variable, with its keys
        hint = f"; nearest known variable: {variable_name(nearest)}" if nearest else ""
        problems.append(f"environment variable {variable}: unknown{hint}")
    return problems


def _fill_secrets(data: dict[str, object], origins: dict[str, Origin], environment: Mapping[str, str]) -> list[str]:
    """Reads the secrets that are named by `*_file` or that systemd hands over, into `data`."""
    problems: list[str] = []
    for key in _SECRETS:
        section, _, name = key.partition(".")
        table = data.setdefault(section, {})
        if not isinstance(table, dict):
            continue  # the schema will say what is wrong with it
        named = environment.get(variable_name(f"{key}_file")) or table.get(f"{name}_file")
        if named and key in origins:
            problems.append(f"{key} and {key}_file are both set; keep one")
            continue
        handed_over = Path(os.environ.get("CREDENTIALS_DIRECTORY", ""), f"{section}_{name}")
        if named is None and (key in origins or not handed_over.is_absolute() or not handed_over.is_file()):
            continue
        path = Path(str(named)).expanduser() if named else handed_over
        try:
            table[name] = read_secret(path)
        except (OSError, ValueError) as error:
            problems.append(f"{key}_file: {path}: {getattr(error, 'strerror', None) or error}")
        else:
            origins[key] = Origin(kind=OriginKind.SECRET, place=str(path))
    return problems


def read_secret(path: Path) -> SecretStr:
    """The content of a file without the white space around it. Raises OSError, or ValueError for an empty one."""
    with path.open("rb") as stream:
        text = stream.read(_MAX_SECRET_BYTES).decode("utf-8").strip()
    if not text:
        raise ValueError("the file is empty")
    return SecretStr(text)
