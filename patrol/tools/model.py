"""What a tool is: name, arguments, selectors; and how it says that it cannot answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from findings.model import Topic
from patrol.tools.view import EstateView
from signals.pages import Page

MAX_LIMIT = 5_000
"""Rows of the largest page. Patrol's own sweep asks for these; a model is given fewer by default."""


class ErrorCode(StrEnum):
    """Why a tool did not answer. The words are stable."""

    UNKNOWN_TOOL = "unknown_tool"
    MISSING_SELECTOR = "missing_selector"  # the `type` or `action` argument was left out
    UNKNOWN_SELECTOR = "unknown_selector"
    UNKNOWN_ARGUMENT = "unknown_argument"  # no tool argument of this name, or none of this selector
    INVALID_ARGUMENT = "invalid_argument"
    NOT_FOUND = "not_found"  # nothing in the estate is called so
    AMBIGUOUS = "ambiguous"  # several resources are called so; `allowed` lists their ids
    MISSING_FIELDS = "missing_fields"  # arguments that this tool cannot do without
    TOO_LARGE = "too_large"  # an answer that cannot be made small enough to be shown
    # of the finding tools alone
    FINDINGS_NOT_READ = "findings_not_read"  # nothing may be written before what is known was read
    OUT_OF_SCOPE = "out_of_scope"  # it exists, and this run is not about it
    WRONG_TYPE = "wrong_type"  # the resource is of another type; `allowed` says of which
    IDENTITY_MISMATCH = "identity_mismatch"  # the id is one resource's, the name another's
    RESERVED_KIND = "reserved_kind"  # what Patrol alone says of itself
    UNKNOWN_FINDING = "unknown_finding"  # `allowed` lists those that can be judged
    ALREADY_ASSESSED = "already_assessed"  # one verdict for each finding in a run
    UNKNOWN_TOOL_CALL = "unknown_tool_call"  # no call of this run that the model made
    EVIDENCE_NOT_ABOUT_RESOURCE = "evidence_not_about_resource"  # no row of the cited outputs is the resource's
    EVIDENCE_NOT_FOUND = "evidence_not_found"  # the quoted text stands in no such row
    BELOW_LIMIT = "below_limit"  # it was measured, and is below the limit that the report says it is above
    DISABLED_BY_ALERT_SETTINGS = "disabled_by_alert_settings"  # an operator switched this check off
    REPORT_LIMIT = "report_limit"  # as many as this pass may report were reported


class ToolFailure(msgspec.Struct, kw_only=True):
    """The JSON of a ToolError. `retryable`: the same call can succeed later as it stands."""

    error: ErrorCode
    message: str
    allowed: list[str] = []
    retryable: bool = False


class ToolError(Exception):
    """A call that cannot be answered: never an empty page, and never plain text.

    `allowed` holds what would be right, where that can be listed. `retryable` is False for all faults of
    the call itself: it must be changed.
    """

    def __init__(
        self, code: ErrorCode, message: str, *, allowed: tuple[str, ...] = (), retryable: bool = False
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.allowed = allowed
        self.retryable = retryable

    def as_output(self) -> ToolFailure:
        """What the caller is shown and what is recorded."""
        return ToolFailure(error=self.code, message=self.message, allowed=list(self.allowed), retryable=self.retryable)


class Arguments(BaseModel):
    """Arguments that every tool has. Unknown ones are refused by name."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True, str_max_length=500)

    limit: int | None = Field(default=None, ge=1, le=MAX_LIMIT, description="rows of this page, at most 5000")
    offset: int = Field(default=0, ge=0, description="rows to skip; they are counted after filtering")


class ResourceFilters(Arguments):
    """Filters by resource. All that are given must hold."""

    resource_id: str | None = Field(default=None, description="canonical id or any alias; what lives on it is included")
    resource_type: str | None = Field(default=None, description="for example vm, system-container, node, disk")
    node: str | None = Field(default=None, description="name or id of a node")
    host: str | None = Field(default=None, description="name or id of a host")
    instance: str | None = Field(default=None, description="cluster or instance")
    source: str | None = Field(default=None, description="configured source that reported it")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """One value of a tool's `type` or `action`.

    `topics`: what it shows. `rows_tell`: each row shows by itself what of it was not measured, so that a
    topic that a source could not read at all hides nothing as long as the source's resources are listed.
    `filters`: arguments that it obeys; any other one is refused rather than ignored.
    """

    name: str
    description: str
    answer: Callable[[EstateView, "Call"], Page]
    topics: frozenset[Topic]
    filters: frozenset[str]
    rows_tell: bool = False
    default_limit: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call with its arguments checked."""

    selector: Selector
    arguments: Arguments
    limit: int

    @property
    def offset(self) -> int:
        """Rows to skip."""
        return self.arguments.offset

    def text(self, name: str) -> str:
        """A text argument, "" where it was not given or where this tool has none of this name."""
        value = getattr(self.arguments, name, None)
        return value if isinstance(value, str) else ""

    def number(self, name: str) -> float | None:
        """A number argument, None where it was not given."""
        value = getattr(self.arguments, name, None)
        return value if isinstance(value, (int, float)) else None

    def filters(self) -> tuple[tuple[str, object], ...]:
        """The filters that were given, as a key for what they select."""
        given = self.arguments.model_dump(exclude_none=True, exclude={"limit", "offset"})
        return tuple(sorted((name, value) for name, value in given.items() if name in self.selector.filters))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A read tool. `selector_argument`: the argument that chooses what is read (`type` or `action`)."""

    name: str
    description: str
    selector_argument: str
    arguments: type[Arguments]
    selectors: Mapping[str, Selector]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """What a model is told about a tool.

    `description`: one paragraph, then one line for each selector. `input_schema`: JSON Schema (2020-12) of its
    arguments, closed to unknown ones, without `$ref` and unions, which some providers refuse. `arguments`: the model
    that a call is checked against. A tool that does one thing has no selector.
    """

    name: str
    description: str
    input_schema: dict[str, object]
    arguments: type[BaseModel]
    selector_argument: str = ""
    selectors: tuple[str, ...] = ()


BY_RESOURCE = frozenset({"resource_id", "resource_type", "node", "host", "instance", "source"})
"""The filters of every selector whose rows belong to a resource."""
