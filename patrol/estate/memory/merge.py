"""Two minted ids that turned out to be one thing: everything stored about the retired one follows the kept one."""

from datetime import datetime

from sqlalchemy import Connection, Table, and_, exists, func, select

from findings.lifecycle import Advance
from findings.store import FindingStore
from findings.tables import FINDINGS, TRANSITIONS
from findings.union import Absorbed, unite_findings
from patrol.database.schema import all_tables
from patrol.estate.memory.model import Merge
from patrol.estate.memory.tables import ALIASES, RESOURCES

_FOLLOW_ON_THEIR_OWN = frozenset({FINDINGS.name, TRANSITIONS.name, RESOURCES.name, ALIASES.name})


def merge_resource(connection: Connection, org_id: str, merge: Merge, now: datetime, *, run_id: str) -> None:
    """Re-points findings, silences, samples, counters, sights and aliases, and forgets the retired row.

    Every table with a column `resource_id`, `finding_id` or `finding_key` follows; of two rows that would then have one
    key the kept one's stays. The retired id itself becomes a strong alias: whoever asks for it finds the kept resource.
    Belongs into the transaction of the run, so that nobody ever sees half of it.
    """
    _merge_findings(connection, org_id, merge, now, run_id)
    # The ids in it stand in quotes, which no id contains.
    lives_on = FINDINGS.c.lives_on
    above = FINDINGS.update().where(
        FINDINGS.c.org_id == org_id, lives_on.contains(f'"{merge.retired}"', autoescape=True)
    )
    connection.execute(above.values(lives_on=func.replace(lives_on, f'"{merge.retired}"', f'"{merge.kept}"')))
    for table in all_tables().sorted_tables:
        if "resource_id" in table.c and table.name not in _FOLLOW_ON_THEIR_OWN:
            _repoint(connection, table, "resource_id", org_id, merge.retired, merge.kept)
    _repoint(connection, ALIASES, "resource_id", org_id, merge.retired, merge.kept)
    children = RESOURCES.update().where(RESOURCES.c.org_id == org_id, RESOURCES.c.parent == merge.retired)
    connection.execute(children.values(parent=merge.kept))
    connection.execute(RESOURCES.delete().where(RESOURCES.c.org_id == org_id, RESOURCES.c.id == merge.retired))


def _merge_findings(connection: Connection, org_id: str, merge: Merge, now: datetime, run_id: str) -> None:
    store = FindingStore(connection, org_id)
    retired = store.list_findings(resource_id=merge.retired)
    if not retired:
        return
    kept = store.list_findings(resource_id=merge.kept)
    union = unite_findings(kept, retired, merge.kept, now, run_id=run_id)
    keys = {finding.id: finding.key for finding in kept} | {
        change.after.id: change.after.key for change in union.changes
    }
    homes = {absorbed.finding_id: absorbed.into for absorbed in union.absorbed}
    for finding in retired:
        key = keys.get(homes.get(finding.id, finding.id), finding.key)
        for table in _referring("finding_key"):
            _repoint(connection, table, "finding_key", org_id, finding.key, key)
    for absorbed in union.absorbed:
        _absorb(connection, org_id, absorbed)
    store.apply(Advance(changes=union.changes, transitions=union.transitions, outcomes={}))


def _referring(column: str) -> list[Table]:
    """Every table that names a finding in this column, but its changes, which are counted on."""
    return [table for table in all_tables().sorted_tables if column in table.c and table.name != TRANSITIONS.name]


def _absorb(connection: Connection, org_id: str, absorbed: Absorbed) -> None:
    gone, home = absorbed.finding_id, absorbed.into
    moved = TRANSITIONS.update().where(TRANSITIONS.c.org_id == org_id, TRANSITIONS.c.finding_id == gone)
    connection.execute(moved.values(finding_id=home, version=TRANSITIONS.c.version + absorbed.offset))
    explained = FINDINGS.update().where(FINDINGS.c.org_id == org_id, FINDINGS.c.parent_finding == gone)
    connection.execute(explained.values(parent_finding=home))
    for table in _referring("finding_id"):
        _repoint(connection, table, "finding_id", org_id, gone, home)
    connection.execute(FINDINGS.delete().where(FINDINGS.c.org_id == org_id, FINDINGS.c.id == gone))


def _repoint(connection: Connection, table: Table, column: str, org_id: str, old: str, new: str) -> None:
    """Lets the rows of `old` be those of `new`, unless there is one under that key already."""
    if old == new:
        return
    named = table.c[column]
    mine = and_(table.c.org_id == org_id, named == old)
    if named.primary_key:
        other = table.alias()
        key = [each for each in table.primary_key.columns if each.name != column]
        same = and_(other.c[column] == new, *(other.c[each.name] == each for each in key))
        connection.execute(
            table.update().where(mine, ~exists(select(other.c[column]).where(same))).values({column: new})
        )
        connection.execute(table.delete().where(mine))
    else:
        connection.execute(table.update().where(mine).values({column: new}))
