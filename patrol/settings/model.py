"""Everything that can be set: one schema for the file, the environment, the sample file and the documentation.

A field's description is what the sample file prints. Keys whose feature belongs to the daemon say so: they
are checked here, and read by the daemon.
"""

from typing import Annotated, Self

from pydantic import AfterValidator, Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from findings.investigation import Autonomy
from findings.model import Severity
from patrol.settings.interface import ApiSection
from patrol.settings.sources import AcceptedGap, LocalSource, SourceSettings
from patrol.settings.values import (
    DAEMON,
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    ZERO,
    AnyPath,
    Cron,
    Duration,
    Privacy,
    Section,
    TimeZone,
    zero_or_an_hour,
)


class PatrolSection(Section):
    """When Patrol runs and how far it may go."""

    interval: Duration = Field(
        HOUR,
        ge=10 * MINUTE,
        le=7 * DAY,
        description=f"Time between two runs. {DAEMON}",
    )
    cron: Cron = Field(
        "",
        examples=["0 6 * * *"],
        description=f'Run at these times instead, e.g. "0 6 * * *". Empty: use interval. {DAEMON}',
    )
    time_zone: TimeZone = Field(
        "",
        examples=["Europe/Berlin"],
        description='Time zone that cron is meant in, e.g. "Europe/Berlin". Empty: that of this host.',
    )
    startup_delay: Duration = Field(
        30 * SECOND,
        le=HOUR,
        ge=ZERO,
        description=f"Wait before the first run. {DAEMON}",
    )
    run_deadline: Duration = Field(
        30 * MINUTE,
        ge=MINUTE,
        le=24 * HOUR,
        description="Longest time a run may look around; what was seen by then is still judged and filed.",
    )
    backup_stale: Annotated[Duration, AfterValidator(zero_or_an_hour)] = Field(
        48 * HOUR,
        ge=ZERO,
        le=365 * DAY,
        description='A guest without a good backup for longer than this is reported. "0" switches the check off.',
    )
    autonomy: Autonomy = Field(
        Autonomy.MONITOR,
        description="How far Patrol may go by itself.",
    )
    proactive: bool = Field(
        default=False,
        description="Report earlier: limits of the alert settings count a few points ahead.",
    )


class ModelSection(Section):
    """The language model. Without one, Patrol patrols with its own checks alone."""

    name: str = Field(
        "",
        examples=["ollama:qwen3"],
        description='"provider:model", e.g. "ollama:qwen3". Empty: no model.',
    )
    base_url: str = Field(
        "",
        examples=["http://ollama.lan:11434/v1"],
        description="Address of the provider, where it is not the provider's own.",
    )
    privacy: Privacy | None = Field(
        None,
        examples=["pseudonyms"],
        description="What leaves the house. Unset: full for a model on this network, pseudonyms for others.",
    )
    every: Duration = Field(
        ZERO,
        ge=ZERO,
        le=7 * DAY,
        description='Least time between two runs with the model. "0": each run.',
    )
    api_key: SecretStr | None = Field(
        None,
        examples=["..."],
        description="The provider's key. Better: api_key_file.",
    )
    api_key_file: AnyPath | None = Field(
        None,
        examples=["/etc/patrol/model.key"],
        description="File that holds the key. systemd: LoadCredential=model_api_key:FILE needs no setting.",
    )
    input_price: float | None = Field(
        None,
        ge=0,
        allow_inf_nan=False,
        examples=[0.5],
        description="US dollars for a million tokens sent, for a model whose price nobody knows; with output_price.",
    )
    output_price: float | None = Field(
        None,
        ge=0,
        allow_inf_nan=False,
        examples=[1.5],
        description="The same for a million tokens received. 0 for both: it costs nothing.",
    )
    skip_unchanged: bool = Field(
        default=False,
        description="Leave the model out of a run where nothing has changed since its last one, for 24 h at most.",
    )
    context_window: int | None = Field(
        None,
        ge=4_096,
        le=10_000_000,
        examples=[32768],
        description="Tokens that the model reads at once. Unset: what is known of it; 16384 for one on this network.",
    )
    streaming: bool = Field(
        default=True,
        description="Let the model send its answer piece by piece. false: for servers that cannot.",
    )
    request_timeout: Duration = Field(
        5 * MINUTE,
        ge=5 * SECOND,
        le=30 * MINUTE,
        description="Longest silence of the provider: until the first piece of an answer, and between two pieces. "
        "Without streaming, the longest wait for the whole answer.",
    )
    phase_timeout: Duration = Field(
        15 * MINUTE,
        ge=30 * SECOND,
        le=2 * HOUR,
        description="Longest time for the model in a run.",
    )

    @model_validator(mode="after")
    def _prices_come_together(self) -> Self:
        if (self.input_price is None) is not (self.output_price is None):
            raise ValueError("input_price and output_price belong together: set both (0 is free), or neither")
        return self


