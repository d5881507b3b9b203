"""A warm process that forks children to be killed: each runs over a given estate against a database.

Reads orders from standard input, one JSON object a line, and answers each with the child's process id; another line
tells how the child ended. It has one thread, so that forking is safe.
"""

import json
import os
import resource
import signal
import sys
from typing import Any

from sqlalchemy import event

from patrol.database import StorageError, open_database
from tests.acceptance.crash.estates import run_at

STORAGE_ERROR = 3


def _child(order: dict[str, Any]) -> int:
    limit = order.get("file_bytes")
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        database = open_database(order["url"])
        if order.get("keep_log"):
            # All that is committed stays in the log: a log that is cut short is then an earlier moment.
            event.listen(database.engine, "connect", lambda made, _: made.execute("PRAGMA wal_autocheckpoint = 0"))
            database.engine.dispose()
        for step in range(order["step"], order["step"] + order.get("runs", 1)):
            run_at(database, step, f"victim-{step}-{os.getpid()}")
        if order.get("keep_log"):
            os.kill(os.getpid(), signal.SIGKILL)
        database.close()
    except StorageError as error:
        sys.stderr.write(f"{error}\n")
        return STORAGE_ERROR
    return 0


def main() -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            sys.stdin.close()
            code = 70
            try:
                code = _child(json.loads(line))
            finally:
                os._exit(code)
        sys.stdout.write(f"{child}\n")
        sys.stdout.flush()
        # It stays a zombie until it was looked at: whoever waits for its end must not meet another under its number.
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        sys.stdout.write(f"{os.waitpid(child, 0)[1]}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
