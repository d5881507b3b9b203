"""Whether a resource may be away without that being a fault."""

from collections.abc import Sequence

from signals.alert_settings import AlertSettings
from signals.alert_settings.threshold import ThresholdConfig
from signals.thresholds.families import Family
from signals.thresholds.overrides import Override, disabled_by


def offline_expected(settings: AlertSettings, family: Family, overrides: Sequence[Override], *, listed: bool) -> bool:
    """Switches of the type, then the overrides of the resource, then lists of names and tags, then defaults.

    `listed`: a list takes the resource out of the checks. An override that says `"disableConnectivity": false`
    watches a resource whose type is not watched by default.
    """
    switches = (family.switch, family.offline_switch)
    if any(getattr(settings, switch) for switch in switches if switch):
        return True
    if disabled_by(overrides) is not None:
        return True
    for override in overrides:
        if override.config.says("disable_connectivity"):
            return override.config.disable_connectivity
    if listed:
        return True
    if family.defaults == "docker_defaults":
        return settings.docker_defaults.state_disable_connectivity
    defaults = settings.section_or_value(family.defaults)
    return isinstance(defaults, ThresholdConfig) and (defaults.disabled or defaults.disable_connectivity)
