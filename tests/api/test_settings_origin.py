"""Where a setting comes from, over HTTP and over restarts: environment before stored before file before default."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from patrol.database import open_database
from patrol.overrides.model import STORABLE
from patrol.settings.load import load_settings
from tests.api.builders import House
from tests.api.filled import Filled

SETTINGS, AUTONOMY = "/api/settings", "/api/ai/patrol/autonomy"


@dataclass
class Place:
    """A file of settings and a database, of which one process after the other is made."""

    folder: Path
    processes: int = 0

    def write(self, text: str) -> None:
        (self.folder / "patrol.toml").write_text(text, encoding="utf-8")

    @contextmanager
    def process(self) -> Iterator[Filled]:
        database = open_database(f"sqlite:///{self.folder / 'patrol.db'}")
        try:
            loaded = load_settings(self.folder / "patrol.toml")
            made = House(database=database, api=loaded.settings.api)
            made._loaded = loaded
            self.processes += 1
            made._numbers = itertools.count(1_000 * self.processes)  # what is random in a process was in none before
            yield Filled.make(made)
        finally:
            database.close()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    made.write("")
    return made


def setting(api: Filled, key: str) -> tuple[Any, str, bool]:
    found = api.get(SETTINGS).json()["settings"][key]
    return found["value"], found["origin"], found["editable"]


VALUES = [
    # key, default, in the file, stored, in the environment
    ("patrol.interval", "1h", '"2h"', "30m", "3h", "3h"),
    ("patrol.cron", "", '"0 6 * * *"', "0 7 * * *", "0 8 * * *", "0 8 * * *"),
    ("patrol.time_zone", "", '"UTC"', "Europe/Berlin", "Europe/Paris", "Europe/Paris"),
    ("patrol.autonomy", "monitor", '"approval"', "assisted", "monitor", "monitor"),
    ("model.name", "", '"ollama:a"', "ollama:b", "ollama:c", "ollama:c"),
    ("model.every", "0", '"2h"', "3h", "4h", "4h"),
    ("model.skip_unchanged", False, "true", False, "true", True),
    ("budget.run_tokens", None, "0", 2, "3", 3),
    ("budget.day_tokens", None, "1", 0, "3", 3),
    ("budget.month_tokens", None, "1", 2, "0", 0),
    ("budget.run_usd", None, "0.5", 1.5, "2.5", 2.5),
    ("budget.day_usd", None, "0.0", 1.5, "2.5", 2.5),
    ("budget.month_usd", None, "0.5", 0.0, "2.5", 2.5),
    ("triggers.alerts", True, "false", True, "false", False),
    ("triggers.anomalies", True, "false", True, "false", False),
    ("triggers.min_severity", "warning", '"critical"', "info", "critical", "critical"),
    ("triggers.alert_types", [], '["a"]', ["b"], '["c"]', ["c"]),
    ("investigation.evidence_calls", 10, "5", 20, "30", 30),
    ("investigation.timeout", "10m", '"5m"', "20m", "30m", "30m"),
]


def test_every_setting_that_can_be_stored_is_looked_at_here() -> None:
    assert [row[0] for row in VALUES] == list(STORABLE)


@pytest.mark.parametrize(("key", "default", "in_file", "stored", "variable", "by_variable"), VALUES, ids=STORABLE)
def test_each_origin_goes_before_the_next_one(
    place: Place, monkeypatch, key: str, default, in_file: str, stored, variable: str, by_variable
) -> None:
    section, _, name = key.partition(".")
    with place.process() as api:
        assert setting(api, key) == (default, "default", True)
    place.write(f"[{section}]\n{name} = {in_file}\n")
    with place.process() as api:
        by_file, origin, editable = setting(api, key)
        assert (by_file != default, origin, editable) == (True, "file", True)
        assert api.call("PATCH", SETTINGS, json={key: stored}).json()["settings"][key]["origin"] == "stored"
    with place.process() as api:  # it outlives the process
        assert setting(api, key) == (stored, "stored", True)
    monkeypatch.setenv(f"PATROL_{section}__{name}".upper(), variable)
    with place.process() as api:
        assert setting(api, key) == (by_variable, "environment", False)
        assert api.get(SETTINGS).json()["settings"][key]["stored"] == stored
        refused = api.call("PATCH", SETTINGS, json={key: stored})
        assert (refused.status_code, refused.json()["code"]) == (409, "setting_fixed")
        assert api.call("PATCH", SETTINGS, json={key: None}).status_code == 200  # what nobody sees can be let go of
    monkeypatch.delenv(f"PATROL_{section}__{name}".upper())
    with place.process() as api:
        assert setting(api, key) == (by_file, "file", True)


def test_full_outlives_a_restart_only_with_its_acknowledgement(place: Place) -> None:
    place.write('[patrol]\nautonomy = "full"\n')
    with place.process() as api:  # nobody stands for what is in the file
        told = api.get(AUTONOMY).json()
        assert (told["requested_autonomy_level"], told["effective_autonomy_level"]) == ("full", "approval")
        made = api.post(f"{AUTONOMY}/acknowledgement", {"terms_version": 1}).json()
        wish = {"autonomy_level": "full", "acknowledgement_id": made["id"]}
        assert api.call("PUT", AUTONOMY, json=wish).json()["origin"] == "stored"
    with place.process() as api:
        assert api.get(AUTONOMY).json()["effective_autonomy_level"] == "full"
        api.call("DELETE", f"{AUTONOMY}/acknowledgement")
    with place.process() as api:
        told = api.get(AUTONOMY).json()
        assert (told["requested_autonomy_level"], told["effective_autonomy_level"]) == ("full", "approval")


def test_a_pause_outlives_a_restart(place: Place) -> None:
    with place.process() as api:
        api.call("PATCH", SETTINGS, json={"paused": {"reason": "moving"}})
    with place.process() as api:
        assert api.get(SETTINGS).json()["paused"]["reason"] == "moving"
        assert api.call("PATCH", SETTINGS, json={"paused": False}).json()["paused"] is None
    with place.process() as api:
        assert api.get(SETTINGS).json()["paused"] is None
