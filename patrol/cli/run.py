"""`patrol run`: one pass in the foreground. Builds what a run needs, tells its progress, shows its report."""

import random
import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from findings.model import Finding, Severity
from patrol.agent.failure import ModelError
from patrol.agent.model import Provider
from patrol.agent.wire.opening import open_provider
from patrol.cli.app import COMMANDS
from patrol.cli.configuration import ConfigOption, load
from patrol.cli.display import console
from patrol.cli.exit_codes import CommandError, ExitCode, exit_code
from patrol.cli.options import JsonOption, StorageOption
from patrol.cli.output import write_json, write_lines
from patrol.cli.progress import told_progress
from patrol.cli.records import opened, reach_daemon
from patrol.cli.report import print_report
from patrol.cli.run_document import investigations, run_document
from patrol.database import Database
from patrol.run import Patrol, RunReport, RunRequest, ScopeError
from patrol.run.analyst import Analysts, NoModel
from patrol.run.model_access import ModelAccess
from patrol.run.model_work.store import ModelWorkStore
from patrol.run.record_model import RunStatus
from patrol.run.request import Progress
from patrol.run.sources import configured_sources, snapshot_sources
from patrol.run.store import RunInProgressError
from patrol.settings.load import LoadedSettings
from patrol.settings.model import ModelSection, Settings
from signals.alert_settings import AlertSettingsError

IN_MEMORY = "sqlite://"
_FAILED = frozenset({RunStatus.ERROR, RunStatus.TIMED_OUT, RunStatus.CRASHED, RunStatus.CANCELLED})
_WAIT_SECONDS = 1.0
_SNAPSHOT_TIMEOUT_SECONDS = 120.0


class FailOn(StrEnum):
    """Which findings make the command fail."""

    WARNING = "warning"
    CRITICAL = "critical"


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("run", help=COMMANDS["run"])(run_once)


def run_once(
    *,
    config_file: ConfigOption = None,
    snapshot: Annotated[
        Path | None,
        typer.Option("--snapshot", metavar="FILE", help="Look at an estate document instead; - is standard input."),
    ] = None,
    storage: StorageOption = "",
    scope: Annotated[
        list[str] | None, typer.Option("--scope", metavar="NAME", help="Only this resource; may be given again.")
    ] = None,
    alert: Annotated[str, typer.Option("--alert", metavar="ID", help="The alert that this run is about.")] = "",
    alert_type: Annotated[str, typer.Option("--alert-type", metavar="TYPE", help="Its type.")] = "",
    no_model: Annotated[bool, typer.Option("--no-model", help="Use no model, whatever the settings say.")] = False,
    show_prompt: Annotated[
        bool, typer.Option("--show-prompt", help="Print what the model would be sent, and send nothing.")
    ] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for a run that is under way.")] = False,
    fail_on: Annotated[
        FailOn | None, typer.Option("--fail-on", help="End with code 3 if there is a finding as bad as this.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """One pass: progress on standard error, then what is wrong, by which limit, and what could not be seen."""
    loaded = load(config_file)
    _need_file(snapshot)
    settings = loaded.settings
    request = RunRequest(scope=tuple(scope or ()), alert_id=alert, alert_type=alert_type)
    url = _url(loaded, storage, snapshot)
    with opened(url, otherwise=lambda: _by_daemon(loaded)) as database, told_progress() as progress:
        analysts = NoModel() if no_model else _analysts(settings, database)
        patrol = _patrol(database, settings, snapshot, progress, analysts)
        if show_prompt:
            _print_prompt(patrol, request)
            return
        report = _run(patrol, request, wait=wait)
    said = investigations(settings.patrol.autonomy, "" if no_model else settings.model.name)
    if as_json:
        write_json(msgspec.to_builtins(run_document(report, said)))
    else:
        print_report(console(), report, said)
    raise typer.Exit(_code(report, fail_on))


def _need_file(snapshot: Path | None) -> None:
    if snapshot is not None and str(snapshot) != "-" and not (snapshot.exists() and not snapshot.is_dir()):
        what = "is a folder" if snapshot.is_dir() else "is not there"
        raise CommandError(
            f"--snapshot {snapshot}: {what}; name an estate document (patrol schema estate), or - for input"
        )


def _url(loaded: LoadedSettings, storage: str, snapshot: Path | None) -> str:
    """A document describes some estate, not this house's: its run leaves no records unless it is told where."""
    return storage or (IN_MEMORY if snapshot is not None else loaded.database_url)


def _by_daemon(loaded: LoadedSettings) -> str:
    """What whoever may not open the database can do where a daemon patrols already."""
    try:
        connection, why_not = reach_daemon(loaded)
    except CommandError as error:
        return str(error)
    if connection is None:
        return why_not
    connection.close()
    return "a daemon patrols here: `patrol investigate --resource NAME` asks it for a run, and follows it"


def _patrol(
    database: Database, settings: Settings, snapshot: Path | None, progress: Progress, analysts: Analysts
) -> Patrol:
    return Patrol(
        database=database,
        settings=settings,
        sources=configured_sources(settings)
        if snapshot is None
        else snapshot_sources([snapshot], _SNAPSHOT_TIMEOUT_SECONDS),
        clock=_now,
        ids=_new_id,
        progress=progress,
        analysts=analysts,
    )


def _print_prompt(patrol: Patrol, request: RunRequest) -> None:
    if not isinstance(patrol.analysts, ModelAccess):
        raise CommandError("no model is configured: set [model] name, or PATROL_MODEL__NAME, to see what it is sent")
    try:
        write_lines(patrol.analysts.shown_prompt(patrol.look(request)))
    except (ScopeError, AlertSettingsError, ModelError) as error:
        raise CommandError(str(error)) from error


def _run(patrol: Patrol, request: RunRequest, *, wait: bool) -> RunReport:
    while True:
        try:
            return patrol.run(request)
        except (ScopeError, AlertSettingsError) as error:
            raise CommandError(str(error)) from error
        except RunInProgressError as error:
            if not wait:
                raise CommandError(f"{error}; --wait waits for it", ExitCode.FAILED) from error
            time.sleep(_WAIT_SECONDS)


def _analysts(settings: Settings, database: Database) -> Analysts:
    if not settings.model.name:
        return NoModel()
    return ModelAccess(settings=settings, store=ModelWorkStore(database), clock=_now, opener=_opened_model)


def _opened_model(model: ModelSection, remaining: Callable[[], float]) -> Provider:
    return open_provider(model, jitter=random.random, remaining=remaining)


def _now() -> datetime:
    return datetime.now(UTC)


def _new_id() -> str:
    return secrets.token_hex(8)


def _code(report: RunReport, fail_on: FailOn | None) -> ExitCode:
    return exit_code(
        failed=report.run.status in _FAILED,
        limit_met=fail_on is not None and any(_is_as_bad(finding, fail_on) for finding in report.findings),
        incomplete=not report.run.complete,
    )


def _is_as_bad(finding: Finding, fail_on: FailOn) -> bool:
    return finding.severity.rank >= Severity(fail_on).rank
