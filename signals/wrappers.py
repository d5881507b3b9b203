"""What recordings of other systems put around a page, and whether there is a page in it at all."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import get_args, get_origin

import msgspec

from signals.backup_evidence import BackupTasksOutput, PbsJobsOutput
from signals.ceph_evidence import CephDetailsOutput, CephOutput
from signals.evidence import DisksOutput, PerformanceOutput, TemperaturesOutput
from signals.pages import Page
from signals.protection_evidence import ReplicationOutput, SnapshotsOutput
from signals.recovery import Recovered, recover
from signals.storage_evidence import DiskHealthOutput, PoolsOutput, RaidOutput, ResourceDisksOutput
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
_MOST_WRAPPERS = 4
"""As many as are seen: a call's answer, the content of a result, a text of it, and a name around its rows."""

_CONTENT = {"text": "text", "image": "data", "audio": "data", "resource": "resource", "resource_link": "uri"}
"""The kinds of parts of an MCP result, each with the member that holds what it is."""

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


def inner_documents(
    document: object, page_types: Sequence[type[Page]], *, cut: bool, levels: int = _MOST_WRAPPERS
) -> Iterator[Recovered]:
    """The documents that stand inside of what others put around them, else the document itself.

    Of an MCP result (`[{"type": "text", "text": "{...}"}]`, also as `content`), of an object of one member that these
    pages do not have (`{"result": {...}}`, also as text), and of one in another, as often as somebody does that.
    """
    inner = _inside(document, page_types) if levels else None
    if inner is None:
        yield Recovered(document, cut)
    elif isinstance(inner, _Texts):
        for text in inner:
            for found in recover(text_inside(text)):
                yield from inner_documents(found.value, page_types, cut=cut or found.cut, levels=levels - 1)
    else:
        yield from inner_documents(inner, page_types, cut=cut, levels=levels - 1)


class _Texts(list[str]):
    """Texts that hold documents, beside prose."""


def _inside(document: object, page_types: Sequence[type[Page]]) -> object:
    """What a document is put around; None for one that is no wrapper."""
    content = document.get("content") if isinstance(document, dict) else document
    if isinstance(content, list) and content and all(map(_is_part, content)):
        return _Texts(text for part in content for text in _texts_of(part))
    if not isinstance(document, dict) or is_known(document, page_types):
        return None
    if "jsonrpc" in document:
        inner = document.get("result")
    elif len(document) == 1:
        (inner,) = document.values()
    else:
        return None
    if isinstance(inner, str):
        return _Texts([inner]) if inner.lstrip()[:1] in {"{", "[", '"'} else None
    return inner if isinstance(inner, (dict, list)) else None


def _is_part(part: object) -> bool:
    kind = part.get("type") if isinstance(part, dict) else None
    return isinstance(kind, str) and _CONTENT.get(kind) in part  # type: ignore[operator]  # an object, by the line above


def _texts_of(part: dict[str, object]) -> Iterator[str]:
    holder = part.get("resource") if part["type"] == "resource" else part
    text = holder.get("text") if isinstance(holder, dict) else None
    if isinstance(text, str):
        yield text


def is_known(document: object, page_types: Sequence[type[Page]]) -> bool:
    """Whether a document may be one of these pages: it has a field of theirs that can hold a reading, or no other."""
    if isinstance(document, list):
        lists = ((page_type, list_of(page_type, page_types)) for page_type in page_types)
        return any(name is not None and _may_be_rows(document, page_type, name) for page_type, name in lists)
    if not isinstance(document, dict):
        return False
    return any(
        not _readings(page_type).isdisjoint(document) or document.keys() <= set(page_type.__struct_encode_fields__)
        for page_type in page_types
    )


def _may_be_rows(items: list[object], page_type: type[Page], name: str) -> bool:
    """Whether items may be the rows of a list: there are none, or one of them shares a field with such rows."""
    names = _row_fields(page_type, name)
    return not items or any(isinstance(item, dict) and not names.isdisjoint(item) for item in items)


@cache
def _row_fields(page_type: type[Page], name: str) -> frozenset[str]:
    (rows,) = (field.type for field in msgspec.structs.fields(page_type) if field.encode_name == name)
    return frozenset(field.encode_name for row_type in get_args(rows) for field in msgspec.structs.fields(row_type))


def says_something(page: Page) -> bool:
    """Whether a page holds a row or a reading: more than could stand in any document (`id`, `total`)."""
    empty = type(page)()
    return any(getattr(page, name) != getattr(empty, name) for name in _readings(type(page)))


@cache
def _readings(page_type: type[Page]) -> frozenset[str]:
    """The fields of a page with its rows and measured values. The others are names, counts, and what every page has."""
    own = (field for field in msgspec.structs.fields(page_type) if field.encode_name not in _OF_EVERY_PAGE)
    return frozenset(
        field.name for field in own if get_origin(field.type) in {list, dict} or float in get_args(field.type)
    )


def said_fields(page_types: Sequence[type[Page]]) -> str:
    """The fields that one of these pages would have, for a message."""
    names = list(dict.fromkeys(name for page_type in page_types for name in _own_fields(page_type)))
    return ", ".join(names[:_SHOWN_FIELDS])


def _own_fields(page_type: type[Page]) -> list[str]:
    return [field.encode_name for field in msgspec.structs.fields(page_type) if field.encode_name not in _OF_EVERY_PAGE]
