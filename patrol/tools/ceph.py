"""`pulse_storage` types `ceph` and `ceph_details`: Ceph clusters, in short and in full."""

from collections.abc import Sequence

import msgspec

from patrol.estate.model import Resource, ResourceType
from patrol.tools.filters import matching
from patrol.tools.model import Call
from patrol.tools.paging import finished, part_of
from patrol.tools.view import EstateView
from signals.ceph_evidence import (
    CephDetailsOutput,
    CephMgrMap,
    CephMonMap,
    CephOsdMap,
    CephOutput,
    CephPgMap,
    CephRow,
    CephSummaryDetails,
    CephSummaryRow,
)
from signals.storage_evidence import CephClusterRow

_TIB = 1 << 40


def ceph_details(view: EstateView, call: Call) -> CephDetailsOutput:
    """Everything that is known of each cluster, by id."""
    part = part_of(call, view.kept(("ceph", call.filters()), lambda: clusters(view, call)))
    rows = [
        msgspec.structs.replace(
            _row(each), hostname=_row(each).hostname or view.host_name(each), target_id=each.id, name=_name(each)
        )
        for each in part.rows
    ]
    return finished(view, call, CephDetailsOutput(hosts=rows, total=part.total), part, [each.id for each in part.rows])


def ceph(view: EstateView, call: Call) -> CephOutput:
    """The health and size of each cluster, by id."""
    part = part_of(call, view.kept(("ceph", call.filters()), lambda: clusters(view, call)))
    rows = [
        CephSummaryRow(id=each.id, name=_name(each), health=_row(each).health.status, details=_summary(_row(each)))
        for each in part.rows
    ]
    return finished(view, call, CephOutput(clusters=rows, total=part.total), part, [each.id for each in part.rows])


def clusters(view: EstateView, call: Call) -> Sequence[Resource]:
    """The clusters that a call's resource filters admit."""
    return matching(view, call, [each for each in view.by_type[ResourceType.STORAGE] if each.ceph is not None])


def cluster_row(resource: Resource) -> CephClusterRow:
    """A cluster as the page of pools shows it."""
    row = _row(resource)
    osds, pgs = row.osd_map or CephOsdMap(), row.pg_map or CephPgMap()
    return CephClusterRow(
        id=resource.id,
        name=_name(resource),
        health=row.health.status,
        health_message=_message(row),
        usage_percent=pgs.usage_percent,
        used_tb=None if pgs.bytes_used is None else pgs.bytes_used / _TIB,
        total_tb=None if pgs.bytes_total is None else pgs.bytes_total / _TIB,
        num_osds=osds.num_osds,
        num_osds_up=osds.num_up,
        num_osds_in=osds.num_in,
        num_mons=(row.mon_map or CephMonMap()).num_mons,
        num_mgrs=(row.mgr_map or CephMgrMap()).num_mgrs,
    )


def _row(resource: Resource) -> CephRow:
    return resource.ceph or CephRow()


def _name(resource: Resource) -> str:
    return _row(resource).name or resource.name or resource.id


def _message(row: CephRow) -> str:
    return "; ".join(each.message for each in row.health.messages if each.message)


def _summary(row: CephRow) -> CephSummaryDetails:
    osds, pgs = row.osd_map or CephOsdMap(), row.pg_map or CephPgMap()
    down = osds.num_down
    if down is None and osds.num_osds is not None and osds.num_up is not None:
        down = osds.num_osds - osds.num_up
    return CephSummaryDetails(
        health_message=_message(row),
        osd_count=osds.num_osds,
        osds_up=osds.num_up,
        osds_in=osds.num_in,
        osds_down=down,
        monitors=(row.mon_map or CephMonMap()).num_mons,
        total_bytes=pgs.bytes_total,
        used_bytes=pgs.bytes_used,
        available_bytes=pgs.bytes_available,
        usage_percent=pgs.usage_percent,
        pools=None if row.pools is None else len(row.pools),
    )
