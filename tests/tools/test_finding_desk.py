"""The finding tools: what a model may read and say of findings, and what is refused with which word."""

import threading

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from findings.kinds import KINDS, Kind
from findings.model import Basis, Category, Severity, Verdict
from findings.silence import PATROLS_OWN
from patrol.estate.model import ResourceType
from patrol.tools.finding_desk import FindingDesk
from patrol.tools.model import ErrorCode, ToolError
from tests.tools.desks import REPORT, Desk, known_finding

GET, TELL = "patrol_get_findings", "patrol_report_finding"
ASSESS, RESOLVE = "patrol_assess_finding", "patrol_resolve_finding"
VERDICT = {
    "finding_id": "f1",
    "verdict": "present",
    "evidence": '"usage_percent": 91',
    "reason": "still full",
    "tool_call_ids": ["places"],
}

# --- what a model is told of the tools


def test_four_tools_with_their_documented_arguments() -> None:
    specs = {spec.name: spec for spec in FindingDesk.specs()}
    assert list(specs) == [GET, TELL, ASSESS, RESOLVE]
    told = specs[TELL].input_schema
    documented = [
        *("key", "severity", "category", "resource_id", "resource_name", "resource_type"),
        *("title", "description", "recommendation", "evidence"),
    ]
    assert told["required"] == [*documented, "tool_call_ids"]
    assert list(told["properties"]) == [*documented, "tool_call_ids", "impact", "subject"]
    assert told["properties"]["resource_type"]["enum"] == [str(each) for each in ResourceType]
    assert told["properties"]["severity"]["enum"] == ["critical", "warning"]
    assert specs[ASSESS].input_schema["required"] == ["finding_id", "verdict", "reason"]


def test_schemas_are_plain_and_closed() -> None:
    for spec in FindingDesk.specs():
        assert spec.input_schema["additionalProperties"] is False
        for name, told in spec.input_schema["properties"].items():
            assert told["type"] in {"string", "integer", "array"}, name
            assert told["description"], name
            assert {"anyOf", "$ref", "title"}.isdisjoint(told), name
        msgspec.json.encode(spec.input_schema)


# --- reading


def test_known_findings_are_read_worst_first_and_noted_as_read() -> None:
    desk = Desk(known=[known_finding(1), known_finding(2, "disk:pve1:sdb", severity=Severity.CRITICAL)])
    answer = desk.call(GET)
    assert [row.id for row in answer.findings] == ["f2", "f1"]
    assert (answer.count, answer.total, answer.complete) == (2, 2, True)
    assert desk.desk.read == {"f1", "f2"}
    shown = msgspec.json.decode(msgspec.json.encode(answer))["findings"][1]
    assert shown["detected_at"] == "2026-03-01T12:00:00Z"
    assert (shown["key"], shown.get("unconfirmed", False)) == ("high_disk", False)


def test_filters_of_reading() -> None:
    desk = Desk(known=[known_finding(1), known_finding(2, "disk:pve1:sdb", severity=Severity.CRITICAL)])
    for arguments, ids in (
        ({"severity": " Critical "}, ["f2"]),
        ({"severity": "watch"}, ["f2", "f1"]),
        ({"resource_id": "pve2"}, ["f1"]),
        ({"resource_id": "node:a:pve1"}, []),
        ({"limit": 1, "offset": 1}, ["f1"]),
    ):
        assert [row.id for row in desk.call(GET, **arguments).findings] == ids
    assert not desk.call(GET, limit=1).complete
    assert desk.refusal(GET, severity="bad").allowed == ["info", "watch", "warning", "critical"]
    assert desk.refusal(GET, resource_id="nobody").error is ErrorCode.NOT_FOUND
    assert len(desk.refusal(GET, resource_id="local-lvm").allowed) == 2


def test_what_one_run_of_a_model_says_is_read_as_unconfirmed() -> None:
    desk = Desk(known=[known_finding(kind="claim_odd", basis=Basis.MODEL)])
    (row,) = desk.call(GET).findings
    assert (row.key, row.basis, row.unconfirmed) == ("claim_odd", "model", True)