class BudgetSection(Section):
    """What the model may cost: all that is sent and received. 0: nothing may be spent. Checked before each request."""

    run_tokens: int | None = Field(
        None,
        ge=0,
        examples=[200000],
        description="Tokens in one run. Unset: 300000.",
    )
    day_tokens: int | None = Field(
        None,
        ge=0,
        examples=[2000000],
        description="Tokens in one day (UTC). Unset: 3000000.",
    )
    month_tokens: int | None = Field(
        None,
        ge=0,
        examples=[20000000],
        description="Tokens in one month (UTC). Unset: 60000000.",
    )
    run_usd: float | None = Field(
        None,
        ge=0,
        allow_inf_nan=False,
        examples=[0.5],
        description="US dollars in one run. Unset: no limit but that of the tokens.",
    )
    day_usd: float | None = Field(
        None,
        ge=0,
        allow_inf_nan=False,
        examples=[5.0],
        description="US dollars in one day (UTC). Unset: no limit but that of the tokens.",
    )
    month_usd: float | None = Field(
        None,
        ge=0,
        allow_inf_nan=False,
        examples=[50.0],
        description="US dollars in one month (UTC). Unset: no limit but that of the tokens.",
    )


class AlertsSection(Section):
    """The limits that findings are judged by."""

    file: AnyPath | None = Field(
        None,
        examples=["/etc/patrol/alerts.json"],
        description="Alert settings in the documented format. "
        "Unset: built-in limits (disk 75 and 95 %, CPU 70 %, memory 80 %).",
    )


class StorageSection(Section):
    """Where runs and findings are kept, and for how long."""

    url: SecretStr | None = Field(
        None,
        examples=["sqlite:////var/lib/patrol/patrol.db"],
        description='Database, e.g. "sqlite:////var/lib/patrol/patrol.db". Unset: patrol.db in '
        "$STATE_DIRECTORY, else in /var/lib/patrol for the user to whom that belongs, else in ~/.local/state/patrol.",
    )
    url_file: AnyPath | None = Field(
        None,
        examples=["/etc/patrol/database.url"],
        description="File that holds the URL, for one with a password in it. systemd: LoadCredential=storage_url:FILE.",
    )
    retention: Duration = Field(
        400 * DAY,
        ge=DAY,
        le=3650 * DAY,
        description="How long runs and closed findings are kept.",
    )
    evidence_retention: Duration = Field(
        48 * HOUR,
        ge=HOUR,
        le=400 * DAY,
        description="How long the evidence of a run that changed nothing is kept.",
    )
    max_bytes: int = Field(
        2 << 30,
        ge=64 << 20,
        description="Largest size of the database; the oldest evidence goes first.",
    )


class SamplingSection(Section):
    """Measurements between the runs, for averages."""

    seconds: int = Field(
        60,
        ge=0,
        le=3600,
        description=f"Seconds between two samples. 0: none. {DAEMON}",
    )


class TriggersSection(Section):
    """What starts a run besides the schedule."""

    alerts: bool = Field(
        default=True,
        description=f"Alerts start a run about their resource. {DAEMON}",
    )
    anomalies: bool = Field(
        default=True,
        description=f"Unusual measurements start a run. {DAEMON}",
    )
    min_severity: Severity = Field(
        Severity.WARNING,
        description=f"Least severity of an alert that starts one. {DAEMON}",
    )
    alert_types: tuple[str, ...] = Field(
        (),
        examples=[["HostOutOfDiskSpace", "cpu"]],
        description=f"Types of alerts that start one. Empty: all. {DAEMON}",
    )


class InvestigationSection(Section):
    """How a single finding is looked into. Needs a model and an autonomy above monitor."""

    evidence_calls: int = Field(
        10,
        ge=5,
        le=30,
        description=f"Looks that one investigation may take. {DAEMON}",
    )
    timeout: Duration = Field(
        10 * MINUTE,
        ge=MINUTE,
        le=30 * MINUTE,
        description=f"Longest time for one. {DAEMON}",
    )
    at_once: int = Field(
        3,
        ge=1,
        le=20,
        description=f"How many at the same time. {DAEMON}",
    )
    attempts: int = Field(
        3,
        ge=1,
        le=10,
        description=f"How often one finding is tried. {DAEMON}",
    )
    cool_down: Duration = Field(
        HOUR,
        ge=ZERO,
        le=7 * DAY,
        description=f"Wait before the next try. {DAEMON}",
    )
    cool_down_after_timeout: Duration = Field(
        10 * MINUTE,
        ge=ZERO,
        le=7 * DAY,
        description=f"The same after a timeout. {DAEMON}",
    )
    cool_down_after_failed_fix: Duration = Field(
        20 * MINUTE,
        ge=ZERO,
        le=7 * DAY,
        description=f"The same after a failed fix. {DAEMON}",
    )


class Settings(BaseSettings):
    """All settings. The environment (`PATROL_SECTION__KEY`) goes before the file."""

    model_config = SettingsConfigDict(
        env_prefix="PATROL_", env_nested_delimiter="__", extra="forbid", frozen=True, hide_input_in_errors=True
    )

    patrol: PatrolSection = PatrolSection()
    model: ModelSection = ModelSection()
    budget: BudgetSection = BudgetSection()
    alerts: AlertsSection = AlertsSection()
    storage: StorageSection = StorageSection()
    sampling: SamplingSection = SamplingSection()
    api: ApiSection = ApiSection()
    triggers: TriggersSection = TriggersSection()
    investigation: InvestigationSection = InvestigationSection()
    sources: tuple[SourceSettings, ...] = (LocalSource(type="local"),)
    accept_gap: tuple[AcceptedGap, ...] = ()

    @model_validator(mode="after")
    def _source_names_differ(self) -> Self:
        names = [source.name for source in self.sources]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"sources: two have the same name ({', '.join(twice)}); give each its own")
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the signature is the library's, here and below
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The environment first, then what was read from the file (handed in); a .env file plays no part."""
        return (env_settings, init_settings)
