"""Tokens as operators make, list and revoke them."""

import json
from pathlib import Path

import pytest

from patrol.__main__ import main
from patrol.accounts.tokens import TokenStore
from patrol.database import open_database


@pytest.fixture
def patrol(capsys, monkeypatch, tmp_path: Path):
    for name in ("PATROL_CONFIG", "CREDENTIALS_DIRECTORY", "STATE_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str):
        code = main(["token", *arguments, "--storage", f"sqlite:///{tmp_path}/patrol.db"])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_the_secret_is_shown_once_and_alone_so_that_a_script_can_keep_it(patrol, tmp_path: Path):
    code, out, err = patrol("create", "prometheus", "--scope", "metrics:read", "--for", "90d")
    secret = out.strip()
    assert (code, secret.startswith("patrol_"), len(secret.split())) == (0, True, 1)
    assert "not shown again" in err
    for arguments in (("list",), ("list", "--json"), ("list", "--all")):
        assert secret not in patrol(*arguments)[1]
    database = open_database(f"sqlite:///{tmp_path}/patrol.db")
    with database.read() as connection:
        assert TokenStore(connection).find_by_secret(secret).name == "prometheus"
    database.close()
    assert secret.encode() not in (tmp_path / "patrol.db").read_bytes()


def test_scripts_read_what_people_read(patrol):
    made = json.loads(patrol("create", "grafana", "--scope", "ai:execute", "--scope", "metrics:read", "--json")[1])
    assert made["secret"].startswith(made["token"]["prefix"])
    [listed] = json.loads(patrol("list", "--json")[1])["tokens"]
    assert listed == made["token"]
    assert (listed["scopes"], listed["organisation"]) == (["ai:execute", "metrics:read"], "default")
    assert (listed["state"], listed["expires_at"], listed["last_used_at"]) == ("valid", None, None)
    shown = patrol("list")[1]
    assert "grafana" in shown
    assert ("no end" in shown, "revoked" in shown) == (True, False)


def test_a_revoked_token_is_listed_among_all(patrol):
    made = json.loads(patrol("create", "old", "--scope", "*", "--json")[1])["token"]
    code, out, _ = patrol("revoke", made["id"][:8])
    assert (code, "is revoked since" in out) == (0, True)
    assert json.loads(patrol("list", "--json")[1]) == {"tokens": []}
    [listed] = json.loads(patrol("list", "--all", "--json")[1])["tokens"]
    assert (listed["state"], listed["revoked_by"]) == ("revoked", made["created_by"])


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("create", "x"), 2, "a token without scopes opens nothing"),
        (("create", "x", "--scope", "ai:run"), 2, "no such scope: ai:run; there are *, ai:execute"),
        (("create", "x", "--scope", "*", "--org", "lab"), 2, "there is no organisation lab"),
        (("create", "x", "--scope", "*", "--until", "2001-01-01"), 2, "over already"),
        (("revoke", "0123"), 1, "no token has the id 0123"),
    ],
)
def test_what_cannot_be_is_said_with_the_way_out(patrol, arguments, code, said):
    ended, out, err = patrol(*arguments)
    assert (ended, out) == (code, "")
    assert said in err


def test_a_name_does_nothing_to_a_terminal(patrol):
    patrol("create", "evil\x1b[31m", "--scope", "*")
    assert "\x1b[31m" not in patrol("list")[1]
