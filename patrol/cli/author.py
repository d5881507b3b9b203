"""Who types: the author of what an operator says."""

import os
import pwd


def author() -> str:
    """The user that this process runs as. Not from the environment, which anybody may set to anything."""
    user_id = os.getuid()
    try:
        return pwd.getpwuid(user_id).pw_name
    except KeyError:  # a container may run as a user without a name
        return f"user {user_id}"
