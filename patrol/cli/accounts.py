"""What the commands about tokens and users share."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from patrol.cli.configuration import load
from patrol.cli.records import Records, records

OrgOption = Annotated[str, typer.Option("--org", metavar="ID", help="The organisation that it is about.")]


@contextmanager
def accounts(config_file: Path | None, storage: str) -> Iterator[Records]:
    """The records; their database is made where there is none yet: the first token may come before the first run."""
    with records(load(config_file), storage, must_exist=False) as answering:
        yield answering
