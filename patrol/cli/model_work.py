"""A model's part of a run and its words about a finding, as people read them. Its words are marked as its own."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from rich.console import Console

from findings.investigation import Refusal
from patrol.agent.metering import ModelCall
from patrol.cli.display import cell, instant, table
from patrol.cli.issues import print_facts
from patrol.records.findings import FindingWords
from patrol.records.runs import RunWork
from patrol.run.model_work.model import VerdictRecord, VerdictSource
from patrol.run.model_work.rows import call_row
from patrol.run.record_model import ModelState, RunRecord, RunStatus

_STATE_TEXTS = {
    ModelState.NONE: "none (the checks run alone)",
    ModelState.USED: "used",
    ModelState.FAILED: "failed; the checks are not touched by that",
    ModelState.SKIPPED_BUDGET: "skipped: the budget has no room",
    ModelState.SKIPPED_UNCHANGED: "skipped: nothing changed since it last looked",
    ModelState.SKIPPED_AFTER_CRASH: "skipped: the run before crashed",
}


_NOT_TOLD = frozenset({RunStatus.RUNNING, RunStatus.CRASHED, RunStatus.CANCELLED, RunStatus.ERROR})


def model_text(run: RunRecord) -> str:
    """What part the model had, and why not a larger one."""
    if run.model_state is ModelState.NONE and run.status in _NOT_TOLD:
        return "not told: the run did not come to its end"
    if not run.model:
        return _STATE_TEXTS[ModelState.NONE]
    cause = f" ({run.model_cause})" if run.model_cause else ""
    said = f": {run.model_said}" if run.model_said else ""
    part = "not called" if run.model_state is ModelState.NONE else _STATE_TEXTS[run.model_state]
    return f"{run.model}: {part}{cause}{said}"


def cost_text(run: RunRecord) -> str:
    """What the model cost in a run; a dash where it was not asked."""
    if not (run.input_tokens or run.output_tokens):
        return "-"
    return (
        f"{run.input_tokens:,} tokens sent, {run.output_tokens:,} received, "
        f"{usd_text(run.cost_usd, assumed=run.cost_assumed)}"
    )


def short_cost(run: RunRecord) -> str:
    """The same in one cell."""
    if not (run.input_tokens or run.output_tokens):
        return "-"
    return f"{run.input_tokens + run.output_tokens:,} tokens, {usd_text(run.cost_usd, assumed=run.cost_assumed)}"


def usd_text(usd: float, *, assumed: bool) -> str:
    """A sum of money. `assumed`: nobody knows the price of some of it."""
    shown = f"{usd:.2f}" if usd >= 0.01 or usd == 0 else f"{usd:.2g}"
    return f"{shown} USD" + (" (assumed price)" if assumed else "")


# --- one run ---


def work_view(work: RunWork) -> dict[str, Any]:
    """What is stored of a model's work in one run, for JSON."""
    return {
        "finding_assessments": [
            {
                "finding_id": each.finding_id,
                "verdict": str(each.verdict),
                "source": str(each.source),
                "evidence": each.evidence,
                "reason": each.reason,
                "applied": each.applied,
                "code": each.code,
                "assessed_at": msgspec.to_builtins(each.at),
            }
            for each in work.verdicts
        ],
        "model_calls": [msgspec.to_builtins(call_row(each)) for each in work.calls],
        "model_reports": msgspec.to_builtins(work.reports),
        "escalations": msgspec.to_builtins(work.escalations),
    }


def print_work(output: Console, run: RunRecord, work: RunWork) -> None:
    """The requests, what was reported and judged, what is to be looked into, and what the model wrote in the end."""
    if work.calls:
        _print_calls(output, work.calls)
    if work.reports:
        output.print()
        rows = table(("Reported by the model", "Severity", "Resource", "Title", "Became", "Why"))
        for report in work.reports:
            what = f"{report.kind} {report.subject}".strip()
            became = f"{report.outcome} {report.finding_id}".strip()
            values = (what, report.severity, report.resource_id, report.title, became, report.code or "-")
            rows.add_row(*(cell(value) for value in values))
        output.print(rows)
    if work.verdicts:
        output.print()
        rows = table(("Finding", "Verdict", "By", "Applied", "Words"))
        for verdict in work.verdicts:
            rows.add_row(
                cell(verdict.finding_id), verdict.verdict, verdict.source, _applied(verdict), cell(_words(verdict))
            )
        output.print(rows)
    if work.escalations:
        output.print()
        rows = table(("To be looked into", "State", "Why", "Cause", "The model's objection"))
        for each in work.escalations:
            about = (
                each.finding_id,
                str(each.state),
                refusal_text(each.reason) or "-",
                each.group,
                each.dissent or "-",
            )
            rows.add_row(*(cell(value) for value in about))
        output.print(rows)
    if run.analysis:
        output.print()
        output.print(cell("The model's own words", "bold"))
        for line in run.analysis.splitlines():
            output.print(cell(line))


