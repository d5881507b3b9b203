"""A desk over a small estate, with calls of read tools made before, for the tests of the finding tools."""

from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from findings.model import Finding
from patrol.estate.model import Estate, Resource, ResourceType, Status
from patrol.tools.finding_desk import Answer, FindingDesk
from patrol.tools.model import ToolError, ToolFailure
from signals.alert_settings import parse_alert_settings
from signals.evidence import UnitRow
from signals.model import ToolCall
from signals.thresholds import AlertThresholds
from tests.findings.builders import finding
from tests.tools.estates import toolbox, two_nodes

REPORT = {
    "key": "restart-loop",
    "severity": "warning",
    "category": "reliability",
    "resource_id": "node:a:pve1",
    "resource_name": "pve1",
    "resource_type": "node",
    "title": "pve1 is busy",
    "description": "Its CPU is busy.",
    "recommendation": "Look at what runs there.",
    "evidence": '"avg_cpu": 90',
    "tool_call_ids": ["use"],
}
READS = {
    "use": ("pulse_metrics", {"type": "performance"}),
    "disks": ("pulse_metrics", {"type": "disks"}),
    "places": ("pulse_storage", {"type": "resource_disks"}),
    "pools": ("pulse_storage", {"type": "pools"}),
    "health": ("pulse_query", {"action": "health"}),
    "list": ("pulse_query", {"action": "list"}),
    "known": ("pulse_alerts", {"action": "findings"}),
}


def house() -> Estate:
    """Two nodes of cluster `a`, a failed unit on one of them, and containers on a Docker host."""
    estate = two_nodes()
    estate.resources[1].units = [UnitRow(name="nginx.service", state="failed"), UnitRow(name="ntp.service")]
    estate.resources += [
        Resource(id="docker-host:a:box", type=ResourceType.DOCKER_HOST, name="box", status=Status.ONLINE, source="lab"),
        *(
            Resource(
                id=f"app-container:box:{name}",
                type=ResourceType.APP_CONTAINER,
                name=name,
                status=status,
                parent="docker-host:a:box",
                source="lab",
            )
            for name, status in (("redis", Status.STOPPED), ("web", Status.RUNNING))
        ),
    ]
    return estate


@dataclass
class Desk:
    """A desk, and the calls that its model made before."""

    estate: Estate = field(default_factory=house)
    known: Sequence[Finding] = ()
    scope: Container[str] | None = None
    settings: str = ""
    snapshot_read: bool = True
    report_limit: int | None = None
    calls: dict[str, ToolCall] = field(default_factory=dict)

    def __post_init__(self) -> None:
        box = toolbox(self.estate)
        for call_id, (tool, arguments) in READS.items():
            output = msgspec.json.encode(box.call(tool, arguments))
            self.calls[call_id] = ToolCall(id=call_id, tool_name=tool, input=arguments, output=output.decode())
        alerts = parse_alert_settings(self.settings, source="alerts.json") if self.settings else None
        self.desk = FindingDesk(
            box.view,
            known=self.known,
            scope=self.scope if self.scope is not None else {each.id for each in self.estate.resources},
            thresholds=AlertThresholds(alerts),
            outputs=self.calls.get,
            snapshot_read=self.snapshot_read,
            report_limit=self.report_limit,
        )

    def call(self, tool: str, **arguments: object) -> Answer:
        """The answer of a call that is taken."""
        return self.desk.call(tool, arguments, "this-call")

    def refusal(self, tool: str, **arguments: object) -> ToolFailure:
        """What is said of a call that is not."""
        try:
            answer = self.call(tool, **arguments)
        except ToolError as error:
            return error.as_output()
        raise AssertionError(f"it was taken: {answer}")

    def report(self, **changes: object) -> Answer:
        """A report, by default a good one."""
        return self.call("patrol_report_finding", **{**REPORT, **changes})

    def report_refusal(self, **changes: object) -> ToolFailure:
        """What is said of a report that is not taken."""
        return self.refusal("patrol_report_finding", **{**REPORT, **changes})


def known_finding(number: int = 1, resource_id: str = "node:a:pve2", **changes: object) -> Finding:
    """A finding of an earlier run, full file system by default."""
    fields = {"subject": "/", "resource_name": "pve2", "resource_type": "node", **changes}
    kind = fields.pop("kind", "high_disk")
    held = finding(kind, resource_id=resource_id, **fields)
    return replace(held, id=f"f{number}")
