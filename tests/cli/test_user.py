"""Users as operators add, change and remove them. Passwords never stand in a command line."""

import io
import json
from pathlib import Path

import pytest

from patrol.__main__ import main
from patrol.accounts.users import UserStore, is_password
from patrol.database import open_database

PASSWORD = "correct horse battery"


@pytest.fixture
def patrol(capsys, monkeypatch, tmp_path: Path):
    for name in ("PATROL_CONFIG", "CREDENTIALS_DIRECTORY", "STATE_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATROL_API__ORGANISATIONS", '["lab"]')
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, typed: str = f"{PASSWORD}\n"):
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        code = main(["user", *arguments, "--storage", f"sqlite:///{tmp_path}/patrol.db"])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def kept(tmp_path: Path, name: str) -> str:
    database = open_database(f"sqlite:///{tmp_path}/patrol.db")
    with database.read() as connection:
        found = UserStore(connection).kept_password(name)
    database.close()
    return found


def test_a_user_is_added_with_the_password_from_standard_input(patrol, tmp_path: Path):
    code, out, err = patrol("add", "Ann", "--role", "admin", "--json")
    made = json.loads(out)["user"]
    assert (code, made["name"], made["administrator"], made["roles"]) == (0, "ann", False, {"default": "admin"})
    assert PASSWORD not in out + err
    assert is_password(PASSWORD, kept(tmp_path, "ann"))
    assert json.loads(patrol("list", "--json")[1]) == {"users": [made]}
    assert "admin of" in patrol("list")[1]


def test_a_password_changes_roles_come_and_go_and_a_user_is_removed(patrol, tmp_path: Path):
    patrol("add", "ann")
    assert patrol("passwd", "ann", typed="another long password\n")[0] == 0
    assert is_password("another long password", kept(tmp_path, "ann"))
    changed = json.loads(patrol("role", "ann", "--org", "lab", "--role", "owner", "--json")[1])["user"]
    assert changed["roles"] == {"default": "member", "lab": "owner"}
    changed = json.loads(patrol("role", "ann", "--json")[1])["user"]
    assert changed["roles"] == {"lab": "owner"}
    assert patrol("remove", "ANN")[1] == "ann is no user any more.\n"
    assert json.loads(patrol("list", "--json")[1]) == {"users": []}
    assert patrol("list")[1] == "No users.\n"


@pytest.mark.parametrize(
    ("arguments", "typed", "code", "said"),
    [
        (("add", "a b"), PASSWORD, 2, "a b: a name has"),
        (("add", "ben"), "short\n", 2, "12 to 1024 characters: nothing was changed"),
        (("add", "ben"), "", 2, "12 to 1024 characters"),
        (("add", "ben", "--org", "moon"), PASSWORD, 2, "there is no organisation moon"),
        (("passwd", "nobody"), PASSWORD, 1, "there is no user nobody"),
        (("remove", "nobody"), "", 1, "there is no user nobody"),
        (("role", "nobody", "--role", "owner"), "", 1, "there is no user nobody"),
    ],
)
def test_what_cannot_be_is_said_with_the_way_out(patrol, arguments, typed, code, said):
    ended, out, err = patrol(*arguments, typed=typed)
    assert (ended, out) == (code, "")
    assert said in err


def test_a_name_is_taken_once(patrol):
    patrol("add", "ann")
    code, _, err = patrol("add", "ANN")
    assert (code, "there is a user ann already" in err) == (1, True)
