"""What is known of findings through restarts, crowds of runs and time: real reports as timelines."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest

from findings.kinds import Kind
from findings.model import (
    DEFAULT_ORG,
    DismissedReason,
    Finding,
    FindingState,
    ResolveReason,
    Severity,
    Transition,
    TransitionReason,
)
from findings.silence import Silence, SilenceKind
from findings.silence_store import SilenceStore
from findings.store import FindingStore
from findings.verbs import Acknowledge, Dismiss, Note, Snooze, Undo, Verb
from patrol.database import Database, open_database
from patrol.estate.model import Estate, Resource, ResourceType, Status
from patrol.operators.silences import Wish, add_silence, spoken
from patrol.operators.verbs import carry_out
from patrol.run import RunReport
from patrol.run.record_model import RunRecord, RunStatus
from patrol.run.store import RunStore
from signals.backup_evidence import PveBackupRow
from signals.evidence import BackupStore, DiskRow
from signals.storage_evidence import FilesystemRow
from tests.databases import FILE, POSTGRESQL, fresh_url
from tests.postgresql import Server
from tests.run.builders import HOST, NOW, House, disk, estate, host
from tests.run.test_run import limits_from


@dataclass(slots=True)
class Home:
    """A house that can be left: what it knows is what its database knows."""

    url: str
    database: Database = field(init=False)
    house: House = field(init=False)

    def __post_init__(self) -> None:
        self.database = open_database(self.url)
        self.house = House(self.database)

    def restart(self, **down: float) -> None:
        """Patrol ends, and begins again this much later."""
        self.database.close()
        self.database = open_database(self.url)
        self.house.database = self.database
        self.house.clock.advance(**down)

    def run(self, *resources: Resource) -> RunReport:
        there = estate(*resources)
        there.collected_at = self.house.clock.now
        return self.house.run(there)

    def say(self, verb: Verb, *findings: Finding) -> None:
        ids = [finding.id for finding in findings]
        carry_out(self.database, DEFAULT_ORG, ids, verb, now=self.house.clock.now, author="ops")

    def findings(self) -> list[Finding]:
        with self.database.read() as connection:
            return FindingStore(connection, DEFAULT_ORG).list_findings()

    def silences(self) -> list[Silence]:
        with self.database.read() as connection:
            return SilenceStore(connection, DEFAULT_ORG).list_silences()

    def changes(self, finding: Finding) -> list[Transition]:
        with self.database.read() as connection:
            return FindingStore(connection, DEFAULT_ORG).transitions(finding.id)

    def reasons(self, finding: Finding) -> list[TransitionReason]:
        return [each.reason for each in self.changes(finding)]


@pytest.fixture(params=[FILE, POSTGRESQL])
def home(request: pytest.FixtureRequest, tmp_path: Path, postgresql: Callable[[], Server]) -> Iterator[Home]:
    with fresh_url(request.param, tmp_path, postgresql, made=True) as url:
        made = Home(url)
        yield made
        made.database.close()


# --- what an operator knows


def test_what_was_acknowledged_is_no_news_until_it_gets_worse_or_comes_back(home: Home) -> None:
    [full] = home.run(host(92)).findings
    home.house.clock.advance(seconds=60)
    home.say(Acknowledge(), full)
    for usage in (93, 92, 94.9, 92):
        home.house.clock.advance(minutes=15)
        home.run(host(usage))
    [known] = home.findings()
    assert (known.id, known.acknowledged_by, known.times_raised) == (full.id, "ops", 5)
    told = [TransitionReason.FILED, TransitionReason.ACKNOWLEDGED]
    assert home.reasons(known) == told
    home.run(host(97))
    [worse] = home.findings()
    assert (worse.severity, worse.acknowledged_at) == (Severity.CRITICAL, None)
    home.say(Acknowledge(), worse)
    home.run(host(40))
    home.run(host(92))
    [back] = home.findings()
    assert (back.id, back.acknowledged_at, back.regression_count) == (full.id, None, 1)
    told += [TransitionReason.RAISED, TransitionReason.ACKNOWLEDGED]
    assert home.reasons(back) == [*told, TransitionReason.RESOLVED, TransitionReason.REGRESSED]


def test_a_restart_forgets_no_word_of_an_operator(home: Home) -> None:
    [full, broken] = home.run(host(92, units=["backup.service"])).findings
    home.say(Acknowledge(), full)
    home.say(Note(text="ask the owner"), full)
    home.say(Snooze(until=home.house.clock.now + timedelta(days=2)), broken)
    wish = Wish(kind=SilenceKind.OFFLINE, resource="agent:local:hostb", reason="it is off in summer")
    add_silence(home.database, DEFAULT_ORG, wish, now=home.house.clock.now, author="ops", ids=lambda: "s1")
    before, silences = home.findings(), home.silences()
    home.restart(hours=5)
    assert (home.findings(), home.silences()) == (before, silences)
    report = home.run(host(92, units=["backup.service"]), host(40, units=["x.service"], name="hostb"))
    assert [each.id for each in report.findings] == [full.id]
    after = {each.id: each for each in home.findings()}
    assert len(after) == 3
    assert (after[full.id].first_seen_at, after[full.id].times_raised) == (full.first_seen_at, 2)
    assert (after[full.id].acknowledged_by, after[full.id].user_note) == ("ops", "ask the owner")
    assert after[broken.id].snoozed_until == NOW + timedelta(days=2, minutes=1)


def test_what_began_while_patrol_was_down_is_news_and_what_went_on_is_not(home: Home) -> None:
    [full] = home.run(host(92), disk()).findings
    home.restart(hours=2)
    report = home.run(host(92), disk("FAILED"))
    assert [each.kind for each in report.findings] == [Kind.SMART_FAILURE, Kind.HIGH_DISK]
    assert (report.run.new_findings, report.run.existing_findings) == (1, 1)
    [new] = [each for each in report.findings if each.id != full.id]
    assert home.reasons(full) == [TransitionReason.FILED]
    assert home.reasons(new) == [TransitionReason.FILED]
    assert new.first_seen_at == home.house.clock.now


def test_a_recovery_after_a_restart_is_told_once_and_the_story_is_whole(home: Home) -> None:
    [full] = home.run(host(92)).findings
    home.restart(minutes=10)
    resolved = [home.run(host(40)).run.resolved_findings]
    home.restart(minutes=10)
    resolved += [home.run(host(40)).run.resolved_findings for _ in range(2)]
    assert resolved == [1, 0, 0]
    changes = home.changes(full)
    assert [each.reason for each in changes] == [TransitionReason.FILED, TransitionReason.RESOLVED]
    assert [each.run_id for each in changes] == ["run-1", "run-2"]
    assert home.findings()[0].state is FindingState.RESOLVED


def test_two_looks_at_one_fault_are_one_finding_with_the_latest_value(home: Home) -> None:
    """Whatever is measured and however it is worded; through a restart as well."""
    home.run(host(91))
    home.restart(minutes=1)
    home.run(host(93.5))
    [one] = home.findings()
    assert (one.times_raised, one.value) == (2, 93.5)
    assert "93.5" in one.summary


# --- nobody learns to look away


def test_dismissals_and_failed_runs_hide_nothing_else(home: Home) -> None:
    """Three dismissals by a person and forty runs that failed: the next one like these is as loud as the first."""
    full = home.run(*(host(92, name=f"host{number}") for number in range(3))).findings
    home.say(Dismiss(reason=DismissedReason.EXPECTED_BEHAVIOR, note="they are caches"), *full)
    runs = RunStore(home.database)
    for number in range(40):
        now = home.house.clock.now
        run = RunRecord(org_id=DEFAULT_ORG, id=f"bad-{number}", trigger_reason="scheduled", started_at=now)
        runs.begin(run)
        runs.end_early(replace(run, status=RunStatus.ERROR, completed_at=now, error_summary="OSError: no"))
    report = home.run(*(host(92, name=f"host{number}") for number in range(3)), host(97, name="host3"))
    assert [(each.resource_name, each.severity) for each in report.findings] == [("host3", Severity.CRITICAL)]
    with home.database.read() as connection:
        listed = spoken(FindingStore(connection, DEFAULT_ORG), home.house.clock.now)
    assert {each.finding_id for each in listed} == {each.id for each in full}
    assert {(each.author, each.note) for each in listed} == {("ops", "they are caches")}
    assert home.run(*(host(97, name=f"host{number}") for number in range(3))).run.status is RunStatus.CRITICAL
    home.say(Undo(), *[each for each in home.findings() if each.is_dismissed])
    assert len(home.run(*(host(97, name=f"host{number}") for number in range(4))).findings) == 4


# --- identity


def test_disks_that_name_themselves_by_nothing_stay_apart(home: Home) -> None:
    def unnamed(device: str, wwn: str, serial: str, health: str) -> Resource:
        row = DiskRow(
            dev_path=f"/dev/{device}", wwn=wwn, serial=serial, health=health, type="sata", smart_complete=True
        )
        return Resource(id=device, type=ResourceType.DISK, name=device, source="local", parent=HOST, disk=row)

    report = home.run(
        host(),
        unnamed("sda", "0x0", "", "PASSED"),
        unnamed("sdb", "0x0", "", "FAILED"),
        unnamed("sdc", "0x5000c500a", "S3", "PASSED"),
    )
    assert report.resources[ResourceType.DISK] == 3
    [failed] = report.findings
    assert failed.resource_id == "disk:hosta:sdb"
    home.restart(minutes=1)
    assert [each.id for each in home.run(host(), unnamed("sdb", "0x0", "", "FAILED")).findings] == [failed.id]


# --- checks that are off


def test_a_backup_that_nobody_wants_to_hear_of_closes_and_opens_nothing(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "alerts.json"
    guest = Resource(
        id="vm:lab:101", type=ResourceType.VM, name="vm101", vmid=101, instance="lab", source="local",
        status=Status.RUNNING, first_seen=NOW - timedelta(days=90),
    )  # fmt: skip

    def run() -> list[str]:
        there: Estate = estate(host(), guest)
        there.collected_at = home.house.clock.now
        there.backup_stores = [BackupStore(id="storage:lab:nas", name="nas")]
        there.pve_backups = [
            PveBackupRow(vmid=101, instance="lab", storage="nas", backup_time=(NOW - timedelta(days=30)).isoformat())
        ]
        return [each.kind for each in home.house.run(there).findings]

    assert run() == [Kind.BACKUP_STALE]
    file.write_text('{"backupDefaults": {"enabled": true, "warningDays": 0, "criticalDays": 0}}')
    home.house.settings = limits_from(home.house, file)
    assert [run(), run()] == [[], []]
    assert [(each.state, each.resolve_reason) for each in home.findings()] == [
        (FindingState.RESOLVED, ResolveReason.CHECK_OFF)
    ]


# --- what it costs to know


def written() -> int:
    """Bytes that this process handed to file systems until now."""
    told = Path("/proc/self/io").read_text(encoding="ascii")
    return int(told.split("wchar: ")[1].split()[0])


def test_an_hour_in_which_nothing_changes_writes_little(tmp_path: Path) -> None:
    """Twelve runs over fifty hosts with a fault each: last seen is noted, and nothing is stored twice."""
    home = Home(f"sqlite:///{tmp_path / 'patrol.db'}")
    hosts = [host(92, name=f"host{number}") for number in range(50)]
    home.run(*hosts)
    home.run(*hosts)
    before, pages = written(), _count(home, "evidence_page")
    for _ in range(12):
        home.house.clock.advance(minutes=4)
        home.run(*hosts)
    assert written() - before < 12 * 400_000
    assert {len(home.changes(each)) for each in home.findings()} == {1}
    assert {each.times_raised for each in home.findings()} == {14}
    assert _count(home, "evidence_page") <= pages + 12 * 3  # what carries the time of its run, and no more
    home.database.close()


def _count(home: Home, table: str) -> int:
    with home.database.read() as connection:
        return int(connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one())


def test_a_file_stops_growing_when_what_is_old_goes(tmp_path: Path) -> None:
    """Each run brings evidence of its own; an open finding and its page stay however old they are."""
    home = Home(f"sqlite:///{tmp_path / 'patrol.db'}")
    kept = timedelta(days=4)
    storage = home.house.settings.storage.model_copy(update={"retention": kept, "evidence_retention": kept})
    home.house.settings = home.house.settings.model_copy(update={"storage": storage})
    many = [f"/srv/{number}" for number in range(30)]
    chance = Random(1)

    def look(units: tuple[str, ...] = ()) -> RunReport:
        there = host(units=units)
        there.filesystems = [
            FilesystemRow(device=f"/dev{mount}", mountpoint=mount, type="ext4", usage_percent=chance.uniform(10, 60))
            for mount in many
        ]
        home.house.clock.advance(hours=8)
        return home.run(there)

    look(units=("lost.service",))
    sizes = []
    for _ in range(9):
        for _ in range(3):
            look(units=("lost.service",))
        sizes.append((tmp_path / "patrol.db").stat().st_size)
    assert sizes[-1] <= sizes[5] * 1.15
    assert len(RunStore(home.database).list_runs(1000)) < 20
    [lost] = [each for each in home.findings() if each.is_open]
    assert lost.times_raised == 28
    home.database.close()
