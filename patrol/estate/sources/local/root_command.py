"""The command that reads with the rights of root what this process may not read: the way to mend many gaps."""

import shlex
import shutil
import sys

_PATH_OF_SUDO = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def run_as_root(search_path: str = _PATH_OF_SUDO) -> str:
    """The command that runs this very Patrol as root: one from a checkout is on nobody's path but its own."""
    if shutil.which("patrol", path=search_path):
        return "sudo patrol run"
    return f"sudo {shlex.quote(sys.executable)} -m patrol run"
