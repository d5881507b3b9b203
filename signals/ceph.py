"""Ceph clusters: what they say of themselves, whether their OSDs are up, and how full they and their pools are.

    {"hosts": [{"hostname": "pve1", "target_id": "storage:ceph:3f1c", "health": {"status": "HEALTH_WARN", "messages":
     [{"severity": "HEALTH_WARN", "message": "1 osds down"}]}, "osd_map": {"num_osds": 3, "num_up": 2, "num_in": 3},
     "pg_map": {"usage_percent": 41.0, "degraded_ratio": 0.1}, "pools": [{"name": "vms", "percent_used": 44.0}]}]}

A check that an operator muted in Ceph is not in its word any more; what it measures is judged all the same. The short
forms of a cluster (on the page of pools) can show that something is wrong, but only its details show that all is well.
"""

from collections.abc import Iterator
from typing import ClassVar

from findings.identity import canonical_id
from findings.kinds import Kind
from findings.model import Look, Severity
from signals.ceph_evidence import CephDetailsOutput, CephHealthRow, CephOutput, CephPoolRow, CephRow
from signals.detector import Context, EvidencePage, Notes, cut
from signals.evidence import InventoryRow
from signals.pages import Id, Page, Row
from signals.readings import MOST_PERCENT, count_of, is_below_zero
from signals.storage_evidence import PoolsOutput
from signals.thresholds import Limited
from signals.wording import quoted

_WORDS = {"HEALTH_OK": None, "HEALTH_WARN": Severity.WARNING, "HEALTH_ERR": Severity.CRITICAL}
_SHOWN_MESSAGES = 4
_LONGEST_SUBJECT = 100


