"""A warm process that forks daemons to be killed, so that three hundred of them start in the time of thirty.

Reads the settings file of each from standard input, a line each, and answers with its process id; another line tells
how it ended. It has one thread, so that forking is safe.
"""

import os
import sys
from pathlib import Path

from patrol.cli.serve import serve


def main() -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            sys.stdin.close()
            code = 70
            try:
                serve(Path(line.strip()))
                code = 0
            finally:
                os._exit(code)
        sys.stdout.write(f"{child}\n")
        sys.stdout.flush()
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        sys.stdout.write(f"{os.waitpid(child, 0)[1]}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
