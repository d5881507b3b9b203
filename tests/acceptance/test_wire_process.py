"""The commands with a model behind a server, as scripts meet them: exit codes, documents, and no key anywhere."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from patrol.agent.failure import Cause
from tests.acceptance.test_process import Shell
from tests.acceptance.test_wire_runs import HOUSE
from tests.acceptance.wire_faults import KEY, WIRE_FAULTS
from tests.acceptance.wire_house import everything_stored
from tests.acceptance.wire_play import Play
from tests.agent.test_probe import good
from tests.agent.wire_server import ModelServer, Script, closed_port

ENOUGH, PROBLEM = 0, 2


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def told_of(url: str) -> Mapping[str, str]:
    """The environment that names the model at this address."""
    return {"PATROL_MODEL__NAME": "openai:x", "PATROL_MODEL__BASE_URL": url, "PATROL_MODEL__API_KEY": KEY}


def ran(shell: Shell, url: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    snapshot = shell.snapshot(HOUSE.estate())
    storage = ("--storage", shell.storage)
    return shell.patrol("run", "--snapshot", snapshot, *storage, "--json", *arguments, **told_of(url))


def wrong(document: dict[str, list[dict[str, str]]]) -> set[tuple[str, str]]:
    return {(each["kind"], each["resource_id"]) for each in document["findings"]}


EXPECTED = {(str(kind), resource) for kind, resource, _ in HOUSE.faults}


def test_a_model_that_works_is_in_the_document_with_its_words_and_its_cost(shell: Shell) -> None:
    with ModelServer(Play(0, quiet=True)) as server:
        done = ran(shell, server.openai_url, "--fail-on", "warning")
    document = json.loads(done.stdout)
    said = document["run"]
    assert (done.returncode, wrong(document)) == (3, EXPECTED)
    assert (said["model"], said["model_name"], said["model_cause"], said["model_said"]) == ("used", "openai:x", "", "")
    assert said["ai_analysis"].count("there is nothing to tell") == len(server.asks) == 2
    assert said["input_tokens"] == sum(len(asked.text.encode()) // 4 for asked in server.asks)
    assert KEY not in f"{done.stdout!r}{done.stderr!r}{everything_stored(shell.database)}"


@pytest.mark.parametrize("fault", ["401 the key", "a page", "429 for an hour", "closes without a byte"])
def test_a_model_that_fails_is_told_with_its_cause_and_costs_no_finding(fault: str, shell: Shell) -> None:
    with ModelServer(Play(0, WIRE_FAULTS[fault], quiet=True)) as server:
        done = ran(shell, server.openai_url)
    document = json.loads(done.stdout)
    said = document["run"]
    assert (done.returncode, wrong(document)) == (ENOUGH, EXPECTED)
    assert (said["model"], said["model_cause"]) == ("failed", WIRE_FAULTS[fault].cause)
    assert len(said["model_said"].split()) > 5
    assert len(server.asks) == 1
    assert KEY not in f"{done.stdout!r}{done.stderr!r}{everything_stored(shell.database)}"
    assert b"Traceback" not in done.stderr


def test_what_a_run_cost_is_shown_afterwards_without_the_key(shell: Shell) -> None:
    with ModelServer(Play(0, WIRE_FAULTS["401 the key"], quiet=True)) as server:
        run_id = json.loads(ran(shell, server.openai_url).stdout)["run"]["id"]
        shown = shell.patrol("runs", "show", run_id, "--storage", shell.storage, **told_of(server.openai_url))
    assert str(Cause.PROVIDER_AUTH).encode() in shown.stdout
    assert KEY.encode() not in shown.stdout + shown.stderr


DOCTOR: Mapping[str, tuple[Script, dict[str, str]]] = {
    "reachable": (good, {}),
    "401": (Play(0, WIRE_FAULTS["401 the key"], quiet=True), {"model key": "api_key_file"}),
    "no tools": (Play(0, WIRE_FAULTS["400 no tools"], quiet=True), {"model tools": "another model"}),
    "a page": (Play(0, WIRE_FAULTS["a page"], quiet=True), {"model answers": "base_url"}),
}


def doctored(shell: Shell, url: str) -> tuple[int, dict[str, str], str]:
    """Exit code, problems of the model by their part, and all that was written."""
    done = shell.patrol("doctor", "--json", **told_of(url))
    written = (done.stdout + done.stderr).decode()
    checks = json.loads(done.stdout)["checks"]
    problems = {each["name"]: each["detail"] for each in checks if each["health"] == "problem"}
    return done.returncode, {name: said for name, said in problems.items() if name.startswith("model")}, written


@pytest.mark.parametrize("name", DOCTOR)
def test_doctor_tells_before_the_first_run_what_a_run_would_meet(name: str, shell: Shell) -> None:
    script, expected = DOCTOR[name]
    with ModelServer(script) as server:
        code, problems, written = doctored(shell, server.openai_url)
    assert problems.keys() == expected.keys()
    assert all(mends in problems[part] for part, mends in expected.items())
    assert not expected or code == PROBLEM
    assert KEY not in written


def test_doctor_tells_that_nobody_is_there(shell: Shell) -> None:
    code, problems, _ = doctored(shell, closed_port())
    assert (code, [*problems]) == (PROBLEM, ["model reachable"])
