"""The route for commands of this machine: for whoever owns the database, by the word of the kernel alone."""

import json
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any, NoReturn

import msgspec
import pytest
from httpx import Response

from patrol.accounts.model import Role, Scope
from patrol.api.app import create_app
from patrol.database import Database, DatabaseBusyError
from patrol.records.wire import PATH
from tests.api.builders import LOOPBACK, OUTSIDE, House, basic, bearer, cookies, is_envelope

MINE = version("patrold")
ROOT, DAEMON, STRANGER = "unix:0", "unix:1000", "unix:4321"
LIST = {"type": "ListTokens", "everything": True}
PAUSE = {"type": "PauseRuns", "reason": "disks\ud800"}


def asked(question: Any = LIST, its_version: str = MINE) -> bytes:
    return json.dumps({"version": its_version, "question": question}).encode()


def ask(house: House, address: str, body: bytes | None = None) -> Response:
    return house.client(address).post(PATH, content=asked() if body is None else body)


@pytest.mark.parametrize("address", [ROOT, DAEMON])
def test_root_and_the_user_of_the_daemon_are_answered_whoever_else_is_known(at_home: House, address: str) -> None:
    at_home.token(Scope.ALL)
    answer = ask(at_home, address)
    told = answer.json()
    assert (answer.status_code, told["version"], told["refusal"]) == (200, MINE, None)
    assert told["database"] == at_home.database.place
    assert [each["name"] for each in told["answer"]["tokens"]] == ["t"]


@pytest.mark.parametrize("address", [LOOPBACK, OUTSIDE, STRANGER, ""])
@pytest.mark.parametrize("closed", [False, True], ids=["nobody is known yet", "somebody is known"])
def test_nobody_else_is_whatever_they_bring(at_home: House, address: str, closed: bool) -> None:
    sent: list[dict[str, str]] = [{}]
    if closed:
        boss = at_home.user("boss", administrator=True)
        secret = at_home.session(boss)
        sent += [bearer(at_home.token(Scope.ALL)), basic("boss"), cookies(secret)]
        sent += [{**bearer(at_home.token(Scope.ALL)), **cookies(secret)}]
    sent.append({"X-Forwarded-For": "unix:0"})
    for headers in sent:
        for body in (asked(), b"{"):
            answer = at_home.client(address).post(PATH, content=body, headers=headers)
            assert answer.status_code in {401, 403, 421}, headers
            assert is_envelope(answer)
    known = at_home.client(OUTSIDE).post(PATH, content=asked(), headers=bearer(at_home.token(Scope.ALL)))
    assert (known.status_code, known.json()["code"]) == (403, "owner_required")


def test_an_owner_who_brings_somebody_elses_credential_is_nobody_here(at_home: House) -> None:
    ann = at_home.user("ann", default=Role.OWNER)
    for headers in (bearer(at_home.token(Scope.ALL)), basic("ann"), cookies(at_home.session(ann))):
        answer = at_home.client(ROOT).post(PATH, content=asked(), headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "owner_required")


def test_it_is_no_part_of_the_interface_that_is_described(at_home: House) -> None:
    assert PATH not in at_home.client(ROOT).get("/api/openapi.json").json()["paths"]


JUNK = [
    *(b"", b"null", b"[]", b"{", b'"x"', b"\xff\xfe", b"NaN", b"{}", b"[" * 5_000, b'{"a": ' * 5_000),
    *(asked({}), asked([]), asked("ListTokens"), asked({"type": "Nonsense"}), asked({"type": 1})),
    asked({"type": "ListTokens", "everything": "yes"}),
    asked({"type": "ListTokens", "more": 1}),
    asked({"type": "ListRuns", "limit": 10**9}),
    asked({"type": "ShowFinding"}),
    asked({"type": "SaySnoozed", "ids": ["x"], "verb": {"until": "never"}}),
    asked({"type": "ShowFinding", "finding_id": {"a": [1] * 100}}),
    b" " * (1 << 20),
    b'"' + b"x" * ((1 << 20) - 2) + b'"',
]


@pytest.mark.parametrize("junk", JUNK, ids=lambda each: repr(each[:40]))
def test_junk_is_refused_and_nothing_breaks(at_home: House, junk: bytes) -> None:
    answer = ask(at_home, ROOT, junk)
    assert answer.status_code == 400, answer.text
    assert is_envelope(answer)
    assert len(answer.content) < 1_000
    assert ask(at_home, ROOT).status_code == 200


def test_a_body_beyond_the_bound_is_refused(at_home: House) -> None:
    assert ask(at_home, ROOT, b"x" * ((1 << 20) + 1)).status_code == 413


def test_who_is_there_is_told_to_a_command_of_any_version_and_no_more_is_done(at_home: House) -> None:
    for body in (asked(None, "0.0.1"), asked(PAUSE, "0.0.1"), asked({"type": "FromTheFuture"}, "9.9")):
        told = ask(at_home, ROOT, body).json()
        assert (told["version"], told["refusal"], told["answer"]) == (MINE, None, None)
    assert ask(at_home, ROOT, asked({"type": "ShowPause"})).json()["answer"] == {"pause": None, "replaced": None}


