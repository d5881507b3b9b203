"""`patrol findings show` explains a finding: what shows it, its limit, what would clear it, and its past."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from findings.model import Topic
from findings.store import FindingStore
from patrol.__main__ import main
from patrol.cli.explain import BARS, sparkline
from patrol.database import Database, open_database
from patrol.run.explanation import Value, find_row
from patrol.run.retention import prune_evidence
from patrol.run.tables import EVIDENCE_PAGES
from tests.run.builders import HOST, NOW, House, disk, estate, gap, host

Show = Callable[..., str]


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return open_database(f"sqlite:///{tmp_path}/patrol.db")


@pytest.fixture
def house(database: Database) -> House:
    return House(database)


@pytest.fixture
def show(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database: Database
) -> Show:
    """Shows the finding of a kind."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("PATROL_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)

    def run(kind: str, *options: str) -> str:
        with database.read() as connection:
            (found,) = [each for each in FindingStore(connection, "default").list_findings() if each.kind == kind]
        code = main(["findings", "show", found.id, "--storage", f"sqlite:///{tmp_path}/patrol.db", *options])
        assert code == 0
        return capsys.readouterr().out

    return run


def line(out: str, name: str) -> str:
    (found,) = [each for each in out.splitlines() if each.startswith(f"{name} ")]
    return found.removeprefix(name).strip()


def test_a_full_file_system(house: House, show: Show) -> None:
    for usage in (80, 84, 90, 96.5):
        house.run(estate(host(usage=usage)))
    out = show("high_disk")
    assert line(out, "Clears when") == (
        "a complete read below 70 %, or one in which this place does not exist any more"
    )
    assert line(out, "Limit today") == "75 %, clear below 70 %, from built-in"
    assert line(out, "Values").startswith("▁▃▅█  80 % to 96.5 %, 4 ")
    assert "pulse_storage" in line(out, "Shown by")
    assert '"mountpoint": "/"' in out
    assert '"usage_percent": 96.5' in out


def test_a_disk_with_pending_sectors_and_one_with_damage(house: House, show: Show) -> None:
    house.run(estate(host(), disk("PASSED", pending=8)))
    assert "two complete reads in a row with PASSED" in line(show("smart_failure"), "Clears when")
    damaged = disk("PASSED", serial="S1")
    assert damaged.disk
    house.run(estate(host(), disk("FAILED", pending=8)))
    with house.database.write() as connection:
        connection.exec_driver_sql("UPDATE finding SET facts = '{\"reallocated_sectors\": 3}'")
    assert "never by itself" in line(show("smart_failure"), "Clears when")


def test_a_limit_of_the_alert_settings_and_a_check_that_is_off(house: House, show: Show, tmp_path: Path) -> None:
    file = tmp_path / "alerts.json"
    file.write_text('{"agentDefaults": {"disk": {"trigger": 60, "clear": 50}}, "diskFillByType": {}}')
    alerts = house.settings.alerts.model_copy(update={"file": str(file)})
    house.settings = house.settings.model_copy(update={"alerts": alerts})
    house.run(estate(host(usage=80)))
    out = show("high_disk")
    assert line(out, "Limit today") == "60 %, clear below 50 %, from alerts.json: agentDefaults.disk"
    assert "below 50 %" in line(out, "Clears when")
    file.write_text('{"agentDefaults": {"disk": {"trigger": 0, "clear": 0}}}')
    house.run(estate(host(usage=80)))
    assert line(show("high_disk"), "Limit today") == "none: the check is switched off"


def test_evidence_that_expired_is_told_plainly_and_the_excerpt_stays(house: House, show: Show) -> None:
    house.run(estate(host(usage=80)))
    house.run(estate(host(usage=40)))
    house.clock.advance(days=31)
    prune_evidence(house.database, house.settings, house.clock.now, every=timedelta(0))
    out = show("high_disk")
    assert f"evidence expired since {house.clock.now:%Y-%m-%d %H:%M:%SZ}" in line(out, "Shown by")
    assert "usage_percent" in line(out, "Evidence")
    assert json.loads(show("high_disk", "--json"))["explanation"]["evidence"] == "evidence_expired"


