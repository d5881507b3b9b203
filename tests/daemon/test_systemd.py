"""What systemd sees of the daemon: every word that it says, in which order and when, and what signals do."""

import itertools
import json
import os
import re
import signal
import socket
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path

import pytest

from patrol.accounts.model import Scope
from patrol.accounts.tokens import TokenStore, TokenWish
from patrol.cli.exit_codes import ExitCode
from patrol.database import open_database
from patrol.run.record_model import RunStatus
from patrol.run.store import RunStore
from patrol.schedule.pauses import pause
from tests.daemon.supervisor import PATIENCE, Supervised, documented, supervised
from tests.run.builders import disk, host

QUIET = """
[patrol]
startup_delay = "1h"
[sampling]
seconds = 0
[api]
listen = "127.0.0.1:0"
"""
AT_ONCE = QUIET.replace('"1h"', '"0"')


def runs(home: Path) -> list[tuple[str, str]]:
    database = open_database(f"sqlite:///{home / 'patrol.db'}")
    try:
        return [(run.trigger_reason, run.status) for run in RunStore(database).list_runs()]
    finally:
        database.close()


def stops(daemon: Supervised) -> None:
    daemon.signal(signal.SIGTERM)
    assert daemon.ends() == 0, daemon.log.read_text()


def test_ready_is_said_once_with_the_first_schedule_and_stopping_before_the_end(tmp_path):
    with supervised(tmp_path, QUIET) as daemon:
        daemon.hear("READY=1")
        daemon.hear("STATUS=next run ")
        stops(daemon)
    assert daemon.kinds() == ["READY", "STOPPING"]
    assert runs(tmp_path) == []


def test_the_watchdog_is_fed_from_ready_to_the_end(tmp_path):
    with supervised(tmp_path, QUIET, watchdog_seconds=2) as daemon:
        daemon.hear("READY=1")
        fed = [daemon.hear("WATCHDOG=1") for _ in range(4)]
        stops(daemon)
    assert all(later - earlier < 1 for earlier, later in itertools.pairwise(fed))
    assert not any("WATCHDOG" in text for _, text in daemon.heard[:1])


def test_new_settings_are_taken_up_at_once_and_the_schedule_keeps_its_phase(tmp_path):
    with supervised(tmp_path, QUIET) as daemon:
        daemon.hear("READY=1")
        daemon.hear("STATUS=next run ")
        status = daemon.heard[-1][1]
        (tmp_path / "patrol.toml").write_text(QUIET + "[triggers]\nalerts = false\n")
        before = time.clock_gettime(time.CLOCK_MONOTONIC)
        daemon.signal(signal.SIGHUP)
        at = daemon.hear("RELOADING=1")
        (told,) = [line for line in daemon.heard[-1][1].splitlines() if line.startswith("MONOTONIC_USEC=")]
        daemon.hear("READY=1")
        assert before <= int(told.partition("=")[2]) / 1e6 <= at
        assert daemon.wait_for("new settings")
        stops(daemon)
    assert daemon.kinds() == ["READY", "RELOADING", "MONOTONIC_USEC", "READY", "STOPPING"]
    assert [text for _, text in daemon.heard if text.startswith("STATUS=next")] == [status]


def test_wrong_settings_change_nothing_and_are_told_in_the_log_and_the_status(tmp_path):
    with supervised(tmp_path, QUIET) as daemon:
        daemon.hear("READY=1")
        (tmp_path / "patrol.toml").write_text('[patrol]\nintervall = "2h"\n')
        daemon.signal(signal.SIGHUP)
        daemon.hear("RELOADING=1")
        daemon.hear("READY=1")
        daemon.hear("STATUS=")
        assert "refused" in daemon.heard[-1][1]
        (line,) = daemon.wait_for("the new settings are refused, the old ones stay")
        assert line["level"] == "error"
        assert "intervall" in str(line["problems"])
        stops(daemon)


def test_alert_settings_that_are_not_there_are_wrong_settings_and_never_a_daemon_without_limits(tmp_path):
    file = tmp_path / "alerts.json"
    named = f'{QUIET}[alerts]\nfile = "{file}"\n'
    with supervised(tmp_path, QUIET) as daemon:
        daemon.hear("READY=1")
        (tmp_path / "patrol.toml").write_text(named)
        daemon.signal(signal.SIGHUP)
        (line,) = daemon.wait_for("the new settings are refused, the old ones stay")
        assert "there is no such file" in str(line["problems"])
        stops(daemon)
    with supervised(tmp_path, named) as daemon:
        assert daemon.ends() == ExitCode.FAILED
        assert f"{file}: there is no such file" in daemon.log.read_text()
    file.write_text("{}")
    with supervised(tmp_path, named) as daemon:
        daemon.hear("READY=1")
        stops(daemon)
    file.write_text("{")
    with supervised(tmp_path, named) as daemon:  # the last good ones hold
        daemon.hear("READY=1")
        stops(daemon)


def test_what_only_a_start_takes_up_is_said(tmp_path):
    with supervised(tmp_path, QUIET) as daemon:
        daemon.hear("READY=1")
        (tmp_path / "patrol.toml").write_text(QUIET.replace("127.0.0.1:0", "127.0.0.1:7001"))
        daemon.signal(signal.SIGHUP)
        daemon.hear("READY=1")
        daemon.hear("STATUS=next run")
        daemon.signal(signal.SIGHUP)
        daemon.hear("READY=1")
        (tmp_path / "patrol.toml").write_text(QUIET)
        daemon.signal(signal.SIGHUP)
        daemon.hear("READY=1")
        assert [each["only_after_a_restart"] for each in daemon.wait_for("new settings", 3)] == [["api"], ["api"], []]
        stops(daemon)


