"""The spellings of a row of the performance page: the documented map, a list, and flat fields of one resource."""

from collections.abc import Iterator

from signals.evidence import PerformanceOutput, PerformanceRow
from signals.pages import Id


def other_rows(output: PerformanceOutput) -> Iterator[tuple[Id, PerformanceRow]]:
    """The rows that the map has no key for, each with the id or name that it goes by, "" for one without any.

    Those of the two older shapes, and one under an empty key.
    """
    rows = output.resources
    if "" in output.summary:
        rows = [output.summary[""], *rows]
    if _has_flat_values(output):
        rows = [*rows, _flat_row(output)]
    for row in rows:
        yield row.resource_id or row.id or row.resource_name or row.name or "", row


def _has_flat_values(output: PerformanceOutput) -> bool:
    values = (output.avg_cpu, output.avg_memory, output.cpu_percent, output.mem_percent, output.memory_percent)
    return any(value is not None for value in values)


def _flat_row(output: PerformanceOutput) -> PerformanceRow:
    return PerformanceRow(
        id=output.id,
        name=output.name,
        type=output.type,
        node=output.node,
        resource_id=output.resource_id,
        resource_name=output.resource_name,
        resource_type=output.resource_type,
        avg_cpu=output.avg_cpu,
        max_cpu=output.max_cpu,
        avg_memory=output.avg_memory,
        max_memory=output.max_memory,
        cpu_percent=output.cpu_percent,
        mem_percent=output.mem_percent,
        memory_percent=output.memory_percent,
    )


def first_measured(average: float | None, *percents: float | None) -> float | None:
    """The average where there is one above 0, else the first percent field that has a value, else what there was."""
    if average is not None and average > 0:
        return average
    return next((percent for percent in percents if percent is not None), average)


def memory_of(row: PerformanceRow) -> float | None:
    """Memory in use, percent, from whichever field holds it."""
    return first_measured(row.avg_memory, row.mem_percent, row.memory_percent)
