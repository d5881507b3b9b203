"""`patrol investigate` against a daemon that says what a test wants: asked once, followed through lost streams."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from patrol.__main__ import main
from patrol.cli.investigate import RETRIES, RETRY_SECONDS

ACCEPTED = {"run_id": "r1", "message": "The run is accepted", "state": "queued"}
RUN = {
    "id": "r1",
    "status": "issues_found",
    "status_text": "one \x1b[31mwarning",
    "error_summary": "",
    "complete": True,
}
FINDING = {
    "id": "f1",
    "severity": "warning",
    "resource_name": "db\x1b[2J",
    "kind": "high_disk",
    "title": "Space is running out",
    "value": 91.5,
    "limit": 90,
    "limit_source": "built-in",
}


def event(seq: int, kind: str, **more: object) -> bytes:
    data = json.dumps({"run_id": "r1", "seq": seq, "type": kind, **more})
    return f": ping\n\nid: r1:{seq}\ndata: {data}\n\n".encode()


class Daemon:
    """Answers by path; streams are handed out one after the other. `asked`: what was asked, in order."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, Any]] = {
            "/api/ai/patrol/run": (200, ACCEPTED),
            "/api/ai/patrol/findings/f1/investigate": (200, ACCEPTED),
            "/api/alerts/a1/investigate": (200, ACCEPTED),
            "/api/ai/patrol/runs/r1": (200, RUN),
            "/api/ai/patrol/findings": (200, [FINDING]),
        }
        self.streams: list[bytes] = [event(1, "phase", phase="collect") + event(2, "complete", status="healthy")]
        self.asked: list[tuple[str, str, str, str]] = []

    def answer(self, method: str, target: str, body: bytes, headers: Any) -> tuple[int, str, bytes]:
        path, _, _ = target.partition("?")
        last = headers.get("Last-Event-ID", "")
        self.asked.append((method, path, body.decode(), last or headers.get("Authorization", "")))
        if path == "/api/ai/patrol/stream":
            return 200, "text/event-stream", self.streams.pop(0) if self.streams else b""
        status, document = self.answers[path]
        return status, "application/json", json.dumps(document).encode()


@pytest.fixture
def daemon() -> Daemon:
    return Daemon()


