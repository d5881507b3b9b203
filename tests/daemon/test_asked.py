"""The real process, asked over HTTP and stopped in mid-run: what was promised is there, what was stopped says so."""

import json
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from patrol.database import open_database
from patrol.run.record_model import RunRecord, RunStatus
from patrol.run.store import RunStore
from tests.daemon.supervisor import Supervised, documented, supervised
from tests.daemon.test_systemd import AT_ONCE, QUIET
from tests.run.builders import HOST, disk, host


def call(daemon: Supervised, method: str, path: str, body: object = None) -> tuple[int, Any]:
    host, _, port = daemon.wait_for("listening")[-1]["places"][0].rpartition(":")
    with closing(HTTPConnection(host, int(port), timeout=20)) as calling:
        headers = {"Content-Type": "application/json"} if body is not None else {}
        calling.request(method, path, None if body is None else json.dumps(body), headers)
        answer = calling.getresponse()
        return answer.status, json.loads(answer.read())


def records(home: Path) -> list[RunRecord]:
    database = open_database(f"sqlite:///{home / 'patrol.db'}")
    try:
        return RunStore(database).list_runs()
    finally:
        database.close()


@contextmanager
def silent_server() -> Iterator[tuple[int, threading.Event]]:
    """A server that takes connections and says nothing; the event tells of the first."""
    called, over = threading.Event(), threading.Event()
    kept: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)

        def take() -> None:
            while not over.is_set():
                try:
                    kept.append(server.accept()[0])
                except TimeoutError:
                    continue
                called.set()

        taking = threading.Thread(target=take)
        taking.start()
        try:
            yield server.getsockname()[1], called
        finally:
            over.set()
            taking.join()
            for each in kept:
                each.close()


def test_what_is_asked_for_over_http_is_carried_out_under_the_id_that_was_promised(tmp_path):
    with supervised(tmp_path, AT_ONCE + documented(tmp_path, host(usage=97), disk())) as daemon:
        daemon.wait_for("run")
        code, answer = call(daemon, "POST", "/api/ai/patrol/run", {"resource_ids": [HOST]})
        assert (code, answer["accepted"]) == (HTTPStatus.OK, True), answer
        lines = daemon.wait_for("run", 2)
        assert (lines[1]["run_id"], lines[1]["trigger"], lines[1]["type"]) == (answer["run_id"], "manual", "scoped")
        code, shown = call(daemon, "GET", f"/api/ai/patrol/runs/{answer['run_id']}")
        assert (code, shown["status"]) == (HTTPStatus.OK, RunStatus.CRITICAL)
        daemon.signal(signal.SIGTERM)
        assert daemon.ends() == 0


def test_a_run_whose_model_says_nothing_is_cancelled_when_the_end_cannot_wait_and_is_recorded(tmp_path):
    with silent_server() as (port, called):
        model = f'[model]\nname = "ollama:test"\nbase_url = "http://127.0.0.1:{port}/v1"\ncontext_window = 32768\n'
        with supervised(tmp_path, AT_ONCE + model + documented(tmp_path, host())) as daemon:
            assert called.wait(40), daemon.log.read_text()
            daemon.signal(signal.SIGTERM)
            daemon.wait_for("told to stop")
            time.sleep(1.2)
            daemon.signal(signal.SIGTERM)
            began = time.monotonic()
            assert daemon.ends() == 0
            assert time.monotonic() - began < 15
    [run] = records(tmp_path)
    assert (run.status, run.error_summary) == (RunStatus.CANCELLED, "Patrol was stopped before the run was done")
    assert [line["status"] for line in daemon.events("run")] == ["cancelled"]
    assert daemon.kinds() == ["READY", "STOPPING"]


def test_a_daemon_that_was_killed_in_mid_run_looks_again_by_its_checks_alone(tmp_path):
    with silent_server() as (port, called):
        model = f'[model]\nname = "ollama:test"\nbase_url = "http://127.0.0.1:{port}/v1"\ncontext_window = 32768\n'
        settings = AT_ONCE + model + documented(tmp_path, host(usage=97))
        with supervised(tmp_path, settings) as daemon:
            assert called.wait(40), daemon.log.read_text()
            daemon.signal(signal.SIGKILL)
            assert daemon.ends() == -signal.SIGKILL
        with supervised(tmp_path, settings) as daemon:
            (line,) = daemon.wait_for("run")
            assert (line["status"], line["model_state"]) == (RunStatus.CRITICAL, "skipped_after_crash")
            daemon.signal(signal.SIGTERM)
            assert daemon.ends() == 0
    assert sorted(run.status for run in records(tmp_path)) == [RunStatus.CRASHED, RunStatus.CRITICAL]


def test_a_database_that_is_damaged_stops_the_start_once_with_its_remedy(tmp_path):
    (tmp_path / "patrol.db").write_bytes(b"SQLite format 3\x00" + b"junk" * 2000)
    with supervised(tmp_path, QUIET) as daemon:
        assert daemon.ends() == 2
        assert "patrol.db" in daemon.log.read_text()
    assert (tmp_path / "patrol.db").read_bytes().startswith(b"SQLite format 3\x00junk")