def test_the_row_of_an_open_finding_outlives_its_run(house: House, show: Show) -> None:
    house.run(estate(host(usage=80)))
    house.run(estate(host(usage=None), gaps=[gap(Topic.FILESYSTEMS, HOST)]))
    house.clock.advance(days=500)
    prune_evidence(house.database, house.settings, house.clock.now, every=timedelta(0))
    explanation = json.loads(show("high_disk", "--json"))["explanation"]
    assert explanation["evidence"] == "kept"
    assert explanation["row"]["mountpoint"] == "/"
    assert explanation["limit_today"] is None


def test_a_damaged_page_is_no_evidence(house: House, show: Show) -> None:
    house.run(estate(host(usage=80)))
    with house.database.write() as connection:
        connection.execute(EVIDENCE_PAGES.update().values(data=b"torn"))
    assert "damaged" in line(show("high_disk"), "Shown by")


def test_what_patrol_states_of_itself_cites_no_reading(house: House, show: Show) -> None:
    down = estate(gaps=[gap(Topic.INVENTORY)], connected=False)
    house.run(down)
    house.run(down)
    out = show("source_blind")
    assert line(out, "Shown by") == "no reading of Patrol's tools"
    assert line(out, "Clears when") == "the next complete read of the source"


def test_foreign_text_in_a_row_is_written_out(house: House, show: Show) -> None:
    named = host(usage=80)
    assert named.filesystems
    named.filesystems[0].device = "/dev/\x1b[31mred"
    house.run(estate(named))
    out = show("high_disk")
    assert "\x1b" not in out
    assert "[31mred" in out


def test_a_quiet_finding_says_why(house: House, show: Show, tmp_path: Path) -> None:
    house.run(estate(host(usage=80)))
    with house.database.read() as connection:
        (found,) = FindingStore(connection, "default").list_findings()
    storage = f"sqlite:///{tmp_path}/patrol.db"
    assert main(["findings", "snooze", found.id, "--for", "24h", "--storage", storage]) == 0
    assert "snoozed until" in line(show("high_disk"), "Quiet")


# --- parts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "evidence", "found"),
    [
        (b'{"a":[{"x":1},{"x":2}]}', '{"x":2}', {"x": 2}),
        (b'{"a":[{"x":1,"in":{"y":2}}]}', '{"y":2}', {"y": 2}),
        (b'{"a":[{"x":81}]}', '{"x":81.0}', {"x": 81}),
        (b'{"a":[{"x":1}]}', '{"x":3}', None),
        (b'{"a":[{"x":1}]}', "", None),
        (b'{"a":[{"x":1}]}', "in words", None),
        (b"no JSON", '{"x":1}', None),
        (b'{"a":[{"x":"' + b"y" * 600 + b'"}]}', '{"x":"' + "y" * 494, {"x": "y" * 600}),
    ],
)
def test_the_row_is_the_one_that_says_what_the_evidence_says(
    page: bytes, evidence: str, found: dict[str, object] | None
) -> None:
    assert find_row(page, evidence) == found


@pytest.mark.parametrize(
    ("numbers", "bars"),
    [
        ((), ""),
        ((5,), "▅"),
        ((5, 5, 5), "▅▅▅"),
        ((0, 100), "▁█"),
        ((0, 50, 100), "▁▅█"),
    ],
)
def test_values_as_bars(numbers: tuple[float, ...], bars: str) -> None:
    assert sparkline([Value(at=NOW, value=each) for each in numbers]) == bars


def test_of_many_values_the_peaks_stay() -> None:
    line_of_bars = sparkline([Value(at=NOW, value=99 if place == 333 else 1) for place in range(1000)])
    assert len(line_of_bars) == 60
    assert line_of_bars.count(BARS[-1]) == 1
