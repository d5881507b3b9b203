"""The finding tools of one run: what is known is read here, and what the model says of it is taken or refused."""

from collections.abc import Callable, Container, Mapping, Sequence
from threading import RLock

import msgspec

from findings.identity import finding_key
from findings.kinds import KINDS
from findings.model import Category, Finding, ResourceId, Severity, Verdict
from findings.rows import storable
from findings.silence import PATROLS_OWN
from patrol.estate.model import Resource, ResourceType, Status
from patrol.tools.answers import FindingRow
from patrol.tools.finding_desk import arguments as given
from patrol.tools.finding_desk.breaches import checked_subject
from patrol.tools.finding_desk.citations import Citations
from patrol.tools.finding_desk.kind_words import kind_of, words_of
from patrol.tools.finding_desk.model import (
    Answer,
    FindingsAnswer,
    GivenVerdict,
    Outputs,
    Refused,
    Report,
    ReportAnswer,
    VerdictAnswer,
)
from patrol.tools.finding_desk.named import find_resource
from patrol.tools.finding_desk.texts import long_text, title_text
from patrol.tools.finding_rows import finding_row
from patrol.tools.model import ErrorCode, ToolError, ToolSpec
from patrol.tools.view import EstateView
from signals.detector import cut
from signals.thresholds import Thresholds

_SHOWN_IDS = 20
_LONGEST_SUBJECT = 200
_SHOWN_BYTES = 300
_DOWN = frozenset({Status.STOPPED, Status.OFFLINE})
_DOWN_WORDS = frozenset({"exited", "stopped", "dead", "offline", "unavailable", "down"})
_KINDS: dict[str, Category] = {str(kind): record.category for kind, record in KINDS.items()}


