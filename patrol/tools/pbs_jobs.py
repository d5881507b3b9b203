"""Jobs of backup servers, each with the datastore or server that it runs on."""

import msgspec

from findings.model import Topic
from patrol.estate.model import Resource, ResourceType
from patrol.tools.backups import placed, unseen_sources
from patrol.tools.filters import one_resource
from patrol.tools.model import Call, ErrorCode, ToolError
from patrol.tools.paging import finished, part_of
from patrol.tools.view import EstateView
from signals.backup_evidence import PbsJobRow, PbsJobsOutput


def pbs_jobs(view: EstateView, call: Call) -> PbsJobsOutput:
    """Jobs of backup servers, by server, store and id."""
    part = part_of(call, view.kept(("pbs_jobs", call.filters()), lambda: _chosen_jobs(view, call)))
    instances = {row.instance for row in part.rows if row.instance}
    page = PbsJobsOutput(
        instance=next(iter(instances)) if len(instances) == 1 else None, jobs=list(part.rows), total=part.total
    )
    shown = [row.resource_id for row in part.rows if row.resource_id]
    return finished(view, call, page, part, shown, more_gaps=unseen_sources(view, call))


def _chosen_jobs(view: EstateView, call: Call) -> list[PbsJobRow]:
    status, kind = call.text("status").casefold(), call.text("job_type").casefold()
    instance = _fold(call.text("instance") or call.text("cluster"))
    wanted = one_resource(view, call.text("resource_id")) if call.text("resource_id") else None
    source = call.text("source")
    known = {_fold(row.instance or "") for row in view.estate.pbs_jobs}
    if instance and instance not in known:
        raise ToolError(ErrorCode.NOT_FOUND, "instance: no job ran on this server", allowed=tuple(sorted(known - {""})))
    found = []
    for row in view.estate.pbs_jobs:
        place = job_place(view, row)
        if (kind and row.type.casefold() != kind) or (status and (row.status or "").casefold() != status):
            continue
        if instance and _fold(row.instance or "") != instance:
            continue
        if wanted is not None and (place is None or all(each is not wanted for each in view.line_of(place))):
            continue
        if source and (place is None or place.source != source):
            continue
        place_id = place.id if place is not None else ""
        last, following = placed(view, row.instance, row.last_run), placed(view, row.instance, row.next_run)
        found.append(msgspec.structs.replace(row, resource_id=place_id, last_run=last, next_run=following))
    return sorted(found, key=lambda row: (row.instance or "", row.store or "", str(row.id or "")))


def job_place(view: EstateView, row: PbsJobRow) -> Resource | None:
    """The datastore, else the server, that a job ran on; None where the names do not lead to exactly one."""
    if row.resource_id:
        return view.names.find(row.resource_id)
    server = _fold(row.instance or "")
    servers = [
        each for each in view.by_type[ResourceType.PBS] if server in {"", _fold(each.name), _fold(each.instance)}
    ]
    if row.store:
        stores = [
            each
            for each in view.by_type[ResourceType.STORAGE]
            if each.name == row.store and (not server or server in _server_names(view, each))
        ]
        if len(stores) == 1:
            return stores[0]
        if not stores and any(gap.topic is Topic.INVENTORY for gap in view.whole_gaps):
            return None  # the datastore may only be out of sight, and the server is another resource
    return servers[0] if len(servers) == 1 else None


def _server_names(view: EstateView, resource: Resource) -> set[str]:
    return {_fold(view.instance_of(resource)), _fold(view.host_name(resource))}


def _fold(text: str) -> str:
    return text.strip().casefold()
