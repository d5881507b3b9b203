"""How a command ends. Where several hold, the first in the order of `PRECEDENCE` does."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What a script can tell from the end of a command."""

    OK = 0
    FAILED = 1  # the run itself failed, or what was asked for is not there
    USAGE = 2  # wrong arguments, wrong settings, a database or document of a foreign version
    LIMIT_MET = 3  # there is a finding as bad as --fail-on said
    INCOMPLETE = 4  # something that Patrol could see before, or was told to see, was lost from sight


PRECEDENCE = (ExitCode.USAGE, ExitCode.FAILED, ExitCode.LIMIT_MET, ExitCode.INCOMPLETE)


def exit_code(*, failed: bool = False, limit_met: bool = False, incomplete: bool = False) -> ExitCode:
    """The code of a command whose arguments and settings were right."""
    if failed:
        return ExitCode.FAILED
    if limit_met:
        return ExitCode.LIMIT_MET
    return ExitCode.INCOMPLETE if incomplete else ExitCode.OK


class CommandError(Exception):
    """A command cannot go on: its message is for the person at the terminal."""

    def __init__(self, message: str, code: ExitCode = ExitCode.USAGE) -> None:
        self.code = code
        super().__init__(message)