class FindingDesk:
    """Takes the model's word about findings in one run. May be called from several threads.

    What was taken and what was refused is collected for the run: `reports`, `verdicts` by finding id, `refused`, and
    `read`, the ids of the findings that the model was shown. Nothing is written here.
    """

    def __init__(
        self,
        view: EstateView,
        *,
        known: Sequence[Finding],
        scope: Container[ResourceId],
        thresholds: Thresholds,
        outputs: Outputs,
        snapshot_read: bool = False,
        report_limit: int | None = None,
    ) -> None:
        """`known`: the active findings in scope. `outputs`: see `finding_desk.model.Outputs`.

        `snapshot_read`: the model has been told of all that is known. `report_limit`: how many reports are taken until
        the next `begin_pass`; None: any number.
        """
        self.reports: list[Report] = []
        self.verdicts: dict[str, GivenVerdict] = {}
        self.refused: list[Refused] = []
        self.read: set[str] = set()
        self._view = view
        self._known = sorted(known, key=lambda each: (-each.severity.rank, each.id))
        self._by_id = {each.id: each for each in known}
        self._by_key = {each.key: each for each in known}
        self._scope = scope
        self._thresholds = thresholds
        self._citations = Citations(outputs, view)
        self._has_read = snapshot_read
        self._reports_left = report_limit
        self._reported: dict[str, Report] = {}
        self._lock = RLock()
        self._tools: Mapping[str, _Tool] = {
            given.GET_FINDINGS: self._get_findings,
            given.REPORT_FINDING: self._report_finding,
            given.ASSESS_FINDING: self._assess_finding,
            given.RESOLVE_FINDING: self._resolve_finding,
        }

    @staticmethod
    def specs() -> list[ToolSpec]:
        """What a model is told of the four tools."""
        return given.specs()

    def begin_pass(self, *, report_limit: int | None = None) -> None:
        """Another pass of the same run begins: it may report this much."""
        with self._lock:
            self._reports_left = report_limit

    def call(self, name: str, arguments: object, call_id: str) -> Answer:
        """One call. Raises ToolError for whatever cannot be taken, and notes it among `refused`."""
        with self._lock:
            meant = _Meant()
            try:
                return self._tool(name)(arguments, call_id, meant)
            except ToolError as error:
                self.refused.append(Refused(name[:100], error.code, meant.resource_id, meant.kind))
                message, allowed = storable(error.message), tuple(map(storable, error.allowed))
                raise ToolError(error.code, message, allowed=allowed, retryable=error.retryable) from error

    def _tool(self, name: str) -> "_Tool":
        tool = self._tools.get(name)
        if tool is None:
            raise ToolError(ErrorCode.UNKNOWN_TOOL, f"there is no tool {name[:100]!r}", allowed=tuple(self._tools))
        return tool

    # --- reading

    def _get_findings(self, arguments: object, _call_id: str, _meant: "_Meant") -> FindingsAnswer:
        asked = given.parsed(given.GetFindings, arguments)
        least = given.severity_of(asked.severity, tuple(Severity)) if asked.severity else Severity.INFO
        about = self._about(asked.resource_id) if asked.resource_id else None
        chosen = [
            each
            for each in self._known
            if each.severity.rank >= least.rank and (about is None or each.resource_id == about)
        ]
        page = chosen[asked.offset : asked.offset + asked.limit]
        self.read.update(each.id for each in page)
        self._has_read = True
        rows = [_row(each) for each in page]
        return FindingsAnswer(count=len(rows), total=len(chosen), complete=len(rows) == len(chosen), findings=rows)

    def _about(self, name: str) -> ResourceId:
        """The resource that findings are asked of, which may not be in this estate any more."""
        if any(each.resource_id == name for each in self._known):
            return name
        found = self._view.names.candidates(name)
        if len(found) == 1:
            return found[0].id
        code = ErrorCode.AMBIGUOUS if found else ErrorCode.NOT_FOUND
        what = "is the name of several resources" if found else "is no resource of this estate"
        ids = tuple(each.id for each in found[:_SHOWN_IDS])
        raise ToolError(code, f"resource_id: {name[:100]!r} {what}", allowed=ids)

    def _need_reading(self) -> None:
        if not self._has_read:
            raise ToolError(
                ErrorCode.FINDINGS_NOT_READ,
                f"call {given.GET_FINDINGS} first: what is known already is assessed, not reported again",
                allowed=(given.GET_FINDINGS,),
            )

    # --- reporting

    def _report_finding(self, arguments: object, call_id: str, meant: "_Meant") -> ReportAnswer:
        asked = given.parsed(given.ReportFinding, arguments)
        self._need_reading()
        given.need(asked, given.REPORT_NEEDS)
        severity = given.severity_of(asked.severity, given.REPORTABLE)
        category = given.category_of(asked.category)
        resource = find_resource(
            self._view, asked.resource_id, asked.resource_name, asked.resource_type, self._scope.__contains__
        )
        meant.resource_id = resource.id
        kind, subject = self._kind_and_subject(asked, resource)
        meant.kind = kind
        if kind in PATROLS_OWN:
            raise ToolError(ErrorCode.RESERVED_KIND, f"{kind} is what Patrol says of itself, by itself; use another")
        if _is_alert_owned(resource, category, asked.key):
            return _not_applied(kind, resource, subject, "alert_owned_resource_state")
        subject = checked_subject(kind, resource, subject, asked.evidence, self._thresholds)
        key = finding_key(resource.id, kind, subject)
        if key in self._reported:
            return _not_applied(kind, resource, subject, "finding_reported_this_run", self._reported[key])
        known = self._by_key.get(key)
        self._need_no_other_verdict(known)
        if self._reports_left is not None and self._reports_left <= 0:
            raise ToolError(ErrorCode.REPORT_LIMIT, "this pass has reported as much as it may; end it now")
        call_ids = tuple(dict.fromkeys(asked.tool_call_ids))
        self._citations.check(resource.id, call_ids, asked.evidence)
        report = Report(
            finding_id=known.id if known is not None else key,
            is_new=known is None,
            kind=kind,
            subject=subject,
            severity=severity,
            category=_KINDS.get(kind, category),
            resource_id=resource.id,
            resource_name=resource.name or resource.id,
            resource_type=resource.type.value,
            title=title_text(asked.title),
            description=long_text(asked.description),
            recommendation=long_text(asked.recommendation),
            evidence=long_text(asked.evidence),
            impact=long_text(asked.impact),
            tool_call_ids=tuple(map(storable, call_ids)),
            call_id=call_id,
        )
        return self._taken(report, known)

    def _kind_and_subject(self, asked: given.ReportFinding, resource: Resource) -> tuple[str, str]:
        """What is meant; for one who gives the id or key of a known finding of this resource, what that one is."""
        known = self._by_id.get(asked.key) or self._by_key.get(asked.key)
        if known is not None and known.resource_id == resource.id:
            return known.kind, known.subject
        return kind_of(asked.key, asked.title), " ".join(storable(asked.subject).split())[:_LONGEST_SUBJECT]

    def _need_no_other_verdict(self, known: Finding | None) -> None:
        before = self.verdicts.get(known.id) if known is not None else None
        if before is not None and before.verdict is not Verdict.PRESENT:
            raise ToolError(
                ErrorCode.ALREADY_ASSESSED,
                f"finding {before.finding.id} was assessed in this run as {before.verdict}, and is not reported now",
            )

    def _taken(self, report: Report, known: Finding | None) -> ReportAnswer:
        self.reports.append(report)
        self._reported[report.key] = report
        if self._reports_left is not None:
            self._reports_left -= 1
        if known is not None and known.id not in self.verdicts:
            self.verdicts[known.id] = GivenVerdict(
                finding=known,
                verdict=Verdict.PRESENT,
                evidence=report.evidence,
                reason=report.title,
                tool_call_ids=report.tool_call_ids,
                call_id=report.call_id,
                by_report=True,
            )
        return ReportAnswer(
            finding_id=report.finding_id,
            is_new=report.is_new,
            applied=True,
            kind=report.kind,
            resource_id=report.resource_id,
            subject=report.subject,
            note="" if report.is_new else "it was known; this counts as its verdict `present`",
        )

    # --- assessing

    def _assess_finding(self, arguments: object, call_id: str, meant: "_Meant") -> VerdictAnswer:
        asked = given.parsed(given.AssessFinding, arguments)
        self._need_reading()
        given.need(asked, given.UNCERTAIN_NEEDS)
        verdict = given.verdict_of(asked.verdict)
        if verdict is not Verdict.UNCERTAIN:
            given.need(asked, given.VERDICT_NEEDS)
        return self._assess(asked, verdict, asked.evidence, call_id, meant)

    def _resolve_finding(self, arguments: object, call_id: str, meant: "_Meant") -> VerdictAnswer:
        asked = given.parsed(given.ResolveFinding, arguments)
        self._need_reading()
        given.need(asked, given.RESOLVE_NEEDS)
        return self._assess(asked, Verdict.RESOLVED, asked.evidence or asked.reason, call_id, meant)

    def _assess(
        self,
        asked: given.AssessFinding | given.ResolveFinding,
        verdict: Verdict,
        evidence: str,
        call_id: str,
        meant: "_Meant",
    ) -> VerdictAnswer:
        reported = next((each for each in self.reports if each.finding_id == asked.finding_id and each.is_new), None)
        if reported is not None:
            return VerdictAnswer(
                finding_id=reported.finding_id,
                verdict=verdict,
                applied=False,
                reason="new_finding_reported_this_run",
            )
        finding = self._by_id.get(asked.finding_id)
        if finding is None:
            raise self._unknown(asked.finding_id)
        meant.resource_id, meant.kind = finding.resource_id, finding.kind
        before = self.verdicts.get(finding.id)
        if before is not None:
            said = "reported again, which is present" if before.by_report else before.verdict
            raise ToolError(ErrorCode.ALREADY_ASSESSED, f"finding {finding.id} has its verdict in this run: {said}")
        if finding.kind in PATROLS_OWN:
            return VerdictAnswer(
                finding_id=finding.id, verdict=verdict, applied=False, reason="judged_by_patrol_itself"
            )
        call_ids = tuple(dict.fromkeys(asked.tool_call_ids))
        if verdict is not Verdict.UNCERTAIN:
            self._citations.check(finding.resource_id, call_ids, evidence)
        self.verdicts[finding.id] = GivenVerdict(
            finding=finding,
            verdict=verdict,
            evidence=long_text(evidence),
            reason=long_text(asked.reason),
            tool_call_ids=tuple(map(storable, call_ids)),
            call_id=call_id,
        )
        gate = "it closes only if Patrol's checks of this run do not see it any more"
        return VerdictAnswer(
            finding_id=finding.id, verdict=verdict, applied=True, note=gate if verdict is Verdict.RESOLVED else ""
        )

    def _unknown(self, finding_id: str) -> ToolError:
        assessable = [each.id for each in self._known if each.id not in self.verdicts and each.kind not in PATROLS_OWN]
        what = "give one of these whole ids" if assessable else "none that is active in scope is without a verdict"
        return ToolError(
            ErrorCode.UNKNOWN_FINDING,
            f"finding_id: there is no active finding {finding_id[:100]!r} in scope; {what}",
            allowed=tuple(assessable[:_SHOWN_IDS]),
        )


