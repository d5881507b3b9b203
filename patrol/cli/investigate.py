"""`patrol investigate`: asks the daemon for a run about a finding, an alert or a resource, and follows it live."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, urlencode

import typer

from findings.units import unit_of
from patrol.cli.app import COMMANDS
from patrol.cli.configuration import ConfigOption, load
from patrol.cli.daemon_call import DaemonPlace, LostStreamError, find_daemon
from patrol.cli.display import cell, console, number, severity_cell, table
from patrol.cli.exit_codes import CommandError, ExitCode, exit_code
from patrol.cli.options import JsonOption
from patrol.cli.output import note, write_json
from patrol.cli.progress import Telling, told_progress

RETRIES = 30
RETRY_SECONDS = 2.0
"""Together a minute: systemd starts a daemon that was killed again after 10 s, and it needs some seconds to answer."""
_LAST = frozenset({"complete", "error"})
_FAILED = frozenset({"crashed", "cancelled", "dropped", "skipped", "timed_out", "error"})


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("investigate", help=COMMANDS["investigate"])(investigate)


def investigate(
    finding: Annotated[str, typer.Option("--finding", metavar="ID", help="A finding: its id, or the beginning.")] = "",
    alert: Annotated[str, typer.Option("--alert", metavar="ID", help="An alert that was reported.")] = "",
    resource: Annotated[str, typer.Option("--resource", metavar="NAME", help="A resource: its name or id.")] = "",
    url: Annotated[str, typer.Option("--url", metavar="URL", help="The daemon of another machine.")] = "",
    token_file: Annotated[
        Path | None, typer.Option("--token-file", metavar="FILE", help="File that holds a token for it.")
    ] = None,
    config_file: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Asks for a run about one thing, follows it, and shows what came of it. Who asks the same gets the same run.

    Interrupted, the run goes on.
    """
    if sum(map(bool, (finding, alert, resource))) != 1:
        raise CommandError("name one of --finding, --alert and --resource")
    daemon = find_daemon(load(config_file), url, token_file)
    accepted = _ask(daemon, finding, alert, resource)
    run_id = str(accepted["run_id"])
    note(f"patrol: {accepted['message']}: {run_id}, {accepted['state']}")
    try:
        with told_progress() as telling:
            _follow(daemon, run_id, telling)
    except KeyboardInterrupt:
        note(f"patrol: the run goes on; patrol runs show {run_id}")
        raise
    run = daemon.request("GET", f"/api/ai/patrol/runs/{quote(run_id, safe='')}")
    findings = daemon.request("GET", f"/api/ai/patrol/findings?{urlencode({'run_id': run_id, 'state': 'open'})}")
    if as_json:
        write_json({"run": run, "findings": findings})
    else:
        _print(run, findings)
    failed = run["status"] in _FAILED
    raise typer.Exit(exit_code(failed=failed, incomplete=not run["complete"]))


def _ask(daemon: DaemonPlace, finding: str, alert: str, resource: str) -> Mapping[str, Any]:
    if finding:
        path, body = f"/api/ai/patrol/findings/{quote(finding, safe='')}/investigate", None
    elif alert:
        path, body = f"/api/alerts/{quote(alert, safe='')}/investigate", None
    else:
        path, body = "/api/ai/patrol/run", {"resource_ids": [resource]}
    answer = daemon.request("POST", path, body)
    if not isinstance(answer, dict) or not {"run_id", "message", "state"} <= set(answer):
        raise CommandError(f"{daemon}: what answers there is no Patrol", ExitCode.FAILED)
    return answer


def _follow(daemon: DaemonPlace, run_id: str, telling: Telling) -> None:
    """Tells what happens until the run has ended; takes the stream up again where it was lost. Raises CommandError."""
    path = f"/api/ai/patrol/stream?{urlencode({'run_id': run_id})}"
    last, lost = "", 0
    while True:
        try:
            for event_id, event in daemon.events(path, last):
                last, lost = event_id, 0
                _tell(event, telling)
                if event.get("type") in _LAST:
                    return
            why = "it ended"
        except LostStreamError as error:
            why = str(error)
        lost += 1
        if lost > RETRIES:
            told = f"patrol runs show {run_id} says what becomes of it"
            raise CommandError(f"the run {run_id} cannot be followed any more ({why}); {told}", ExitCode.FAILED)
        time.sleep(RETRY_SECONDS)


def _tell(event: Mapping[str, Any], telling: Telling) -> None:
    kind = event.get("type")
    if kind in {"phase", "snapshot"} and event.get("phase"):
        telling(str(event["phase"]), str(event.get("content", "")) if kind == "phase" else "")
    elif kind == "tool_start":
        telling.line(f"{event.get('tool_name', '')} {event.get('tool_input', '')}")
    elif kind == "tool_end" and event.get("tool_success") is False:
        telling.line(f"{event.get('tool_name', '')} failed: {event.get('tool_output', '')}")
    elif kind == "finding_rejected":
        telling.line(f"not taken: {event.get('content', '')}")


def _print(run: Mapping[str, Any], findings: Sequence[Mapping[str, Any]]) -> None:
    output = console()
    output.print(
        cell(f"{run['status'].replace('_', ' ')}: {run['status_text'] or run['error_summary'] or 'no more to say'}")
    )
    if not findings:
        if run["status"] in _FAILED:
            output.print("It found nothing. What was known before: patrol findings list")
        else:
            output.print("No open findings there.")
        return
    made = table(("Severity", "Resource", "What", "Value", "Limit", "Limit from", "Id"), right=("Value", "Limit"))
    for each in findings:
        unit = unit_of(each["kind"])
        made.add_row(
            severity_cell(each["severity"]),
            cell(each["resource_name"]),
            cell(each["title"]),
            number(each["value"], unit),
            number(each["limit"], unit),
            cell(each["limit_source"] or "-"),
            cell(each["id"]),
        )
    output.print(made)
