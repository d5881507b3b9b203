"""The part of a seed about the estate: what there is, what looks interesting, and what could not be read. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from findings.model import Gap, Severity, Sight
from patrol.estate.model import Alert, Metric, Resource
from patrol.run.seed.model import Section, SeedFacts
from patrol.run.seed.text import cell, counted, instant, number, row
from patrol.run.triage import Flag

FLAGS_IN_SUMMARY = 8
_LONGEST_REASON = 160
_METRICS = ((Metric.CPU, "cpu"), (Metric.MEMORY, "memory"), (Metric.DISK, "disk"), (Metric.SWAP, "swap"))
_ALERT_RANK = {"critical": 0, "warning": 1}


def overview(facts: SeedFacts) -> Section:
    """What sort of run this is, and how large the estate is."""
    of_type = Counter(each.type.value for each in facts.estate.resources if each.id in facts.scope)
    flags = [each for each in facts.flags if each.resource_id in facts.scope]
    about = "the whole estate" if facts.scope.is_full else "only what stands under Scope"
    lines = [
        f"Run about {about}{f', {cell(facts.reason)}' if facts.reason else ''}. Now: {instant(facts.now)}.",
        f"Resources: {_counts(of_type) or 'none'}.",
        f"Flags: {_counts(Counter(map(str, _severities(flags)))) or 'none'}.",
    ]
    if facts.limits:
        lines.append(
            f"Limits in force: {cell(facts.limits, 1_000)}. Fixed checks judge them; alerts tell of crossings."
        )
    sources = sorted(facts.estate.sources, key=lambda each: (each.connected, each.name))
    return Section(
        name="overview",
        title="Overview",
        priority=0,
        lead="\n".join(lines),
        head="source | type | state" if sources else "",
        rows=tuple(
            row(
                cell(each.name),
                cell(each.type),
                "read" if each.connected else f"did not answer: {cell(each.detail, 120)}",
            )
            for each in sources
        ),
    )


def scope_section(facts: SeedFacts) -> Iterator[Section]:
    """What a scoped run is about."""
    if facts.scope.is_full:
        return
    alert = ""
    if facts.alert_id:
        alert = f" It was asked for because of the alert {cell(facts.alert_id)} {cell(facts.alert_type)}".rstrip() + "."
    yield Section(
        name="scope",
        title="Scope",
        priority=0,
        lead=f"Speak of these resources only, and of what explains their state.{alert}",
        rows=tuple(cell(each) for each in facts.scope.resource_ids),
    )


def alerts_section(facts: SeedFacts) -> Iterator[Section]:
    """Alerts of the monitoring system, which tells people of them by itself."""
    alerts = [each for each in facts.estate.alerts if each.resource_id in facts.scope]
    alerts.sort(key=lambda each: (_ALERT_RANK.get(each.severity, 2), each.resource_id, each.type, each.id))
    if alerts:
        yield Section(
            name="alerts",
            title="Active alerts",
            priority=0,
            lead="People know of these already. Do not repeat one; use it as a trace.",
            head="severity | type | resource id | value | limit | since | message",
            rows=tuple(map(_alert_row, alerts)),
            where="; pulse_alerts lists all",
        )


def gaps_section(facts: SeedFacts) -> Iterator[Section]:
    """What could not be read: what was lost from sight by name, what is never readable here by number."""
    gaps = [each for each in facts.gaps if each.resource_id is None or each.resource_id in facts.scope]
    lost = sorted((each for each in gaps if each.sight is Sight.LOST), key=_gap_order)
    standing = Counter(str(each.topic) for each in gaps if each.sight is Sight.STANDING)
    if not (lost or standing):
        return
    yield Section(
        name="gaps",
        title="What could not be read",
        priority=0,
        lead="Unknown is not healthy."
        + (f" Never readable here, and known to be so: {_counts(standing)}." if standing else ""),
        head="source | topic | resource id | why | detail" if lost else "",
        rows=tuple(map(_gap_row, lost)),
    )


def flags_section(facts: SeedFacts) -> Iterator[Section]:
    """What looks interesting by fixed rules, one line for each resource, in the order of triage."""
    of_resource: dict[str, list[Flag]] = {}
    for flag in facts.flags:
        if flag.resource_id in facts.scope:
            of_resource.setdefault(flag.resource_id, []).append(flag)
    if not of_resource:
        return
    rows = tuple(map(_flag_row, of_resource.values()))
    counts = _counts(Counter(max(_severities(flags), key=_rank).value for flags in of_resource.values()))
    first = Section(name="", title="", priority=2, rows=rows[:FLAGS_IN_SUMMARY]).text().split("\n", 1)[1]
    more = len(rows) - FLAGS_IN_SUMMARY
    yield Section(
        name="flags",
        title="Flags",
        priority=2,
        lead="What fixed rules find worth a look. A flag is no finding.",
        head="severity | resource id | why",
        rows=rows,
        summary=f"Resources with flags: {counts}.\n{first}" + (f"\n+{more} more" if more > 0 else ""),
    )


def inventory_section(facts: SeedFacts, interesting: frozenset[str]) -> Iterator[Section]:
    """The resources that flags, findings or the scope speak of, with what was measured on them."""
    shown = sorted((each for each in facts.estate.resources if each.id in interesting), key=_resource_order)
    if shown:
        yield Section(
            name="inventory",
            title="Resources of interest",
            priority=2,
            lead="Percentages of use.",
            head="resource id | name | state | lives on | measured",
            rows=tuple(map(_resource_row, shown)),
            summary=f"{_states(shown)}. pulse_query and pulse_metrics show them.",
        )


def healthy_section(facts: SeedFacts, interesting: frozenset[str]) -> Iterator[Section]:
    """How many others there are, and in which state."""
    others = [each for each in facts.estate.resources if each.id in facts.scope and each.id not in interesting]
    if others:
        yield Section(
            name="healthy",
            title="Nothing flagged",
            priority=3,
            lead=f"{_states(others)}.",
        )


def _severities(flags: Iterable[Flag]) -> list[Severity]:
    return [each.severity for each in flags]


def _rank(severity: Severity) -> int:
    return severity.rank


def _counts(counts: Counter[str]) -> str:
    return ", ".join(
        counted(count, word) for word, count in sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    )


def _states(resources: Iterable[Resource]) -> str:
    of_type: dict[str, Counter[str]] = {}
    for resource in resources:
        of_type.setdefault(resource.type.value, Counter())[resource.status.value] += 1
    return "; ".join(f"{kind}: {_counts(states)}" for kind, states in sorted(of_type.items()))


def _flag_row(flags: Sequence[Flag]) -> str:
    worst = max(_severities(flags), key=_rank)
    why = "; ".join(cell(each.reason, _LONGEST_REASON) for each in flags)
    return row(worst, cell(flags[0].resource_id), why)


def _alert_row(alert: Alert) -> str:
    return row(
        cell(alert.severity),
        cell(alert.type),
        cell(alert.resource_id),
        number(alert.value),
        number(alert.threshold),
        instant(alert.start_time),
        cell(alert.message, _LONGEST_REASON),
    )


def _gap_order(gap: Gap) -> tuple[bool, str, str, str, str]:
    return gap.resource_id is not None, gap.source, str(gap.topic), gap.resource_id or "", gap.subject


def _gap_row(gap: Gap) -> str:
    about = f"{gap.resource_id} {gap.subject}" if gap.resource_id else gap.subject or "all"
    return row(cell(gap.source), gap.topic, cell(about), gap.reason, cell(gap.detail, _LONGEST_REASON))


def _resource_order(resource: Resource) -> tuple[str, str]:
    return resource.type.value, resource.id


def _resource_row(resource: Resource) -> str:
    return row(
        cell(resource.id),
        cell(resource.name),
        resource.status,
        cell(resource.parent),
        ", ".join(_measured(resource)),
    )


def _measured(resource: Resource) -> Iterator[str]:
    for metric, word in _METRICS:
        reading = resource.metrics.get(metric)
        if reading is not None:
            yield f"{word} {number(reading.value)}"
    for mount in resource.filesystems or ():
        if mount.usage_percent is not None:
            yield f"{cell(mount.mountpoint or '', 60)} {number(mount.usage_percent)}"
    if resource.pool is not None:
        state = resource.pool.zfs.state if resource.pool.zfs is not None else resource.pool.status or ""
        yield f"{cell(state, 40)} usage {number(resource.pool.usage_percent)}"
    if resource.raid is not None:
        yield f"raid {cell(resource.raid.state, 40)}"
    if resource.disk is not None:
        yield f"disk {cell(resource.disk.health or 'no verdict', 40)}"
        if resource.disk.temperature is not None:
            yield number(resource.disk.temperature, " °C")
        if resource.disk.life_used_percent is not None:
            yield f"wear {number(resource.disk.life_used_percent)}"
    failed = [unit.name for unit in resource.units or ()]
    if failed:
        yield f"failed units {cell(' '.join(failed), 120)}"
