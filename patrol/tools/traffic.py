"""`pulse_metrics` types `network` and `diskio`: what goes through interfaces and disks."""

from patrol.tools.filters import matching
from patrol.tools.model import Call
from patrol.tools.paging import finished, part_of
from patrol.tools.view import EstateView
from signals.traffic_evidence import DiskIoOutput, HostDevices, HostInterfaces, NetworkOutput


def network(view: EstateView, call: Call) -> NetworkOutput:
    """Network interfaces of every resource that was asked for them, by id."""
    read = view.kept("with interfaces", lambda: [each for each in view.resources if each.interfaces is not None])
    part = part_of(call, view.kept(("network", call.filters()), lambda: matching(view, call, read)))
    page = NetworkOutput(
        hosts=[
            HostInterfaces(
                id=each.id, type=each.type.value, hostname=each.name or each.id, interfaces=each.interfaces or []
            )
            for each in part.rows
        ],
        total=part.total,
    )
    return finished(view, call, page, part, [each.id for each in part.rows])


def diskio(view: EstateView, call: Call) -> DiskIoOutput:
    """Input and output of the disks of every resource that was asked for it, by id."""
    read = view.kept("with disk io", lambda: [each for each in view.resources if each.block_devices is not None])
    part = part_of(call, view.kept(("diskio", call.filters()), lambda: matching(view, call, read)))
    page = DiskIoOutput(
        hosts=[
            HostDevices(
                id=each.id, type=each.type.value, hostname=each.name or each.id, devices=each.block_devices or []
            )
            for each in part.rows
        ],
        total=part.total,
    )
    return finished(view, call, page, part, [each.id for each in part.rows])
