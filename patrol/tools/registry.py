"""All read tools, and the one way to call them."""

from collections.abc import Mapping
from datetime import datetime

from pydantic import ValidationError

from patrol.estate.model import Estate
from patrol.tools.alerts import ALERTS
from patrol.tools.known import Known
from patrol.tools.metrics import METRICS
from patrol.tools.model import Arguments, Call, ErrorCode, Selector, Tool, ToolError, ToolSpec
from patrol.tools.past import Past
from patrol.tools.query import QUERY
from patrol.tools.storage import STORAGE
from patrol.tools.told import invalid, near, plain_field
from patrol.tools.view import EstateView
from signals.pages import Page

TOOLS: Mapping[str, Tool] = {tool.name: tool for tool in (QUERY, STORAGE, METRICS, ALERTS)}

_PAGING = frozenset({"limit", "offset"})


class Toolbox:
    """The read tools over one collected estate: the model, the sweep and a replay see the same facts.

    `now`: the time of the run, at which the estate is looked at. `past`: what history tells up to then. `known`: the
    findings of earlier runs. Without them, what needs them answers with a gap.
    """

    def __init__(self, estate: Estate, now: datetime, past: Past | None = None, known: Known | None = None) -> None:
        self.now = now
        self.view = EstateView(estate, now, past, known)

    def call(self, tool_name: str, arguments: Mapping[str, object]) -> Page:
        """One answer as a struct. Raises ToolError for a call that cannot be answered."""
        tool = TOOLS.get(tool_name)
        if tool is None:
            raise ToolError(
                ErrorCode.UNKNOWN_TOOL,
                f"there is no tool {tool_name!r}{near(tool_name, TOOLS)}",
                allowed=tuple(TOOLS),
            )
        selector = _selector(tool, arguments)
        checked = _checked(tool, selector, arguments)
        call = Call(selector=selector, arguments=checked, limit=checked.limit or selector.default_limit)
        return selector.answer(self.view, call)

    @staticmethod
    def specs() -> list[ToolSpec]:
        """What a model is told of each tool."""
        return [
            ToolSpec(
                name=tool.name,
                description="\n".join(
                    (
                        tool.description,
                        *(
                            f"{tool.selector_argument}={selector.name}: {selector.description}"
                            for selector in tool.selectors.values()
                        ),
                    )
                ),
                input_schema=_schema(tool),
                selector_argument=tool.selector_argument,
                selectors=tuple(tool.selectors),
                arguments=tool.arguments,
            )
            for tool in TOOLS.values()
        ]


def _schema(tool: Tool) -> dict[str, object]:
    schema = tool.arguments.model_json_schema()
    properties = {name: plain_field(field) for name, field in schema["properties"].items()}
    properties[tool.selector_argument]["enum"] = list(tool.selectors)
    # The selector first: a model fills in arguments in the order in which it is told of them.
    first = {tool.selector_argument: properties.pop(tool.selector_argument)}
    return {
        "type": "object",
        "properties": {**first, **properties},
        "required": [tool.selector_argument],
        "additionalProperties": False,
    }


def _selector(tool: Tool, arguments: Mapping[str, object]) -> Selector:
    name, allowed = tool.selector_argument, tuple(tool.selectors)
    value = arguments.get(name)
    if value is None or value == "":
        raise ToolError(ErrorCode.MISSING_SELECTOR, f"{name}: {tool.name} needs it", allowed=allowed)
    selector = tool.selectors.get(value) if isinstance(value, str) else None
    if selector is None:
        shown = str(value)[:100]
        raise ToolError(
            ErrorCode.UNKNOWN_SELECTOR,
            f"{name}: {tool.name} has no {shown!r}{near(shown, tool.selectors)}",
            allowed=allowed,
        )
    return selector


def _checked(tool: Tool, selector: Selector, arguments: Mapping[str, object]) -> Arguments:
    obeyed = {tool.selector_argument, *selector.filters, *_PAGING}
    given = {name: value for name, value in arguments.items() if value is not None and value != ""}
    for name in given:
        if name not in obeyed:
            known = name in tool.arguments.model_fields
            what = f"{tool.selector_argument}={selector.name} has no such filter" if known else "unknown argument"
            raise ToolError(
                ErrorCode.UNKNOWN_ARGUMENT,
                f"{str(name)[:100]}: {what}{'' if known else near(str(name)[:100], obeyed)}",
                allowed=tuple(sorted(obeyed)),
            )
    try:
        return tool.arguments.model_validate(given)
    except ValidationError as error:
        raise invalid(error.errors(include_url=False)) from error
