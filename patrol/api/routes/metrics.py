"""`GET /metrics`: what Prometheus scrapes. Processes of this machine need no credential for it, others a token."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import PlainTextResponse
from starlette.concurrency import run_in_threadpool

from patrol.api.access import Access
from patrol.api.guards import METRICS, GuardedRoute
from patrol.api.services import Services

router = APIRouter(route_class=GuardedRoute, tags=["metrics"])


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request, _access: Annotated[Access, Depends(METRICS)]) -> Response:
    """Every metric in the text format of Prometheus (docs/metrics.md)."""
    services: Services = request.app.state.services
    body, content_type = await run_in_threadpool(services.exposition)
    return Response(body, headers={"Content-Type": content_type})
