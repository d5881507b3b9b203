"""The inventory beside a recording, from an estate document."""

from pathlib import Path

from patrol.cli.exit_codes import CommandError
from patrol.estate.faults import EstateDocumentError
from patrol.estate.sources.snapshot import SnapshotReadError, load_inventory
from signals.evidence import InventoryOutput


def read_inventory(path: Path) -> InventoryOutput:
    """What the document says of ids and names. Raises CommandError."""
    try:
        return load_inventory(path)
    except (SnapshotReadError, EstateDocumentError) as error:
        raise CommandError(f"{path}: {error}") from error
