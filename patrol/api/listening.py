"""Whether the daemon may listen where it is told to. Pure."""

from patrol.settings.interface import ListenAddress

NO_CREDENTIAL = (
    "nobody could be told from anybody else there, since there is no token and no user yet: make one with "
    "`patrol token create` or `patrol user add`, or listen on 127.0.0.1"
)
"""Why it may not, to be shown after the address and a colon."""


def may_listen(address: ListenAddress, *, has_credential: bool) -> bool:
    """Whether the daemon may start to listen there: beyond this machine only where callers can be known.

    `has_credential`: `patrol.accounts.presence.has_credential`.
    """
    return address.is_local or has_credential
