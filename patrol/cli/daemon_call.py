"""Calls to a daemon: over its unix socket on this machine, where the kernel says who calls, or by a URL with a token.

The standard library is enough, and starts fast.
"""

import http.client
import json
import os
import socket
import ssl
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from patrol.cli.exit_codes import CommandError, ExitCode
from patrol.settings.interface import SOCKET, parse_listen
from patrol.settings.load import LoadedSettings, read_secret

TIMEOUT_SECONDS = 30.0
SILENCE_SECONDS = 60.0
"""Longest silence of a stream: the daemon gives a sign of life every 15 s."""
_MOST_BYTES = 64 << 20
_LONGEST_LINE = 1 << 20


class LostStreamError(Exception):
    """A stream ended before it said that it would, or was silent for too long."""


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a unix socket. `made`: a connection to it that is there already."""

    def __init__(self, path: str, timeout: float, made: socket.socket | None = None) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path
        if made is not None:
            made.settimeout(timeout)
            self.sock = made

    def connect(self) -> None:
        """Connects to the path."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonPlace:
    """Where a daemon answers: a unix socket, or a URL with a token."""

    socket_path: str = ""
    url: str = ""
    token: str = field(default="", repr=False)

    def __str__(self) -> str:
        """For messages."""
        return self.socket_path or self.url

    def request(self, method: str, path: str, body: object = None) -> Any:
        """The JSON of an answer. Raises CommandError: nobody answers there, or the answer is a refusal."""
        with closing(self._connection(TIMEOUT_SECONDS)) as connection:
            try:
                answer = self._ask(connection, method, path, body)
                content = answer.read(_MOST_BYTES)
                document = json.loads(content) if content else None
            except (OSError, http.client.HTTPException) as error:
                raise self._nobody(error) from error
            except ValueError as error:
                raise CommandError(f"{self}: what answers there is no Patrol", ExitCode.FAILED) from error
        if answer.status >= http.client.BAD_REQUEST:
            raise refusal(answer.status, document)
        return document

    def events(self, path: str, last_event_id: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """The events of a stream with their ids, until it ends. Raises CommandError for a refusal, LostStreamError."""
        with closing(self._connection(SILENCE_SECONDS)) as connection:
            try:
                answer = self._ask(connection, "GET", path, None, last_event_id=last_event_id)
                if answer.status >= http.client.BAD_REQUEST:
                    raise refusal(answer.status, json.loads(answer.read(_MOST_BYTES) or b"null"))
                yield from _events(answer)
            except (OSError, http.client.HTTPException, ValueError) as error:
                raise LostStreamError(str(error)) from error

    def _connection(self, timeout: float) -> http.client.HTTPConnection:
        if self.socket_path:
            return UnixConnection(self.socket_path, timeout)
        parts = urlsplit(self.url)
        host = parts.hostname or "localhost"
        if parts.scheme == "https":
            return http.client.HTTPSConnection(host, parts.port, timeout=timeout, context=ssl.create_default_context())
        return http.client.HTTPConnection(host, parts.port, timeout=timeout)

    def _ask(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: object, *, last_event_id: str = ""
    ) -> http.client.HTTPResponse:
        headers = {"Accept": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if last_event_id:
            headers["Last-Event-ID"] = last_event_id
        content = None if body is None else json.dumps(body)
        if content is not None:
            headers["Content-Type"] = "application/json"
        connection.request(method, urlsplit(self.url).path.rstrip("/") + path, content, headers)
        return connection.getresponse()

    def _nobody(self, error: Exception) -> CommandError:
        if isinstance(error, PermissionError):
            return CommandError(f"{self}: only root and the daemon's own user may call it there (sudo -u patrol ...)")
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return CommandError(f"no daemon answers at {self} ({reason}); without one: patrol run --scope NAME")


_KNOWN_BY = "; here: --token-file FILE; on the daemon's host: `patrol token create NAME --scope ai:execute`"
_OPTIONS = {
    "authentication_required": _KNOWN_BY,
    "invalid_credentials": _KNOWN_BY,
    "patrol_scope_unresolved": "; here: --resource NAME",
}
"""By the code of a refusal: the options of a command that do what the message asks for in terms of the API."""


def refusal(status: int, document: Any) -> CommandError:
    """A refusal of the daemon, with what it says of it."""
    said = document if isinstance(document, dict) else {}
    details = said.get("details") if isinstance(said.get("details"), dict) else {}
    candidates = (details or {}).get("candidates")
    hint = f"; candidates: {json.dumps(candidates)}" if candidates else ""
    text = f"{said.get('message') or f'the daemon answers {status}'}{hint}{_OPTIONS.get(str(said.get('code')), '')}"
    usage = status in {http.client.BAD_REQUEST, http.client.UNPROCESSABLE_ENTITY, http.client.CONFLICT}
    return CommandError(text, ExitCode.USAGE if usage else ExitCode.FAILED)


def _events(answer: http.client.HTTPResponse) -> Iterator[tuple[str, dict[str, Any]]]:
    """Reads server-sent events line by line; comments are signs of life."""
    event_id, data = "", ""
    while line := answer.readline(_LONGEST_LINE):
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        name, _, value = text.partition(": ")
        if name == "id":
            event_id = value
        elif name == "data":
            data = value
        elif not text and data:
            found = json.loads(data)
            if isinstance(found, dict):
                yield event_id, found
            data = ""


def find_daemon(loaded: LoadedSettings, url: str, token_file: Path | None) -> DaemonPlace:
    """Where to call: the URL that was given, else the daemon of this machine. Raises CommandError."""
    if url:
        if urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).hostname:
            raise CommandError(f'--url {url}: not an address like "https://patrol.example.org"')
        return DaemonPlace(url=url.rstrip("/"), token=_token(token_file))
    address = parse_listen(loaded.settings.api.listen)
    for path in (address.path, str(SOCKET)):
        if path and os.path.lexists(path):
            return DaemonPlace(socket_path=path)
    if address.path:
        return DaemonPlace(socket_path=address.path)
    host = f"[{address.host}]" if ":" in address.host else address.host
    return DaemonPlace(url=f"http://{host}:{address.port}", token=_token(token_file))


def _token(token_file: Path | None) -> str:
    if token_file is None:
        return ""
    try:
        return read_secret(token_file).get_secret_value()
    except (OSError, ValueError) as error:
        raise CommandError(f"--token-file {token_file}: {getattr(error, 'strerror', None) or error}") from error
