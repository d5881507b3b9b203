"""Whole runs with a model: what it adds, what it cannot take away, and how its part is recorded."""

from datetime import timedelta

import pytest

from findings.kinds import Kind
from findings.model import Basis, FindingState, ResolveReason, Severity, Topic, Verdict
from findings.store import FindingStore
from patrol.agent.failure import Cause, Failure, ModelError
from patrol.run import RunReport, RunRequest
from patrol.run.model_work.model import EscalationState, ReportOutcome, VerdictSource
from patrol.run.model_work.store import ModelWorkStore
from patrol.run.record_model import ModelState, RunStatus
from patrol.run.store import RunStore
from signals.model import Origin
from tests.agent.scripted import ScriptedProvider, says, wants
from tests.run.builders import HOST, NOW, House, estate, gap, host
from tests.run.model_house import Talk, opening, run, with_model

QUIET = "I looked at everything. All clear."
REPORT = {
    "key": "odd-noise",
    "severity": "warning",
    "category": "reliability",
    "resource_id": HOST,
    "resource_name": "hosta",
    "resource_type": "agent",
    "title": "Something odd",
    "description": "The memory moves in an odd way.",
    "recommendation": "Look at it.",
    "evidence": '"avg_memory":30',
    "tool_call_ids": ["call00001"],
}
LOOK = ("pulse_metrics", {"type": "performance", "resource_id": HOST})


def findings(house: House) -> dict[str, object]:
    with house.database.read() as connection:
        return {each.kind: each for each in FindingStore(connection, "default").list_findings()}


def stored(report: RunReport, house: House):
    return RunStore(house.database).get(report.run.id)


def test_a_model_that_says_all_clear_takes_nothing_away(house: House) -> None:
    report = run(with_model(house), ScriptedProvider(says(QUIET)), estate(host(97)))
    assert [each.kind for each in report.findings] == [Kind.HIGH_DISK]
    assert (report.run.status, report.run.model_state) == (RunStatus.CRITICAL, ModelState.USED)
    assert "all clear" not in report.status_text
    record = stored(report, house)
    assert record.analysis.strip().startswith(QUIET)
    assert (record.model, record.model_cause) == ("ollama:test", "")
    assert record.input_tokens > 0


def test_a_quiet_estate_and_a_quiet_model_are_healthy_and_cost_one_pass(house: House) -> None:
    provider = ScriptedProvider(says(QUIET))
    report = run(with_model(house), provider, estate(host()))
    assert (report.run.status, len(provider.prompts)) == (RunStatus.HEALTHY, 1)
    assert "all clear" in report.status_text


def test_what_the_model_did_not_tell_is_asked_about_once_and_filed_anyway(house: House) -> None:
    provider = ScriptedProvider(says(QUIET))
    report = run(with_model(house), provider, estate(host(97, units=["nginx.service"])))
    assert len(provider.prompts) == 2
    assert {tool.name for tool in provider.prompts[1].tools} == {"patrol_report_finding", "patrol_assess_finding"}
    assert "nginx.service" in opening(provider, 1)
    assert {each.kind for each in report.findings} == {Kind.HIGH_DISK, Kind.UNIT_FAILED}


def test_what_is_known_is_not_asked_about_again(house: House) -> None:
    first, second = ScriptedProvider(says(QUIET)), ScriptedProvider(says(QUIET))
    run(with_model(house), first, estate(host(97)))
    run(house, second, estate(host(97)))
    assert (len(first.prompts), len(second.prompts)) == (2, 1)


def test_a_report_with_evidence_becomes_an_unconfirmed_finding(house: House) -> None:
    provider = ScriptedProvider(*Talk([LOOK], [("patrol_report_finding", REPORT)]).steps(says(QUIET)))
    report = run(with_model(house), provider, estate(host()))
    [finding] = report.findings
    assert (finding.kind, finding.basis, finding.severity) == ("claim_odd_noise", Basis.MODEL, Severity.WARNING)
    assert finding.is_unconfirmed
    [kept] = ModelWorkStore(house.database).reports(report.run.id)
    assert (kept.outcome, kept.finding_id, kept.cited) == (ReportOutcome.FILED, finding.id, ("call00001",))


