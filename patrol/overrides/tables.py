"""Rows of stored settings, of their changes, and of acknowledgements."""

from datetime import datetime

from sqlalchemy import Index, Table
from sqlmodel import Field

from findings.tables import StoredRow


class StoredSettingRow(StoredRow, table=True):
    """One stored setting (`patrol.overrides.model.StoredSetting`)."""

    __tablename__ = "stored_setting"

    org_id: str = Field(primary_key=True)
    key: str = Field(primary_key=True)
    value: str
    set_at: datetime
    author: str


class SettingChangeRow(StoredRow, table=True):
    """One change of a stored setting: before and after, None where nothing is stored. Never updated."""

    __tablename__ = "setting_change"
    __table_args__ = (Index(None, "org_id", "key", "at"),)

    org_id: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    key: str
    old: str | None
    new: str | None
    at: datetime
    author: str


class AcknowledgementRow(StoredRow, table=True):
    """One acknowledgement of autonomy `full` (`patrol.overrides.model.Acknowledgement`)."""

    __tablename__ = "autonomy_acknowledgement"

    org_id: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    terms_version: int
    given_at: datetime
    author: str
    withdrawn_at: datetime | None
    withdrawn_by: str


STORED_SETTINGS: Table = StoredRow.metadata.tables["stored_setting"]
SETTING_CHANGES: Table = StoredRow.metadata.tables["setting_change"]
ACKNOWLEDGEMENTS: Table = StoredRow.metadata.tables["autonomy_acknowledgement"]
