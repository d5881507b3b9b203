"""What only a model says, and what is quiet, is marked as such wherever it is listed or shown."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from findings.lifecycle import Advance, Change
from findings.model import Basis, Finding
from findings.store import FindingStore
from patrol.__main__ import main
from patrol.cli.issues import of_finding
from patrol.database import open_database
from tests.findings.builders import NOW, finding

CLAIM = finding("claim_odd_latency", basis=Basis.MODEL, title="Odd latency")
Told = Callable[..., str]


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Told:
    """What a command says of one finding."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("PATROL_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    storage = f"sqlite:///{tmp_path}/patrol.db"

    def run(held: Finding, *command: str) -> str:
        with open_database(storage).write() as connection:
            step = Advance(changes=(Change(None, held),), transitions=(), outcomes={})
            FindingStore(connection, held.org_id).apply(step)
        assert main(["findings", *command, "--storage", storage]) == 0
        return capsys.readouterr().out

    return run


def test_a_claim_is_listed_as_unconfirmed(told: Told) -> None:
    assert "Odd latency (unconfirmed)" in told(CLAIM, "list")


def test_a_claim_is_shown_with_what_holds_and_what_ends_it(told: Told) -> None:
    out = told(CLAIM, "show", CLAIM.id)
    assert "a model alone, unconfirmed" in out
    assert "3 runs or 72 h without a confirmation" in out


def test_json_says_it_too(told: Told) -> None:
    (row,) = json.loads(told(CLAIM, "list", "--json"))["findings"]
    assert (row["basis"], row["unconfirmed"]) == ("model", True)


@pytest.mark.parametrize(
    ("changes", "holder"),
    [
        ({"confirmed_at": NOW}, "a model, confirmed by a second run"),
        ({"acknowledged_at": NOW, "acknowledged_by": "ann"}, "a model, confirmed by an operator"),
        ({"basis": Basis.DETECTOR}, "detector"),
    ],
)
def test_what_was_confirmed_carries_no_mark(told: Told, changes: dict[str, object], holder: str) -> None:
    held = finding("claim_odd_latency", **{"basis": Basis.MODEL, "title": "Odd latency", **changes})
    out = told(held, "show", held.id)
    assert holder in out
    assert "unconfirmed" not in out


def test_the_report_of_a_run_marks_it() -> None:
    assert of_finding(CLAIM).title == "Odd latency (unconfirmed)"


def test_what_is_quiet_is_marked_in_the_first_table(told: Told) -> None:
    held = finding("claim_odd_latency", title="Odd latency", basis=Basis.MODEL, suppressed=True)
    first = told(held, "list").partition("Evidence")[0]
    assert "Odd latency (unconfirmed, suppressed)" in first
