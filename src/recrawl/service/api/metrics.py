"""Metrics for Prometheus."""

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse

from recrawl.service.api.dependencies import ALWAYS, TheService, needs
from recrawl.service.auth.tokens import Access
from recrawl.service.metrics import CONTENT_TYPE, metrics_of
from recrawl.service.models.examples import METRICS

router = APIRouter(tags=["status"])


@router.get(
    "/metrics",
    dependencies=[needs(Access.READ)],
    response_class=PlainTextResponse,
    responses={200: {"content": {"text/plain": {"example": METRICS}}}, **ALWAYS},
)
async def show_metrics(service: TheService) -> PlainTextResponse:
    """Return metrics in the Prometheus text format."""
    return PlainTextResponse(metrics_of(service, await service.webhooks()), media_type=CONTENT_TYPE)
