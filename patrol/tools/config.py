"""`pulse_query` action `config`: how a guest or container is set up. Secrets in it are never shown."""

import re

from findings.model import Gap, GapReason, Topic
from patrol.estate.identity import GUESTS
from patrol.estate.model import GuestConfig, Resource, ResourceType
from patrol.tools.answers import ConfigOutput
from patrol.tools.filters import one_resource
from patrol.tools.model import Call, ErrorCode, ToolError
from patrol.tools.paging import finished, part_of
from patrol.tools.view import EstateView

HIDDEN = "(hidden)"
_CONFIGURED = GUESTS | {ResourceType.APP_CONTAINER}
_SECRET = re.compile(r"passw|secret|token|credential|private|sshkeys?|api.?key|\benv", re.IGNORECASE)
_SHOWN = 20  # ids that an error lists at most


def config(view: EstateView, call: Call) -> ConfigOutput:
    """The configuration of one guest or container. Raises ToolError where it is neither, or where none is named."""
    if not call.text("resource_id"):
        raise ToolError(
            ErrorCode.INVALID_ARGUMENT,
            "resource_id: action config needs the guest or container to show",
            allowed=tuple(each.id for each in view.resources if each.config is not None)[:_SHOWN],
        )
    resource = one_resource(view, call.text("resource_id"))
    if resource.type not in _CONFIGURED:
        raise ToolError(
            ErrorCode.INVALID_ARGUMENT,
            f"resource_id: {resource.id} is a {resource.type.value}; action config shows guests and containers",
            allowed=tuple(sorted(each.value for each in _CONFIGURED)),
        )
    page = _page(view, resource, resource.config or GuestConfig())
    unread = [] if resource.config is not None else [_gap(resource)]
    page = finished(view, call, page, part_of(call, [resource]), [resource.id], more_gaps=unread)
    page.complete = page.complete and resource.config is not None
    return page


def _page(view: EstateView, resource: Resource, row: GuestConfig) -> ConfigOutput:
    return ConfigOutput(
        id=resource.id,
        guest_type=resource.type.value,
        vmid=resource.vmid,
        name=resource.name,
        node=view.host_name(resource),
        instance=view.instance_of(resource),
        hostname=row.hostname,
        os_type=row.os_type,
        onboot=resource.boot_with_host,
        rootfs=row.rootfs,
        image=row.image,
        mounts=row.mounts,
        disks=row.disks,
        ports=row.ports,
        raw={key: HIDDEN if _SECRET.search(key) else value for key, value in sorted(row.raw.items())},
    )


def _gap(resource: Resource) -> Gap:
    return Gap(
        source=resource.source,
        topic=Topic.CONFIG,
        reason=GapReason.NOT_REPORTED,
        detail="its configuration was not read",
        resource_id=resource.id,
    )
