"""The real process, followed over HTTP while it is stopped: who follows a run hears how it ended."""

import signal
import threading
import time

from patrol.cli.daemon_call import DaemonPlace
from tests.daemon.supervisor import documented, supervised
from tests.daemon.test_asked import silent_server
from tests.daemon.test_systemd import AT_ONCE
from tests.run.builders import host

STREAM = "/api/ai/patrol/stream"


def test_who_follows_a_run_hears_that_it_is_cancelled_because_the_daemon_stops(tmp_path) -> None:
    heard: list[tuple[str, str, str]] = []

    def follow(place: DaemonPlace, run_id: str) -> None:
        for _, event in place.events(f"{STREAM}?run_id={run_id}", ""):
            heard.append((event["type"], event.get("status", ""), event.get("content", "")))

    with silent_server() as (port, called):
        model = f'[model]\nname = "ollama:test"\nbase_url = "http://127.0.0.1:{port}/v1"\ncontext_window = 32768\n'
        with supervised(tmp_path, AT_ONCE + model + documented(tmp_path, host())) as daemon:
            assert called.wait(40), daemon.log.read_text()
            place = DaemonPlace(url=f"http://{daemon.wait_for('listening')[-1]['places'][0]}")
            _, now = next(place.events(STREAM, ""))
            following = threading.Thread(target=follow, args=(place, now["run_id"]))
            following.start()
            until = time.monotonic() + 20
            while not heard:
                assert time.monotonic() < until
                time.sleep(0.01)
            daemon.signal(signal.SIGTERM)
            daemon.wait_for("told to stop")
            time.sleep(1.2)
            daemon.signal(signal.SIGTERM)
            assert daemon.ends() == 0
            following.join(20)
    assert heard[0][0] == "snapshot"
    assert heard[-1] == ("error", "cancelled", "Patrol was stopped before the run was done")
