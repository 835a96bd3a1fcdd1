"""The feed of changes: read since a cursor, waited for, or as a stream of events."""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Header, Query
from fastapi.responses import StreamingResponse

from recrawl.service.api.dependencies import TheService, TheUser, needs
from recrawl.service.auth.tokens import Access, User
from recrawl.service.models.changes import ChangeOut, ChangesOut
from recrawl.service.models.examples import EVENTS
from recrawl.service.problems import responses
from recrawl.service.service import Service
from recrawl.store.changes import Cursor, PageChange

router = APIRouter(tags=["changes"])

MAX_CHANGES, MAX_WAIT = 1_000, 60.0
#: Real seconds without a change after which a comment keeps the connection alive.
HEARTBEAT = 15.0

CURSOR = r"^(start|[0-9]{1,15}(\.[0-9]{1,15})?)$"

Since = Annotated[
    str | None,
    Query(
        pattern=CURSOR,
        description="The cursor to start after; `start` for all current pages first. Without one, "
        "only what is new from now on.",
        examples=["1042", "start"],
    ),
]


@router.get("/changes", dependencies=[needs(Access.READ)], responses=responses(409))
async def read_changes(
    service: TheService,
    since: Since = None,
    limit: Annotated[
        int, Query(ge=1, le=MAX_CHANGES, description="Maximum number to return.")
    ] = 100,
    wait: Annotated[
        float, Query(ge=0.0, le=MAX_WAIT, description="Seconds to wait if there is nothing new.")
    ] = 0.0,
) -> ChangesOut:
    """Read what happened to pages since a cursor; keep the returned cursor for next time."""
    cursor = await service.feed.cursor(since)
    if wait > 0.0:
        # For as long as it waits, it is much like a stream.
        service.streams.check()
        with service.streams.counted():
            found = await service.feed.after(cursor, limit, wait)
    else:
        found = await service.feed.after(cursor, limit)
    end = found[-1].cursor if found else cursor
    return ChangesOut(cursor=str(end), changes=[ChangeOut.of(change) for change in found])


@router.get(
    "/changes/stream",
    dependencies=[needs(Access.READ)],
    response_class=StreamingResponse,
    responses={
        200: {"content": {"text/event-stream": {"schema": {"type": "string"}, "example": EVENTS}}},
        **responses(409),
    },
)
async def stream_changes(
    service: TheService,
    user: TheUser,
    since: Since = None,
    last_event_id: Annotated[
        str | None,
        Header(pattern=CURSOR, description="Same as since; browsers send it when they reconnect."),
    ] = None,
) -> StreamingResponse:
    """Stream what happens to pages as server-sent events; the id of an event is its cursor."""
    service.streams.check()
    cursor = await service.feed.cursor(last_event_id or since)
    # Report errors before the stream starts.
    first = await service.feed.after(cursor, MAX_CHANGES)
    return StreamingResponse(events(service, user, cursor, first), media_type="text/event-stream")


async def events(
    service: Service, user: User, cursor: Cursor, found: list[PageChange]
) -> AsyncIterator[str]:
    """Yield server-sent events: some changes, and then those after them, as they are found."""
    with service.streams.counted():
        yield f"retry: 1000\nid: {cursor}\n: connected\n\n"
        while service.streams.goes_on_for(user) and not service.stopping.is_set():
            for change in found:
                cursor = change.cursor
                written = ChangeOut.of(change).model_dump_json()
                yield f"id: {cursor}\nevent: change\ndata: {written}\n\n"
            if not found:
                yield ": nothing new\n\n"
            found = await service.feed.after(cursor, MAX_CHANGES, HEARTBEAT)
