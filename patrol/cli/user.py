"""`patrol user`: people who log in to the daemon with a password, and what they are in organisations."""

import getpass
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.console import Console

from findings.model import DEFAULT_ORG
from patrol.accounts.model import Role, User, parse_name
from patrol.accounts.users import keep_password
from patrol.cli.accounts import OrgOption, accounts
from patrol.cli.app import COMMANDS
from patrol.cli.configuration import ConfigOption
from patrol.cli.display import cell, console, instant, table
from patrol.cli.exit_codes import CommandError
from patrol.cli.options import JsonOption, StorageOption
from patrol.cli.output import write, write_json
from patrol.records.users import (
    AddUser,
    AskForName,
    ListUsers,
    NameIsFree,
    OneUser,
    RemoveUser,
    SetPassword,
    SetRole,
    ShowUser,
    UserList,
)

user = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The user's name.")]


def register(app: typer.Typer) -> None:
    """Adds the group."""
    app.add_typer(user, name="user", help=COMMANDS["user"])


@user.command("add")
def add(
    name: NameArgument,
    administrator: Annotated[
        bool, typer.Option("--admin", help="Manages every organisation, whatever the role in it.")
    ] = False,
    role: Annotated[Role, typer.Option("--role", help="What the user is in the organisation.")] = Role.MEMBER,
    org: OrgOption = DEFAULT_ORG,
    config_file: ConfigOption = None,
    storage: StorageOption = "",
    as_json: JsonOption = False,
) -> None:
    """Adds a user. The password is asked for, or read from standard input: never from the command line."""
    try:
        known = parse_name(name)
    except ValueError as error:
        raise CommandError(f"{name}: {error}") from error
    with accounts(config_file, storage) as answering:
        answering.ask(AskForName(name=known, org=org), NameIsFree)  # told before a password is typed
        adding = AddUser(name=known, kept=_kept_password(), administrator=administrator, role=role, org=org)
        made = answering.ask(adding, OneUser).user
    _show_one(made, as_json)


@user.command("passwd")
def passwd(
    name: NameArgument,
    config_file: ConfigOption = None,
    storage: StorageOption = "",
    as_json: JsonOption = False,
) -> None:
    """Gives a user another password, and ends the user's sessions."""
    with accounts(config_file, storage) as answering:
        answering.ask(ShowUser(name=name), OneUser)
        changed = answering.ask(SetPassword(name=name, kept=_kept_password()), OneUser).user
    _show_one(changed, as_json)


@user.command("role")
def set_role(
    name: NameArgument,
    role: Annotated[
        Role | None, typer.Option("--role", help="What the user is there; without it: nothing any more.")
    ] = None,
    org: OrgOption = DEFAULT_ORG,
    config_file: ConfigOption = None,
    storage: StorageOption = "",
    as_json: JsonOption = False,
) -> None:
    """Says what a user is in an organisation. Owners and admins manage it; members read, and speak of findings."""
    with accounts(config_file, storage) as answering:
        changed = answering.ask(SetRole(name=name, org=org, role=role), OneUser).user
    _show_one(changed, as_json)


@user.command("remove")
def remove(
    name: NameArgument,
    config_file: ConfigOption = None,
    storage: StorageOption = "",
) -> None:
    """Takes a user's access away: password, roles and sessions."""
    with accounts(config_file, storage) as answering:
        gone = answering.ask(RemoveUser(name=name), OneUser).user
    write(f"{gone.name} is no user any more.")


@user.command("list")
def list_users(
    config_file: ConfigOption = None,
    storage: StorageOption = "",
    as_json: JsonOption = False,
) -> None:
    """Lists users, and what each is in which organisation."""
    with accounts(config_file, storage) as answering:
        found = answering.ask(ListUsers(), UserList).users
    if as_json:
        write_json({"users": [_view(each) for each in found]})
    else:
        _print(console(), found)


def _kept_password() -> str:
    """What is kept of the password that somebody types twice, or that a program writes as one line."""
    if sys.stdin.isatty():
        password = getpass.getpass("Password: ")
        if getpass.getpass("The same again: ") != password:
            raise CommandError("the two passwords differ: nothing was changed")
    else:
        password = sys.stdin.readline().rstrip("\r\n")
    try:
        return keep_password(password, os.urandom)
    except ValueError as error:
        raise CommandError(f"{error}: nothing was changed") from error


def _show_one(one: User, as_json: bool) -> None:
    if as_json:
        write_json({"user": _view(one)})
    else:
        _print(console(), [one])


def _view(one: User) -> dict[str, Any]:
    return {
        "name": one.name,
        "administrator": one.is_administrator,
        "roles": {organisation: str(role) for organisation, role in sorted(one.roles.items())},
        "created_at": one.created_at.isoformat(),
        "created_by": one.created_by,
        "password_at": one.password_at.isoformat(),
    }


def _print(output: Console, found: Sequence[User]) -> None:
    if not found:
        output.print("No users.")
        return
    made = table(("User", "Administrator", "Is", "Since", "Password of", "Added by"))
    for each in found:
        roles = ", ".join(f"{role} of {organisation}" for organisation, role in sorted(each.roles.items()))
        made.add_row(
            each.name,
            "yes" if each.is_administrator else "no",
            roles or "nothing",
            instant(each.created_at),
            instant(each.password_at),
            cell(each.created_by),
        )
    output.print(made)
