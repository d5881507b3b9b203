"""Organisations that nobody watches: what would have to be carried out for one is refused before it is accepted."""

from http import HTTPStatus

from findings.model import DEFAULT_ORG
from patrol.api.access import Access
from patrol.api.errors import ApiError


def check_watched(access: Access) -> None:
    """Raises ApiError where no run will ever look: sources and schedule are those of the default organisation."""
    if access.org_id == DEFAULT_ORG:
        return
    message = (
        f"Runs are made for the organisation {DEFAULT_ORG} alone, and nobody would carry this out for {access.org_id}: "
        f"ask in {DEFAULT_ORG}, or let a Patrol of its own watch {access.org_id}"
    )
    raise ApiError(HTTPStatus.CONFLICT, "organisation_not_watched", message)
