"""The command `patrol`: answers what needs no imports, hands the rest to the one module that a command needs.

Start-up is a feature: `patrol version` in monitoring scripts, `patrol detect` in pipes. Importing typer costs
about 50 ms, pydantic-settings 130 ms, SQLModel 210 ms (measured on 2 cores, Python 3.11), so command modules
are imported on demand, here and in `patrol.cli.app`, and nothing else in this file may import at its top.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Protocol, cast


class _Application(Protocol):
    def run(self, arguments: Sequence[str]) -> int: ...


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given in (["version"], ["--version"]):
        return _print_version()
    application = cast("_Application", import_module("patrol.cli.app"))
    return application.run(given)


def _print_version() -> int:
    metadata = import_module("importlib.metadata")
    sys.stdout.write(f"patrol {metadata.version('patrold')}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
