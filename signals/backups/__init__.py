"""What can be wrong with backups: attempts that failed, backups that are too old, server jobs that failed."""

from signals.backups.attempts import FailedBackupDetector
from signals.backups.jobs import BackupJobDetector
from signals.backups.staleness import StaleBackupDetector

__all__ = ["BackupJobDetector", "FailedBackupDetector", "StaleBackupDetector"]
