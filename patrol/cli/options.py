"""Options that several commands share."""

from typing import Annotated

import typer

JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document on standard output, nothing else.")]
StorageOption = Annotated[
    str, typer.Option("--storage", metavar="URL", help="Another database than the one of the settings.")
]
