"""Callers on the unix socket, by the user that the kernel says they are."""

import pwd

import pytest

from patrol.accounts.model import Scope
from tests.api.builders import House, bearer

PATH = "/api/openapi.json"


@pytest.mark.parametrize("user_id", [0, 1000])
def test_root_and_the_user_of_the_daemon_may_do_everything(at_home: House, user_id: int) -> None:
    at_home.token(Scope.ALL)
    body = at_home.client(f"unix:{user_id}").get("/api/security/status").json()
    assert all(body["settingsCapabilities"].values())
    if user_id == 0:
        assert body["username"] == pwd.getpwuid(0).pw_name


def test_others_need_a_credential_there_as_everywhere(at_home: House) -> None:
    client = at_home.client("unix:4321")
    assert client.get(PATH).status_code == 200  # nobody is known yet
    token = at_home.token(Scope.ALL)
    assert client.get(PATH).status_code == 401
    assert client.get(PATH, headers=bearer(token)).status_code == 200


def test_a_wrong_token_is_wrong_for_the_owner_too(at_home: House) -> None:
    assert at_home.client("unix:0").get(PATH, headers=bearer("patrol_" + "x" * 43)).status_code == 401
