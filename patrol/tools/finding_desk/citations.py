"""The rows of earlier outputs that a model cites: which resource each is about, and what it says."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import msgspec

from findings.model import ResourceId
from patrol.tools.finding_desk.arguments import FINDING_TOOLS
from patrol.tools.finding_desk.model import Outputs
from patrol.tools.finding_desk.quotes import PlainRow, is_found, plain_row
from patrol.tools.model import ErrorCode, ToolError
from patrol.tools.view import EstateView
from signals.detector import cut
from signals.model import ToolCall
from signals.recovery import recover
from signals.transcript import parse_arguments

_OWN_ID = ("resource_id", "target_id", "id")
"""Fields that say which resource a row is about; the first that names a known one decides."""

_DEEPEST = 12
_SHOWN_BYTES = 600


class Citations:
    """What may be quoted. Outputs are taken apart once, however often they are cited."""

    def __init__(self, outputs: Outputs, view: EstateView) -> None:
        self._outputs = outputs
        self._view = view
        self._rows: dict[str, dict[ResourceId, list[object]]] = {}
        self._plain: dict[tuple[str, ResourceId], list[PlainRow]] = {}

    def check(self, resource_id: ResourceId, call_ids: Sequence[str], evidence: str) -> None:
        """Raises ToolError unless the evidence stands in rows of this resource in the cited outputs."""
        unknown = [call_id for call_id in call_ids if self._find(call_id) is None]
        if unknown:
            raise ToolError(
                ErrorCode.UNKNOWN_TOOL_CALL,
                f"tool_call_ids: {', '.join(repr(each[:100]) for each in unknown[:5])}: no read tool was called under "
                "this id in this run; give the ids of the calls that show it",
            )
        rows = [row for call_id in call_ids for row in self._rows_of(call_id, resource_id)]
        if not rows:
            raise ToolError(
                ErrorCode.EVIDENCE_NOT_ABOUT_RESOURCE,
                f"none of the cited outputs has a row of {resource_id} (findings are no evidence of themselves): "
                "read it with a tool, and cite that call",
            )
        if not is_found(evidence, rows):
            shown = self._rows[next(each for each in call_ids if self._rows_of(each, resource_id))][resource_id][0]
            raise ToolError(
                ErrorCode.EVIDENCE_NOT_FOUND,
                f"evidence: this text does not stand in the rows of {resource_id} in the cited outputs, or names only "
                "the resource; quote fields with their values as the tool gave them, pieces on lines of their own",
                allowed=(cut(msgspec.json.encode(shown).decode("utf-8", "replace"), _SHOWN_BYTES),),
            )

    def _find(self, call_id: str) -> ToolCall | None:
        return self._outputs(call_id)

    def _rows_of(self, call_id: str, resource_id: ResourceId) -> list[PlainRow]:
        known = self._plain.get((call_id, resource_id))
        if known is None:
            rows = self._rows.get(call_id)
            if rows is None:
                rows = self._rows[call_id] = self._taken_apart(self._find(call_id))
            known = self._plain[call_id, resource_id] = [plain_row(row) for row in rows.get(resource_id, ())]
        return known

    def _taken_apart(self, call: ToolCall | None) -> dict[ResourceId, list[object]]:
        found: dict[ResourceId, list[object]] = {}
        if call is not None and call.success and not _shows_findings(call):
            for document in _documents(call.output):
                self._take(document, "", found, 0)
        return found

    def _take(self, value: object, owner: ResourceId, found: dict[ResourceId, list[object]], depth: int) -> object:
        """The value without what belongs to other resources; rows that begin in it are noted under their owner."""
        if depth > _DEEPEST:
            return None
        if isinstance(value, list):
            return [each for each in (self._take(each, owner, found, depth + 1) for each in value) if each is not _ELSE]
        if not isinstance(value, dict):
            return value
        own = self._owner_of(value) or owner
        kept = {}
        for name, each in value.items():
            named = self._named.get(_fold(name)) if isinstance(each, dict) else None
            part = self._take(each, named or own, found, depth + 1)
            if named is not None and named != own and isinstance(part, dict):
                found.setdefault(named, []).append(part)
            elif part is not _ELSE:
                kept[name] = part
        if own != owner:
            found.setdefault(own, []).append(kept)
            return _ELSE
        return kept

    def _owner_of(self, row: Mapping[str, object]) -> ResourceId:
        for name in _OWN_ID:
            text = row.get(name)
            if isinstance(text, str) and text:
                named = self._named.get(_fold(text))
                if named is not None:
                    return named
        return ""

    @cached_property
    def _named(self) -> dict[str, ResourceId]:
        """Resources by canonical id, and by what else is theirs alone: neither a name nor a shared alias decides."""
        resources = self._view.resources
        names = {_fold(resource.name) for resource in resources}
        aliases: dict[str, set[ResourceId]] = {}
        for resource in resources:
            for alias in map(_fold, resource.aliases):
                if alias not in names:
                    aliases.setdefault(alias, set()).add(resource.id)
        unique = {alias: next(iter(ids)) for alias, ids in aliases.items() if len(ids) == 1}
        return {**unique, **{_fold(resource.id): resource.id for resource in resources}}


_ELSE = object()
"""Stands for a part that is a row of its own."""


def _shows_findings(call: ToolCall) -> bool:
    """Whether a call shows what earlier runs said: a claim must not confirm itself."""
    given = parse_arguments(call.input)
    return call.tool_name in FINDING_TOOLS or (call.tool_name == "pulse_alerts" and given.get("action") == "findings")


def _documents(output: object) -> Iterable[object]:
    if isinstance(output, (str, bytes)):
        try:
            return [msgspec.json.decode(output)]
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            text = output.decode("utf-8", "replace") if isinstance(output, bytes) else output
            return [document.value for document in recover(text)]
    return [msgspec.to_builtins(output, str_keys=True)]


def _fold(text: object) -> str:
    return text.strip().casefold() if isinstance(text, str) else ""