class CephDetector:
    """ceph_unhealthy, and high_disk of clusters and their pools."""

    reads: ClassVar[tuple[type[Page], ...]] = (PoolsOutput, CephOutput, CephDetailsOutput)

    def __init__(self, context: Context, notes: Notes) -> None:
        self._thresholds = context.thresholds
        self._inventory = context.inventory
        self._notes = notes

    def read(self, page: EvidencePage[Page]) -> None:
        """Judges every cluster of a page."""
        output = page.output
        if isinstance(output, CephDetailsOutput):
            for row in output.hosts:
                self._judge_details(page, row)
        elif isinstance(output, CephOutput):
            for each in output.clusters:
                cluster = self._cluster(each.id, each.name)
                details = each.details
                message = details.health_message if details is not None else ""
                self._says_well(page, cluster, each.health, [message], each)
                self._has_room(page, cluster, each, details.usage_percent if details is not None else None)
        elif isinstance(output, PoolsOutput):
            for short in output.ceph_clusters:
                cluster = self._cluster(short.id, short.name)
                self._says_well(page, cluster, short.health, [short.health_message], short)
                self._has_room(page, cluster, short, short.usage_percent)

    def finish(self) -> None:
        """Every cluster was judged by itself."""

    def _cluster(self, given: Id, name: str, fsid: str = "") -> InventoryRow:
        """The cluster that a row means. Storages are often called like it: only its own id means it."""
        resource_id = str(given) if given else canonical_id("storage", "ceph", fsid or name or "ceph")
        known = self._inventory.rows.get(resource_id)
        return known or InventoryRow(id=resource_id, type="storage", name=name or "ceph")

    def _judge_details(self, page: EvidencePage[Page], row: CephRow) -> None:
        cluster = self._cluster(row.target_id, row.name, row.fsid)
        messages = [each.message for each in row.health.messages]
        well = self._says_well(page, cluster, row.health.status, messages, row.health)
        if well:
            well = self._is_whole(page, cluster, row)
        if well:
            self._notes.clear(page, Kind.CEPH_UNHEALTHY, [cluster.id])
        usage = row.pg_map.usage_percent if row.pg_map is not None else None
        roomy = self._has_room(page, cluster, row.pg_map or row, usage)
        for pool in row.pools or ():
            self._judge_pool(page, cluster, pool)
        if roomy and row.pools is not None:
            # Clear of a cluster covers its pools, those that were judged or are not measured excepted.
            self._notes.clear(page, Kind.HIGH_DISK, [cluster.id])

    def _says_well(
        self, page: EvidencePage[Page], cluster: InventoryRow, status: str, messages: list[str], row: Row
    ) -> bool:
        word = status.strip().upper()
        if word not in _WORDS:
            self._notes.blind(Kind.CEPH_UNHEALTHY, cluster.id, f"health {quoted(word) or 'was not read'}")
            return False
        severity = _WORDS[word]
        if severity is not None:
            self._unhealthy(page, cluster, severity, f"is {word}{_told(messages)}", row)
        return severity is None

    def _is_whole(self, page: EvidencePage[Page], cluster: InventoryRow, row: CephRow) -> bool:
        """What is measured of a cluster that calls itself healthy."""
        shortages = list(_shortages(row))
        if _has_no_reading(row):
            self._notes.blind(Kind.CEPH_UNHEALTHY, cluster.id, "a count below 0 is no reading")
            if not shortages:
                return False
        if shortages:
            evidence = CephRow(
                hostname=row.hostname,
                target_id=row.target_id,
                fsid=row.fsid,
                health=CephHealthRow(status=row.health.status),
                mgr_map=row.mgr_map,
                osd_map=row.osd_map,
                pg_map=row.pg_map,
            )
            told = f"calls itself {row.health.status.strip().upper()}, but {'; '.join(shortages)}"
            self._unhealthy(page, cluster, Severity.WARNING, told, evidence)
        return not shortages

    def _unhealthy(
        self, page: EvidencePage[Page], cluster: InventoryRow, severity: Severity, told: str, row: Row
    ) -> None:
        summary = f"Ceph cluster {cluster.name or cluster.id} {told}"
        self._notes.signal(page, Kind.CEPH_UNHEALTHY, cluster, severity, summary, row=row)

    def _judge_pool(self, page: EvidencePage[Page], cluster: InventoryRow, pool: CephPoolRow) -> None:
        subject = cut(f"pool {quoted(pool.name or pool.id)}", _LONGEST_SUBJECT)
        self._has_room(page, cluster, pool, pool.percent_used, subject)

    def _has_room(
        self, page: EvidencePage[Page], cluster: InventoryRow, row: Row, percent: float | None, subject: str = ""
    ) -> bool:
        limit = self._thresholds.limit(cluster, Limited.STORAGE)
        if limit is None:
            return False
        # A new pool holds nothing at all, a cluster never: its own OSDs need some room.
        least = 0 if subject else 1e-9
        if percent is None or not least <= percent <= MOST_PERCENT:
            self._notes.blind(Kind.HIGH_DISK, cluster.id, "usage was not measured", subject)
            return False
        look = limit.look(percent)
        if look is Look.HELD:
            self._notes.held(Kind.HIGH_DISK, cluster.id, subject)
        elif look is Look.PRESENT:
            what = f"Ceph {subject} of" if subject else "Ceph cluster"
            self._notes.signal(
                page,
                Kind.HIGH_DISK,
                cluster,
                limit.severity(percent),
                f"{what} {cluster.name or cluster.id} is {percent:.1f} % full (limit {limit.trigger:g} %)",
                row=row,
                subject=subject,
                value=percent,
                limit=limit,
            )
        return look is Look.CLEAR


def _told(messages: list[str]) -> str:
    said = [quoted(each) for each in messages if each]
    more = f" and {len(said) - _SHOWN_MESSAGES} more" if len(said) > _SHOWN_MESSAGES else ""
    return f": {'; '.join(said[:_SHOWN_MESSAGES])}{more}" if said else ""


def _has_no_reading(row: CephRow) -> bool:
    osds, pgs = row.osd_map, row.pg_map
    counts = (osds.num_in, osds.num_up) if osds is not None else ()
    return is_below_zero(*counts, pgs.degraded_ratio if pgs is not None else None)


def _shortages(row: CephRow) -> Iterator[str]:
    osds, pgs = row.osd_map, row.pg_map
    should, do = (count_of(osds.num_in), count_of(osds.num_up)) if osds is not None else (None, None)
    if should is not None and do is not None and do < should:
        down = should - do
        yield f"{down} of {should} OSDs that should hold data {'are' if down > 1 else 'is'} down"
    if pgs is not None and pgs.degraded_ratio is not None and pgs.degraded_ratio > 0:
        yield f"{100 * pgs.degraded_ratio:.2g} % of its objects have fewer copies than they should"
    if row.mgr_map is not None and row.mgr_map.available is False:
        yield "no manager is active"
