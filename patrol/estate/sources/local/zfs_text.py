"""What `zpool` and `zfs` print for people and for scripts, as rows. Pure parsing.

    pool: tank
   state: DEGRADED
    scan: scrub repaired 0B in 00:10:30 with 0 errors on Sun Jan  5 00:34:31 2026
  config:

          NAME          STATE     READ WRITE CKSUM
          tank          DEGRADED     0     0     0
            mirror-0    DEGRADED     0     0     0
              sda       ONLINE       0     0     0
              sdb       UNAVAIL      3     1     0  cannot open
          logs
            nvme0n1p1   ONLINE       0     0     0

  errors: No known data errors

Older releases write `scrub:` for `scan:`. The vdev table of `zpool list -v` has the same tree under other
columns. Where the indentation was lost, the names of groups (mirror-0, raidz2-1) still give the tree.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from signals.storage_evidence import VdevRow, ZfsRow

STATES = ("ONLINE", "DEGRADED", "FAULTED", "OFFLINE", "UNAVAIL", "REMOVED", "SUSPENDED", "AVAIL", "INUSE", "SPLIT")
"""Every state that zpool prints in a table; AVAIL and INUSE are a spare's."""

ROLES = {
    "logs": "log",
    "log": "log",
    "cache": "cache",
    "l2cache": "cache",
    "spares": "spare",
    "spare": "spare",
    "special": "special",
    "dedup": "dedup",
}
"""Headings of sections in the table (and keys of the JSON form): the role of what stands under them."""

AT_LEAST_ONE = 1
"""Data errors where zpool says that there are some, but may not list them to this user."""

_KEY = re.compile(r" {0,6}(pool|state|status|action|see|scan|scrub|config|errors|remove|checkpoint|expand|dedup):(.*)")
_STATE = re.compile(rf"(?P<name>\S.*?)\s+(?P<state>{'|'.join(STATES)})(?=\s|$)(?P<rest>.*)")
_SECTION = re.compile(rf"({'|'.join(ROLES)})[\s-]*$")
_GROUP = re.compile(r"(mirror|raidz\d?|draid\S*|spare|replacing|indirect|root|missing|hole)-\d+$")
_COUNT = re.compile(r"(\d{1,18}(?:\.\d{1,18})?)([KMGTPE]?)$")
_GREATEST = (1 << 63) - 1  # beyond it is no count of anything, and no encoder takes it
_ERROR_COUNT = re.compile(r"(\d+) data errors")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "P": 1 << 50, "E": 1 << 60}


def parse_status(text: str) -> list[ZfsRow]:
    """The pools of `zpool status`, with or without -p, -P and -v. Fragments give what is in them.

    `data_errors` None: the text does not say. Lines that are not understood are passed over.
    """
    return [_pool(sections) for sections in _pools(text)]


def parse_table(lines: Sequence[str]) -> tuple[VdevRow, list[VdevRow]] | None:
    """The pool's own row and its vdevs from a table under a NAME ... STATE (or HEALTH) heading; None without one."""
    columns: list[str] = []
    tree = _Tree()
    for line in lines:
        expanded = line.expandtabs(8)
        words = expanded.split()
        if not words:
            continue
        if words[0] == "NAME" and not columns:
            columns = words
        elif columns:
            _read_row(tree, expanded, columns)
    return (tree.rows[0], tree.rows[1:]) if tree.rows else None


def parse_pool_list(text: str, columns: Sequence[str]) -> dict[str, dict[str, str]]:
    """`zpool list -Hp -o COLUMNS` or `zfs list -Hp -o COLUMNS` by name. A row of another width is passed over."""
    rows = (line.split("\t") for line in text.splitlines())
    fitting = (dict(zip(columns, row, strict=True)) for row in rows if len(row) == len(columns))
    return {row["name"]: row for row in fitting}


