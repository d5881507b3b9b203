"""The steps that lead from any older schema to the present one (Alembic)."""

REVISIONS = ("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008", "0009", "0010", "0011", "0012", "0013")
"""All revisions, oldest first. Known without loading Alembic, so that a start can see at once what it has to do."""
