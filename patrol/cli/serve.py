"""`patrol serve`: the daemon. Opens what it needs, hands over to it, and says how it ended."""

import asyncio
import faulthandler
import os
import secrets
import sys
from datetime import UTC, datetime

import structlog
import typer

from patrol.cli.app import COMMANDS
from patrol.cli.configuration import ConfigOption, load
from patrol.cli.exit_codes import CommandError, ExitCode
from patrol.cli.records import ORG, opened
from patrol.daemon.in_force import secrets_of
from patrol.daemon.interface import Interface
from patrol.daemon.life import Daemon, DeadPartError, Served
from patrol.daemon.memory import give_back_early, leave_alone
from patrol.daemon.notify import take_supervision
from patrol.daemon.serving import ListenError, NoCredentialError
from patrol.daemon.sole import OtherDaemonError
from patrol.logs import Redaction, configure_logs, writes_json
from signals.alert_settings import AlertSettingsError


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("serve", help=COMMANDS["serve"])(serve)


def serve(config_file: ConfigOption = None) -> None:
    """Patrols by the schedule until it is told to stop (SIGTERM). SIGHUP reads the settings anew."""
    supervision = take_supervision(os.environ)
    loaded = load(config_file)
    redaction = Redaction(secrets_of(loaded))
    configure_logs(sys.stderr, as_json=writes_json(os.environ, sys.stderr), redaction=redaction)
    give_back_early()
    faulthandler.enable()  # where the watchdog ends the process, it says in which lines it hung
    # A folder that is mounted later or read-only today, a server that only reads until another one leads: tried again.
    with opened(loaded.database_url, place_code=ExitCode.FAILED) as database:

        async def live() -> None:
            daemon = Daemon(
                config=config_file,
                loaded=loaded,
                database=database,
                supervision=supervision,
                redaction=redaction,
                clock=_now,
                ids=_new_id,
                org_id=ORG,
                serve=_started,
            )
            await daemon.run()

        try:
            asyncio.run(live())
        except NoCredentialError as error:
            raise CommandError(str(error)) from error
        except (AlertSettingsError, ListenError, OtherDaemonError) as error:
            # What may be over later: a file or an address that is not there yet, another daemon. systemd tries again.
            raise CommandError(str(error), ExitCode.FAILED) from error
        except DeadPartError as error:
            raise CommandError(f"a part of the daemon has ended: {error}", ExitCode.FAILED) from error
    structlog.stdlib.get_logger("patrol.daemon").info("closed")


async def _started(daemon: Daemon) -> Served:
    """Starts the interface, the last part of all."""
    served = await Interface()(daemon)
    leave_alone()
    return served


def _now() -> datetime:
    return datetime.now(UTC)


def _new_id() -> str:
    return secrets.token_hex(8)