@dataclass
class Told:
    """How often an operator changed something that whoever goes by the settings has to hear of."""

    times: int = 0

    def __call__(self) -> None:
        self.times += 1


def test_a_pause_and_its_end_are_told_to_the_daemon_at_once_as_over_http(at_home: House) -> None:
    told = Told()
    at_home.app = create_app(replace(at_home.services, settings_changed=told))
    pause = ask(at_home, ROOT, asked(PAUSE)).json()["answer"]["pause"]
    assert (told.times, pause["author"], pause["reason"]) == (1, "root", "disks?")
    assert at_home.client(ROOT).get("/api/ai/patrol/status").json()["paused"] is not None
    ask(at_home, ROOT, asked({"type": "ResumeRuns"}))
    assert told.times == 2
    ask(at_home, ROOT)
    assert told.times == 2


def test_a_refusal_has_the_exit_code_and_the_words_of_the_command(at_home: House) -> None:
    told = ask(at_home, ROOT, asked({"type": "ShowFinding", "finding_id": "zz\ud800"})).json()
    assert told["answer"] is None
    assert told["refusal"]["code"] == 1
    assert "`patrol findings list --state all`" in told["refusal"]["text"]
    made = {"type": "CreateToken", "name": "x", "scopes": ["*"], "org": "moon"}
    refused = ask(at_home, ROOT, asked(made)).json()["refusal"]
    assert (refused["code"], "there is default, lab" in refused["text"]) == (2, True)
    there = ask(at_home, ROOT, asked({**made, "org": "lab"})).json()["answer"]["token"]
    assert (there["bound_to"], there["created_by"]) == ("lab", "root")


@dataclass
class Busy:
    """A database that is read, and that another process holds for too long to be changed."""

    database: Database

    def __getattr__(self, name: str) -> Any:
        return getattr(self.database, name)

    def transact(self, work: object) -> NoReturn:
        raise DatabaseBusyError("patrol.db", "another process holds the database", "Wait for it to end, or try again")


def test_a_database_that_fails_is_told_as_the_command_itself_would_tell_it(at_home: House) -> None:
    at_home.app = create_app(replace(at_home.services, database=Busy(at_home.database)))
    told = ask(at_home, ROOT, asked({"type": "PauseRuns"})).json()
    error = DatabaseBusyError("patrol.db", "another process holds the database", "Wait for it to end, or try again")
    assert told["refusal"] == {"code": 1, "text": str(error)}


ODD = "x\ud800\0y"
VERBS = {"Acknowledged": "note", "Suppressed": "note", "Resolved": "note", "Noted": "text"}
ODD_QUESTIONS = [
    *({"type": f"Say{verb}", "ids": [ODD, ODD], "verb": {field: ODD}} for verb, field in VERBS.items()),
    {"type": "SayDismissed", "ids": [ODD], "verb": {"reason": "not_an_issue", "note": ODD}},
    {"type": "ShowRun", "run_id": ODD},
    {"type": "EndSilence", "silence_id": ODD},
    {"type": "AddSilence", "wish": {"kind": "offline", "resource": ODD, "finding_kind": ODD, "reason": ODD}},
    {"type": "AddSilence", "wish": {"kind": "offline", "resource": f"vm:lab:{ODD}", "reason": ODD}},
    {"type": "AddSilence", "wish": {"kind": "suppression", "finding_kind": ODD, "reason": ODD}},
    {"type": "AddSilence", "wish": {"kind": "suppression", "finding_kind": "high_cpu", "reason": ODD}},
    {"type": "RemoveResource", "name": ODD},
    {"type": "CreateToken", "name": ODD, "scopes": [], "org": "default"},
    {"type": "CreateToken", "name": "x", "scopes": [], "org": ODD},
    {"type": "RevokeToken", "token_id": ODD},
    {"type": "AddUser", "name": "a", "kept": ODD, "administrator": False, "role": "member", "org": "default"},
    {"type": "AddUser", "name": ODD, "kept": "x", "administrator": False, "role": "member", "org": "default"},
    {"type": "SetPassword", "name": ODD, "kept": ODD},
    {"type": "SetRole", "name": ODD, "org": "default"},
    {"type": "RemoveUser", "name": ODD},
    {"type": "ShowUser", "name": ODD},
]


@pytest.mark.parametrize("question", ODD_QUESTIONS, ids=lambda each: each["type"])
def test_what_no_text_can_hold_breaks_nothing(at_home: House, question: dict[str, Any]) -> None:
    answer = ask(at_home, ROOT, asked(question))
    assert answer.status_code in {200, 400}, answer.text


def test_what_an_owner_may_send_is_what_commands_send(at_home: House) -> None:
    """An object of a question that is no struct is none: the field decides, and unknown ones are refused."""
    body = msgspec.json.encode({"version": MINE, "question": None, "more": 1})
    assert ask(at_home, ROOT, body).status_code == 400