def test_a_report_without_evidence_is_refused_and_counted(house: House) -> None:
    lie = {**REPORT, "evidence": '"avg_memory":99'}
    provider = ScriptedProvider(*Talk([LOOK], [("patrol_report_finding", lie)]).steps(says(QUIET)))
    report = run(with_model(house), provider, estate(host()))
    assert (report.findings, stored(report, house).rejected_findings) == ([], 1)
    assert report.run.status is RunStatus.HEALTHY


def test_a_report_that_the_detectors_contradict_is_refused(house: House) -> None:
    units = {**REPORT, "key": "unit_failed", "subject": "nginx.service", "evidence": '"status":"online"'}
    look = ("pulse_query", {"action": "get", "resource_id": HOST})
    provider = ScriptedProvider(*Talk([look], [("patrol_report_finding", units)]).steps(says(QUIET)))
    report = run(with_model(house), provider, estate(host()))
    [kept] = ModelWorkStore(house.database).reports(report.run.id)
    assert (kept.outcome, kept.code) == (ReportOutcome.REFUSED, "examined_clear")
    assert (report.findings, report.run.status) == ([], RunStatus.HEALTHY)


def test_a_report_of_what_the_detectors_hold_is_the_same_finding(house: House) -> None:
    told = {
        **REPORT,
        "key": "high-disk",
        "category": "capacity",
        "severity": "critical",
        "subject": "/",
        "evidence": '"usage_percent":97',
    }
    look = ("pulse_storage", {"type": "resource_disks", "resource_id": HOST})
    provider = ScriptedProvider(*Talk([look], [("patrol_report_finding", told)]).steps(says(QUIET)))
    report = run(with_model(house), provider, estate(host(97)))
    [finding] = report.findings
    assert (finding.basis, finding.value) == (Basis.DETECTOR, 97)
    [kept] = ModelWorkStore(house.database).reports(report.run.id)
    assert (kept.outcome, kept.finding_id) == (ReportOutcome.MATCHED, finding.id)
    assert len(provider.prompts) == 3  # no second pass: everything was told


def test_the_detectors_hold_what_the_model_says_is_resolved_and_its_dissent_is_kept(house: House) -> None:
    run(with_model(house), ScriptedProvider(says(QUIET)), estate(host(97)))
    [known] = findings(house).values()
    verdict = {
        "finding_id": known.id,
        "verdict": "resolved",
        "reason": "It looks fine to me.",
        "evidence": '"usage_percent":97',
        "tool_call_ids": ["call00001"],
    }
    look = ("pulse_storage", {"type": "resource_disks", "resource_id": HOST})
    provider = ScriptedProvider(*Talk([look], [("patrol_assess_finding", verdict)]).steps(says(QUIET)))
    report = run(house, provider, estate(host(97)))
    assert [each.state for each in report.findings] == [FindingState.OPEN]
    [said] = ModelWorkStore(house.database).verdicts(report.run.id)
    assert (said.verdict, said.source, said.applied, said.code) == (
        Verdict.RESOLVED,
        VerdictSource.MODEL,
        False,
        "still_present",
    )


def claimed(house: House) -> object:
    provider = ScriptedProvider(*Talk([LOOK], [("patrol_report_finding", REPORT)]).steps(says(QUIET)))
    run(with_model(house), provider, estate(host()))
    return findings(house)["claim_odd_noise"]


def test_a_claim_is_closed_by_a_model_only_with_evidence(house: House) -> None:
    claim = claimed(house)
    verdict = {
        "finding_id": claim.id,
        "verdict": "resolved",
        "reason": "The memory is steady.",
        "evidence": '"avg_memory":30',
        "tool_call_ids": ["call00001"],
    }
    provider = ScriptedProvider(*Talk([LOOK], [("patrol_assess_finding", verdict)]).steps(says(QUIET)))
    report = run(house, provider, estate(host()))
    assert (report.findings, report.run.status) == ([], RunStatus.HEALTHY)
    assert findings(house)["claim_odd_noise"].resolve_reason is ResolveReason.CLEARED


