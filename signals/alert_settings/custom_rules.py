"""Rules that an operator wrote for the monitoring system. Patrol keeps them and applies none."""

from pydantic import Field, JsonValue

from signals.alert_settings.section import Section
from signals.alert_settings.threshold import ThresholdConfig


class Filter(Section):
    """`type`: metric | text | raw."""

    type: str = ""
    field: str = ""
    operator: str = ""
    value: JsonValue = None
    raw_text: str | None = None


class FilterConditions(Section):
    filters: list[Filter] = Field(default=[])
    logical_operator: str = "AND"


class EmailTarget(Section):
    enabled: bool = False
    recipients: list[str] = Field(default=[])


class WebhookTarget(Section):
    enabled: bool = False
    url: str = ""


class RuleNotifications(Section):
    email: EmailTarget | None = None
    webhook: WebhookTarget | None = None


class CustomRule(Section):
    id: str = ""
    name: str = ""
    description: str | None = None
    filter_conditions: FilterConditions = Field(default_factory=FilterConditions)
    thresholds: ThresholdConfig = Field(default_factory=ThresholdConfig)
    priority: int = 0
    enabled: bool = True
    notifications: RuleNotifications = Field(default_factory=RuleNotifications)
    created_at: str | None = None
    updated_at: str | None = None
