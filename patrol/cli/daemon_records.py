"""Records as the daemon of this machine answers for them, over its unix socket."""

import http.client
import json
import socket
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import version
from typing import TypeVar

import msgspec

from patrol.cli.daemon_call import TIMEOUT_SECONDS, UnixConnection, refusal
from patrol.cli.exit_codes import CommandError, ExitCode
from patrol.records.desk import Answerable
from patrol.records.wire import PATH, Reply

ANSWER_SECONDS = 120.0
"""A long list of a large house takes some seconds; a change waits up to 15 s for others."""
_MOST_BYTES = 256 << 20
_MAY_BE_DONE = "; what was to be changed may have been: look before you try again"
_NOT_LET_IN = frozenset({http.client.UNAUTHORIZED, http.client.FORBIDDEN})

Kind = TypeVar("Kind")


class NotLetInError(Exception):
    """The daemon takes no questions of this user; says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonRecords:
    """Records of a daemon. `path`: of its socket. `database`: what it calls its own. `version`: its own."""

    path: str
    database: str
    version: str

    @classmethod
    def met(cls, connection: socket.socket) -> "DaemonRecords":
        """Those of whoever is at the other end. Raises CommandError, NotLetInError."""
        path = str(connection.getpeername())
        reply = _reply(UnixConnection(path, TIMEOUT_SECONDS, connection), path, None)
        return cls(path=path, database=reply.database, version=reply.version)

    def check_version(self) -> None:
        """Raises CommandError for a daemon of another version: its words may mean something else."""
        if self.version != version("patrold"):
            raise CommandError(_another_version(self.path, self.version))

    def ask(self, question: Answerable[Kind], kind: type[Kind], /) -> Kind:
        """The answer. Raises CommandError."""
        reply = _reply(UnixConnection(self.path, ANSWER_SECONDS), self.path, question)
        if reply.version != version("patrold"):  # it was another one a moment ago
            raise CommandError(_another_version(self.path, reply.version))
        if reply.refusal is not None:
            raise CommandError(reply.refusal.text, ExitCode(reply.refusal.code))
        try:
            return msgspec.json.decode(reply.answer, type=kind)
        except (ValueError, RecursionError) as error:
            raise _broken(self.path, "its answer is none", is_asked=True) from error


def _reply(connection: UnixConnection, path: str, question: object) -> Reply:
    is_asked = question is not None
    asked = {"version": version("patrold"), "question": msgspec.to_builtins(question)}
    with closing(connection):
        try:
            connection.request("POST", PATH, json.dumps(asked), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            content = answer.read(_MOST_BYTES)
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise _broken(path, reason.strip(), is_asked=is_asked) from error
    try:
        if answer.status == http.client.OK:
            return msgspec.json.decode(content, type=Reply)
        document = json.loads(content)
    except (ValueError, RecursionError) as error:  # of both libraries
        if is_asked:  # it was a Patrol a moment ago: it is ended, or was cut short
            raise _broken(path, f"an answer {answer.status} that cannot be read", is_asked=is_asked) from error
        raise CommandError(f"{path}: what answers there is no Patrol", ExitCode.FAILED) from error
    if answer.status == http.client.NOT_FOUND:
        raise CommandError(_another_version(path, "an older version"))
    refused = refusal(answer.status, document)
    if answer.status in _NOT_LET_IN:
        raise NotLetInError(f"{path}: {refused}")
    if is_asked and answer.status >= http.client.INTERNAL_SERVER_ERROR:
        raise CommandError(f"{refused}{_MAY_BE_DONE}", refused.code)
    raise refused


def _broken(path: str, reason: str, *, is_asked: bool) -> CommandError:
    done = _MAY_BE_DONE if is_asked else "; try again"
    return CommandError(f"the daemon at {path} did not answer ({reason}){done}", ExitCode.FAILED)


def _another_version(path: str, its: str) -> str:
    mine = version("patrold")
    return f"the daemon at {path} runs {its}, this command is {mine}: restart the daemon (systemctl restart patrol)"
