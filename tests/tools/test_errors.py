"""A call that cannot be answered is an error that says what would be right, never an empty page."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from patrol.estate.model import Estate
from patrol.tools.model import MAX_LIMIT, ErrorCode, ToolError
from patrol.tools.registry import TOOLS, Toolbox
from signals.pages import Page
from tests.tools.estates import NOW, guest, node, source, toolbox, two_nodes

WRONG_CALLS = [
    ("pulse_disks", {}, ErrorCode.UNKNOWN_TOOL, "pulse_metrics"),
    ("pulse_storage", {}, ErrorCode.MISSING_SELECTOR, "pools"),
    ("pulse_storage", {"type": ""}, ErrorCode.MISSING_SELECTOR, "pools"),
    ("pulse_storage", {"type": "pool"}, ErrorCode.UNKNOWN_SELECTOR, "pools"),
    ("pulse_storage", {"type": ["pools"]}, ErrorCode.UNKNOWN_SELECTOR, "pools"),
    ("pulse_query", {"type": "list"}, ErrorCode.MISSING_SELECTOR, "list"),
    ("pulse_metrics", {"type": "disks", "nod": "pve1"}, ErrorCode.UNKNOWN_ARGUMENT, "node"),
    ("pulse_metrics", {"type": "performance", "health": "FAILED"}, ErrorCode.UNKNOWN_ARGUMENT, "resource_type"),
    ("pulse_metrics", {"type": "performance", "period": "1y"}, ErrorCode.INVALID_ARGUMENT, None),
    ("pulse_metrics", {"type": "disks", "limit": 0}, ErrorCode.INVALID_ARGUMENT, None),
    ("pulse_metrics", {"type": "disks", "limit": MAX_LIMIT + 1}, ErrorCode.INVALID_ARGUMENT, None),
    ("pulse_metrics", {"type": "disks", "offset": -1}, ErrorCode.INVALID_ARGUMENT, None),
    ("pulse_metrics", {"type": "disks", "node": "pve9"}, ErrorCode.NOT_FOUND, "pve1"),
    ("pulse_metrics", {"type": "disks", "instance": "z"}, ErrorCode.NOT_FOUND, "a"),
    ("pulse_metrics", {"type": "disks", "source": "z"}, ErrorCode.NOT_FOUND, "lab"),
    ("pulse_metrics", {"type": "disks", "resource_id": "nobody"}, ErrorCode.NOT_FOUND, None),
    ("pulse_metrics", {"type": "disks", "resource_type": "physical_disk"}, ErrorCode.INVALID_ARGUMENT, "disk"),
    ("pulse_storage", {"type": "pools", "storage_id": "nobody"}, ErrorCode.NOT_FOUND, None),
    ("pulse_storage", {"type": "pools", "min_usage": 101}, ErrorCode.INVALID_ARGUMENT, None),
    ("pulse_storage", {"type": "pools", "storage_id": "local-lvm", "node": 7}, ErrorCode.INVALID_ARGUMENT, None),
    ("pulse_storage", {"type": "backups", "node": "pve1"}, ErrorCode.NOT_FOUND, None),
    ("pulse_storage", {"type": "pbs_jobs", "instance": "pbs1"}, ErrorCode.NOT_FOUND, None),
    ("pulse_query", {"action": "search"}, ErrorCode.INVALID_ARGUMENT, None),
    ("pulse_query", {"action": "get"}, ErrorCode.INVALID_ARGUMENT, None),
    ("pulse_query", {"action": "get", "resource_id": "nobody"}, ErrorCode.NOT_FOUND, None),
    ("pulse_query", {"action": "get", "resource_id": "local-lvm"}, ErrorCode.AMBIGUOUS, "storage:pve1:local-lvm"),
    ("pulse_query", {"action": "list", "status": "up"}, ErrorCode.INVALID_ARGUMENT, "running"),
    ("pulse_alerts", {"action": "resolve"}, ErrorCode.UNKNOWN_SELECTOR, "list"),
    ("pulse_alerts", {"action": "findings", "severity": "bad"}, ErrorCode.INVALID_ARGUMENT, "warning"),
    ("pulse_alerts", {"action": "findings", "resource_id": "nobody"}, ErrorCode.NOT_FOUND, None),
]


@pytest.mark.parametrize(("tool", "arguments", "code", "allowed"), WRONG_CALLS)
def test_a_wrong_call_is_told_what_would_be_right(tool: str, arguments: dict, code: ErrorCode, allowed: str) -> None:
    with pytest.raises(ToolError) as caught:
        toolbox(two_nodes()).call(tool, arguments)
    assert caught.value.code is code
    assert not caught.value.retryable
    assert allowed is None or allowed in caught.value.allowed
    shown = msgspec.json.decode(msgspec.json.encode(caught.value.as_output()))
    assert shown["error"] == code
    assert shown["message"]


@pytest.mark.parametrize(
    ("arguments", "field"),
    [({"limit": "many"}, "limit"), ({"min_usage": "full"}, "min_usage"), ({"node": "x" * 501}, "node")],
)
def test_the_message_names_the_field(arguments: dict, field: str) -> None:
    with pytest.raises(ToolError) as caught:
        toolbox(two_nodes()).call("pulse_storage", {"type": "pools", **arguments})
    assert caught.value.message.startswith(f"{field}: ")
    assert len(caught.value.message) < 300


def test_absent_and_empty_arguments_are_no_filters() -> None:
    page = toolbox(two_nodes()).call("pulse_metrics", {"type": "disks", "node": None, "instance": "", "health": None})
    assert page.total == 3


def test_equal_names_of_hosts_filter_for_both_but_are_never_one_resource() -> None:
    estate = Estate(
        sources=[source()],
        resources=[node("a", "pve"), node("b", "pve"), guest("a", 1, "pve"), guest("b", 1, "pve", name="other")],
    )
    box = toolbox(estate)
    page = box.call("pulse_query", {"action": "inventory", "node": "pve", "resource_type": "vm"})
    assert [row.id for row in page.resources] == ["vm:a:1", "vm:b:1"]
    with pytest.raises(ToolError) as caught:
        box.call("pulse_query", {"action": "get", "resource_id": "1"})
    assert caught.value.allowed == ("vm:a:1", "vm:b:1")


def test_a_model_is_told_of_every_tool_with_a_closed_schema() -> None:
    specs = Toolbox.specs()
    assert [spec.name for spec in specs] == ["pulse_query", "pulse_storage", "pulse_metrics", "pulse_alerts"]
    for spec in specs:
        tool = TOOLS[spec.name]
        assert (spec.selector_argument, spec.selectors) == (tool.selector_argument, tuple(tool.selectors))
        assert spec.arguments is tool.arguments
        paragraph, *lines = spec.description.split("\n")
        assert len(paragraph) > 200
        assert len(lines) == len(tool.selectors)
        assert spec.input_schema["additionalProperties"] is False
        assert spec.input_schema["required"] == [tool.selector_argument]
        assert spec.input_schema["properties"][tool.selector_argument]["enum"] == list(tool.selectors)
        for selector in tool.selectors.values():
            assert selector.filters <= set(tool.arguments.model_fields)
            assert f"{tool.selector_argument}={selector.name}" in spec.description


def test_a_schema_is_plain_enough_for_every_provider() -> None:
    for spec in Toolbox.specs():
        assert next(iter(spec.input_schema["properties"])) == spec.selector_argument
        for name, field in spec.input_schema["properties"].items():
            assert field["type"] in {"string", "integer", "number"}, name
            assert field["description"], name
            assert {"anyOf", "$ref", "title"}.isdisjoint(field)


WORDS = st.sampled_from(["type", "action", "pools", "disks", "list", "node", "resource_id", "limit", "offset", "query"])
VALUES = st.one_of(WORDS, st.text(max_size=20), st.integers(), st.floats(), st.none(), st.lists(WORDS, max_size=2))


@given(tool=st.one_of(st.sampled_from(sorted(TOOLS)), st.text()), arguments=st.dictionaries(WORDS, VALUES))
def test_no_call_ends_in_anything_but_a_page_or_a_tool_error(tool: str, arguments: dict) -> None:
    try:
        page = Toolbox(two_nodes(), NOW).call(tool, arguments)
    except ToolError as error:
        msgspec.json.encode(error.as_output())
    else:
        assert isinstance(page, Page)
        msgspec.json.encode(page)
