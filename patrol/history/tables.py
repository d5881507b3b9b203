"""Rows of history. A block holds many series over a span of time: one row for each sample would be twenty times as big.

Integers stand for resources inside blocks, so that a resource whose id changes only changes its row here.
"""

from datetime import datetime

from sqlalchemy import Index, Table
from sqlmodel import Field

from findings.tables import StoredRow


class SeriesRow(StoredRow, table=True):
    """The number that stands for one subject of a resource in the blocks.

    After two resources turned out to be one, several numbers may stand for the same: their samples belong together.
    """

    __tablename__ = "series"
    __table_args__ = (Index(None, "org_id", "resource_id"),)

    org_id: str = Field(primary_key=True)
    number: int = Field(primary_key=True)
    resource_id: str
    subject: str
    last_at: datetime


class SampleBlockRow(StoredRow, table=True):
    """Samples of one shard of the numbers (see `patrol.history.blocks`), from `begin_at` on.

    `resolution`: seconds of a bucket; 0 for samples as they came, all of one instant.
    """

    __tablename__ = "sample_block"

    org_id: str = Field(primary_key=True)
    resolution: int = Field(primary_key=True)
    shard: int = Field(primary_key=True)
    begin_at: datetime = Field(primary_key=True)
    data: bytes


class SampleProgressRow(StoredRow, table=True):
    """Up to when buckets of a resolution are made of finer ones. Resolution 0: when history was last tidied."""

    __tablename__ = "sample_progress"

    org_id: str = Field(primary_key=True)
    resolution: int = Field(primary_key=True)
    shard: int = Field(primary_key=True)
    done_until: datetime


SERIES: Table = StoredRow.metadata.tables["series"]
BLOCKS: Table = StoredRow.metadata.tables["sample_block"]
PROGRESS: Table = StoredRow.metadata.tables["sample_progress"]
