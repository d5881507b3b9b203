"""Where things lie: which settings file is used, and where the database is without a setting."""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

SYSTEM_FILE = Path("/etc/patrol/patrol.toml")
LOCAL_NAME = "patrol.toml"
SERVICE_FOLDER = Path("/var/lib/patrol")
"""What systemd makes for the service, for the user that it runs as."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """The settings file in force; `path` None: there is none. `note`: why a file that is there is not used."""

    path: Path | None
    note: str = ""


def find_settings_file(
    option: Path | None, environment: Mapping[str, str], folder: Path, user_id: int, system_file: Path = SYSTEM_FILE
) -> FoundFile:
    """The first of `--config`, `$PATROL_CONFIG`, `patrol.toml` in the folder, `/etc/patrol/patrol.toml`.

    The first two must exist: whether they can be read is seen when they are read. A file in the current folder
    counts only where nobody else can have put words into it, and never for root.
    """
    if option is not None:
        return FoundFile(path=option)
    if environment.get("PATROL_CONFIG"):
        return FoundFile(path=Path(environment["PATROL_CONFIG"]).expanduser())
    local = folder / LOCAL_NAME
    note = ""
    if os.path.lexists(local):
        note = _why_not_used(local, user_id)
        if not note:
            return FoundFile(path=local)
        note = f"{local} is not used: {note}; name it with --config to use it"
    return FoundFile(path=system_file if os.path.lexists(system_file) else None, note=note)


def _why_not_used(path: Path, user_id: int) -> str:
    try:
        found = path.stat()
    except OSError as error:
        return error.strerror or "it cannot be read"
    return why_not_trusted(found.st_uid, found.st_mode, user_id)


def why_not_trusted(owner_id: int, mode: int, user_id: int) -> str:
    """Why a file in the current folder may hold somebody else's words; "" where it cannot."""
    if user_id == 0:
        return "root takes no settings from the current folder"
    if owner_id != user_id:
        return "it belongs to another user"
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "others may write to it"
    return ""


def default_database_url(
    environment: Mapping[str, str], home: Path, user_id: int, service_folder: Path = SERVICE_FOLDER
) -> str:
    """`patrol.db` in `$STATE_DIRECTORY` (systemd sets it), else in the service's folder for the user to whom that
    belongs, so that commands meet the records of the service; else in `~/.local/state/patrol`.
    """
    given = environment.get("STATE_DIRECTORY", "").split(":")[0]
    if given:
        folder = Path(given)
    else:
        folder = service_folder if _owner(service_folder) == user_id else home / ".local/state/patrol"
    return f"sqlite:///{folder / 'patrol.db'}"


def _owner(folder: Path) -> int | None:
    try:
        return folder.stat().st_uid
    except OSError:  # there is no service on this machine
        return None
