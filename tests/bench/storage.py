"""What a day of hourly runs adds to the database, over a generated estate whose metrics never stand still; and what an
hour writes to the disk in which nothing changes.

    python -m tests.bench.storage --resources 200 --runs 24
    python -m tests.bench.storage --resources 200 --idle

Every measured value moves in every run and each night brings new backups, so that nothing is saved that a real estate
would not save. Prints one JSON object: bytes a day, and which tables and which calls they are.

With `--idle` nothing moves: one run and a sample each minute, all of them the same. Printed is what the process wrote
in that hour as the kernel counted it: `handed_over` to the file system, log and checkpoints included, and `to_disk`,
in whole pages of the cache (0 in a file system in memory).
"""

import argparse
import json
import random
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import msgspec
from sqlalchemy import Connection

from patrol.database import Database, open_database
from patrol.estate.model import Estate, Resource
from patrol.run.collect import BoundedSource
from patrol.run.sampler import Sampler
from signals.backup_evidence import PbsBackupRow, PveBackupRow
from tests.bench.generate import NOW, generate
from tests.run.builders import Clock, GivenSource, House

LIMIT_BYTES = 5_000_000
"""Rules, Runs, crashes, storage: a day at 200 resources."""


def jittered(document: bytes, clock: Clock, chance: random.Random) -> Estate:
    """The estate an hour later."""
    estate = msgspec.json.decode(document, type=Estate)
    estate.collected_at = clock.now
    for resource in estate.resources:
        _move(resource, chance)
    backups: list[PbsBackupRow | PveBackupRow] = [*estate.pbs_backups, *estate.pve_backups]
    for backup in backups:
        if backup.size_gb is not None and chance.random() < 1 / 24:
            backup.size_gb = round(backup.size_gb + chance.random(), 2)
    return estate


def _move(resource: Resource, chance: random.Random) -> None:
    resource.metrics = {
        metric: msgspec.structs.replace(reading, value=_percent(reading.value + chance.uniform(-3, 3)))
        for metric, reading in resource.metrics.items()
    }
    for mount in resource.filesystems or ():
        if mount.used_bytes is not None and mount.total_bytes:
            mount.used_bytes = min(mount.used_bytes + chance.randrange(10**8), mount.total_bytes)
            mount.free_bytes = mount.total_bytes - mount.used_bytes
            mount.usage_percent = round(100 * mount.used_bytes / mount.total_bytes, 2)
    for sensor in resource.sensors or ():
        sensor.celsius = round((sensor.celsius or 40) + chance.uniform(-2, 2), 1)
    if resource.disk is not None:
        resource.disk.temperature = (resource.disk.temperature or 30) + chance.choice((-1, 0, 1))
        if resource.disk.attributes is not None:
            resource.disk.attributes.power_on_hours = (resource.disk.attributes.power_on_hours or 0) + 1
    if resource.pool is not None and resource.pool.used_gb is not None:
        resource.pool.used_gb = round(resource.pool.used_gb + chance.random(), 1)


def _percent(value: float) -> float:
    return round(max(0.0, min(100.0, value)), 2)


def measure(database: Database, resources: int, runs: int) -> dict[str, object]:
    """Runs, and counts."""
    chance = random.Random(1)
    house = House(database, clock=Clock(NOW))
    document = msgspec.json.encode(generate(resources).estate)
    house.run(jittered(document, house.clock, chance))
    before = _used(database)
    for _ in range(runs):
        house.clock.advance(minutes=59)
        house.run(jittered(document, house.clock, chance))
    grown = _used(database) - before
    with database.read() as connection:
        return {
            "resources": resources,
            "runs": runs,
            "bytes_of_these_runs": grown,
            "bytes_a_day": round(grown * 24 / runs),
            "tables": _tables(connection),
            "calls": _calls(connection),
            "inputs": _inputs(connection),
        }