def parse_number(text: str) -> int | None:
    """A size or count, exact or rounded with a binary unit (`1.20K`, `0B`); None for `-` and anything else."""
    match = _COUNT.match(text.strip().rstrip("%xB"))
    if match is None:
        return None
    exact = not match[2] and "." not in match[1]
    return int(match[1]) if exact else min(int(float(match[1]) * _UNITS[match[2]]), _GREATEST)


@dataclass(slots=True)
class _Tree:
    """Rows as they come, and which of them the next row may hang under."""

    rows: list[VdevRow] = field(default_factory=list)
    role: str = "data"
    group: str = ""  # where the indentation is lost
    above: list[tuple[int, str]] = field(default_factory=list)  # (indentation, name), outermost first

    def add(self, row: VdevRow, indent: int) -> None:
        while self.above and self.above[-1][0] >= indent:
            self.above.pop()
        if len(self.above) > 1 or (self.above and self.role != "data"):
            row.parent = self.above[-1][1]
        elif not indent and self.group and not _GROUP.match(row.name):
            row.parent = self.group
        self.above.append((indent, row.name))
        if not indent and _GROUP.match(row.name):
            self.group = row.name
        self.rows.append(row)

    def enter(self, role: str) -> None:
        self.role = role
        self.group = ""
        self.above.clear()


def _read_row(tree: _Tree, line: str, columns: Sequence[str]) -> None:
    text = line.strip()
    section = _SECTION.match(text)
    if section and tree.rows:
        tree.enter(ROLES[section[1]])
        return
    match = _STATE.match(text)
    if match is None:
        return
    row = VdevRow(name=match["name"], state=match["state"], role=tree.role)
    if "READ" in columns:
        _add_counts(row, match["rest"])
    else:
        row.name = re.split(r"\s{2,}", row.name, maxsplit=1)[0]  # sizes stand between name and state
    row.path = row.name if row.name.startswith("/") else ""
    tree.add(row, len(line) - len(line.lstrip()))


def _add_counts(row: VdevRow, rest: str) -> None:
    words = rest.split(maxsplit=3)
    counts = [parse_number(word) for word in words[:3]]
    if len(counts) == 3 and None not in counts:
        row.read_errors, row.write_errors, row.checksum_errors = (count or 0 for count in counts)
        row.note = words[3].strip() if len(words) > 3 else ""
    else:
        row.note = rest.strip()  # a spare has no counters, only what it is used for


def _pools(text: str) -> Iterable[dict[str, list[str]]]:
    """The lines of each pool by their key: the text behind the key first, then what follows it."""
    sections: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        match = _KEY.match(line)
        if match is None:
            lines.append(line)
            continue
        key = "scan" if match[1] == "scrub" else match[1]
        if key == "pool" and sections:
            yield sections
            sections = {}
        lines = sections.setdefault(key, [])
        lines.append(match[2])
    if sections:
        yield sections


def _pool(sections: dict[str, list[str]]) -> ZfsRow:
    table = parse_table(sections.get("config", []))
    root, vdevs = table or (VdevRow(), [])
    return ZfsRow(
        name=_words(sections, "pool") or root.name,
        state=_words(sections, "state") or root.state,
        read_errors=root.read_errors,
        write_errors=root.write_errors,
        checksum_errors=root.checksum_errors,
        scan=_words(sections, "scan"),
        data_errors=_data_errors(sections.get("errors")),
        status=_words(sections, "status"),
        vdevs=vdevs,
    )


def _words(sections: dict[str, list[str]], key: str) -> str:
    return " ".join(" ".join(sections.get(key, [])).split())


def _data_errors(lines: Sequence[str] | None) -> int | None:
    if not lines:
        return None
    head = lines[0].strip()
    if head.startswith("No known data errors"):
        return 0
    match = _ERROR_COUNT.match(head)
    if match:
        return int(match[1])
    if head.startswith("Permanent errors"):
        return max(AT_LEAST_ONE, sum(1 for line in lines[1:] if line.strip()))
    return AT_LEAST_ONE if head.startswith("List of errors unavailable") else None
