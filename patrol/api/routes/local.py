"""Commands of this machine: what they would do with the database themselves, done here while the daemon holds it."""

import logging
from http import HTTPStatus
from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends, Request, Response
from starlette.concurrency import run_in_threadpool

from findings.rows import storable
from patrol.api.access import Access
from patrol.api.errors import ApiError
from patrol.api.guards import OWNER, GuardedRoute
from patrol.api.inputs import read_json, services_of
from patrol.api.log_lines import tell_command
from patrol.api.services import Services
from patrol.database import StorageError
from patrol.records.desk import NOT_THERE, Desk, QuestionRefusedError, Refusal
from patrol.records.every import AnyQuestion, parse_question
from patrol.records.wire import PATH, Asked, Reply

AT_ONCE = 2
"""Questions that are answered at the same time: each may be a list that is held whole."""

router = APIRouter(route_class=GuardedRoute)

_log = logging.getLogger(__name__)


# Not in the description: what goes this way is of one version, and changes with it.
@router.post(PATH, include_in_schema=False)
async def command(request: Request, access: Annotated[Access, Depends(OWNER)]) -> Response:
    """Answers the question of a command of this version; others learn which version this is, and nothing is done."""
    asked, question = _parsed(await read_json(request), request.app.version)
    services = services_of(request)
    reply = Reply(version=request.app.version, database=services.database.place)
    if asked.version == reply.version and question is not None:
        async with request.app.state.local_places:
            reply = await run_in_threadpool(_answered, reply, question, desk_of(services, access))
    return Response(msgspec.json.encode(reply), media_type="application/json")


def _parsed(body: object, version: str) -> tuple[Asked, AnyQuestion | None]:
    try:
        asked = msgspec.convert(body, type=Asked)
        is_meant = asked.question is not None and asked.version == version
        return asked, parse_question(asked.question) if is_meant else None
    except (msgspec.ValidationError, RecursionError) as error:
        message = f"That is no question of a command: {storable(str(error))[:200]}"
        raise ApiError(HTTPStatus.BAD_REQUEST, "invalid_command", message) from error


def desk_of(services: Services, access: Access) -> Desk:
    """Where the questions of this caller are answered."""
    return Desk(
        database=services.database,
        org_id=access.org_id,
        author=access.name,
        clock=services.clock,
        ids=services.ids,
        random_bytes=services.random_bytes,
        organisations=services.settings().settings.api.organisations,
        settings_changed=services.settings_changed,
    )


def _answered(reply: Reply, question: AnyQuestion, desk: Desk) -> Reply:
    """The reply with an answer, or with what a command without a daemon would say where there is none."""
    try:
        found = question.answer(desk)
    except QuestionRefusedError as error:
        return msgspec.structs.replace(reply, refusal=_sendable(error.refusal))
    except StorageError as error:
        _log.error("%s: %s", type(question).__name__, error)
        return msgspec.structs.replace(reply, refusal=_sendable(Refusal(code=NOT_THERE, text=str(error))))
    tell_command(question, found, desk.author)
    return msgspec.structs.replace(reply, answer=msgspec.Raw(msgspec.json.encode(found)))


def _sendable(refusal: Refusal) -> Refusal:
    """What was typed may hold what no text can."""
    return msgspec.structs.replace(refusal, text=storable(refusal.text))
