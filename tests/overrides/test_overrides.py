"""Settings that operators store: above the file, below the environment, checked, with origin and history."""

import itertools
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select

from findings.investigation import Autonomy
from patrol.overrides.model import STORABLE, StoredSetting
from patrol.overrides.overlay import UNACKNOWLEDGED, UnfitSettingError, in_force, overlaid
from patrol.overrides.store import OverrideStore
from patrol.overrides.tables import SETTING_CHANGES
from patrol.settings.load import LoadedSettings, Origin, OriginKind
from patrol.settings.model import PatrolSection, Settings
from patrol.settings.schema import known_keys

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ORG = "default"
FILE = Origin(kind=OriginKind.FILE, place="/etc/patrol/patrol.toml")
ENVIRONMENT = Origin(kind=OriginKind.ENVIRONMENT, place="PATROL_PATROL__INTERVAL")


def loaded(origin: Origin | None = None, **patrol: object) -> LoadedSettings:
    section = PatrolSection.model_validate({"interval": "2h", **patrol})
    return LoadedSettings(
        settings=Settings.model_construct(patrol=section),
        file=Path("/etc/patrol/patrol.toml"),
        database_url="sqlite://",
        origins={"patrol.interval": origin} if origin is not None else {},
    )


def stored(key: str, value: str) -> StoredSetting:
    return StoredSetting(org_id=ORG, key=key, value=value, set_at=NOW, author="ann")


def test_everything_that_can_be_stored_is_a_setting_and_no_secret_or_address() -> None:
    assert set(STORABLE) <= set(known_keys())
    assert not [key for key in STORABLE if key.endswith(("_file", "url", "api_key", "listen", "file", "privacy"))]


@pytest.mark.parametrize(
    ("origin", "interval", "kind"),
    [
        (None, timedelta(minutes=30), OriginKind.STORED),
        (FILE, timedelta(minutes=30), OriginKind.STORED),
        (ENVIRONMENT, timedelta(hours=2), OriginKind.ENVIRONMENT),
    ],
)
def test_environment_goes_before_stored_and_stored_before_file(
    origin: Origin | None, interval: timedelta, kind: OriginKind
) -> None:
    found = in_force(loaded(origin), [stored("patrol.interval", '"30m"')], None)
    assert found.settings.patrol.interval == interval
    assert found.origin("patrol.interval").kind is kind
    assert found.notes == ()


def test_a_stored_value_that_does_not_fit_any_more_is_left_out_and_told() -> None:
    found = in_force(loaded(), [stored("patrol.interval", '"1s"'), stored("patrol.gone", "1")], None)
    assert found.settings.patrol.interval == timedelta(hours=2)
    assert [note.partition(" is left out")[0] for note in found.notes] == [
        "the stored setting patrol.interval",
        "the stored setting patrol.gone",
    ]


def test_every_value_that_does_not_fit_is_told() -> None:
    with pytest.raises(UnfitSettingError) as refused:
        overlaid(loaded(), {"patrol.interval": "1s", "triggers.alerts": "perhaps"}, {})
    assert len(refused.value.problems) == 2
    with pytest.raises(UnfitSettingError, match="cannot be changed here"):
        overlaid(loaded(), {"model.base_url": "http://elsewhere"}, {})


def test_full_autonomy_holds_only_while_somebody_stands_for_it(any_database) -> None:
    numbers = itertools.count()

    def ids() -> str:
        return f"a{next(numbers)}"

    def autonomy(database) -> Autonomy:
        with database.read() as connection:
            found = OverrideStore(connection, ORG).in_force(loaded(autonomy="full"))
        assert (UNACKNOWLEDGED in found.notes) is (found.settings.patrol.autonomy is not Autonomy.FULL)
        return found.settings.patrol.autonomy

    assert autonomy(any_database) is Autonomy.APPROVAL
    any_database.transact(lambda each: OverrideStore(each, ORG).acknowledge(now=NOW, author="ann", ids=ids))
    assert autonomy(any_database) is Autonomy.FULL
    ended = any_database.transact(lambda each: OverrideStore(each, ORG).withdraw(now=NOW, author="bob"))
    assert ended is not None
    assert (ended.author, ended.withdrawn_by) == ("ann", "bob")
    assert autonomy(any_database) is Autonomy.APPROVAL


def test_each_change_is_kept_with_before_and_after(any_database) -> None:
    numbers = itertools.count()

    def change(values: dict[str, object]) -> list[StoredSetting]:
        return any_database.transact(
            lambda each: OverrideStore(each, ORG).change(
                values, now=NOW, author="ann", ids=lambda: f"c{next(numbers):03}"
            )
        )

    change({"patrol.interval": "30m"})
    change({"patrol.interval": "30m"})
    change({"patrol.interval": "20m", "triggers.alerts": False})
    assert [(each.key, each.value) for each in change({"patrol.interval": None})] == [("triggers.alerts", "false")]
    with any_database.read() as connection:
        rows = connection.execute(
            select(SETTING_CHANGES.c.key, SETTING_CHANGES.c.old, SETTING_CHANGES.c.new).order_by(SETTING_CHANGES.c.id)
        ).all()
    assert [tuple(row) for row in rows] == [
        ("patrol.interval", None, '"30m"'),
        ("patrol.interval", '"30m"', '"20m"'),
        ("triggers.alerts", None, "false"),
        ("patrol.interval", '"20m"', None),
    ]
