"""A process of its own that patrols once and then exposes its metrics: `python -m tests.metrics.small_server FILE`.

Its first line on standard output is the port that it listens on, on 127.0.0.1.
"""

import sys
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from findings.model import Topic
from patrol.database import open_database
from patrol.metrics import Metrics, RunCounts, exposition
from patrol.run import RunRequest, TriggerReason
from patrol.schedule.jobs import JobName
from patrol.schedule.store import JobStore
from patrol.schedule.times import Every
from tests.metrics.samples import metrics_of
from tests.run.builders import GivenSource, House, estate, gap, host


class Handler(BaseHTTPRequestHandler):
    """Answers with the exposition."""

    def __init__(self, metrics: Metrics, *rest: object) -> None:
        self._metrics = metrics
        super().__init__(*rest)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        body, content_type = exposition(self._metrics)
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        """Says nothing."""


def main(file: Path) -> None:
    with closing(open_database(f"sqlite:///{file}")) as database:
        house = House(database, clock=lambda: datetime.now(UTC))  # type: ignore[arg-type]
        metrics = metrics_of(house)
        read = estate(host(97, units=["nginx.service"]), gaps=[gap(Topic.SMART)])
        read.collected_at = None
        patrol = replace(house.patrol(GivenSource([read])), observer=RunCounts(metrics, database))
        patrol.run(RunRequest(reason=TriggerReason.SCHEDULED))
        hour = timedelta(hours=1)
        database.transact(
            lambda connection: JobStore(connection, "default").plan(JobName.PATROL, Every(hour), datetime.now(UTC))
        )
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, metrics))
        sys.stdout.write(f"{server.server_port}\n")
        sys.stdout.flush()
        server.serve_forever()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
