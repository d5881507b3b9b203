"""`patrol doctor`: everything that a run would need, tried without running: what would Patrol be blind to?"""

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from findings.model import Gap, Sight, Topic
from patrol.agent.budget import NOTHING, budget_refusal, limits_of, limits_text
from patrol.cli.app import COMMANDS
from patrol.cli.checks import Check, Health
from patrol.cli.configuration import ConfigOption, load
from patrol.cli.daemon_check import daemon_check
from patrol.cli.display import cell, console
from patrol.cli.exit_codes import ExitCode
from patrol.cli.gaps import print_gaps
from patrol.cli.issues import print_facts
from patrol.cli.model_check import model_checks
from patrol.cli.options import JsonOption
from patrol.cli.output import write_json
from patrol.cli.progress import told_progress
from patrol.cli.records import this_command
from patrol.cli.run_document import investigations
from patrol.database import StorageError, open_database, owner_refusal
from patrol.database.place import file_of, parse_url, shown
from patrol.estate.sources.model import Counter
from patrol.run.collect import collect
from patrol.run.memory import RunMemory
from patrol.run.model_work.totals import NOTHING_USED, Used, used
from patrol.run.sources import configured_sources
from patrol.settings.load import LoadedSettings
from signals.alert_settings import AlertSettingsError, load_alert_settings


class SourceCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What one source gave when it was tried. `blind`: the topics that it could not read completely."""

    name: str
    type: str
    connected: bool
    detail: str
    seconds: float
    read: list[Topic]
    blind: list[Topic]


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """All of it."""

    checks: list[Check]
    sources: list[SourceCheck]
    gaps: list[Gap]


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("doctor", help=COMMANDS["doctor"])(doctor)


def doctor(
    config_file: ConfigOption = None,
    as_json: JsonOption = False,
    no_model: Annotated[
        bool, typer.Option("--no-model", help="Do not try the model: that sends it a question.")
    ] = False,
) -> None:
    """Tries settings, limits, database, model and sources. Nothing is filed; no database is made."""
    loaded = load(config_file)
    model = loaded.settings.model
    daemon = daemon_check(loaded)
    checks = [_settings(loaded), _alerts(loaded), daemon.check, _database(loaded, daemon.database)]
    checks += model_checks(model, loaded.database_url, try_it=not no_model)
    checks += [_budget(loaded)] if model.name else []
    checks.append(_investigations(loaded))
    sources, gaps = _sources(loaded)
    diagnosis = Diagnosis(checks=checks, sources=sources, gaps=gaps)
    if as_json:
        write_json(msgspec.to_builtins(diagnosis))
    else:
        _print(console(), diagnosis)
    if any(check.health is Health.PROBLEM for check in checks):
        raise typer.Exit(ExitCode.USAGE)
    raise typer.Exit(ExitCode.INCOMPLETE if any(gap.sight is Sight.LOST for gap in gaps) else ExitCode.OK)


def _settings(loaded: LoadedSettings) -> Check:
    return Check(
        name="settings", health=Health.OK, detail=str(loaded.file) if loaded.file else "no file: built-in values"
    )


def _alerts(loaded: LoadedSettings) -> Check:
    path = loaded.settings.alerts.file
    if path is None:
        return Check(name="limits", health=Health.OK, detail="built in: [alerts] file is not set")
    try:
        load_alert_settings(path)
    except AlertSettingsError as error:
        return Check(name="limits", health=Health.PROBLEM, detail=str(error))
    return Check(name="limits", health=Health.OK, detail=f"from {path}")


def _database(loaded: LoadedSettings, by_daemon: str | None) -> Check:
    """`by_daemon`: the database that the daemon of these settings holds and reads."""
    try:
        url = parse_url(loaded.database_url)
        path = file_of(url)
        is_absent = path is not None and not path.exists()
        refusal = None if path is None else owner_refusal(path, os.geteuid(), this_command())
        if by_daemon is not None and (is_absent or refusal is not None):
            return Check(name="database", health=Health.OK, detail=f"{by_daemon}: the daemon holds it and reads it")
        if path is not None and is_absent:
            return _absent(path)
        if refusal is not None:
            return Check(name="database", health=Health.PROBLEM, detail=refusal)
        database = open_database(loaded.database_url)
        try:
            database.check()
        finally:
            database.close()
    except StorageError as error:
        return Check(name="database", health=Health.PROBLEM, detail=str(error))
    return Check(name="database", health=Health.OK, detail=shown(url))


def _absent(path: Path) -> Check:
    nearest = next(folder for folder in path.parents if folder.exists())
    if os.access(nearest, os.W_OK | os.X_OK):
        return Check(name="database", health=Health.OK, detail=f"{path}: not there yet, the first run makes it")
    detail = f"{path} cannot be made: {nearest} is not writable for this user; set [storage] url"
    return Check(name="database", health=Health.PROBLEM, detail=detail)


def _budget(loaded: LoadedSettings) -> Check:
    """What the model may cost, as it is in force, and what is spent of it."""
    now = datetime.now(UTC)
    limits = limits_of(loaded.settings.budget)
    try:
        path = file_of(parse_url(loaded.database_url))
        if path is not None and owner_refusal(path, os.geteuid()) is not None:
            return Check(name="budget", health=Health.OK, detail=f"{limits_text(limits)}; spent: known to its owner")
        spent = NOTHING_USED if path is not None and not path.exists() else _spent(loaded.database_url, now)
    except StorageError:  # said by the check of the database
        return Check(name="budget", health=Health.OK, detail=limits_text(limits))
    refusal = budget_refusal(limits, NOTHING, spent.day, spent.month, NOTHING, now)
    if refusal is not None:
        health = Health.PROBLEM if refusal.is_never else Health.OK  # what is used up comes back by itself
        return Check(name="budget", health=health, detail=refusal.sentence)
    parts = ", ".join(
        f"{each.tokens:,} tokens and {each.usd:.2f} USD {when}"
        for each, when in ((spent.day, "today"), (spent.month, "this month"))
    )
    return Check(name="budget", health=Health.OK, detail=f"{limits_text(limits)}; spent: {parts}")


def _spent(url: str, now: datetime) -> Used:
    database = open_database(url)
    try:
        return used(database, now)
    finally:
        database.close()


def _investigations(loaded: LoadedSettings) -> Check:
    settings = loaded.settings
    said = investigations(settings.patrol.autonomy, settings.model.name)
    return Check(name="investigations", health=Health.OK, detail=said)


def _counters(loaded: LoadedSettings) -> Mapping[tuple[str, str], Counter]:
    """What the last run remembers: rates need two looks. Nothing where there is no database that can be read."""
    try:
        path = file_of(parse_url(loaded.database_url))
        if path is not None and (not path.exists() or owner_refusal(path, os.geteuid()) is not None):
            return {}
        database = open_database(loaded.database_url)
        try:
            with database.read() as connection:
                return RunMemory(connection).counters()
        finally:
            database.close()
    except StorageError:  # said by the check of the database
        return {}


def _sources(loaded: LoadedSettings) -> tuple[list[SourceCheck], list[Gap]]:
    with told_progress() as tell:
        collection = collect(
            configured_sources(loaded.settings),
            now=datetime.now(UTC),
            previous=_counters(loaded),
            progress=lambda detail: tell("reading every source once", detail),
        )
    estate = collection.estate
    blind = {
        source.name: [
            topic for topic in Topic if any(gap.source == source.name and gap.topic is topic for gap in estate.gaps)
        ]
        for source in estate.sources
    }
    checks = [
        SourceCheck(
            name=source.name,
            type=source.type,
            connected=source.connected,
            detail=source.detail,
            seconds=source.duration_seconds,
            read=[topic for topic in source.read if topic not in blind[source.name]],
            blind=blind[source.name],
        )
        for source in estate.sources
    ]
    return checks, estate.gaps


def _print(output: Console, diagnosis: Diagnosis) -> None:
    print_facts(
        output,
        [
            (check.name, check.detail if check.health is Health.OK else f"PROBLEM: {check.detail}")
            for check in diagnosis.checks
        ],
    )
    for source in diagnosis.sources:
        output.print()
        output.print(cell(f"Source {source.name} ({source.type})", "bold"))
        print_facts(output, _source_facts(source))
    output.print()
    print_gaps(output, diagnosis.gaps)


def _source_facts(source: SourceCheck) -> Sequence[tuple[str, str]]:
    answered = f"yes, in {source.seconds:.1f} s" if source.connected else f"no: {source.detail}"
    return (
        ("answered", answered),
        ("what it is", source.detail or "-"),
        ("read completely", ", ".join(source.read) or "nothing"),
        ("blind to", ", ".join(source.blind) or "nothing"),
    )
