"""What a run makes of many findings with one cause, and of much news at once."""

from findings.kinds import Kind
from findings.model import Finding, Severity, Topic
from findings.store import FindingStore
from findings.storm import SHOWN
from patrol.estate.model import Estate, Metric, Reading, Resource, ResourceType, SourceState, Status
from patrol.run import RunReport, RunRequest
from patrol.run.record_model import RunStatus
from patrol.run.store import RunStore
from tests.run.builders import HOST, NOW, GivenSource, House, estate, gap, host

NODE, PEER, GUEST = "node:lab:n1", "node:lab:n2", "vm:lab:101"


def lab(*, node: Status = Status.ONLINE, memory: float | None = 30) -> Estate:
    """Two nodes, and a guest on the first one."""
    guest = in_lab(GUEST, ResourceType.VM, "web", Status.RUNNING if node is Status.ONLINE else Status.UNKNOWN)
    guest.vmid, guest.parent = 101, NODE
    guest.metrics = {} if memory is None else {Metric.MEMORY: Reading(value=memory)}
    return Estate(
        collected_at=NOW,
        resources=[
            in_lab(NODE, ResourceType.NODE, "n1", node),
            in_lab(PEER, ResourceType.NODE, "n2", Status.ONLINE),
            guest,
        ],
        sources=[SourceState(name="lab", type="given", read=list(Topic))],
    )


def in_lab(resource_id: str, kind: ResourceType, name: str, status: Status) -> Resource:
    return Resource(id=resource_id, type=kind, name=name, status=status, source="lab", instance="lab")


DOWN = RuntimeError("no route to host")


def run(house: House, there: Estate | Exception, here: Estate) -> RunReport:
    house.clock.advance(minutes=1)
    return house.patrol(GivenSource([there], name="lab"), GivenSource([here])).run(RunRequest())


def by_kind(house: House) -> dict[str, Finding]:
    with house.database.read() as connection:
        return {finding.kind: finding for finding in FindingStore(connection, "default").list_findings()}


def test_what_is_on_a_node_that_goes_offline_stands_under_it_and_comes_out_again(house: House) -> None:
    run(house, lab(memory=95), estate(host()))
    report = run(house, lab(node=Status.OFFLINE, memory=None), estate(host()))
    known = by_kind(house)
    assert known[Kind.HIGH_MEMORY].parent_finding == known[Kind.NODE_OFFLINE].id
    assert (report.run.new_findings, report.run.status) == (1, RunStatus.CRITICAL)
    assert "1 new, 1 explained by another" in report.status_text
    report = run(house, lab(memory=95), estate(host()))
    known = by_kind(house)
    assert not known[Kind.NODE_OFFLINE].is_open
    assert (known[Kind.HIGH_MEMORY].is_open, known[Kind.HIGH_MEMORY].parent_finding) == (True, "")
    assert (report.run.existing_findings, report.run.resolved_findings) == (1, 1)


def test_what_a_blind_source_reported_stands_under_its_blindness_and_what_others_see_does_not(house: House) -> None:
    run(house, lab(memory=95), estate(host(usage=99)))
    for _ in range(2):
        report = run(house, DOWN, estate(host(usage=99)))
    known = by_kind(house)
    assert known[Kind.HIGH_MEMORY].parent_finding == known[Kind.SOURCE_BLIND].id
    assert known[Kind.HIGH_DISK].parent_finding == ""
    assert [finding.kind for finding in report.findings] == [Kind.HIGH_DISK, Kind.HIGH_MEMORY, Kind.SOURCE_BLIND]
    run(house, lab(memory=95), estate(host()))
    assert by_kind(house)[Kind.HIGH_MEMORY].parent_finding == ""


def test_an_estate_is_never_healthier_than_what_is_explained_in_it(house: House) -> None:
    run(house, estate(host(usage=99)), estate(host(name="hostb")))
    blind = estate(gaps=[gap(Topic.INVENTORY)], connected=False)
    for _ in range(2):
        report = run(house, blind, estate(host(name="hostb")))
    known = by_kind(house)
    assert known[Kind.HIGH_DISK].parent_finding == known[Kind.SOURCE_BLIND].id
    assert known[Kind.SOURCE_BLIND].severity is Severity.WARNING
    assert report.run.status is RunStatus.CRITICAL
    assert "all clear" not in report.status_text


def test_a_run_keeps_its_storm_and_the_next_one_has_none(house: House) -> None:
    units = [f"unit{number}.service" for number in range(12)]
    stormy = house.run(estate(host(units=units)))
    (storm,) = stormy.run.storms
    assert (storm.resource_id, storm.count, storm.worst, len(storm.finding_ids)) == (HOST, 12, Severity.WARNING, SHOWN)
    assert (stormy.run.new_findings, len(stormy.findings)) == (12, 12)
    assert RunStore(house.database).get(stormy.run.id).storms == (storm,)
    assert house.run(estate(host(units=units))).run.storms == ()
