"""What the commands about tokens and users share: the database, and which organisation is meant."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from findings.model import DEFAULT_ORG
from patrol.cli.configuration import load
from patrol.cli.exit_codes import CommandError
from patrol.cli.output import note
from patrol.cli.records import opened
from patrol.database import Database
from patrol.database.place import shown
from patrol.settings.load import LoadedSettings

OrgOption = Annotated[str, typer.Option("--org", metavar="ID", help="The organisation that it is about.")]


@contextmanager
def accounts(config_file: Path | None, storage: str) -> Iterator[tuple[LoadedSettings, Database]]:
    """The settings and the database, made where there is none yet; says on standard error which one it is."""
    loaded = load(config_file)
    with opened(storage or loaded.database_url) as database:
        note(f"patrol: database {shown(database.url)}, settings {loaded.file or 'built-in'}")
        yield loaded, database


def checked_org(loaded: LoadedSettings, org: str) -> str:
    """The organisation that was named. Raises CommandError where there is none of this id."""
    known = (DEFAULT_ORG, *loaded.settings.api.organisations)
    if org not in known:
        listed = ", ".join(known)
        raise CommandError(f"--org: there is no organisation {org} ([api] organisations); there is {listed}")
    return org
