"""The arguments of the finding tools, and what a model is told of each tool."""

import json
from collections.abc import Mapping
from typing import Annotated, TypeAlias, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from findings.model import Category, Severity, Verdict
from patrol.tools.finding_desk.named import TYPE_WORDS
from patrol.tools.model import ErrorCode, ToolError, ToolSpec
from patrol.tools.told import invalid, near, plain_field

GET_FINDINGS = "patrol_get_findings"
REPORT_FINDING = "patrol_report_finding"
ASSESS_FINDING = "patrol_assess_finding"
RESOLVE_FINDING = "patrol_resolve_finding"

FINDING_TOOLS = (GET_FINDINGS, REPORT_FINDING, ASSESS_FINDING, RESOLVE_FINDING)

REPORTABLE = (Severity.CRITICAL, Severity.WARNING)
MOST_ROWS = 200
_MOST_CALLS = 20
_LONGEST_INPUT = 20_000


def _as_text(value: object) -> object:
    """Evidence that came as the JSON it is quoted from, written out."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else value


def _as_list(value: object) -> object:
    """Ids that came as one text."""
    return value.replace(",", " ").split() if isinstance(value, str) else value


Evidence: TypeAlias = Annotated[str, BeforeValidator(_as_text)]
CallIds: TypeAlias = Annotated[list[str], BeforeValidator(_as_list), Field(max_length=_MOST_CALLS)]

_CALL_IDS = "ids of the calls of read tools in this run whose outputs show it"
_QUOTED = "fields with their values quoted as a tool gave them, one piece a line; no other words"


class FindingArguments(BaseModel):
    """What all finding tools have in common. Whether a needed argument is there is asked afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True, str_max_length=_LONGEST_INPUT)


class GetFindings(FindingArguments):
    """Which findings to show."""

    resource_id: str = Field(default="", description="only those of this resource: canonical id or any alias")
    severity: str = Field(default="", description="only these and worse: info, watch, warning, critical")
    limit: int = Field(default=25, ge=1, le=MOST_ROWS, description="rows of this page, at most 200")
    offset: int = Field(default=0, ge=0, le=1_000_000, description="rows to skip")


class ReportFinding(FindingArguments):
    """What is wrong, and what shows it."""

    key: str = Field(default="", description="what is wrong in a word: high_cpu, backup_failed, restart-loop ...")
    severity: str = Field(default="", description="critical or warning; minor things belong into the text")
    category: str = Field(default="", description=", ".join(Category))
    resource_id: str = Field(default="", description="canonical id, as the tools show it")
    resource_name: str = Field(default="", description="what the resource is called")
    resource_type: str = Field(default="", description="what it is: " + ", ".join(TYPE_WORDS))
    title: str = Field(default="", description="one line, at most 200 characters")
    description: str = Field(default="", description="what is wrong, and why it matters")
    recommendation: str = Field(default="", description="what an operator should do")
    evidence: Evidence = Field(default="", description=_QUOTED)
    tool_call_ids: CallIds = Field(default=[], description=_CALL_IDS)
    impact: str = Field(default="", description="who or what suffers")
    subject: str = Field(default="", description="the mount, unit, device or job on the resource that it is about")


class AssessFinding(FindingArguments):
    """Whether a known finding is still there."""

    finding_id: str = Field(default="", description="the whole id, as patrol_get_findings shows it")
    verdict: str = Field(default="", description="present, resolved, or uncertain if nothing tells")
    evidence: Evidence = Field(default="", description=_QUOTED + "; not needed for uncertain")
    reason: str = Field(default="", description="why you think so")
    tool_call_ids: CallIds = Field(default=[], description=_CALL_IDS + "; not needed for uncertain")


class ResolveFinding(FindingArguments):
    """That a known finding is gone."""

    finding_id: str = Field(default="", description="the whole id, as patrol_get_findings shows it")
    reason: str = Field(default="", description="why you think so")
    tool_call_ids: CallIds = Field(default=[], description=_CALL_IDS)
    evidence: Evidence = Field(default="", description=_QUOTED + "; without it the reason must be such a quotation")


REPORT_NEEDS = (
    *("key", "severity", "category", "resource_id", "resource_name", "resource_type"),
    *("title", "description", "recommendation", "evidence", "tool_call_ids"),
)
RESOLVE_NEEDS = ("finding_id", "reason", "tool_call_ids")
UNCERTAIN_NEEDS = ("finding_id", "verdict", "reason")
VERDICT_NEEDS = ("finding_id", "verdict", "evidence", "reason", "tool_call_ids")

