"""What Patrol looks at, and what it need not see."""

from typing import Annotated, Literal

from pydantic import Field

from findings.model import Topic
from patrol.settings.values import DAY, HOUR, MINUTE, SECOND, AnyPath, Duration, Section

SourceName = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]


class LocalSource(Section):
    """The Linux host that Patrol runs on."""

    type: Literal["local"] = Field(
        description="This host.",
    )
    name: SourceName = Field(
        "local",
        description="What the source is called in gaps and runs.",
    )
    timeout: Duration = Field(
        2 * MINUTE,
        ge=5 * SECOND,
        le=30 * MINUTE,
        description="Longest time for reading it.",
    )


class SnapshotSource(Section):
    """An estate document in a file (`patrol schema estate` describes it)."""

    type: Literal["snapshot"] = Field(
        description="A document in a file.",
    )
    name: SourceName = Field(
        "snapshot",
        description="What the source is called in gaps and runs.",
    )
    file: AnyPath = Field(
        description="The document.",
    )
    timeout: Duration = Field(
        2 * MINUTE,
        ge=5 * SECOND,
        le=30 * MINUTE,
        description="Longest time for reading it.",
    )
    max_age: Duration = Field(
        2 * HOUR,
        ge=MINUTE,
        le=31 * DAY,
        description="A document that was collected longer ago counts as not read.",
    )


SourceSettings = Annotated[LocalSource | SnapshotSource, Field(discriminator="type")]


class AcceptedGap(Section):
    """Something that Patrol need not see. It is still counted and listed, but no longer makes a run incomplete."""

    source: str = Field(
        min_length=1,
        description="Name of the source.",
    )
    topic: Topic = Field(
        description="What is not read.",
    )
    resource: str = Field(
        "",
        description="Id of the one resource that is meant. Empty: the whole topic.",
    )
    reason: str = Field(
        min_length=1,
        description="Why this is all right.",
    )