def test_nothing_is_written_before_what_is_known_was_read() -> None:
    desk = Desk(known=[known_finding()], snapshot_read=False)
    for tool in (TELL, ASSESS, RESOLVE):
        assert desk.refusal(tool, **(REPORT if tool == TELL else {})).error is ErrorCode.FINDINGS_NOT_READ
    desk.call(GET, severity="critical")
    assert desk.report().applied


# --- reporting


def test_a_good_report_is_taken() -> None:
    desk = Desk()
    answer = desk.report(impact=" all of it ", subject=" a  b ")
    (report,) = desk.desk.reports
    assert (answer.applied, answer.is_new, answer.finding_id) == (True, True, report.key)
    assert (report.kind, report.severity, report.category) == (
        "claim_restart_loop",
        Severity.WARNING,
        Category.RELIABILITY,
    )
    assert (report.subject, report.impact, report.call_id, report.tool_call_ids) == (
        "a b",
        "all of it",
        "this-call",
        ("use",),
    )
    seen = report.observation()
    assert (seen.basis, seen.kind, seen.tool_call_id, seen.evidence) == (
        Basis.MODEL,
        report.kind,
        "use",
        '"avg_cpu": 90',
    )
    assert seen.summary == "pve1 is busy: Its CPU is busy."
    assert desk.desk.refused == []


def test_missing_fields_are_named_in_their_order() -> None:
    failure = Desk().report_refusal(title=" ", key=None, tool_call_ids=[])
    assert failure.error is ErrorCode.MISSING_FIELDS
    assert failure.message == "missing required fields: key, title, tool_call_ids"


@pytest.mark.parametrize(
    ("changes", "code", "right"),
    [
        ({"severity": "info"}, ErrorCode.INVALID_ARGUMENT, ["critical", "warning"]),
        ({"category": "weather"}, ErrorCode.INVALID_ARGUMENT, [str(each) for each in Category]),
        ({"resource_type": "toaster"}, ErrorCode.INVALID_ARGUMENT, [str(each) for each in ResourceType]),
        ({"resource_type": "vm"}, ErrorCode.WRONG_TYPE, ["node"]),
        ({"resource_id": "node:a:pve9", "resource_name": "pve9"}, ErrorCode.NOT_FOUND, ["node:a:pve1", "node:a:pve2"]),
        ({"resource_name": "pve2"}, ErrorCode.IDENTITY_MISMATCH, ["node:a:pve1", "node:a:pve2"]),
        ({"key": "source-blind"}, ErrorCode.RESERVED_KIND, []),
        ({"key": "model unavailable"}, ErrorCode.RESERVED_KIND, []),
        ({"tool_call_ids": ["use", "nope"]}, ErrorCode.UNKNOWN_TOOL_CALL, []),
        ({"tool_call_ids": ["disks"]}, ErrorCode.EVIDENCE_NOT_ABOUT_RESOURCE, []),
        ({"evidence": '"avg_cpu": 99'}, ErrorCode.EVIDENCE_NOT_FOUND, None),
        ({"evdence": "x"}, ErrorCode.UNKNOWN_ARGUMENT, None),
        ({"title": 5}, ErrorCode.INVALID_ARGUMENT, []),
        ({"key": "cpu-high", "evidence": "x", "resource_id": "node:a:pve2", "resource_name": "pve2"}, None, None),
    ],
)
def test_refusals_say_what_would_be_right(changes: dict, code: ErrorCode | None, right: list[str] | None) -> None:
    desk = Desk()
    failure = desk.report_refusal(**changes)
    if code is not None:
        assert failure.error is code
    if right is not None:
        assert failure.allowed == right
    (refused,) = desk.desk.refused
    assert (refused.tool, refused.code) == (TELL, failure.error)
    assert desk.desk.reports == []


def test_a_refusal_for_want_of_evidence_shows_the_row_that_can_be_quoted() -> None:
    failure = Desk().report_refusal(evidence="the CPU is at 99 %")
    (row,) = failure.allowed
    assert '"avg_cpu":90' in row
    assert Desk().report(evidence=row).applied


def test_a_refusal_is_noted_with_what_it_was_about_as_far_as_it_was_understood() -> None:
    desk = Desk()
    desk.report_refusal(evidence="nothing such")
    (refused,) = desk.desk.refused
    assert (refused.resource_id, refused.kind) == ("node:a:pve1", "claim_restart_loop")