class _Meant:
    """What a call was understood to be about, for the record of a refusal."""

    def __init__(self) -> None:
        self.resource_id = ""
        self.kind = ""


_Tool = Callable[[object, str, _Meant], Answer]


def _row(finding: Finding) -> FindingRow:
    """A finding as the model reads it. Its `key` is the word by which it would be reported again."""
    row = finding_row(finding, None)
    return msgspec.structs.replace(
        row,
        key=str(finding.kind),
        description=cut(row.description, _SHOWN_BYTES),
        evidence=cut(row.evidence, _SHOWN_BYTES),
    )


def _is_alert_owned(resource: Resource, category: Category, key: str) -> bool:
    """Whether it is the plain state of a container, which the alerts of the monitoring tell already."""
    words = frozenset(words_of(key))
    return (
        resource.type is ResourceType.APP_CONTAINER
        and category is Category.RELIABILITY
        and resource.status in _DOWN
        and bool(words & _DOWN_WORDS or {"not", "running"} <= words)
    )


def _not_applied(
    kind: str, resource: Resource, subject: str, reason: str, report: Report | None = None
) -> ReportAnswer:
    """For a report that was taken before, or is not for findings at all."""
    return ReportAnswer(
        finding_id=report.finding_id if report is not None else "",
        is_new=report.is_new if report is not None else False,
        applied=False,
        kind=kind,
        resource_id=resource.id,
        subject=subject,
        reason=reason,
    )
