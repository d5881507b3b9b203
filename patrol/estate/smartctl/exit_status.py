"""The exit status of smartctl: eight bits with a meaning each (smartctl(8), EXIT STATUS)."""

from enum import IntFlag


class ExitBit(IntFlag):
    """One bit of the exit status. Only the last five say something about the disk."""

    COMMAND_LINE = 1  # the command line could not be understood
    NOT_OPENED = 2  # the device could not be opened or identified, or it sleeps and was left asleep
    INCOMPLETE = 4  # a command to the disk failed, or a checksum was wrong
    DISK_FAILING = 8  # the disk says of itself that it fails
    PREFAIL_NOW = 16  # an attribute that predicts failure is at or below its threshold
    FAILED_BEFORE = 32  # an attribute was at or below its threshold at some time
    ERROR_LOG = 64  # the error log has entries
    SELF_TEST_LOG = 128  # the self-test log has failed tests


NOT_READ = ExitBit.COMMAND_LINE | ExitBit.NOT_OPENED


def decode(exit_status: int | None) -> ExitBit:
    """The bits of an exit status; none where it is unknown or no exit status at all."""
    return ExitBit(exit_status) if exit_status is not None and 0 <= exit_status <= 255 else ExitBit(0)
