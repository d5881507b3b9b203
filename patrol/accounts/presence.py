"""Whether anybody can be known at all. As long as not, only this machine itself is served."""

from sqlalchemy import Connection, exists, select

from patrol.accounts.model import REALM
from patrol.accounts.tables import ACCOUNTS, TOKENS


def has_credential(connection: Connection) -> bool:
    """Whether there is, or ever was, a user or a token.

    One that is over counts: a token that runs out must not open the door to everybody on this machine. A new one can
    always be made by whoever owns the database.
    """
    statement = select(
        exists().where(TOKENS.c.org_id == REALM) | exists().where(ACCOUNTS.c.org_id == REALM),
    )
    return bool(connection.execute(statement).scalar_one())