def test_words_are_read_whatever_their_case_and_blanks() -> None:
    desk = Desk()
    answer = desk.report(
        severity=" Warning ", category="RELIABILITY", resource_type="Node", resource_id=" NODE:A:PVE1 "
    )
    assert (answer.applied, answer.resource_id) == (True, "node:a:pve1")


@pytest.mark.parametrize("word", ["physical_disk", "physical-disk", "Disk"])
def test_words_of_other_systems_for_types_are_understood(word: str) -> None:
    desk = Desk()
    answer = desk.report(
        key="smart failure",
        category="general",
        resource_id="disk:pve1:sdb",
        resource_name="sdb",
        resource_type=word,
        evidence="health: FAILED",
        tool_call_ids=["disks"],
    )
    assert (answer.kind, desk.desk.reports[0].category) == ("smart_failure", Category.RELIABILITY)


@pytest.mark.parametrize("resource", Desk().estate.resources, ids=lambda each: each.id)
def test_every_resource_of_the_estate_can_be_reported(resource) -> None:
    desk = Desk()
    answer = desk.report(
        resource_id=resource.id,
        resource_name=resource.name,
        resource_type=str(resource.type),
        evidence=f'"status":"{resource.status}"',
        tool_call_ids="list",
    )
    assert (answer.applied, answer.resource_id) == (True, resource.id)


def test_a_name_mends_an_unknown_id_only_where_it_leaves_no_choice() -> None:
    assert Desk().report(resource_id="node/pve1").resource_id == "node:a:pve1"
    failure = Desk().report_refusal(resource_id="x", resource_name="local-lvm", resource_type="storage")
    assert (failure.error, len(failure.allowed)) == (ErrorCode.AMBIGUOUS, 2)
    scoped = Desk(scope={"storage:pve1:local-lvm"})
    answer = scoped.report(
        resource_id="x",
        resource_name="local-lvm",
        resource_type="pool",
        evidence='"usage_percent":91',
        tool_call_ids=["pools"],
    )
    assert answer.resource_id == "storage:pve1:local-lvm"


def test_nothing_outside_of_the_scope_is_reported() -> None:
    assert Desk(scope={"node:a:pve2"}).report_refusal().error is ErrorCode.OUT_OF_SCOPE
    assert Desk(scope=()).report_refusal(resource_id="x").error is ErrorCode.NOT_FOUND


def test_the_same_is_taken_once() -> None:
    desk = Desk()
    first, again = desk.report(), desk.report(key="Restart_Loop", title="another")
    assert (again.applied, again.reason, again.finding_id) == (False, "finding_reported_this_run", first.finding_id)
    assert len(desk.desk.reports) == 1


def test_a_pass_reports_no_more_than_it_may() -> None:
    desk = Desk(report_limit=1)
    desk.report()
    desk.report()  # the same again costs nothing
    assert desk.report_refusal(key="another").error is ErrorCode.REPORT_LIMIT
    desk.desk.begin_pass(report_limit=1)
    assert desk.report(key="another").applied


def test_the_plain_state_of_a_container_belongs_to_the_alerts() -> None:
    container = {"resource_type": "app-container", "evidence": "status", "tool_call_ids": ["list"]}
    redis = {**container, "resource_id": "app-container:box:redis", "resource_name": "redis"}
    for key in ("container-exited", "not running", "redis_down"):
        answer = Desk().report(**redis, key=key)
        assert (answer.applied, answer.reason) == (False, "alert_owned_resource_state")
    shown = {"evidence": '"status":"stopped"'}
    assert Desk().report(**{**redis, **shown}, key="restart-loop").applied
    assert Desk().report(**{**redis, **shown}, key="stopped", category="performance").applied
    web = {**container, "resource_id": "app-container:box:web", "resource_name": "web", "evidence": "status: running"}
    assert Desk().report(**web, key="container-down").applied


def test_texts_are_bounded_and_never_cut_inside_a_character() -> None:
    desk = Desk()
    desk.report(title="ä" * 300, description="€" * 3_000, recommendation="x" * 9_000)
    (report,) = desk.desk.reports
    assert len(report.title) == 200
    assert len(report.description.encode()) <= 2_000
    assert report.description.strip("€…") == ""
    assert len(report.recommendation) == 2_000


