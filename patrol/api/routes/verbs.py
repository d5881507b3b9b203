"""What operators say of findings, one by one."""

from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, ConfigDict, Field, model_validator

from findings.decision import VerbRefusedError
from findings.model import DismissedReason
from findings.silence_store import SilenceStore
from findings.store import FindingConflictError
from findings.verbs import Acknowledge, Dismiss, Note, Resolve, Snooze, Suppress, Undo, Undoable, Verb
from patrol.api.access import Access
from patrol.api.documents.findings import FindingDocument, finding_document
from patrol.api.errors import ApiError
from patrol.api.guards import READ, READ_FINDINGS, GuardedRoute
from patrol.api.inputs import Body, Id, Instant, Number, services_of
from patrol.api.inputs import Note as NoteText
from patrol.api.routes.findings import ambiguous_id, unknown_finding
from patrol.operators.ids import AmbiguousIdError, UnknownIdError
from patrol.operators.verbs import RefusedError, carry_out

router = APIRouter(route_class=GuardedRoute, tags=["findings"])

LONGEST_SNOOZE_HOURS = 168

ForFindings = Annotated[Access, Depends(READ_FINDINGS)]
ForAll = Annotated[Access, Depends(READ)]


class OfFinding(Body):
    """Which finding. An id may be cut to a beginning that no other one has."""

    finding_id: Id


class WithNote(OfFinding):
    """Which finding, and why."""

    note: NoteText = ""


class SnoozeWish(WithNote):
    """Quiet for so many hours, or until a time; at most a week."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"required": ["duration_hours"], "properties": {"duration_hours": {"type": "number"}}},
                {"required": ["until"], "properties": {"until": {"type": "string"}}},
            ]
        }
    )

    duration_hours: Number | None = Field(None, ge=1, le=LONGEST_SNOOZE_HOURS, allow_inf_nan=False)
    until: Instant | None = None

    @model_validator(mode="after")
    def _one_end(self) -> "SnoozeWish":
        if (self.duration_hours is None) is (self.until is None):
            raise ValueError("give duration_hours or until")
        return self

    def end(self, now: datetime) -> datetime:
        """When it ends."""
        return self.until if self.until is not None else now + timedelta(hours=self.duration_hours or 0)


class DismissWish(WithNote):
    """Nothing to do about it, or not yet. `remind_at` goes with will_fix_later, which else comes back in a week."""

    reason: DismissedReason
    remind_at: Instant | None = None


class NoteWish(OfFinding):
    """Words for whoever reads the finding next; empty to take them away."""

    note: NoteText


class Said(BaseModel):
    """The finding as it is now. `changed` false: it was so already."""

    success: Literal[True] = True
    message: str
    changed: bool
    finding: FindingDocument


@router.post("/api/ai/patrol/acknowledge")
def acknowledge(request: Request, access: ForFindings, body: WithNote) -> Said:
    """I know. Counted damage is quiet until it grows; what can be seen to end stays active."""
    return _say(request, access, body.finding_id, Acknowledge(note=body.note), "acknowledged")


@router.post("/api/ai/patrol/snooze")
def snooze(request: Request, access: ForFindings, body: SnoozeWish) -> Said:
    """Not now: quiet until a time, or until it gets more severe."""
    now = services_of(request).clock()
    until = body.end(now)
    if until > now + timedelta(hours=LONGEST_SNOOZE_HOURS):
        raise _invalid("until", "a snooze lasts a week at most: dismiss the finding, or silence its resource")
    return _say(request, access, body.finding_id, Snooze(until=until, note=body.note), "snoozed")


@router.post("/api/ai/patrol/dismiss")
def dismiss(request: Request, access: ForFindings, body: DismissWish) -> Said:
    """Nothing to do about it, or not yet: quiet until it gets more severe, or until its reminder."""
    verb = Dismiss(reason=body.reason, remind_at=body.remind_at, note=body.note)
    return _say(request, access, body.finding_id, verb, "dismissed")


@router.post("/api/ai/patrol/suppress")
def suppress(request: Request, access: ForAll, body: WithNote) -> Said:
    """Never tell of this one again, whatever comes."""
    return _say(request, access, body.finding_id, Suppress(note=body.note), "suppressed")


@router.post("/api/ai/patrol/resolve")
def resolve(request: Request, access: ForAll, body: WithNote) -> Said:
    """It is done. If it is seen again, it is back as a regression."""
    return _say(request, access, body.finding_id, Resolve(note=body.note), "resolved")


@router.post("/api/ai/patrol/findings/note")
def note(request: Request, access: ForAll, body: NoteWish) -> Said:
    """Words for whoever reads the finding next."""
    return _say(request, access, body.finding_id, Note(text=body.note), "noted")


@router.post("/api/ai/patrol/undismiss")
def undismiss(request: Request, access: ForFindings, body: OfFinding) -> Said:
    """Takes a dismissal back."""
    return _say(request, access, body.finding_id, Undo(what=Undoable.DISMISS), "no longer dismissed")


@router.post("/api/ai/patrol/unsnooze")
def unsnooze(request: Request, access: ForFindings, body: OfFinding) -> Said:
    """Takes a snooze back."""
    return _say(request, access, body.finding_id, Undo(what=Undoable.SNOOZE), "no longer snoozed")


@router.post("/api/ai/patrol/unsuppress")
def unsuppress(request: Request, access: ForAll, body: OfFinding) -> Said:
    """Takes a suppression back."""
    return _say(request, access, body.finding_id, Undo(what=Undoable.SUPPRESS), "no longer suppressed")


def _say(request: Request, access: Access, finding_id: str, verb: Verb, said: str) -> Said:
    services = services_of(request)
    now = services.clock()
    try:
        done = carry_out(services.database, access.org_id, [finding_id], verb, now=now, author=access.name)
    except UnknownIdError as error:
        raise unknown_finding(error) from error
    except AmbiguousIdError as error:
        raise ambiguous_id(error) from error
    except RefusedError as error:
        raise _refused(error.refusals[0]) from error
    except FindingConflictError as error:
        message = "Others change this finding all the time: try again"
        raise ApiError(HTTPStatus.CONFLICT, "finding_conflict", message) from error
    [finding] = done.findings
    with services.database.read() as connection:
        silences = SilenceStore(connection, access.org_id).list_silences(not_over_at=now)
    return Said(
        message=f"The finding is {said}" if done.changed else f"The finding was {said} already",
        changed=bool(done.changed),
        finding=FindingDocument.model_validate(finding_document(finding, silences, now)),
    )


_VALUES = frozenset({"until", "remind_at"})
"""Parts of a verb that are values of the request: another one would do. All else is about the finding itself."""


def _refused(refusal: VerbRefusedError) -> ApiError:
    if refusal.field in _VALUES:
        return _invalid(refusal.field, str(refusal))
    details = {"finding_id": refusal.finding_id, "field": refusal.field}
    return ApiError(HTTPStatus.CONFLICT, "finding_action_not_allowed", str(refusal), details=details)


def _invalid(field: str, why: str) -> ApiError:
    message = f"Not as it should be: {field}: {why}"
    return ApiError(HTTPStatus.BAD_REQUEST, "invalid_request", message, details={"fields": {field: why}})