def test_the_first_run_comes_after_the_delay_has_one_line_and_none_follows_a_restart(tmp_path):
    settings = AT_ONCE + documented(tmp_path, host(), disk())
    with supervised(tmp_path, settings) as daemon:
        (line,) = daemon.wait_for("run")
        assert (line["trigger"], line["type"], line["model_state"]) == ("startup", "full", "none")
        assert (line["status"], line["resources"]) == (RunStatus.HEALTHY, 2)
        assert {"collect", "sweep", "record"} <= line["stages"].keys()
        stops(daemon)
    with supervised(tmp_path, settings) as daemon:
        assert [each["wanted"] for each in daemon.wait_for("first run", 2)] == ["startup", "not_needed"]
        time.sleep(0.5)
        stops(daemon)
    assert runs(tmp_path) == [("startup", RunStatus.HEALTHY)]


def test_before_its_first_run_every_place_tells_the_time_of_that_one(tmp_path):
    database = open_database(f"sqlite:///{tmp_path / 'patrol.db'}")
    wish = TokenWish(name="one", scopes=frozenset({Scope.AI_EXECUTE}), bound_to="default")
    made = {"now": datetime.now(UTC), "author": "ann", "ids": lambda: "t1", "random_bytes": os.urandom}
    token = database.transact(lambda connection: TokenStore(connection).create(wish, **made))
    database.close()
    with supervised(tmp_path, QUIET.replace('"1h"', '"20m"') + documented(tmp_path, host())) as daemon:
        began = datetime.now(UTC)
        daemon.hear("READY=1")
        (place,) = daemon.wait_for("listening")[0]["places"]
        with closing(HTTPConnection(place, timeout=10)) as calling:
            calling.request("GET", "/api/ai/patrol/status", headers={"Authorization": f"Bearer {token.secret}"})
            told = datetime.fromisoformat(json.load(calling.getresponse())["next_patrol_at"])
            calling.request("GET", "/metrics")
            exposed = re.search(
                r"^patrol_next_run_timestamp_seconds (.+)$", calling.getresponse().read().decode(), re.MULTILINE
            )
        assert timedelta(0) < told - (began + timedelta(minutes=20)) < timedelta(seconds=PATIENCE)
        assert float(exposed[1]) == pytest.approx(told.timestamp(), abs=0.01)
        daemon.hear(f"STATUS=next run {told:%Y-%m-%d %H:%M} UTC")
        stops(daemon)


def test_it_answers_over_http_when_it_says_that_it_is_ready_and_ends_while_somebody_is_connected(tmp_path):
    with supervised(tmp_path, QUIET) as daemon:
        daemon.hear("READY=1")
        (place,) = daemon.wait_for("listening")[0]["places"]
        host, _, port = place.rpartition(":")
        with socket.create_connection((host, int(port))) as idle:
            with closing(HTTPConnection(host, int(port), timeout=10)) as calling:
                calling.request("GET", "/readyz")
                assert calling.getresponse().status == HTTPStatus.OK
            with closing(HTTPConnection(host, int(port), timeout=10)) as calling:
                calling.request("GET", "/metrics")
                assert "patrol_next_run_timestamp_seconds" in calling.getresponse().read().decode()
            began = time.monotonic()
            stops(daemon)
            assert time.monotonic() - began < 12
            assert idle.recv(1) == b""


def test_where_nobody_can_be_known_it_does_not_listen_beyond_this_machine(tmp_path):
    with supervised(tmp_path, QUIET.replace("127.0.0.1:0", "0.0.0.0:0")) as daemon:
        assert daemon.ends() == ExitCode.USAGE
        assert "patrol token create" in daemon.log.read_text()
        assert daemon.kinds() == ["STOPPING"] or daemon.kinds() == []


def test_what_may_be_over_later_is_tried_again_by_systemd(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = f"127.0.0.1:{other.getsockname()[1]}"
        for settings, said in (
            (QUIET + '[storage]\nurl = "postgresql://patrol@127.0.0.1:1/patrol"\n', "the server cannot be reached"),
            (QUIET.replace("127.0.0.1:0", taken), f"cannot listen on {taken}"),
            (QUIET + f'[storage]\nurl = "sqlite:///{tmp_path}/mounted-later/p.db"\n', "mounted-later does not exist"),
        ):
            with supervised(tmp_path, settings) as daemon:
                assert daemon.ends() == ExitCode.FAILED
                assert said in daemon.log.read_text()


def test_a_pause_is_shown_and_held_to_over_a_restart(tmp_path):
    settings = AT_ONCE + documented(tmp_path, host())
    database = open_database(f"sqlite:///{tmp_path / 'patrol.db'}")
    pause(database, "default", now=datetime.now(UTC), until=None, reason="move", author="ops", ids=lambda: "p1")
    database.close()
    for _ in range(2):
        with supervised(tmp_path, settings) as daemon:
            daemon.hear("STATUS=paused since ")
            daemon.wait_for("first run")
            stops(daemon)
    assert {status for _, status in runs(tmp_path)} <= {RunStatus.SKIPPED}


def test_interrupting_ends_it_as_well(tmp_path):
    with supervised(tmp_path, QUIET) as daemon:
        daemon.hear("READY=1")
        daemon.signal(signal.SIGINT)
        assert daemon.ends() == 0


def test_every_line_has_its_time_and_level(tmp_path):
    with supervised(tmp_path, QUIET) as daemon:
        daemon.hear("READY=1")
        stops(daemon)
    assert daemon.lines()
    for line in daemon.lines():
        assert datetime.fromisoformat(line["timestamp"]).tzinfo is not None
        assert line["level"] in {"info", "warning"}