def test_a_claim_that_nobody_speaks_of_is_uncertain_and_the_run_is_not_clear(house: House) -> None:
    claim = claimed(house)
    provider = ScriptedProvider(says(QUIET))
    report = run(house, provider, estate(host()))
    assert len(provider.prompts) == 2  # it was asked about, once
    assert claim.id in opening(provider, 1)
    assert (stored(report, house).uncertain, "1 uncertain" in report.status_text) == (1, True)
    [said] = ModelWorkStore(house.database).verdicts(report.run.id)
    assert (said.source, said.verdict) == (VerdictSource.PATROL, Verdict.UNCERTAIN)


def test_a_claim_about_what_was_removed_is_not_asked_about(house: House) -> None:
    claimed(house)
    other = estate(host(name="hostb"))
    run(house, ScriptedProvider(says(QUIET)), other)
    provider = ScriptedProvider(says(QUIET))
    report = run(house, provider, other)
    assert findings(house)["claim_odd_noise"].resolve_reason is ResolveReason.RESOURCE_REMOVED
    assert len(provider.prompts) == 1
    assert (report.run.status, stored(report, house).uncertain) == (RunStatus.HEALTHY, 0)


def test_a_claim_that_no_run_confirms_expires(house: House) -> None:
    claimed(house)
    for _ in range(3):
        report = run(house, ScriptedProvider(says(QUIET)), estate(host()))
    assert findings(house)["claim_odd_noise"].resolve_reason is ResolveReason.EXPIRED_CLAIM
    assert report.run.status is RunStatus.HEALTHY or stored(report, house).uncertain


def test_runs_whose_model_fails_do_not_wear_a_claim_down(house: House) -> None:
    claimed(house)
    down = ModelError(Failure(cause=Cause.PROVIDER_CONNECTION, summary="Nobody answers.", temporary=True))
    for _ in range(2):
        run(house, ScriptedProvider(down), estate(host()))
    assert findings(house)["claim_odd_noise"].state is FindingState.OPEN


FAILURES = [
    Failure(cause=Cause.PROVIDER_CONNECTION, summary="Nobody answers.", temporary=True),
    Failure(cause=Cause.PROVIDER_AUTH, summary="The key is refused."),
    Failure(cause=Cause.CONTEXT_WINDOW_TOO_SMALL, summary="Too long.", window=8_192),
    Failure(cause=Cause.MODEL_UNSUPPORTED_TOOLS, summary="No tools."),
]


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: failure.cause)
def test_a_model_that_fails_changes_nothing_of_what_the_detectors_conclude(house: House, failure: Failure) -> None:
    report = run(with_model(house), ScriptedProvider(ModelError(failure)), estate(host(97)))
    assert [each.kind for each in report.findings] == [Kind.HIGH_DISK]
    record = stored(report, house)
    assert (record.status, record.model_state) == (RunStatus.CRITICAL, ModelState.FAILED)
    assert (record.model_cause, record.model_said) == (failure.cause, failure.summary)


def test_a_fault_in_our_own_code_is_the_models_part_and_never_the_runs(house: House) -> None:
    report = run(with_model(house), ScriptedProvider(RuntimeError("a bug")), estate(host(97)))
    assert [each.kind for each in report.findings] == [Kind.HIGH_DISK]
    assert stored(report, house).model_cause == Cause.INTERNAL_ERROR


def test_what_was_found_before_the_failure_is_kept(house: House) -> None:
    down = ModelError(Failure(cause=Cause.PROVIDER_CONNECTION, summary="It went away.", temporary=True))
    steps = Talk([LOOK], [("patrol_report_finding", REPORT)]).steps(says("."))[:-1]
    report = run(with_model(house), ScriptedProvider(*steps, down), estate(host()))
    assert [each.kind for each in report.findings] == ["claim_odd_noise"]
    assert stored(report, house).model_state is ModelState.FAILED


