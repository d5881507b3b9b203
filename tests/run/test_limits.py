"""The limits of a run: what an operator is told of alert settings that decide nothing."""

import json
from pathlib import Path

import pytest

from patrol.estate.model import Resource
from tests.run.builders import House, estate, host


def notes_with(house: House, folder: Path, overrides: dict[str, object], *resources: Resource) -> list[str]:
    file = folder / "alerts.json"
    file.write_text(json.dumps({"overrides": overrides}), encoding="utf-8")
    alerts = house.settings.alerts.model_copy(update={"file": str(file)})
    house.settings = house.settings.model_copy(update={"alerts": alerts})
    return list(house.run(estate(*resources)).notes)


@pytest.mark.parametrize("key", ["agent:local:hosta", "agent:hosta", "hosta"])
def test_nothing_is_said_of_overrides_that_decide_something(house: House, tmp_path: Path, key: str) -> None:
    assert notes_with(house, tmp_path, {key: {"disk": {"trigger": 50}}}, host()) == []


def test_overrides_that_decide_nothing_are_told_with_the_reason_and_those_with_many_targets_first(
    house: House, tmp_path: Path
) -> None:
    twin = host(name="hostb")
    twin.name = "hosta"
    (note,) = notes_with(house, tmp_path, {"absent": {}, "hosta": {"disk": {"trigger": 50}}}, host(), twin)
    assert note == (
        "alerts.json: overrides that decide nothing in this run: hosta (several resources are called so: write the "
        "full id of the one that is meant); absent (no resource has this id or name)."
    )


def test_many_overrides_without_a_target_are_counted(house: House, tmp_path: Path) -> None:
    (note,) = notes_with(house, tmp_path, {f"vm:{number}": {} for number in range(9)}, host())
    assert note.count("no resource has this id or name") == 5
    assert note.endswith("; and 4 more.")