def test_a_report_of_what_is_known_is_its_verdict() -> None:
    desk = Desk(known=[known_finding()])
    answer = desk.report(
        key="disk-high",
        resource_id="node:a:pve2",
        resource_name="pve2",
        evidence='"usage_percent": 91',
        tool_call_ids=["places"],
    )
    assert (answer.finding_id, answer.is_new, answer.subject) == ("f1", False, "/")
    verdict = desk.desk.verdicts["f1"]
    assert (verdict.verdict, verdict.by_report, verdict.observation()) == (Verdict.PRESENT, True, None)
    assert desk.refusal(ASSESS, **VERDICT).error is ErrorCode.ALREADY_ASSESSED


def test_what_was_said_to_be_gone_is_not_reported_in_the_same_run() -> None:
    desk = Desk(known=[known_finding()])
    desk.call(ASSESS, **{**VERDICT, "verdict": "resolved"})
    failure = desk.report_refusal(
        key="f1", resource_id="node:a:pve2", resource_name="pve2", evidence="usage_percent: 91", tool_call_ids="places"
    )
    assert (failure.error, "resolved" in failure.message) == (ErrorCode.ALREADY_ASSESSED, True)


# --- values and limits

PVE1 = {"category": "performance", "evidence": '"avg_cpu": 90'}
PVE2_PLACES = {"resource_id": "node:a:pve2", "resource_name": "pve2", "tool_call_ids": ["places", "health"]}
OFF = '{"nodeDefaults": {"cpu": {"trigger": 0, "clear": 0}}}'


def test_a_value_above_its_limit_is_taken() -> None:
    assert Desk().report(key="cpu-high", **PVE1).kind == "high_cpu"


def test_a_value_below_its_limit_is_refused_with_both() -> None:
    failure = Desk().report_refusal(key="High memory", evidence='"avg_memory": 50')
    assert failure.error is ErrorCode.BELOW_LIMIT
    assert "is at 50" in failure.message
    assert "the limit is 80" in failure.message


def test_what_was_not_measured_is_no_reason_against_a_report() -> None:
    assert Desk().report(key="swap-high").kind == "high_swap"


@pytest.mark.parametrize("key", ["disk controller errors", "member-down", "cpu fan failed"])
def test_only_kinds_that_assert_a_value_above_a_limit_are_held_against_it(key: str) -> None:
    assert Desk().report(key=key).applied


def test_a_check_that_is_switched_off_is_not_reported_by_a_model_either() -> None:
    failure = Desk(settings=OFF).report_refusal(key="cpu-high", **PVE1)
    assert failure.error is ErrorCode.DISABLED_BY_ALERT_SETTINGS


def test_the_mount_is_filled_in_where_one_is_above_its_limit() -> None:
    told = {**PVE2_PLACES, "key": "disk full", "evidence": '"usage_percent": 91'}
    assert Desk().report(**told).subject == "/"
    assert Desk().report(**told, subject="/").subject == "/"
    failure = Desk().report_refusal(**told, subject="/var")
    assert (failure.error, failure.allowed) == (ErrorCode.NOT_FOUND, ["/"])


def test_a_unit_is_named_as_the_host_names_it() -> None:
    told = {**PVE2_PLACES, "key": "unit failed", "evidence": '"name":"nginx.service","state":"failed"'}
    assert Desk().report(**told, subject="nginx").subject == "nginx.service"
    assert Desk().report(**told).subject == "nginx.service"
    assert Desk().report_refusal(**told, subject="sshd").allowed == ["nginx.service", "ntp.service"]


# --- assessing


@pytest.mark.parametrize("verdict", ["present", "Resolved"])
def test_a_verdict_with_evidence_is_taken(verdict: str) -> None:
    desk = Desk(known=[known_finding()])
    answer = desk.call(ASSESS, **{**VERDICT, "verdict": verdict})
    given_verdict = desk.desk.verdicts["f1"]
    assert (answer.applied, given_verdict.verdict) == (True, Verdict(verdict.lower()))
    assert ("closes only if" in answer.note) is (verdict == "Resolved")
    seen = given_verdict.observation()
    assert (seen is not None) is (verdict == "present")
    if seen is not None:
        assert (seen.kind, seen.subject, seen.basis) == ("high_disk", "/", Basis.MODEL)


