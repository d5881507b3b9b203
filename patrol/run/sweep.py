"""Stage 7, first half: Patrol's own reads. The same tools as the model's, every page, recorded like any call."""

from collections.abc import Iterator
from typing import Protocol

from signals.model import Origin, ToolCall
from signals.pages import Page

PAGE_ROWS = 1000
"""Rows of one page of the sweep. Pages are kept as evidence, so an unchanged page must be cheap to find again."""

SWEPT: tuple[tuple[str, str, str], ...] = (
    ("pulse_query", "action", "inventory"),
    ("pulse_query", "action", "health"),
    ("pulse_metrics", "type", "performance"),
    ("pulse_metrics", "type", "disks"),
    ("pulse_metrics", "type", "temperatures"),
    ("pulse_storage", "type", "pools"),
    ("pulse_storage", "type", "raid"),
    ("pulse_storage", "type", "resource_disks"),
    ("pulse_storage", "type", "backup_tasks"),
    ("pulse_storage", "type", "backups"),
    ("pulse_storage", "type", "pbs_jobs"),
    ("pulse_storage", "type", "snapshots"),
    ("pulse_storage", "type", "replication"),
    ("pulse_storage", "type", "ceph_details"),
    ("pulse_metrics", "type", "network"),
    ("pulse_metrics", "type", "diskio"),
)
"""What is read, in this order. The inventory comes first: it is what the pages of all others are judged by."""


class Toolbox(Protocol):
    """What the sweep needs of the read tools."""

    def call(self, tool_name: str, arguments: dict[str, object]) -> Page:
        """The answer of one read tool."""
        ...


def sweep(toolbox: Toolbox, run_id: str) -> Iterator[ToolCall]:
    """Every page of everything that the detectors read. The calls are numbered within the run."""
    number = 0
    for tool_name, selector, value in SWEPT:
        offset = 0
        while True:
            arguments: dict[str, object] = {selector: value, "limit": PAGE_ROWS, "offset": offset}
            output = toolbox.call(tool_name, arguments)
            number += 1
            yield ToolCall(
                id=f"{run_id}-sweep-{number:04}",
                tool_name=tool_name,
                input=arguments,
                output=output,
                origin=Origin.PATROL,
            )
            offset += PAGE_ROWS
            if output.pagination is None or offset >= output.pagination.total:
                break