ArgumentsT = TypeVar("ArgumentsT", bound=FindingArguments)


def parsed(wanted: type[ArgumentsT], arguments: object) -> ArgumentsT:
    """The arguments of a call. Raises ToolError for unknown ones and for values of another type."""
    if not isinstance(arguments, Mapping):
        raise ToolError(ErrorCode.INVALID_ARGUMENT, "the arguments must be one JSON object")
    known = tuple(wanted.model_fields)
    for name in arguments:
        if name not in known:
            shown = str(name)[:100]
            raise ToolError(ErrorCode.UNKNOWN_ARGUMENT, f"{shown}: unknown argument{near(shown, known)}", allowed=known)
    try:
        return wanted.model_validate({name: value for name, value in arguments.items() if value is not None})
    except ValidationError as error:
        raise invalid(error.errors(include_url=False)) from error


def need(given: FindingArguments, names: tuple[str, ...]) -> None:
    """Raises ToolError that names every needed argument that is blank, in their order."""
    missing = [name for name in names if not getattr(given, name)]
    if missing:
        raise ToolError(ErrorCode.MISSING_FIELDS, f"missing required fields: {', '.join(missing)}", allowed=names)


def severity_of(word: str, allowed: tuple[Severity, ...]) -> Severity:
    """A severity by its word. Raises ToolError for one that is not allowed here."""
    folded = word.casefold()
    if folded not in allowed:
        hint = "; put minor notes into the text of your answer" if allowed == REPORTABLE else ""
        raise ToolError(
            ErrorCode.INVALID_ARGUMENT, f"severity: {word[:100]!r} is none{hint}", allowed=tuple(map(str, allowed))
        )
    return Severity(folded)


def category_of(word: str) -> Category:
    """A category by its word. Raises ToolError."""
    folded = word.casefold()
    if folded not in tuple(Category):
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"category: {word[:100]!r} is none", allowed=tuple(Category))
    return Category(folded)


def verdict_of(word: str) -> Verdict:
    """A verdict by its word. Raises ToolError."""
    folded = word.casefold()
    if folded not in tuple(Verdict):
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"verdict: {word[:100]!r} is none", allowed=tuple(Verdict))
    return Verdict(folded)


def _spec(
    name: str, description: str, arguments: type[FindingArguments], needed: tuple[str, ...] = (), **words: list[str]
) -> ToolSpec:
    properties = {each: plain_field(field) for each, field in arguments.model_json_schema()["properties"].items()}
    for field, allowed in words.items():
        properties[field]["enum"] = allowed
    for told in properties.values():
        if told.get("default") in ("", []):
            del told["default"]
    return ToolSpec(
        name=name,
        description=description,
        input_schema={
            "type": "object",
            "properties": properties,
            "required": list(needed),
            "additionalProperties": False,
        },
        arguments=arguments,
    )


def specs() -> list[ToolSpec]:
    """What a model is told of each finding tool."""
    return [
        _spec(
            GET_FINDINGS,
            "The findings that are known and active, worst first, with their ids. Read them before you report or "
            "assess anything: what is known already is not reported again, it is assessed.",
            GetFindings,
            severity=[str(each) for each in Severity],
        ),
        _spec(
            REPORT_FINDING,
            "Reports one thing that is wrong on one resource. It is taken only with evidence: text quoted from the "
            "outputs of read tools of this run, with the ids of those calls. Never report what a tool did not show, "
            "and never a value below its limit. A refusal says what would be right.",
            ReportFinding,
            REPORT_NEEDS,
            severity=[str(each) for each in REPORTABLE],
            category=[str(each) for each in Category],
            resource_type=list(TYPE_WORDS),
        ),
        _spec(
            ASSESS_FINDING,
            "Says of one known finding whether it is still there, once in a run. `present` and `resolved` need "
            "evidence from this run; say `uncertain` where nothing shows it. Patrol's own checks decide whether a "
            "finding that they can judge is closed.",
            AssessFinding,
            UNCERTAIN_NEEDS,
            verdict=[str(each) for each in Verdict],
        ),
        _spec(
            RESOLVE_FINDING,
            "Says that one known finding is gone: the same as patrol_assess_finding with the verdict `resolved`.",
            ResolveFinding,
            RESOLVE_NEEDS,
        ),
    ]
