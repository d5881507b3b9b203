"""What recordings of other systems put around a page, and whether there is a page in it at all."""

from collections.abc import Iterable, Sequence

import msgspec

from signals.ceph_evidence import CephDetailsOutput, CephOutput
from signals.evidence import (
    BackupTasksOutput,
    DiskHealthOutput,
    DisksOutput,
    Page,
    PbsJobsOutput,
    PerformanceOutput,
    PoolsOutput,
    RaidOutput,
    ResourceDisksOutput,
    TemperaturesOutput,
)
from signals.protection_evidence import ReplicationOutput, SnapshotsOutput
from signals.recovery import Recovered, recover
from signals.traffic_evidence import DiskIoOutput, NetworkOutput

_DOCUMENTED: dict[type[Page], str] = {
    TemperaturesOutput: "hosts",
    PoolsOutput: "pools",
    DisksOutput: "disks",
    CephOutput: "clusters",
    ReplicationOutput: "jobs",
}
_PLAIN: dict[type[Page], str] = {
    PerformanceOutput: "resources",
    DiskHealthOutput: "hosts",
    RaidOutput: "hosts",
    ResourceDisksOutput: "resources",
    BackupTasksOutput: "tasks",
    PbsJobsOutput: "jobs",
    SnapshotsOutput: "snapshots",
    CephDetailsOutput: "hosts",
    NetworkOutput: "hosts",
    DiskIoOutput: "hosts",
}
_OF_EVERY_PAGE = frozenset(field.encode_name for field in msgspec.structs.fields(Page))
_MOST_WRAPPERS = 3
_SHOWN_FIELDS = 6


def list_of(page_type: type[Page], page_types: Sequence[type[Page]]) -> str | None:
    """The list of a page that a bare array stands for. A call that does not say its type is no more than guessed at."""
    return _DOCUMENTED.get(page_type) or (_PLAIN.get(page_type) if len(page_types) == 1 else None)


def text_inside(text: str) -> str:
    """The text that a JSON string holds, where the whole output is one: it was encoded twice."""
    if not text.lstrip().startswith('"'):
        return text
    try:
        return msgspec.json.decode(text, type=str)
    except (msgspec.DecodeError, UnicodeError):
        return text


def content_of(document: object) -> Iterable[Recovered]:
    """The documents in the texts of a result, else the document itself.

    Of an MCP result (`[{"type": "text", "text": "{...}"}]`, also as `content`), or of an object whose only member is
    such a text.
    """
    texts = _texts_of(document)
    return [found for text in texts for found in recover(text)] if texts else [Recovered(document, cut=False)]


def _texts_of(document: object) -> list[str]:
    content = document.get("content") if isinstance(document, dict) else document
    if isinstance(content, list) and all(map(_is_text_part, content)):
        return [part["text"] for part in content]
    if isinstance(document, dict) and len(document) == 1:
        (only,) = document.values()
        return [only] if isinstance(only, str) and only.lstrip()[:1] in {"{", "["} else []
    return []


def _is_text_part(part: object) -> bool:
    return isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)


def without_wrapper(document: object, page_types: Sequence[type[Page]]) -> object:
    """What stands in an object of one member that these pages do not have (`{"result": {...}}`), else the document."""
    for _ in range(_MOST_WRAPPERS):
        if not isinstance(document, dict) or len(document) != 1 or is_known(document, page_types):
            break
        (inner,) = document.values()
        if not isinstance(inner, (dict, list)):
            break
        document = inner
    return document


def is_known(document: object, page_types: Sequence[type[Page]]) -> bool:
    """Whether a document may be one of these pages: it has a field of theirs, or nothing at all."""
    if isinstance(document, list):
        return any(list_of(page_type, page_types) for page_type in page_types)
    if not isinstance(document, dict):
        return False
    names = _OF_EVERY_PAGE.union(*(_own_fields(page_type) for page_type in page_types))
    return not document or not names.isdisjoint(document)


def said_fields(page_types: Sequence[type[Page]]) -> str:
    """The fields that one of these pages would have, for a message."""
    names = list(dict.fromkeys(name for page_type in page_types for name in _own_fields(page_type)))
    return ", ".join(names[:_SHOWN_FIELDS])


def _own_fields(page_type: type[Page]) -> list[str]:
    return [field.encode_name for field in msgspec.structs.fields(page_type) if field.encode_name not in _OF_EVERY_PAGE]
