"""Whether a quotation stands in the rows that it cites, however a model writes it down."""

import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from findings.kinds import Kind
from findings.weighing import CLAIM_PREFIX
from patrol.estate.model import Estate, Resource, ResourceType
from patrol.tools.finding_desk.citations import Citations
from patrol.tools.finding_desk.kind_words import kind_of
from patrol.tools.finding_desk.quotes import is_found, plain_row
from patrol.tools.model import ErrorCode, ToolError
from signals.model import ToolCall
from tests.tools.estates import source, toolbox

ROW = {
    "id": "node:a:pve1",
    "name": "pve1",
    "avg_cpu": 91.25,
    "used_gb": 10,
    "negative": -15,
    "whole": 91.0,
    "text": 'He said "no",\nC:\\new über 10 20',
    "disks": [{"mountpoint": "/var", "usage_percent": 93, "ok": True}],
    "list": ["first reason", "second reason"],
}


@pytest.mark.parametrize(
    "quotation",
    [
        '"avg_cpu":91.25',
        '"avg_cpu" : 91.25,',
        "avg_cpu: 91.25",
        "avg_cpu=91.25",
        "'avg_cpu': 91.25",
        "`avg_cpu: 91.25`",
        "- avg_cpu: 91.25\n- used_gb: 10",
        '"avg_cpu": 91.25 ... "usage_percent": 93',
        '"avg_cpu": 91.25 … "ok": true',
        '{\n  "mountpoint": "/var",\n  "usage_percent": 93\n}',
        '"whole": 91',
        '"whole": 91.0',
        "AVG_CPU: 91.25",
        'said \\"no\\",\\nC:\\\\new',
        "C:\\new",
        "über 10 20",
        "\\u00fcber 10 20",
        "second reason",
        json.dumps(ROW),
        json.dumps(ROW, indent=2),
    ],
)
def test_a_true_quotation_is_found(quotation: str) -> None:
    assert is_found(quotation, [plain_row(ROW)])


@pytest.mark.parametrize(
    "quotation",
    [
        "",
        "...",
        "{}",
        "avg_cpu",
        "node:a:pve1",
        '"id":"node:a:pve1","name":"pve1"',
        '"avg_cpu": 91.2',
        '"avg_cpu": 9',
        '"avg_cpu": 91',
        '"usage_percent": 9',
        '"negative": 15',
        '"avg_cpu": 91.25 ... "usage_percent": 99',
        '"avg_cpu": 91.25 and the fan is broken',
        "10",
        "usage_percent ... mountpoint",
    ],
)
def test_what_is_not_in_the_row_or_says_nothing_is_not_found(quotation: str) -> None:
    assert not is_found(quotation, [plain_row(ROW)])


fields = st.from_regex(r"[a-z]{3,5}_[a-z]{2,4}", fullmatch=True)
values = st.integers() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text('abc äß"\\/\n:')


@settings(max_examples=50)
@given(st.dictionaries(fields, values, max_size=5), st.booleans())
def test_every_field_of_a_row_is_found_in_it_as_json_writes_it(row: dict[str, object], in_ascii: bool) -> None:
    for name, value in row.items():
        assert is_found(json.dumps({name: value}, ensure_ascii=in_ascii), [plain_row(row)])


@settings(max_examples=50)
@given(st.text(max_size=60))
def test_no_text_is_too_strange_to_be_looked_for(text: str) -> None:
    assert is_found(text, [plain_row(ROW)]) in (True, False)


# --- which rows are about a resource

ESTATE = Estate(
    sources=[source()],
    resources=[
        Resource(id="node:a:n1", type=ResourceType.NODE, name="one", aliases=["uuid-1", "/dev/md0", "two"]),
        Resource(id="node:a:n2", type=ResourceType.NODE, name="two", aliases=["uuid-2", "/dev/md0"]),
    ],
)


def check(output: object, evidence: str = "state: BAD", resource_id: str = "node:a:n1") -> ErrorCode | None:
    call = ToolCall(id="c", tool_name="pulse_query", output=output)
    citations = Citations({"c": call}.get, toolbox(ESTATE).view)
    try:
        citations.check(resource_id, ["c"], evidence)
    except ToolError as error:
        return error.code
    return None


BAD = {"state": "BAD"}
NOT_ABOUT = ErrorCode.EVIDENCE_NOT_ABOUT_RESOURCE


