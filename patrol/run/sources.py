"""From settings to sources."""

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from patrol.estate.sources.local.host import Host
from patrol.estate.sources.local.privileged_file import PLACE, Found, find_answers
from patrol.estate.sources.local.source import LIGHT_READERS, LocalSource
from patrol.estate.sources.model import Source
from patrol.estate.sources.snapshot import SnapshotSource
from patrol.run.collect import BoundedSource
from patrol.settings.model import Settings
from patrol.settings.sources import LocalSource as LocalSettings
from patrol.settings.sources import SourceSettings

SNAPSHOT_NAME = "snapshot"


def configured_sources(settings: Settings) -> list[BoundedSource]:
    """The sources of the settings, ready to collect."""
    return [
        BoundedSource(source=_source(each), timeout_seconds=each.timeout.total_seconds()) for each in settings.sources
    ]


def light_sources(settings: Settings) -> list[BoundedSource]:
    """Of the sources of the settings those that can be sampled each minute, limited to what is light to read."""
    return [
        BoundedSource(
            source=LocalSource(each.name, readers=LIGHT_READERS), timeout_seconds=each.timeout.total_seconds()
        )
        for each in settings.sources
        if isinstance(each, LocalSettings)
    ]


def snapshot_sources(files: Sequence[Path], timeout_seconds: float) -> list[BoundedSource]:
    """Documents in place of the configured sources; "-" is standard input."""
    names = [SNAPSHOT_NAME if len(files) == 1 else f"{SNAPSHOT_NAME}-{number}" for number in range(1, len(files) + 1)]
    return [
        BoundedSource(source=SnapshotSource(name, str(file)), timeout_seconds=timeout_seconds)
        for name, file in zip(names, files, strict=True)
    ]


def _answers_of_root(host: Host, now: datetime) -> Found:
    """What `patrol collect` left; root itself reads everything by itself."""
    return Found() if os.geteuid() == 0 else find_answers(PLACE, host, now)


def _source(settings: SourceSettings) -> Source:
    if isinstance(settings, LocalSettings):
        return LocalSource(settings.name, answers=_answers_of_root)
    return SnapshotSource(settings.name, settings.file, max_age=settings.max_age)
