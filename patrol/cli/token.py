"""`patrol token`: tokens for programs that call the interface of the daemon."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.console import Console

from findings.model import DEFAULT_ORG
from patrol.accounts.model import Scope, Token
from patrol.accounts.tokens import parse_scopes
from patrol.cli.accounts import OrgOption, accounts
from patrol.cli.app import COMMANDS
from patrol.cli.configuration import ConfigOption
from patrol.cli.display import cell, console, instant, table
from patrol.cli.ends import ForOption, UntilOption, parse_end
from patrol.cli.exit_codes import CommandError
from patrol.cli.options import JsonOption, StorageOption
from patrol.cli.output import note, visible, write, write_json
from patrol.records.tokens import CreateToken, ListTokens, OneToken, RevokeToken, TokenList, TokenMade

token = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Adds the group."""
    app.add_typer(token, name="token", help=COMMANDS["token"])


@token.command("create")
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is for, like prometheus.")],
    scopes: Annotated[
        list[str] | None,
        typer.Option("--scope", metavar="SCOPE", help=f"What it may do: {', '.join(sorted(Scope))}. Repeat for more."),
    ] = None,
    org: OrgOption = DEFAULT_ORG,
    lasting: ForOption = "",
    until: UntilOption = "",
    config_file: ConfigOption = None,
    storage: StorageOption = "",
    as_json: JsonOption = False,
) -> None:
    """Makes a token and shows its secret, this once: only a hash of it is kept.

    It opens one organisation, may what its scopes say and nothing else, and lasts until its end or until it is revoked.
    """
    now = datetime.now(UTC)
    try:
        wanted = parse_scopes(scopes or [])
    except ValueError as error:
        raise CommandError(f"--scope: {error}") from error
    if not wanted:
        raise CommandError("--scope is missing: a token without scopes opens nothing")
    end = parse_end(lasting, until, now)
    with accounts(config_file, storage) as answering:
        made = answering.ask(CreateToken(name=name, scopes=wanted, org=org, expires_at=end), TokenMade)
    if as_json:
        write_json({"token": _view(made.token, made.at), "secret": made.secret})
    else:
        note(f"patrol: token {made.token.id} for {name}; this is its secret, and it is not shown again:")
        write(made.secret)


@token.command("list")
def list_tokens(
    everything: Annotated[bool, typer.Option("--all", help="Also those that are over.")] = False,
    config_file: ConfigOption = None,
    storage: StorageOption = "",
    as_json: JsonOption = False,
) -> None:
    """Lists tokens: how each begins, what it may do, and when it was last used."""
    with accounts(config_file, storage) as answering:
        told = answering.ask(ListTokens(everything=everything), TokenList)
    if as_json:
        write_json({"tokens": [_view(each, told.at) for each in told.tokens]})
    else:
        _print(console(), told.tokens, told.at)


@token.command("revoke")
def revoke(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="The id, its beginning, or how the token begins.")],
    config_file: ConfigOption = None,
    storage: StorageOption = "",
    as_json: JsonOption = False,
) -> None:
    """Ends a token now and for good; it stays in the list of all."""
    with accounts(config_file, storage) as answering:
        told = answering.ask(RevokeToken(token_id=token_id), OneToken)
    ended = told.token
    if as_json:
        write_json({"token": _view(ended, told.at)})
    else:
        write(f"Token {ended.id} ({visible(ended.name)}) is revoked since {instant(ended.revoked_at)}.")


def _view(one: Token, now: datetime) -> dict[str, Any]:
    def told(at: datetime | None) -> str | None:
        return at.isoformat() if at is not None else None

    return {
        "id": one.id,
        "name": one.name,
        "prefix": one.prefix,
        "scopes": sorted(one.scopes),
        "organisation": one.bound_to,
        "state": _state(one, now),
        "created_at": told(one.created_at),
        "created_by": one.created_by,
        "expires_at": told(one.expires_at),
        "last_used_at": told(one.last_used_at),
        "revoked_at": told(one.revoked_at),
        "revoked_by": one.revoked_by,
    }


def _state(one: Token, now: datetime) -> str:
    if one.revoked_at is not None:
        return "revoked"
    return "valid" if one.is_valid(now) else "expired"


def _print(output: Console, found: Sequence[Token], now: datetime) -> None:
    if not found:
        output.print("No tokens.")
        return
    made = table(("Token", "Name", "May", "Organisation", "State", "Until", "Last used", "Id"))
    for each in found:
        made.add_row(
            f"{each.prefix}...",
            cell(each.name),
            ", ".join(sorted(each.scopes)) or "nothing",
            each.bound_to,
            _state(each, now),
            instant(each.expires_at) if each.expires_at is not None else "no end",
            instant(each.last_used_at) if each.last_used_at is not None else "never",
            each.id,
        )
    output.print(made)