def test_uncertain_needs_no_evidence() -> None:
    desk = Desk(known=[known_finding()])
    assert desk.call(ASSESS, finding_id="f1", verdict="uncertain", reason="nothing shows it").applied


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"evidence": ""}, ErrorCode.MISSING_FIELDS),
        ({"tool_call_ids": []}, ErrorCode.MISSING_FIELDS),
        ({"reason": ""}, ErrorCode.MISSING_FIELDS),
        ({"verdict": "fixed"}, ErrorCode.INVALID_ARGUMENT),
        ({"evidence": '"usage_percent": 12'}, ErrorCode.EVIDENCE_NOT_FOUND),
        ({"tool_call_ids": ["disks"]}, ErrorCode.EVIDENCE_NOT_ABOUT_RESOURCE),
        ({"tool_call_ids": ["x"]}, ErrorCode.UNKNOWN_TOOL_CALL),
        ({"finding_id": "f"}, ErrorCode.UNKNOWN_FINDING),
        ({"finding_id": "F1"}, ErrorCode.UNKNOWN_FINDING),
        ({"finding_id": "f12"}, ErrorCode.UNKNOWN_FINDING),
    ],
)
def test_a_verdict_that_is_not_taken(changes: dict, code: ErrorCode) -> None:
    desk = Desk(known=[known_finding()])
    assert desk.refusal(ASSESS, **{**VERDICT, **changes}).error is code
    assert desk.desk.verdicts == {}


def test_an_unknown_id_is_answered_with_those_that_have_no_verdict_yet() -> None:
    desk = Desk(known=[known_finding(number, f"vm:a:{number}") for number in range(1, 31)])
    desk.call(ASSESS, finding_id="f1", verdict="uncertain", reason="x")
    failure = desk.refusal(ASSESS, finding_id="f0", verdict="uncertain", reason="x")
    assert len(failure.allowed) == 20
    assert "f1" not in failure.allowed


def test_a_second_verdict_is_refused_and_the_first_one_named() -> None:
    desk = Desk(known=[known_finding()])
    desk.call(ASSESS, **VERDICT)
    for tool, arguments in ((ASSESS, {**VERDICT, "verdict": "uncertain"}), (RESOLVE, {**RESOLVED})):
        failure = desk.refusal(tool, **arguments)
        assert (failure.error, "present" in failure.message) == (ErrorCode.ALREADY_ASSESSED, True)


RESOLVED = {"finding_id": "f1", "reason": '"usage_percent": 91', "tool_call_ids": ["places"]}


def test_resolving_is_the_verdict_resolved_and_its_reason_is_its_evidence() -> None:
    desk = Desk(known=[known_finding()])
    answer = desk.call(RESOLVE, **RESOLVED)
    assert (answer.verdict, answer.applied, desk.desk.verdicts["f1"].evidence) == (
        Verdict.RESOLVED,
        True,
        '"usage_percent": 91',
    )
    other = Desk(known=[known_finding()])
    assert other.refusal(RESOLVE, **{**RESOLVED, "reason": "it is fine"}).error is ErrorCode.EVIDENCE_NOT_FOUND
    assert other.call(RESOLVE, **{**RESOLVED, "reason": "it is fine", "evidence": "usage_percent: 91"}).applied


def test_what_was_reported_in_this_run_is_not_assessed_in_it() -> None:
    desk = Desk()
    reported = desk.report()
    answer = desk.call(ASSESS, finding_id=reported.finding_id, verdict="uncertain", reason="x")
    assert (answer.applied, answer.reason) == (False, "new_finding_reported_this_run")


@pytest.mark.parametrize("kind", sorted(PATROLS_OWN))
def test_what_patrol_says_of_itself_is_not_for_a_model_to_judge(kind: str) -> None:
    desk = Desk(known=[known_finding(kind=kind, resource_id="source:patrol:lab", subject="")])
    answer = desk.call(ASSESS, **{**VERDICT, "verdict": "uncertain"})
    assert (answer.applied, desk.desk.verdicts) == (False, {})


# --- lies and noise


def test_a_claim_of_an_earlier_run_is_no_evidence_of_itself() -> None:
    desk = Desk()
    row = {"id": "f9", "resource_id": "node:a:pve1", "evidence": "it melts"}
    desk.calls["known"].output = msgspec.json.encode({"active": [row]}).decode()
    failure = desk.report_refusal(evidence="it melts", tool_call_ids=["known"])
    assert failure.error is ErrorCode.EVIDENCE_NOT_ABOUT_RESOURCE


