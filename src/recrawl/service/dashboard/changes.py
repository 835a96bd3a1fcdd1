"""Changes: what happened to pages, newest first and live, with the differences."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from recrawl.service.api.dependencies import TheService, needs
from recrawl.service.auth.tokens import Access
from recrawl.service.dashboard.html_route import HtmlRoute
from recrawl.service.dashboard.live import change_row
from recrawl.service.dashboard.rendering import render
from recrawl.store.changes import Cursor, PageChange
from recrawl.store.sqlite import SqliteStore

router = APIRouter(
    include_in_schema=False, route_class=HtmlRoute, dependencies=[needs(Access.READ)]
)

PAGE_SIZE = 50
MAX_SERIAL = 2**62


@router.get("/changes", response_class=Response)
async def changes(
    request: Request,
    service: TheService,
    before: Annotated[int | None, Query(ge=0, le=MAX_SERIAL)] = None,
) -> Response:
    """Show changes, the newest first; older ones before a serial."""

    def read(store: SqliteStore) -> tuple[list[PageChange], int, int]:
        oldest, end = store.feed.oldest().serial, store.feed.end().serial
        until = end if before is None else min(before, end)
        start = max(until - PAGE_SIZE, oldest)
        found = store.feed.read(Cursor(start), max(until - start, 0)) if until > start else []
        return found[::-1], start, oldest

    found, start, oldest = await service.read(read)
    now = service.clock.now()
    return render(
        request,
        "changes.html",
        changes=[change_row(change, now) for change in found],
        older=start if start > oldest else None,
        is_newest=before is None,
    )
