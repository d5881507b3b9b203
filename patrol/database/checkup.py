"""Whether a database is whole: its pages, its references, and what lies in it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import Connection, Table

from patrol.database.schema import all_tables, find_revision
from patrol.database.transactions import Database

_PAGES = "evidence_page"
_DAMAGE_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkup:
    """What was found. `orphan_pages`: evidence that nothing refers to any more, which only takes room; None where the
    schema is older than this version. `counts`: rows of each table.
    """

    place: str
    revision: str
    damage: Sequence[str]
    lost_parents: Sequence[str]
    counts: Mapping[str, int]
    orphan_pages: int | None

    @property
    def is_whole(self) -> bool:
        """Whether nothing is damaged. Orphan pages are no damage."""
        return not self.damage and not self.lost_parents


def check_up(database: Database, *, full: bool, newest: str) -> Checkup:
    """Reads the whole database. `full`: also that its indexes agree with its tables, which takes several times as long.

    `newest`: the revision of this version. Raises StorageError where it is not Patrol's or cannot be read.
    """
    with database.read() as connection:
        revision = find_revision(connection, database.place)
        damage = _damage(connection, full=full)
        tables = _tables(connection)
        return Checkup(
            place=database.place,
            revision=revision or "",
            damage=damage,
            lost_parents=[] if damage else _lost_parents(connection, tables),
            counts={} if damage else {each.name: _count(connection, each) for each in tables},
            orphan_pages=None if damage or revision != newest else _orphan_pages(connection, tables),
        )


def _damage(connection: Connection, *, full: bool) -> list[str]:
    if connection.dialect.name != "sqlite":
        return []  # a server checks its pages itself (initdb --data-checksums)
    pragma = "integrity_check" if full else "quick_check"
    found = connection.exec_driver_sql(f"PRAGMA {pragma}({_DAMAGE_SHOWN})").scalars().all()
    return [] if found == ["ok"] else [str(each) for each in found]


def _tables(connection: Connection) -> list[Table]:
    present = set(sa.inspect(connection).get_table_names())
    return [each for each in all_tables().sorted_tables if each.name in present]


def _lost_parents(connection: Connection, tables: Sequence[Table]) -> list[str]:
    """Rows without the row that they belong to. A server never lets one come to be; SQLite does while told to."""
    if connection.dialect.name != "sqlite":
        return []
    lost = []
    for table in tables:
        rows = connection.exec_driver_sql(f"PRAGMA foreign_key_check({table.name})").fetchall()
        if rows:
            lost.append(f"{len(rows)} rows of {table.name} without their {rows[0][2]}")
    return lost


def _count(connection: Connection, table: Table) -> int:
    return connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()


def _orphan_pages(connection: Connection, tables: Sequence[Table]) -> int:
    """Evidence pages whose hash stands nowhere: every column that holds one is called `..._sha256`."""
    pages = next(each for each in tables if each.name == _PAGES)
    references = [
        sa.select(table.c.org_id, column)
        for table in tables
        for column in table.columns
        if column.name.endswith("_sha256")
    ]
    orphan = sa.tuple_(pages.c.org_id, pages.c.sha256).not_in(sa.union_all(*references))
    return connection.execute(sa.select(sa.func.count()).select_from(pages).where(orphan)).scalar_one()