def test_a_failed_call_is_no_evidence() -> None:
    desk = Desk()
    desk.calls["use"].success = False
    assert desk.report_refusal().error is ErrorCode.EVIDENCE_NOT_ABOUT_RESOURCE


words = st.text(max_size=12)
call_ids = st.lists(st.sampled_from(["use", "disks", "pools", "places", "nope"]), max_size=3)
lies = st.one_of(
    words, st.integers().map(lambda each: f'"avg_cpu":{each}'), st.sampled_from(["FAILED", "melts", "9", "0"])
)


@settings(max_examples=50, deadline=None)
@given(evidence=lies, cited=call_ids, key=words)
def test_a_lie_never_becomes_a_finding(evidence: str, cited: list[str], key: str) -> None:
    desk = Desk()
    try:
        desk.report(evidence=evidence, tool_call_ids=cited, key=key)
    except ToolError:
        assert desk.desk.reports == []
    else:
        row = desk.calls["use"].output.replace('"', "").replace(" ", "").casefold()
        pieces = evidence.replace('"', "").replace("'", "").split()
        assert all(piece.casefold().strip(",;.{}[]()`*").replace("=", ":") in row for piece in pieces)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from([*REPORT, *VERDICT, "subject", "impact", "limit", "offset"]) | st.text(max_size=5)
hostile = st.dictionaries(names, json_values | st.sampled_from([*map(str, REPORT.values()), "f1"]), max_size=8)


@settings(max_examples=50, deadline=None)
@given(
    tool=st.sampled_from([GET, TELL, ASSESS, RESOLVE]) | st.text(max_size=5),
    arguments=hostile | json_values | hostile.map(lambda given: {**REPORT, **given}),
)
def test_no_argument_ends_in_anything_but_an_answer_or_a_refusal_that_can_be_sent(tool: str, arguments: object) -> None:
    desk = Desk(known=[known_finding()])
    try:
        answer = desk.desk.call(tool, arguments, "this-call")
    except ToolError as error:
        msgspec.json.encode(error.as_output())
        taken = False
    else:
        msgspec.json.encode(answer)
        taken = True
    assert len(desk.desk.refused) == (not taken)


def test_half_characters_in_arguments_are_refused_in_whole_ones() -> None:
    desk = Desk()
    for arguments in ({"\ud800": 1}, {**REPORT, "title": "\ud800"}, {**REPORT, "resource_id": "x\ud800"}):
        with pytest.raises(ToolError) as caught:
            desk.desk.call(TELL, arguments, "c")
        msgspec.json.encode(caught.value.as_output())


def test_calls_from_several_threads_take_each_report_once() -> None:
    desk = Desk()
    threads = [threading.Thread(target=desk.report, kwargs={"key": f"odd-{number % 5}"}) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(report.kind for report in desk.desk.reports) == [f"claim_odd_{number}" for number in range(5)]


@pytest.mark.parametrize(
    "kind", [Kind.SMART_FAILURE, Kind.BACKUP_FAILED, Kind.BACKUP_STALE, Kind.HIGH_CPU, Kind.NODE_OFFLINE]
)
def test_the_category_follows_from_a_kind_that_detectors_know(kind: Kind) -> None:
    desk = Desk()
    desk.report(key=kind, category="security")
    assert desk.desk.reports[0].category is KINDS[kind].category


def test_an_id_that_means_several_means_the_one_of_its_type_in_scope() -> None:
    pools = {
        "resource_id": "local-lvm",
        "resource_name": "local-lvm",
        "resource_type": "storage",
        "evidence": "usage_percent: 91",
        "tool_call_ids": "pools",
    }
    assert len(Desk().report_refusal(**pools).allowed) == 2
    assert Desk(scope={"storage:pve1:local-lvm"}).report(**pools).resource_id == "storage:pve1:local-lvm"


def test_no_other_tool_is_answered() -> None:
    failure = Desk().refusal("patrol_delete_finding")
    assert (failure.error, failure.allowed) == (ErrorCode.UNKNOWN_TOOL, [GET, TELL, ASSESS, RESOLVE])
