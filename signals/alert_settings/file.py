"""The alert settings file on disk: read with a bound, written whole or not at all."""

import os
import tempfile
from pathlib import Path

from signals.alert_settings.document import dump_alert_settings, parse_alert_settings
from signals.alert_settings.model import AlertSettings
from signals.alert_settings.problem import AlertSettingsError

MAX_BYTES = 16 * 1024 * 1024
"""A larger file is no alert settings file: 100,000 overrides fit in it."""


def load_alert_settings(path: Path) -> AlertSettings:
    """The settings in a file. Raises AlertSettingsError if it is absent, unreadable or broken."""
    return parse_alert_settings(read_alert_settings(path), source=str(path))


def read_alert_settings(path: Path) -> str:
    """The text of the settings in a file. Raises AlertSettingsError if it is absent or unreadable."""
    text = _find_text(path)
    if text is None:
        raise AlertSettingsError(str(path), "there is no such file", "Create it, or take it out of [alerts] file")
    return text


def find_alert_settings(path: Path) -> AlertSettings | None:
    """The settings in a file, None if there is no such file (built-in limits then hold).

    Raises AlertSettingsError if the file cannot be read or is broken: that is never the same as absent.
    """
    text = _find_text(path)
    return parse_alert_settings(text, source=str(path)) if text is not None else None


def _find_text(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise AlertSettingsError(
            str(path), f"cannot be read: {error.strerror}", "Let the user that runs Patrol read this file"
        ) from error
    if len(content) > MAX_BYTES:
        raise AlertSettingsError(str(path), f"is larger than {MAX_BYTES} bytes", "Name the right file in [alerts] file")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise AlertSettingsError(
            str(path), f"is not UTF-8 (byte {error.start})", "Save the file in the encoding UTF-8"
        ) from error


def save_alert_settings(settings: AlertSettings, path: Path) -> None:
    """Writes the file with mode 0600, so that a reader and a crash see the old text or the new, never a part.

    Raises OSError if the directory cannot be written.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mkstemp: mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(dump_alert_settings(settings))
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)  # the rename itself survives a loss of power
    finally:
        os.close(directory)
