"""The kind that a model's word for a trouble means: one that detectors know, or a claim that none can match."""

import re
import unicodedata
from collections.abc import Mapping
from types import MappingProxyType

from findings.kinds import Kind
from findings.weighing import CLAIM_PREFIX

_LONGEST_SLUG = 60
_WORD = re.compile(r"[a-z0-9]+")
_FILLER = frozenset({"a", "an", "is", "the", "too", "very", "usage", "use", "used", "utilisation", "utilization"})

_ALIASES: Mapping[str, Kind] = MappingProxyType(
    {
        "cpu high": Kind.HIGH_CPU,
        "memory high": Kind.HIGH_MEMORY,
        "ram high": Kind.HIGH_MEMORY,
        "mem high": Kind.HIGH_MEMORY,
        "disk high": Kind.HIGH_DISK,
        "disk full": Kind.HIGH_DISK,
        "disk space low": Kind.HIGH_DISK,
        "disk space high": Kind.HIGH_DISK,
        "filesystem full": Kind.HIGH_DISK,
        "filesystem high": Kind.HIGH_DISK,
        "storage high": Kind.HIGH_DISK,
        "storage full": Kind.HIGH_DISK,
        "pool high": Kind.HIGH_DISK,
        "pool full": Kind.HIGH_DISK,
        "temperature high": Kind.HIGH_TEMPERATURE,
        "swap high": Kind.HIGH_SWAP,
        "inode high": Kind.HIGH_INODES,
        "pressure high": Kind.HIGH_PRESSURE,
        "smart": Kind.SMART_FAILURE,
        "smart failed": Kind.SMART_FAILURE,
        "smart failing": Kind.SMART_FAILURE,
        "smart fail": Kind.SMART_FAILURE,
        "smart error": Kind.SMART_FAILURE,
        "disk smart failure": Kind.SMART_FAILURE,
        "disk smart failed": Kind.SMART_FAILURE,
        "disk failure": Kind.SMART_FAILURE,
        "disk failing": Kind.SMART_FAILURE,
        "disk failed": Kind.SMART_FAILURE,
        "disk health failed": Kind.SMART_FAILURE,
        "backup failure": Kind.BACKUP_FAILED,
        "backup job failed": Kind.BACKUP_FAILED,
        "backup task failed": Kind.BACKUP_FAILED,
        "pbs job failed": Kind.BACKUP_FAILED,
        "backup never": Kind.BACKUP_STALE,
        "backup missing": Kind.BACKUP_STALE,
        "backup old": Kind.BACKUP_STALE,
        "backup outdated": Kind.BACKUP_STALE,
        "guest unresponsive": Kind.GUEST_UNREACHABLE,
        "vm unreachable": Kind.GUEST_UNREACHABLE,
        "node down": Kind.NODE_OFFLINE,
        "node unreachable": Kind.NODE_OFFLINE,
        "host offline": Kind.NODE_OFFLINE,
        "host down": Kind.NODE_OFFLINE,
        "array degraded": Kind.RAID_DEGRADED,
        "raid array degraded": Kind.RAID_DEGRADED,
        "zfs pool degraded": Kind.POOL_DEGRADED,
        "zpool degraded": Kind.POOL_DEGRADED,
        "unit failure": Kind.UNIT_FAILED,
        "systemd unit failed": Kind.UNIT_FAILED,
        "service failed": Kind.UNIT_FAILED,
        "ssd wear": Kind.DISK_WEAR,
        "wear high": Kind.DISK_WEAR,
    }
)
"""Other words for the kinds, in any order and with any filler."""

_HEALTH_WORDS = frozenset(
    {"app", "docker", "container", "check", "healthcheck", "health", "failed", "failing", "failure", "unhealthy"}
)
_HEALTH, _CHECK = frozenset({"health", "healthcheck"}), frozenset({"container", "check", "healthcheck"})
_FAILURE = frozenset({"failed", "failing", "failure", "unhealthy"})
_HEALTH_CHECK_FAILED = "health_check_failed"
_UNHEALTHY_CONTAINERS = (
    frozenset({"container", "unhealthy"}),
    frozenset({"app", "container", "unhealthy"}),
)


def words_of(text: str) -> list[str]:
    """The words of a key or title: ASCII letters and digits, lower case."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def kind_of(key: str, title: str = "") -> str:
    """The kind that a key means; the title stands in for a key without a word. Never fails."""
    words = words_of(key) or words_of(title)
    while words[:1] == [CLAIM_PREFIX.rstrip("_")]:
        words = words[1:]
    known = _BY_WORDS.get(_meaning(words)) or _BY_WORDS.get(frozenset(words))
    if known is not None:
        return str(known)
    slug = _HEALTH_CHECK_FAILED if _is_failed_health_check(words) else "_".join(words)[:_LONGEST_SLUG].strip("_")
    return f"{CLAIM_PREFIX}{slug or 'finding'}"


def _meaning(words: list[str]) -> frozenset[str]:
    return frozenset(_singular(word) for word in words if word not in _FILLER)


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _is_failed_health_check(words: list[str]) -> bool:
    said = frozenset(words)
    if said in _UNHEALTHY_CONTAINERS:
        return True
    return said <= _HEALTH_WORDS and all(said & some for some in (_HEALTH, _CHECK, _FAILURE))


_BY_WORDS: dict[frozenset[str], Kind] = {
    **{_meaning(alias.split()): kind for alias, kind in _ALIASES.items()},
    **{_meaning(str(kind).split("_")): kind for kind in Kind},
}
