"""`pulse_metrics`: use of resources, physical disks, temperatures."""

from typing import Literal

import msgspec
from pydantic import Field

from findings.model import Topic
from patrol.estate.model import Metric, Resource, ResourceType
from patrol.tools.filters import matching, one_resource
from patrol.tools.model import BY_RESOURCE, Call, ResourceFilters, Selector, Tool
from patrol.tools.paging import finished, part_of
from patrol.tools.past import add_past
from patrol.tools.traffic import diskio, network
from patrol.tools.usual import TOPICS, baselines, patterns
from patrol.tools.view import EstateView
from signals.evidence import (
    DiskRow,
    DisksOutput,
    HostTemperatures,
    PerformanceOutput,
    PerformanceRow,
    TemperaturesOutput,
)


class MetricsArguments(ResourceFilters):
    """Arguments of pulse_metrics."""

    type: str = Field(description="what to read")
    period: Literal["24h", "7d"] | None = Field(
        default=None,
        description="performance: adds trend and maxima of this period, and with resource_id up to 120 points of it; "
        "averages stay those of the latest collection, with their window",
    )
    health: str | None = Field(default=None, description="disks: PASSED, FAILED or UNKNOWN")
    disk_type: str | None = Field(default=None, description="disks: nvme, sata, sas, hdd")


def performance(view: EstateView, call: Call) -> PerformanceOutput:
    """The latest readings of every resource that has some, by id; with `period` also what they were."""
    measured = view.kept("measured", lambda: [each for each in view.resources if each.metrics])
    part = part_of(call, view.kept(("performance", call.filters()), lambda: matching(view, call, measured)))
    page = PerformanceOutput(period="latest", summary={each.id: _performance_row(each) for each in part.rows})
    if call.text("period"):
        asked = one_resource(view, call.text("resource_id")) if call.text("resource_id") else None
        add_past(view.past, page, call.text("period"), part.rows, asked)
    return finished(view, call, page, part, page.summary)


def _performance_row(resource: Resource) -> PerformanceRow:
    row = PerformanceRow(
        resource_id=resource.id, resource_name=resource.name or resource.id, resource_type=resource.type.value
    )
    for metric, reading in resource.metrics.items():
        if metric is not Metric.CPU:
            setattr(row, _COLUMNS[metric], reading.value)
        elif reading.window_seconds > 0:  # CPU use of a moment says nothing
            row.avg_cpu = reading.value
            row.cpu_window_seconds = reading.window_seconds
    return row


_COLUMNS = {
    Metric.MEMORY: "avg_memory",
    Metric.DISK: "avg_disk",
    Metric.SWAP: "swap_percent",
    Metric.PRESSURE_CPU: "pressure_cpu",
    Metric.PRESSURE_MEMORY: "pressure_memory",
    Metric.PRESSURE_IO: "pressure_io",
}


def disks(view: EstateView, call: Call) -> DisksOutput:
    """Physical disks with verdict and counters."""
    part = part_of(call, view.kept(("disks", call.filters()), lambda: _chosen_disks(view, call)))
    page = DisksOutput(disks=[disk_row(view, each) for each in part.rows], total=part.total)
    return finished(view, call, page, part, [each.id for each in part.rows])


def _chosen_disks(view: EstateView, call: Call) -> list[Resource]:
    """The disks that a call's filters admit, by id."""
    health, kind = call.text("health").casefold(), call.text("disk_type").casefold()
    return [
        each
        for each in matching(view, call, view.by_type[ResourceType.DISK])
        if each.disk is not None
        and (not health or (each.disk.health or "unknown").casefold() == health)
        and (not kind or (each.disk.type or "").casefold() == kind)
    ]


def disk_row(view: EstateView, resource: Resource) -> DiskRow:
    """The row of a disk, naming the resource and its host."""
    row = resource.disk or DiskRow()
    return msgspec.structs.replace(
        row,
        id=resource.id,
        node=row.node or view.host_name(resource) or None,
        instance=row.instance or view.instance_of(resource) or None,
    )


def temperatures(view: EstateView, call: Call) -> TemperaturesOutput:
    """Sensors of every host that has been asked for them. A host without sensors has an empty list."""
    read = view.kept("with sensors", lambda: [each for each in view.resources if each.sensors is not None])
    part = part_of(call, view.kept(("temperatures", call.filters()), lambda: matching(view, call, read)))
    page = TemperaturesOutput(
        hosts=[
            HostTemperatures(hostname=each.name or each.id, id=each.id, sensors=each.sensors or [])
            for each in part.rows
        ]
    )
    return finished(view, call, page, part, [each.id for each in part.rows])


METRICS = Tool(
    name="pulse_metrics",
    description=(
        "Measurements as of this run: use of CPU, memory, disk and swap, pressure, physical disks with their SMART "
        "counters, temperatures, network interfaces and disk input/output; and from stored history what is usual, what "
        "repeats and what will be full. CPU is an average over `cpu_window_seconds`, a rate over `window_seconds`. A "
        "value that is absent was not measured, which is never the same as zero."
    ),
    selector_argument="type",
    arguments=MetricsArguments,
    selectors={
        selector.name: selector
        for selector in (
            Selector(
                name="performance",
                description="CPU, memory, disk, swap and pressure of each resource, percent",
                answer=performance,
                topics=frozenset({Topic.CPU, Topic.MEMORY, Topic.SWAP, Topic.PRESSURE}),
                filters=BY_RESOURCE | {"period"},
                rows_tell=True,
            ),
            Selector(
                name="disks",
                description="physical disks: verdict, counters, wear, temperature",
                answer=disks,
                topics=frozenset({Topic.SMART}),
                filters=BY_RESOURCE | {"health", "disk_type"},
                rows_tell=True,
            ),
            Selector(
                name="temperatures",
                description="sensors of each host, degrees Celsius",
                answer=temperatures,
                topics=frozenset({Topic.TEMPERATURES}),
                filters=BY_RESOURCE,
                rows_tell=True,
            ),
            Selector(
                name="network",
                description="network interfaces of hosts: counters, rates, and the share of faulty packets",
                answer=network,
                topics=frozenset({Topic.NETWORK}),
                filters=BY_RESOURCE,
                rows_tell=True,
            ),
            Selector(
                name="diskio",
                description="what each disk of a host reads and writes: counters and rates",
                answer=diskio,
                topics=frozenset({Topic.DISK_IO}),
                filters=BY_RESOURCE,
                rows_tell=True,
            ),
            Selector(
                name="baselines",
                description="what CPU, memory, disks and storages usually are: mean, spread and extremes of 14 days",
                answer=baselines,
                topics=frozenset(TOPICS.values()),
                filters=BY_RESOURCE,
                rows_tell=True,
            ),
            Selector(
                name="patterns",
                description="daily peaks, trends and findings that come back; what will be full, and when",
                answer=patterns,
                topics=frozenset(TOPICS.values()),
                filters=BY_RESOURCE,
                rows_tell=True,
            ),
        )
    },
)