def test_two_runs_without_a_working_model_are_a_finding_and_one_that_works_ends_it(house: House) -> None:
    down = ModelError(Failure(cause=Cause.UNREADABLE_ANSWER, summary="It answers with HTML."))
    run(with_model(house), ScriptedProvider(down), estate(host()))
    report = run(house, ScriptedProvider(down), estate(host()))
    assert [each.kind for each in report.findings] == [Kind.MODEL_UNAVAILABLE]
    report = run(house, ScriptedProvider(says(QUIET)), estate(host()))
    assert (report.findings, report.run.status) == ([], RunStatus.HEALTHY)


def test_a_model_that_keeps_failing_is_left_alone_for_a_while(house: House) -> None:
    refused = ScriptedProvider(ModelError(Failure(cause=Cause.PROVIDER_AUTH, summary="The key is refused.")))
    run(with_model(house), refused, estate(host()))
    report = run(house, refused, estate(host(97)))
    assert len(refused.prompts) == 1
    assert stored(report, house).model_cause == Cause.CIRCUIT_OPEN
    assert Kind.HIGH_DISK in {each.kind for each in report.findings}
    house.clock.advance(hours=2)
    run(house, refused, estate(host()))
    assert len(refused.prompts) == 2


def test_without_room_in_the_budget_nothing_is_asked_and_the_checks_run(house: House) -> None:
    provider = ScriptedProvider(says(QUIET))
    report = run(with_model(house, budget={"day_tokens": 0}), provider, estate(host(97)))
    assert provider.prompts == []
    record = stored(report, house)
    assert (record.model_state, record.model_cause) == (ModelState.SKIPPED_BUDGET, "budget")
    assert "[budget] day_tokens = 0" in record.model_said
    assert [each.kind for each in report.findings] == [Kind.HIGH_DISK]
    assert run(house, provider, estate(host(97))).run.model_state is ModelState.SKIPPED_BUDGET
    assert Kind.MODEL_UNAVAILABLE not in findings(house)


def test_the_budget_ends_a_run_of_the_model_and_keeps_what_it_found(house: House) -> None:
    steps = Talk([LOOK], [("patrol_report_finding", REPORT)], [LOOK], [LOOK]).steps(says("."))
    provider = ScriptedProvider(*steps)
    report = run(with_model(house, budget={"run_tokens": 14_000}), provider, estate(host()))
    assert len(provider.prompts) < 5
    record = stored(report, house)
    assert (record.model_state, record.model_cause) == (ModelState.USED, "budget")
    assert ModelWorkStore(house.database).spent(run_id=report.run.id).tokens <= 14_000


def test_a_server_that_read_half_of_it_makes_the_run_incomplete(house: House) -> None:
    provider = ScriptedProvider(says(QUIET, sent=300))
    report = run(with_model(house), provider, estate(host()))
    record = stored(report, house)
    assert (record.status, record.model_state) == (RunStatus.INCOMPLETE, ModelState.FAILED)
    assert record.model_cause == Cause.CONTEXT_TRUNCATED
    assert "all clear" not in report.status_text


def test_its_turn_comes_again_after_the_set_time(house: House) -> None:
    provider = ScriptedProvider(says(QUIET))
    with_model(house, model={"name": "ollama:test", "every": "6h"})
    for hours in (0, 1, 4):
        house.clock.advance(hours=hours)
        report = run(house, provider, estate(host()))
    assert len(provider.prompts) == 1
    assert (report.run.model_state, stored(report, house).model_cause) == (ModelState.NONE, "not_due")
    house.clock.advance(hours=2)
    run(house, provider, estate(host()))
    assert len(provider.prompts) == 2


