"""What holds for every alert settings document."""

import json

from hypothesis import given
from hypothesis import strategies as st

from signals.alert_settings import (
    AlertSettings,
    AlertSettingsError,
    dump_alert_settings,
    parse_alert_settings,
    settings_hash,
)
from signals.alert_settings.legacy import RENAMED
from signals.alert_settings.threshold import AgentDefaults, Percent, ThresholdConfig

NUMBERS = st.one_of(
    st.integers(-20, 120), st.floats(-20, 120), st.sampled_from([0, 100, 5e-324, -0.0, 99.99999999999999])
)
PAIRS = st.fixed_dictionaries({"trigger": NUMBERS}, optional={"clear": NUMBERS, "foreign": st.none() | st.text()})
METRICS = st.sampled_from([*ThresholdConfig.wire_names(), "gpu"])
CONFIGS = st.dictionaries(METRICS, PAIRS, max_size=5)
SECTIONS = st.sampled_from(
    [
        *("guestDefaults", "nodeDefaults", "agentDefaults", "hostDefaults", "pbsDefaults", "dockerDefaults"),
        *("truenasDefaults", "diskFillByType", "diskTempByType", "backupDefaults", "snapshotDefaults"),
    ]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(METRICS | st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
KEYS = st.sampled_from([*AlertSettings.wire_names(), *RENAMED])


def parse(document: object) -> AlertSettings | None:
    return read(json.dumps(document))


def read(text: str) -> AlertSettings | None:
    """The settings, or None where they are refused with words that help."""
    try:
        return parse_alert_settings(text)
    except AlertSettingsError as error:
        refusal = error
    assert refusal.problem
    assert refusal.fix
    return None


@given(st.text(max_size=60))
def test_any_text_is_settings_or_a_named_error(text: str) -> None:
    read(text)


@given(st.dictionaries(KEYS | st.text(max_size=5), ANYTHING, max_size=4))
def test_any_document_is_settings_that_survive_being_saved_or_a_named_error(document: dict[str, object]) -> None:
    settings = parse(document)
    if settings is not None:
        assert_stable(settings)
        dump_alert_settings(settings, complete=True)


@given(st.dictionaries(SECTIONS, CONFIGS, max_size=4), st.dictionaries(st.text(max_size=8), CONFIGS, max_size=3))
def test_normalising_twice_is_normalising_once(sections: dict[str, object], overrides: dict[str, object]) -> None:
    settings = parse({**sections, "overrides": overrides})
    if settings is not None:
        assert_stable(settings)


def assert_stable(settings: AlertSettings) -> None:
    text = dump_alert_settings(settings)
    again = parse_alert_settings(text)
    assert dump_alert_settings(again) == text
    assert settings_hash(again) == settings_hash(settings)
    assert again.model_dump() == settings.model_dump()


@given(st.floats(-100, 100), st.none() | st.floats(-100, 200))
def test_clear_is_below_every_trigger_and_both_are_zero_where_it_is_off(trigger: float, clear: float | None) -> None:
    threshold = Percent.of({"trigger": trigger, "clear": clear})
    if trigger <= 0:
        assert (threshold.trigger, threshold.clear) == (0, 0)
    else:
        assert threshold.trigger == trigger
        assert 0 <= threshold.clear < trigger


@given(
    st.dictionaries(st.text(max_size=6).filter(lambda key: key not in AlertSettings.wire_names()), ANYTHING, max_size=4)
)
def test_foreign_keys_come_back_as_they_were(foreign: dict[str, object]) -> None:
    settings = parse(foreign)
    assert settings is not None
    assert json.loads(dump_alert_settings(settings)) == json.loads(json.dumps(foreign))


@given(CONFIGS)
def test_agents_read_the_same_under_their_old_name(config: dict[str, object]) -> None:
    old, new = parse({"hostDefaults": config}), parse({"agentDefaults": config})
    assert (old is None) == (new is None)
    if old is not None and new is not None:
        assert isinstance(old.agent_defaults, AgentDefaults)
        assert old.agent_defaults == new.agent_defaults
        assert settings_hash(old) == settings_hash(new)