@pytest.fixture
def url(daemon: Daemon) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer("GET")

        def do_POST(self) -> None:
            self._answer("POST")

        def _answer(self, method: str) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            status, kind, content = daemon.answer(method, self.path, body, self.headers)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def patrol(capsys, monkeypatch, tmp_path: Path, url: str):
    for name in ("PATROL_CONFIG", "CREDENTIALS_DIRECTORY", "STATE_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("patrol.cli.investigate.RETRY_SECONDS", 0.0)

    def run(*arguments: str, at: str = url):
        code = main(["investigate", *arguments, "--url", at])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.mark.parametrize(
    ("option", "path", "body"),
    [
        (("--resource", "db"), "/api/ai/patrol/run", '{"resource_ids": ["db"]}'),
        (("--finding", "f1"), "/api/ai/patrol/findings/f1/investigate", ""),
        (("--alert", "a1"), "/api/alerts/a1/investigate", ""),
    ],
)
def test_one_thing_is_asked_for_followed_and_shown(patrol, daemon: Daemon, option, path: str, body: str) -> None:
    code, out, err = patrol(*option)
    assert (code, daemon.asked[0][:3]) == (0, ("POST", path, body))
    assert "Space is running out" in out
    assert out.startswith("issues found: ")
    assert out.splitlines()[2].split()[6:10] == ["91.5", "%", "90", "%"]
    assert "collect" in err
    assert "\x1b" not in out + err


def test_the_calls_of_the_model_are_told_as_they_happen_a_line_each(patrol, daemon: Daemon) -> None:
    call = {"tool_id": "c1", "tool_name": "pulse_query\x1b[2J"}
    daemon.streams = [
        event(1, "phase", phase="analyse", content="ollama:test")
        + event(2, "tool_start", **call, tool_input='{"text":"two\nlines \x1b]0;title\x07"}')
        + event(3, "tool_end", **call, tool_output='{"total":1}', tool_success=True)
        + event(4, "tool_start", tool_id="c2", tool_name="pulse_storage", tool_input="x" * 8_000)
        + event(5, "tool_end", tool_id="c2", tool_name="pulse_storage", tool_output="not_found", tool_success=False)
        + event(6, "finding_rejected", content="evidence_not_found: it is nowhere")
        + event(7, "complete", status="healthy")
    ]
    code, out, err = patrol("--resource", "db", "--json")
    lines = err.splitlines()
    assert (code, json.loads(out)["run"]) == (0, RUN)
    assert lines[1:] == [
        "patrol: analyse",
        'patrol: pulse_query\\x1b[2J {"text":"two\\nlines \\x1b]0;title\\x07"}',
        lines[3],
        "patrol: pulse_storage failed: not_found",
        "patrol: not taken: evidence_not_found: it is nowhere",
    ]
    assert lines[3].startswith("patrol: pulse_storage xxx")
    assert len(lines[3]) < 200


def test_scripts_get_one_document(patrol) -> None:
    code, out, _ = patrol("--resource", "db", "--json")
    assert (code, json.loads(out)) == (0, {"run": RUN, "findings": [FINDING]})


def test_a_stream_that_is_lost_is_taken_up_where_it_was(patrol, daemon: Daemon) -> None:
    daemon.streams = [event(1, "phase", phase="collect"), b"", event(2, "phase", phase="sweep") + event(3, "complete")]
    assert patrol("--resource", "db")[0] == 0
    streams = [each for each in daemon.asked if each[1] == "/api/ai/patrol/stream"]
    assert [last for *_, last in streams] == ["", "r1:1", "r1:1"]


def test_a_stream_that_never_says_anything_is_given_up(patrol, daemon: Daemon) -> None:
    daemon.streams = []
    code, _, err = patrol("--resource", "db")
    assert (code, "cannot be followed" in err) == (1, True)
    assert "patrol runs show r1 says what becomes of it" in err  # nobody knows whether it goes on


def test_who_stops_following_ends_as_interrupted_and_is_told_that_the_run_goes_on(patrol, monkeypatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("patrol.cli.investigate._follow", interrupted)
    code, out, err = patrol("--resource", "db")
    assert (code, out) == (130, "")
    assert "the run goes on; patrol runs show r1" in err


def test_a_daemon_that_systemd_starts_again_is_waited_for(patrol, daemon: Daemon) -> None:
    assert RETRIES * RETRY_SECONDS >= 60
    daemon.streams = [b""] * RETRIES + [event(1, "complete")]
    assert patrol("--resource", "db")[0] == 0


def test_a_run_that_did_not_look_to_its_end_tells_of_nothing_that_all_is_well(patrol, daemon: Daemon) -> None:
    daemon.answers["/api/ai/patrol/runs/r1"] = (200, {**RUN, "status": "crashed"})
    daemon.answers["/api/ai/patrol/findings"] = (200, [])
    code, out, _ = patrol("--resource", "db")
    assert (code, "No open findings" in out, "patrol findings list" in out) == (1, False, True)


@pytest.mark.parametrize(
    ("run", "code"),
    [
        ({"status": "healthy"}, 0),
        ({"status": "healthy", "complete": False}, 4),
        ({"status": "crashed"}, 1),
        ({"status": "dropped", "complete": False}, 1),
    ],
)
def test_the_exit_code_is_that_of_a_run(patrol, daemon: Daemon, run: dict[str, object], code: int) -> None:
    daemon.answers["/api/ai/patrol/runs/r1"] = (200, {**RUN, **run})
    assert patrol("--resource", "db")[0] == code


@pytest.mark.parametrize(
    ("status", "document", "code", "said"),
    [
        (422, {"message": "web could be two", "details": {"candidates": {"web": ["vm:lab:100"]}}}, 2, "vm:lab:100"),
        (
            401,
            {"code": "authentication_required", "message": "Send a token"},
            1,
            "Send a token; here: --token-file FILE",
        ),
        (401, {"code": "invalid_credentials"}, 1, "`patrol token create NAME --scope ai:execute`"),
        (422, {"code": "patrol_scope_unresolved", "message": "name it in resource_ids"}, 2, "here: --resource NAME"),
        (500, None, 1, "500"),
        (200, {"other": 1}, 1, "no Patrol"),
    ],
)
def test_a_refusal_is_told(patrol, daemon: Daemon, status: int, document: object, code: int, said: str) -> None:
    daemon.answers["/api/ai/patrol/run"] = (status, document)
    ended, out, err = patrol("--resource", "web")
    assert (ended, out) == (code, "")
    assert said in err


def test_the_token_comes_from_a_file_and_goes_along(patrol, daemon: Daemon, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("patrol_secret\n", encoding="utf-8")
    patrol("--resource", "db", "--token-file", "token")
    assert {credential for *_, credential in daemon.asked} == {"Bearer patrol_secret"}
    assert patrol("--resource", "db", "--token-file", "missing")[0] == 2


@pytest.mark.parametrize("options", [(), ("--resource", "a", "--alert", "b")])
def test_one_thing_at_a_time(patrol, options: tuple[str, ...]) -> None:
    assert patrol(*options)[0] == 2


def test_where_nobody_answers_the_way_without_a_daemon_is_told(patrol) -> None:
    code, _, err = patrol("--resource", "db", at="http://127.0.0.1:9")
    assert (code, "patrol run --scope" in err) == (2, True)
    assert patrol("--resource", "db", at="nonsense")[0] == 2