def test_an_unchanged_estate_can_be_skipped_but_not_for_ever(house: House) -> None:
    provider = ScriptedProvider(says(QUIET))
    with_model(house, model={"name": "ollama:test", "skip_unchanged": True})
    run(house, provider, estate(host(40)))
    assert run(house, provider, estate(host(42))).run.model_state is ModelState.SKIPPED_UNCHANGED
    assert run(house, provider, estate(host(46))).run.model_state is ModelState.USED
    house.clock.advance(hours=25)
    assert run(house, provider, estate(host(46))).run.model_state is ModelState.USED


def test_calls_of_every_pass_are_recorded_and_a_replay_is_the_same(house: House) -> None:
    claimed(house)
    provider = ScriptedProvider(wants(LOOK), says(QUIET), wants(LOOK, first=2), says("."))
    report = run(house, provider, estate(host(97)))
    calls = RunStore(house.database).tool_calls(report.run.id)
    assert [call.origin for call in calls if call.origin != Origin.PATROL] == [Origin.MODEL, Origin.LATER]
    from patrol.run.replay import ReplayOutcome, replay  # noqa: PLC0415 - beside its one use

    assert replay(house.database, report.run.id).outcome is ReplayOutcome.IDENTICAL


def test_what_nobody_told_of_is_escalated_where_the_autonomy_says_so(house: House) -> None:
    with_model(house, patrol={"autonomy": "approval"})
    report = run(house, ScriptedProvider(says(QUIET)), estate(host(97, units=["a.service"]), host(97, name="hostb")))
    decided = ModelWorkStore(house.database).escalations(run_id=report.run.id)
    assert sorted(each.state for each in decided) == [
        EscalationState.DEFERRED,
        EscalationState.QUEUED,
        EscalationState.QUEUED,
    ]


def test_in_monitor_everything_is_filed_and_nothing_queued(house: House) -> None:
    report = run(with_model(house), ScriptedProvider(says(QUIET)), estate(host(97)))
    [decided] = ModelWorkStore(house.database).escalations(run_id=report.run.id)
    assert (decided.state, decided.reason) == (EscalationState.REFUSED, "monitor_only")


def test_a_blind_finding_is_asked_about_and_never_closed_by_a_word(house: House) -> None:
    run(with_model(house), ScriptedProvider(says(QUIET)), estate(host(97)))
    blind = estate(host(None), gaps=[gap(Topic.FILESYSTEMS)])
    [known] = [each for each in findings(house).values() if each.kind == Kind.HIGH_DISK]
    verdict = {"finding_id": known.id, "verdict": "resolved", "reason": "gone", "evidence": '"avg_memory":30'}
    provider = ScriptedProvider(
        *Talk([LOOK], [("patrol_assess_finding", {**verdict, "tool_call_ids": ["call00001"]})]).steps(says("."))
    )
    report = run(house, provider, blind)
    assert [each.kind for each in report.findings if each.kind == Kind.HIGH_DISK] == [Kind.HIGH_DISK]
    [said] = [
        each for each in ModelWorkStore(house.database).verdicts(report.run.id) if each.source is VerdictSource.MODEL
    ]
    assert (said.applied, said.code) == (False, "no_data")


def test_a_scoped_run_is_quick_and_speaks_of_its_scope_alone(house: House) -> None:
    provider = ScriptedProvider(*[wants(LOOK, first=number) for number in range(1, 9)])
    report = run(
        with_model(house), provider, estate(host(), host(97, name="hostb")), request=RunRequest(scope=("hosta",))
    )
    assert len(provider.prompts) == 4
    assert report.findings == []
    assert "hostb" not in opening(provider)


def test_after_a_crash_the_model_waits_for_the_next_run(house: House) -> None:
    with_model(house)
    from tests.run.test_lease import begun  # noqa: PLC0415 - the one run that is left behind

    begun(house, "nobody")
    RunStore(house.database).close_crashed(NOW + timedelta(hours=1), lambda _owner: True)
    provider = ScriptedProvider(says(QUIET))
    first = run(house, provider, estate(host(97)))
    assert (first.run.model_state, provider.prompts) == (ModelState.SKIPPED_AFTER_CRASH, [])
    assert run(house, provider, estate(host(97))).run.model_state is ModelState.USED
