"""The command `patrol`: answers what needs no imports, hands the rest to the one module that a command needs.

Start-up is a feature: `patrol version` in monitoring scripts, `patrol detect` in pipes. Importing typer costs
about 50 ms, pydantic-settings 130 ms, SQLModel 210 ms (measured on 2 cores, Python 3.11), so command modules
are imported on demand, here and in `patrol.cli.app`, and nothing else in this file may import at its top.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Protocol, cast


class _Application(Protocol):
    def run(self, arguments: Sequence[str]) -> int: ...


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    _open_closed_streams()
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given in (["version"], ["--version"]):
        if _print_version():
            return 0
        given = ["version"]  # which says why it could not be printed
    application = cast("_Application", import_module("patrol.cli.app"))
    return application.run(given)


def _open_closed_streams() -> None:
    """Gives a stream that was closed before the start (`>&-`) to nobody: Python has None in its place.

    It also keeps its number from the next file that is opened, into which a library would print.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123 - open to the end


def _print_version() -> bool:
    metadata = import_module("importlib.metadata")
    try:
        sys.stdout.write(f"patrol {metadata.version('patrold')}\n")
        sys.stdout.flush()
    except OSError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