def measure_idle(database: Database, resources: int) -> dict[str, object]:
    """The third hour of an estate that stands still: what is written once is written by then."""
    house = House(database, clock=Clock(NOW))
    still = generate(resources).estate
    document = msgspec.json.encode(still)

    def now() -> Estate:
        estate = msgspec.json.decode(document, type=Estate)
        estate.collected_at = house.clock.now
        return estate

    def sample() -> None:
        source = BoundedSource(source=GivenSource([now()]), timeout_seconds=60)
        Sampler(database=database, sources=[source], clock=house.clock).sample()

    figures: list[dict[str, Written]] = []
    for _ in range(3):
        began = written()
        house.run(now())
        after_run = written()
        for _ in range(59):
            house.clock.advance(minutes=1)
            sample()
        after_samples = written()
        figures.append({"run": after_run - began, "samples": after_samples - after_run, "hour": after_samples - began})
    return {"resources": resources, **{name: each._asdict() for name, each in figures[-1].items()}}


class Written(NamedTuple):
    """Bytes that this process wrote until now, as proc_pid_io(5) counts them."""

    handed_over: int
    to_disk: int

    def __sub__(self, other: "Written") -> "Written":
        return Written(self.handed_over - other.handed_over, self.to_disk - other.to_disk)


def written() -> Written:
    """What this process wrote until now."""
    told = dict(line.split(": ") for line in Path("/proc/self/io").read_text(encoding="ascii").splitlines())
    return Written(int(told["wchar"]), int(told["write_bytes"]))


def _used(database: Database) -> int:
    with database.read() as connection:
        pages, free, size = (
            int(connection.exec_driver_sql(f"PRAGMA {name}").scalar_one())
            for name in ("page_count", "freelist_count", "page_size")
        )
    return (pages - free) * size


def _tables(connection: Connection) -> dict[str, int]:
    rows = connection.exec_driver_sql("SELECT name, sum(pgsize) FROM dbstat GROUP BY name ORDER BY 2 DESC LIMIT 10")
    return {str(name): int(size) for name, size in rows}


def _calls(connection: Connection) -> dict[str, dict[str, int]]:
    rows = connection.exec_driver_sql(
        "SELECT c.tool_name || ' ' || coalesce(json_extract(c.input, '$.type'), json_extract(c.input, '$.action')), "
        "count(*), count(DISTINCT c.output_sha256), avg(c.output_bytes), avg(length(p.data)) "
        "FROM tool_call c JOIN evidence_page p ON p.sha256 = c.output_sha256 GROUP BY 1 "
        "ORDER BY 3 * avg(length(p.data)) DESC"
    )
    return {
        str(name): {"calls": calls, "pages": pages, "bytes": round(plain), "stored_bytes": round(stored)}
        for name, calls, pages, plain, stored in rows
    }


def _inputs(connection: Connection) -> dict[str, dict[str, int]]:
    found = {}
    for column in ("alert_settings_sha256", "signals_sha256", "looks_sha256"):
        rows = connection.exec_driver_sql(
            f"SELECT count(*), avg(length(data)) FROM evidence_page WHERE sha256 IN (SELECT {column} FROM detection)"
        )
        [(pages, stored)] = rows.all()
        found[column.removesuffix("_sha256")] = {"pages": pages, "stored_bytes": round(stored or 0)}
    return found


def main() -> int:
    """Ends with 1 where a day of 200 resources is larger than it may be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--resources", type=int, default=200)
    parser.add_argument("--runs", type=int, default=24)
    parser.add_argument("--idle", action="store_true", help="what an hour writes in which nothing changes")
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(open_database(f"sqlite:///{Path(folder) / 'patrol.db'}")) as database,
    ):
        told = measure_idle(database, given.resources) if given.idle else measure(database, given.resources, given.runs)
    sys.stdout.write(json.dumps(told, indent=2) + "\n")
    return int(given.resources == 200 and int(str(told.get("bytes_a_day", 0))) > LIMIT_BYTES)


if __name__ == "__main__":
    sys.exit(main())
