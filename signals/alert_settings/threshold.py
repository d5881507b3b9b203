"""Limits with hysteresis, and the objects of limits that each type of resource has.

The tables of defaults are those of the documented format. Where it differs from Patrol's rules, the
rules win: a trigger of 0 *or less* switches a limit off in every place (the format's own reader turns a
negative trigger, and a 0 in the Docker and per-type tables, back into the default).
"""

from typing import ClassVar

from pydantic import Field, field_validator

from signals.alert_settings.recovery import RecoveryOverride
from signals.alert_settings.section import Document, Section, is_number

MARGIN = 5.0
"""Points between trigger and clear where the file gives no usable clear."""


class Threshold(Section):
    """`trigger` 0: off. `clear` is always below the trigger (0 where the trigger is 5 or less)."""

    ceiling: ClassVar[float | None] = None
    unit: ClassVar[str] = ""

    trigger: float
    clear: float = 0.0

    @classmethod
    def normalise(cls, document: Document) -> Document:
        trigger, clear = document.get("trigger"), document.get("clear", 0)
        if not (is_number(trigger) and is_number(clear)):
            return document
        if trigger <= 0:
            return {**document, "trigger": 0.0, "clear": 0.0}
        if clear <= 0 or clear >= trigger:
            return {**document, "clear": max(0.0, trigger - MARGIN)}
        return document

    @field_validator("trigger")
    @classmethod
    def _is_within_reach(cls, trigger: float) -> float:
        if cls.ceiling is not None and trigger > cls.ceiling:
            raise ValueError(
                f"{trigger:g} {cls.unit} is never reached. "
                f"Write at most {cls.ceiling:g}, or 0 if you want to switch this limit off"
            )
        return trigger


class Percent(Threshold):
    ceiling = 100.0
    unit = "percent"


class Celsius(Threshold):
    ceiling = 150.0  # no sensor of a computer reads more; a larger number is a slip or a way to say "off"
    unit = "degrees Celsius"


class Rate(Threshold):
    """MB/s (2^20 bytes), as an average over at least 300 s."""


def percent(trigger: float, clear: float) -> Percent:
    return Percent.of({"trigger": trigger, "clear": clear})


def celsius(trigger: float, clear: float) -> Celsius:
    return Celsius.of({"trigger": trigger, "clear": clear})


OFF = Rate.of({"trigger": 0, "clear": 0})


class ThresholdConfig(Section):
    """Limits of one resource (an override: an absent metric inherits) or of one type of resource."""

    disabled: bool = False
    disable_connectivity: bool = False
    powered_off_severity: str = "warning"
    cpu: Percent | None = None
    memory: Percent | None = None
    disk: Percent | None = None
    disk_read: Rate | None = None
    disk_write: Rate | None = None
    network_in: Rate | None = None
    network_out: Rate | None = None
    usage: Percent | None = None
    temperature: Celsius | None = None
    disk_temperature: Celsius | None = None
    backup: RecoveryOverride | None = None
    snapshot: RecoveryOverride | None = None
    note: str | None = None

    @field_validator("powered_off_severity")
    @classmethod
    def _is_known(cls, severity: str) -> str:
        return severity if severity in ("warning", "critical") else "warning"


class _Machine(ThresholdConfig):
    cpu: Percent | None = percent(80, 75)
    memory: Percent | None = percent(85, 80)


class _WithRates(_Machine):
    disk_read: Rate | None = OFF
    disk_write: Rate | None = OFF
    network_in: Rate | None = OFF
    network_out: Rate | None = OFF


class GuestDefaults(_WithRates):
    disk: Percent | None = percent(90, 85)

    @classmethod
    def normalise(cls, document: Document) -> Document:
        """Rates that an old version wrote as its defaults (150 and 200 exactly) were never meant as limits."""
        old = {"diskRead": 150, "diskWrite": 150, "networkIn": 200, "networkOut": 200}
        return {
            key: {**value, "trigger": 0, "clear": 0}
            if key in old and isinstance(value, dict) and value.get("trigger") == old[key]
            else value
            for key, value in document.items()
        }


class NodeDefaults(_Machine):
    disk: Percent | None = percent(90, 85)
    temperature: Celsius | None = celsius(80, 75)


class AgentDefaults(_Machine):
    disk: Percent | None = percent(90, 85)
    disk_temperature: Celsius | None = celsius(55, 50)


class PbsDefaults(_Machine):
    pass


class KubernetesDefaults(_WithRates):
    disk: Percent | None = percent(90, 85)


class TruenasDefaults(_WithRates):
    disk: Percent | None = percent(85, 80)
    usage: Percent | None = percent(85, 80)
    temperature: Celsius | None = celsius(80, 75)


class TruenasDiskDefaults(ThresholdConfig):
    temperature: Celsius | None = celsius(55, 50)


class VmwareDefaults(_WithRates):
    disk: Percent | None = percent(90, 85)
    usage: Percent | None = percent(85, 80)


class _ByType(Section):
    """A table by type of disk. Keys are compared in lower case; types of one's own are kept and used."""

    @classmethod
    def normalise(cls, document: Document) -> Document:
        table = {key: value for key, value in document.items() if key == key.strip().lower()}
        for key, value in document.items():  # an entry that is already spelt in lower case wins
            table.setdefault(key.strip().lower(), value)
        return {key: value for key, value in table.items() if value is not None}

    def find(self, disk_type: str) -> Threshold | None:
        """The entry of a type, whether this format names the type or the operator does."""
        value = getattr(self, disk_type) if disk_type in type(self).model_fields else self.extras().get(disk_type)
        return value if isinstance(value, Threshold) else None


class DiskFillByType(_ByType):
    __pydantic_extra__: dict[str, Percent] = Field(init=False)

    nvme: Percent = percent(92, 87)
    sata: Percent = percent(90, 85)
    hdd: Percent = percent(85, 80)


class DiskTempByType(_ByType):
    __pydantic_extra__: dict[str, Celsius] = Field(init=False)

    nvme: Celsius = celsius(70, 65)
    sas: Celsius = celsius(65, 60)
    sata: Celsius = celsius(55, 50)
