"""`patrol doctor` and the model: tried before the first run needs it."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from patrol.__main__ import main
from patrol.agent.breaker import STORED_AS, Breaker
from patrol.agent.causes import failure_of
from patrol.agent.failure import Cause
from patrol.database import open_database
from patrol.run.model_work.store import ModelWorkStore
from tests.agent.test_probe import good
from tests.agent.wire_server import REFUSALS, ModelServer

KEY = "sk-hush-0123456789"
Checks = dict[str, tuple[str, str]]
Doctor = Callable[..., tuple[int, Checks, str]]


@pytest.fixture
def doctor(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Doctor:
    """Gives the exit code, the checks by name, and all that was written."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    monkeypatch.chdir(tmp_path)
    document = tmp_path / "estate.json"
    document.write_text(json.dumps({"version": 1, "resources": [{"id": "agent:lab:a", "type": "agent"}]}))

    def run(model: str, *arguments: str) -> tuple[int, Checks, str]:
        settings = tmp_path / "settings.toml"
        settings.write_text(f'{model}\n[[sources]]\ntype = "snapshot"\nfile = "{document}"\n')
        code = main(["doctor", "--json", "--config", str(settings), *arguments])
        written = capsys.readouterr()
        checks = {each["name"]: (each["health"], each["detail"]) for each in json.loads(written.out)["checks"]}
        return code, checks, written.out + written.err

    return run


def at(server: ModelServer) -> str:
    return f'[model]\nname = "openai:m"\nbase_url = "{server.openai_url}"\napi_key = "{KEY}"'


def model_parts(checks: Checks) -> Checks:
    return {name.removeprefix("model "): each for name, each in checks.items() if name.startswith("model ")}


def test_a_model_that_works_is_fine_in_every_part(doctor: Doctor) -> None:
    with ModelServer(good) as server:
        _, checks, _ = doctor(at(server))
    assert set(model_parts(checks)) == {"reachable", "key", "answers", "tools", "window", "price"}
    assert {health for health, _ in model_parts(checks).values()} == {"ok"}
    assert checks["model"][1] == "openai:m; trying it took 510 tokens, free"


@pytest.mark.parametrize(
    ("name", "part", "mends"),
    [
        ("auth", "key", "api_key_file"),
        ("billing", "key", "billing"),
        ("no model", "answers", "[model] name"),
        ("no tools", "tools", "another model"),
        ("rate for an hour", "answers", "asks again later"),
    ],
)
def test_what_does_not_work_is_told_with_what_mends_it(doctor: Doctor, name: str, part: str, mends: str) -> None:
    with ModelServer(REFUSALS[name]) as server:
        code, checks, written = doctor(at(server))
    assert code == 2
    assert checks[f"model {part}"][0] == "problem"
    assert mends in checks[f"model {part}"][1]
    assert KEY not in written


def test_the_model_is_left_alone_where_that_is_wanted(doctor: Doctor) -> None:
    with ModelServer(good) as server:
        _, checks, _ = doctor(at(server), "--no-model")
    assert checks["model"] == ("ok", "openai:m, not tried")
    assert server.asks == []


def test_without_a_model_nothing_is_tried(doctor: Doctor) -> None:
    _, checks, _ = doctor("")
    assert checks["model"] == ("ok", "none: the checks run alone")
    assert model_parts(checks) == {}


def test_a_name_that_says_no_provider_is_a_problem(doctor: Doctor) -> None:
    code, checks, _ = doctor('[model]\nname = "qwen3"')
    assert code == 2
    assert "ollama:" in checks["model reachable"][1]


def test_a_model_that_works_again_is_no_longer_left_alone(doctor: Doctor, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/patrol.db"
    now = datetime.now(UTC)
    database = open_database(url)
    store = ModelWorkStore(database)
    store.remember(STORED_AS, Breaker().failed(failure_of(Cause.PROVIDER_BILLING), now).to_json(), now)
    with ModelServer(REFUSALS["billing"]) as server:
        doctor(f'{at(server)}\n[storage]\nurl = "{url}"')
    assert Breaker.from_json(str(store.remembered(STORED_AS))).refusal(now) is not None
    with ModelServer(good) as server:
        _, checks, _ = doctor(f'{at(server)}\n[storage]\nurl = "{url}"')
    assert Breaker.from_json(str(store.remembered(STORED_AS))).refusal(now) is None
    assert checks["model"][1].endswith("; runs ask it again at once")
    database.close()