@pytest.mark.parametrize(
    "output",
    [
        {"rows": [{"id": "node:a:n1", **BAD}]},
        {"rows": [{"resource_id": "uuid-1", "id": "task 7", **BAD}]},
        {"hosts": [{"target_id": "NODE:A:N1", "units": [BAD]}]},
        {"summary": {"node:a:n1": BAD}},
        {"baselines": {"node:a:n1": {"cpu": BAD}}},
        {"id": "node:a:n1", **BAD},
        [{"id": "node:a:n1", **BAD}],
        json.dumps({"rows": [{"id": "node:a:n1", **BAD}]}),
        json.dumps({"rows": [{"id": "node:a:n1", **BAD}]}).encode(),
        "Here it is: " + json.dumps({"id": "node:a:n1", **BAD}),
    ],
)
def test_a_row_is_known_by_the_id_or_an_alias_of_its_resource(output: object) -> None:
    assert check(output) is None


@pytest.mark.parametrize(
    "output",
    [
        {"rows": [{"name": "one", **BAD}]},
        {"rows": [{"id": "one", **BAD}]},
        {"rows": [{"id": "two", **BAD}]},  # an alias that is another one's name
        {"rows": [{"id": "/dev/md0", **BAD}]},  # an alias of several
        {"rows": [{"id": "node:a:n2", **BAD}]},
        {"rows": [{"node": "node:a:n1", **BAD}]},
        {"text": "node:a:n1 BAD"},
        {},
        None,
        "no document",
        7,
    ],
)
def test_neither_a_name_nor_a_shared_alias_nor_a_mention_makes_a_row(output: object) -> None:
    assert check(output) is NOT_ABOUT


def test_a_row_inside_of_another_ones_row_is_not_quoted_for_that_one() -> None:
    output = {"hosts": [{"id": "node:a:n1", "state": "GOOD", "guests": [{"id": "node:a:n2", **BAD}]}]}
    assert check(output) is ErrorCode.EVIDENCE_NOT_FOUND
    assert check(output, resource_id="node:a:n2") is None


def test_outputs_that_no_tool_would_give_are_survived() -> None:
    deep: object = {"id": "node:a:n1", **BAD}
    for _ in range(200):
        deep = {"rows": [deep]}
    assert check(deep) is NOT_ABOUT
    assert check(msgspec.json.encode(deep)) is NOT_ABOUT
    assert check("[" * 100_000) is NOT_ABOUT


def test_a_resource_that_this_estate_does_not_have_has_no_rows() -> None:
    assert check({"id": "vm:a:999", **BAD}, resource_id="vm:a:999") is NOT_ABOUT


# --- words for kinds


@pytest.mark.parametrize("kind", Kind)
def test_a_kind_is_known_by_its_own_word_however_it_is_written(kind: Kind) -> None:
    for word in (kind, kind.upper(), kind.replace("_", "-"), f" {kind.replace('_', ' ')} ", f"{CLAIM_PREFIX}{kind}"):
        assert kind_of(word) == kind


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("High CPU", "high_cpu"),
        ("cpu-high", "high_cpu"),
        ("memory_usage_high", "high_memory"),
        ("disk-high", "high_disk"),
        ("storage-high-usage", "high_disk"),
        ("smart-failure", "smart_failure"),
        ("backup-never", "backup_stale"),
        ("pbs-job-failed", "backup_failed"),
        ("guest-unreachable", "guest_unreachable"),
        ("node-offline", "node_offline"),
        ("container_health_failed", "claim_health_check_failed"),
        ("unhealthy-container", "claim_health_check_failed"),
        ("docker-container-unhealthy", "claim_docker_container_unhealthy"),
        ("host-health-unhealthy", "claim_host_health_unhealthy"),
        ("health-check-timeout", "claim_health_check_timeout"),
        ("restart-loop", "claim_restart_loop"),
        ("claim_restart_loop", "claim_restart_loop"),
        ("high_cpu'; drop table finding", "claim_high_cpu_drop_table_finding"),
        ("../../etc/passwd", "claim_etc_passwd"),
        ("", "claim_from_the_title"),
        ("!!!", "claim_from_the_title"),
    ],
)
def test_other_words(key: str, kind: str) -> None:
    assert kind_of(key, "From the title") == kind


@settings(max_examples=50)
@given(st.text(max_size=200), st.text(max_size=50))
def test_any_word_is_a_known_kind_or_a_claim_and_stays_what_it_is(key: str, title: str) -> None:
    kind = kind_of(key, title)
    assert kind in set(Kind) or kind.startswith(CLAIM_PREFIX)
    assert len(kind) <= 70
    assert kind.isascii()
    assert kind_of(kind) == kind
