"""Guests that do not answer, and hosts that are not there.

    {"complete": true,
     "guests": [{"id": "vm:lab:150", "name": "web", "reachable": false,
      "probes": [{"kind": "icmp", "ok": false, "address": "10.0.0.50"}, {"kind": "tcp:22", "ok": false}]}],
     "nodes": [{"id": "node:lab:pve-b", "name": "pve-b", "online": false, "detail": "its peers lost it"}]}

Only an explicit `false` states a fault; unknown is blind. A guest is judged while it runs: one that is stopped,
or whose node is away, cannot answer, and its node has the finding. A resource that may be away is blind, not
clear: nobody has seen it well. A connection of Patrol itself is judged where the run is, not here.
"""

from typing import ClassVar, cast

from findings.kinds import Kind
from findings.model import ResourceId, Severity
from signals.detector import Context, EvidencePage, Notes
from signals.evidence import GuestHealth, HealthOutput, InventoryRow, NodeHealth
from signals.inventory import is_up
from signals.pages import Page
from signals.wording import quoted

HealthPage = EvidencePage[HealthOutput]

_OFFLINE = "offline"
_EXPECTED = "expected offline: the operator said that it may be away"
_LONGEST_CHAIN = 8
"""Levels from a guest up to what it runs on; a bound, since parents come from outside and may form a ring."""


class ReachabilityDetector:
    """guest_unreachable of guests, node_offline of hosts."""

    reads: ClassVar[tuple[type[Page], ...]] = (HealthOutput,)

    def __init__(self, context: Context, notes: Notes) -> None:
        self._notes = notes
        self._inventory = context.inventory
        self._thresholds = context.thresholds
        self._silent: list[tuple[HealthPage, GuestHealth]] = []
        self._online: dict[ResourceId, bool] = {}

    def read(self, page: EvidencePage[Page]) -> None:
        """Judges the hosts of one page, and the guests that answer; silent guests wait for all hosts."""
        own = cast("HealthPage", page)
        for number, node in enumerate(own.output.nodes):
            if node.id or node.name:
                self._judge_node(own, node)
            else:
                self._notes.problem(own.call_id, f"nodes[{number}]", "a host without id and name")
        rows = self._inventory.rows
        bare = own.without_rows()
        answering: list[ResourceId] = []
        for number, guest in enumerate(own.output.guests):
            if not (guest.id or guest.name):
                self._notes.problem(own.call_id, f"guests[{number}]", "a guest without id and name")
            elif guest.reachable:
                row = rows.get(guest.id)
                answering.append(guest.id if row is not None else self._guest(guest).id)
            else:
                self._silent.append((bare, guest))
        self._notes.clear(own, Kind.GUEST_UNREACHABLE, answering)

    def finish(self) -> None:
        """Judges the guests that do not answer."""
        for page, guest in self._silent:
            self._judge_silent(page, guest)

    def _guest(self, guest: GuestHealth) -> InventoryRow:
        return self._inventory.resolve(guest.id or guest.name, resource_type=guest.type, display_name=guest.name)

    def _judge_node(self, page: HealthPage, node: NodeHealth) -> None:
        row = self._inventory.resolve(node.id or node.name, resource_type=node.type, display_name=node.name)
        if node.online is None:
            self._notes.blind(Kind.NODE_OFFLINE, row.id, node.detail or "whether it is online is not known")
        elif node.online:
            self._online[row.id] = True
            self._notes.clear(page, Kind.NODE_OFFLINE, [row.id])
        else:
            self._online[row.id] = False
            if self._thresholds.offline_expected(row):
                self._notes.blind(Kind.NODE_OFFLINE, row.id, _EXPECTED)
                return
            detail = f": {quoted(node.detail)}" if node.detail else ""
            summary = f"{quoted(row.name or row.id)} is offline{detail}"
            self._notes.signal(page, Kind.NODE_OFFLINE, row, Severity.CRITICAL, summary, row=node)

    def _judge_silent(self, page: HealthPage, guest: GuestHealth) -> None:
        row = self._guest(guest)
        if any(probe.ok for probe in guest.probes):
            # Any answer wins over a verdict that says otherwise.
            self._notes.clear(page, Kind.GUEST_UNREACHABLE, [row.id])
        elif reason := self._excuse(row, guest):
            self._notes.blind(Kind.GUEST_UNREACHABLE, row.id, reason)
        else:
            self._notes.signal(page, Kind.GUEST_UNREACHABLE, row, Severity.WARNING, _summary(row, guest), row=guest)

    def _excuse(self, row: InventoryRow, guest: GuestHealth) -> str:
        """Why a guest that does not answer is no fault of its own; "" if it is one."""
        if self._inventory.may_hide(row.id):
            return "the inventory is incomplete: whether it runs is not known"
        if row.template:
            return "it is a template"
        if row.status and not is_up(row):
            return f"it is not running: {quoted(row.status)}"
        if away := self._away(row):
            return away
        if self._thresholds.offline_expected(row):
            return _EXPECTED
        return "no probe could tell" if guest.reachable is None else ""

    def _away(self, row: InventoryRow) -> str:
        """Why something that a guest runs on may be away; "" if it is all there, as far as is known."""
        below = row
        for _level in range(_LONGEST_CHAIN):
            above = self._inventory.rows.get(below.parent)
            if not self._online.get(below.parent, above is None or above.status.lower() != _OFFLINE):
                return "its node is offline"
            if above is None:
                hidden = below.parent and below.parent not in self._online and self._inventory.may_hide(below.parent)
                return "the inventory is incomplete: whether its node is there is not known" if hidden else ""
            below = above
        return ""


def _summary(row: InventoryRow, guest: GuestHealth) -> str:
    tried = ", ".join(f"{probe.kind} {probe.address}".strip() for probe in guest.probes if probe.ok is False)
    name = quoted(row.name or row.id)
    return f"{name} runs but does not answer" + (f" (tried {quoted(tried)})" if tried else "")
