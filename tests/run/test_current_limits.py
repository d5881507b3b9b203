"""What the settings say today about a condition that this run did not observe."""

import json

import pytest

from findings.kinds import Kind
from findings.lifecycle import LimitNow
from patrol.estate.model import Estate
from patrol.run.current_limits import CurrentLimits
from signals.alert_settings import parse_alert_settings
from signals.evidence import InventoryOutput, InventoryRow
from signals.inventory import Inventory
from signals.thresholds import AlertThresholds
from tests.findings.builders import finding

NAS = InventoryRow(id="agent:local:nas", type="agent", name="nas")
WEB = InventoryRow(id="vm:lab:101", type="vm", name="web")
OFF = LimitNow(switched_off=True)


def now(kind: Kind, row: InventoryRow, document: dict[str, object] | None = None, **fields: object) -> LimitNow:
    settings = parse_alert_settings(json.dumps(document)) if document is not None else None
    inventory = Inventory([InventoryOutput(resources=[NAS, WEB])])
    limits = CurrentLimits(AlertThresholds(settings).for_inventory(inventory), inventory, Estate())
    return limits(finding(kind, resource_id=row.id, resource_type=row.type, **fields))


@pytest.mark.parametrize(
    ("kind", "row", "document", "expected"),
    [
        (Kind.SNAPSHOT_OLD, WEB, None, LimitNow(limit=720)),
        (Kind.SNAPSHOT_OLD, WEB, {"snapshotDefaults": {"enabled": False}}, OFF),
        (Kind.SNAPSHOT_LARGE, WEB, None, OFF),
        (Kind.NETWORK_ERRORS, NAS, None, LimitNow(limit=1)),
        (Kind.CEPH_UNHEALTHY, NAS, {"enabled": False}, LimitNow()),  # health stays on
        (Kind.REPLICATION_FAILED, WEB, {"enabled": False}, LimitNow()),
        # A rate has a limit for each direction: only that all of them are off can be told.
        (Kind.HIGH_NETWORK, NAS, None, LimitNow()),
        (Kind.HIGH_NETWORK, NAS, {"enabled": False}, OFF),
        (Kind.HIGH_DISK_IO, NAS, None, OFF),
        (Kind.HIGH_DISK_IO, WEB, {"guestDefaults": {"diskRead": {"trigger": 9}}}, LimitNow()),
    ],
)
def test_the_limit_of_today(
    kind: Kind, row: InventoryRow, document: dict[str, object] | None, expected: LimitNow
) -> None:
    assert now(kind, row, document) == expected


def test_every_snapshot_and_interface_of_a_resource_has_its_limit() -> None:
    assert now(Kind.SNAPSHOT_OLD, WEB, subject="before-upgrade") == LimitNow(limit=720)
    assert now(Kind.NETWORK_ERRORS, NAS, subject="eth0") == LimitNow(limit=1)