_REFUSALS: Mapping[str, str] = {
    Refusal.MONITOR_ONLY: '[patrol] autonomy is "monitor": nothing is looked into by itself',
    Refusal.RESOLVED: "it is resolved",
    Refusal.SILENCED: "it is quiet",
    Refusal.OUTCOME_FINAL: "the last look leaves nothing to look into, or waits for a person",
    Refusal.LOW_SEVERITY: "only warning and critical are looked into",
    Refusal.RUNNING: "it is looked into already",
    Refusal.ATTEMPTS_USED: "it was looked into often enough",
    Refusal.COOLING_DOWN: "it was looked into a short while ago",
    Refusal.NO_MODEL: "no model is set up",
}


def refusal_text(reason: str) -> str:
    """Why a finding is not looked into: the stored word, and what it means where that is known here."""
    return f"{reason}: {_REFUSALS[reason]}" if reason in _REFUSALS else reason


def _print_calls(output: Console, calls: Sequence[ModelCall]) -> None:
    output.print()
    rows = table(
        ("Request", "For", "Ended", "Took", "Sent", "Cached", "Received", "Cost"),
        right=("Took", "Sent", "Cached", "Received"),
    )
    for call in calls:
        about = "" if call.usage.reported else "about "
        rows.add_row(
            str(call.seq),
            call.phase,
            cell(f"{call.outcome}: {call.cause}" if call.cause else str(call.outcome)),
            f"{call.duration_seconds:.1f} s",
            f"{about}{call.usage.input_tokens:,}",
            f"{call.usage.cached_tokens:,}",
            f"{about}{call.usage.output_tokens:,}",
            usd_text(call.charge.usd, assumed=call.charge.cost_usd is None),
        )
    output.print(rows)


# --- one finding ---


def words_view(words: FindingWords) -> dict[str, Any]:
    """What models said of one finding, for JSON."""
    view: dict[str, Any] = msgspec.to_builtins(words)
    return view


def print_words(output: Console, words: FindingWords) -> None:
    """The model's latest words; nothing where there are none."""
    facts: list[tuple[str, str]] = []
    if words.reports:
        report = words.reports[0]
        facts.append(("The model reported", f"{report.title} ({report.severity}, {report.outcome}) in {report.run_id}"))
        parts = (report.description, report.impact, report.recommendation)
        named = zip(("in its words", "impact, it says", "it recommends"), parts, strict=True)
        facts.extend((name, text) for name, text in named if text)
        if report.evidence:
            facts.append(("it rests on", f"{report.evidence} ({', '.join(report.cited) or 'no call named'})"))
    judged = next((each for each in words.verdicts if each.source is VerdictSource.MODEL), None)
    if judged is not None:
        said = _words(judged)
        facts.append(("The model says", f"{judged.verdict}, {instant(judged.at)} in {judged.run_id}: {said}"))
        if not judged.applied:
            facts.append(
                ("", f"Patrol does not follow it ({judged.code})" if judged.code else "Patrol does not follow it")
            )
    if words.escalations:
        escalation = words.escalations[0]
        why = f" ({refusal_text(escalation.reason)})" if escalation.reason else ""
        facts.append(("To be looked into", f"{escalation.state}{why}, {instant(escalation.at)}"))
        if escalation.dissent:
            facts.append(("the model objects", escalation.dissent))
    if facts:
        output.print()
        print_facts(output, facts)


def _applied(verdict: VerdictRecord) -> str:
    return "yes" if verdict.applied else f"no ({verdict.code})" if verdict.code else "no"


def _words(verdict: VerdictRecord) -> str:
    return "; ".join(each for each in (verdict.evidence, verdict.reason) if each) or "-"
