"""Pages: list, add, remove, change and explain them."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from pydantic import Field

from recrawl.inspect.pages import STATES, Wanted
from recrawl.service.api.dependencies import TheService, needs
from recrawl.service.auth.tokens import Access
from recrawl.service.models.examples import URL
from recrawl.service.models.pages import (
    AddedOut,
    NewPagesIn,
    PageDetailsOut,
    PageIn,
    PageOut,
    PagesIn,
    PagesOut,
    RemovedOut,
    SignalsIn,
    SignalsOut,
)
from recrawl.service.problems import responses

router = APIRouter(tags=["pages"])

MAX_LISTED, MAX_VISITS = 1_000, 1_000
MAX_RATE, MAX_OFFSET, MAX_TEXT = 1e9, 10**9, 200
#: A request's first line has to be short.
MAX_URL = 2_000
StateName = Literal["alive", "missing", "gone", "refused"]
OrderName = Literal[
    "added",
    "url",
    "host",
    "state",
    "importance",
    "rate",
    "last-visit",
    "next-visit",
    "failures",
    "error",
]
ThePage = Annotated[
    str, Query(min_length=1, max_length=MAX_URL, description="Its URL.", examples=[URL])
]
HostName = Annotated[str, Field(max_length=255)]


@router.get("/pages", dependencies=[needs(Access.READ)], response_model=PagesOut)
async def list_pages(
    service: TheService,
    text: Annotated[
        str,
        Query(
            max_length=MAX_TEXT,
            description="Only pages whose URL contains this.",
            examples=["news"],
        ),
    ] = "",
    state: Annotated[
        list[StateName] | None,
        Query(max_length=len(STATES), description="Only pages in these states."),
    ] = None,
    host: Annotated[
        list[HostName] | None, Query(max_length=10, description="Only pages of these hosts.")
    ] = None,
    error: Annotated[
        str | None, Query(max_length=MAX_TEXT, description="Only pages whose error contains this.")
    ] = None,
    failing: Annotated[bool, Query(description="Only pages whose last visit failed.")] = False,  # noqa: FBT002
    min_rate: Annotated[
        float | None, Query(ge=0.0, le=MAX_RATE, description="Minimum changes per day.")
    ] = None,
    max_rate: Annotated[
        float | None, Query(ge=0.0, le=MAX_RATE, description="Maximum changes per day.")
    ] = None,
    due_within: Annotated[
        float | None,
        Query(ge=0.0, le=MAX_RATE, description="Only pages due within this many days."),
    ] = None,
    order: Annotated[OrderName, Query(description="What to sort by.", examples=["rate"])] = "added",
    reverse: Annotated[bool, Query(description="Reverse the order.")] = False,  # noqa: FBT002
    offset: Annotated[int, Query(ge=0, le=MAX_OFFSET, description="How many to skip.")] = 0,
    limit: Annotated[
        int, Query(ge=1, le=MAX_LISTED, description="Maximum number to return.")
    ] = 100,
) -> Response:
    """List pages, filtered and sorted."""
    wanted = Wanted(
        states=tuple(STATES[name] for name in state or ()),
        hosts=tuple(host or ()),
        error=error,
        failing=failing,
        min_rate=min_rate,
        max_rate=max_rate,
        due_within=due_within,
        order=order,
        reverse=reverse,
        limit=limit,
    )
    found = await service.pages(wanted, text=text, offset=offset)
    listed = PagesOut(
        found=found.found, offset=offset, pages=[PageOut.of(page) for page in found.rows]
    )
    # As text at once: the framework would check every page again.
    return Response(listed.model_dump_json(), media_type="application/json")


@router.post("/pages", dependencies=[needs(Access.CRAWL)])
async def add_pages(service: TheService, pages: NewPagesIn) -> AddedOut:
    """Add pages to keep fresh; known pages get the importance, if one is given."""
    return AddedOut.of(*await service.add([(page.url, page.importance) for page in pages.pages]))


@router.post("/pages/remove", dependencies=[needs(Access.ADMIN)])
async def remove_pages(service: TheService, pages: PagesIn) -> RemovedOut:
    """Remove pages with their visits and copies; sitemaps and links do not bring them back."""
    return RemovedOut(removed=await service.remove(pages.urls))


@router.get("/page", dependencies=[needs(Access.READ)], responses=responses(404))
async def show_page(
    service: TheService,
    url: ThePage,
    visits: Annotated[int, Query(ge=0, le=MAX_VISITS, description="How many to list.")] = 20,
) -> PageDetailsOut:
    """Show a page: its estimated change rate, when and why it is visited next, and its visits."""
    return PageDetailsOut.of(await service.page(url, visits))


@router.patch("/page", dependencies=[needs(Access.CRAWL)], responses=responses(404))
async def change_page(service: TheService, url: ThePage, change: PageIn) -> PageDetailsOut:
    """Change how much the freshness of a page counts."""
    await service.set_importance(url, change.importance)
    return PageDetailsOut.of(await service.page(url))


@router.post("/page/recheck", dependencies=[needs(Access.CRAWL)], responses=responses(404))
async def recheck_page(service: TheService, url: ThePage) -> PageDetailsOut:
    """Have a page visited before all others that have a copy, as soon as its host allows."""
    await service.recheck(url)
    return PageDetailsOut.of(await service.page(url))


@router.post("/signals", dependencies=[needs(Access.CRAWL)])
async def signal_changes(service: TheService, signals: SignalsIn) -> SignalsOut:
    """Report that pages have probably changed, for example after a push message or a webhook."""
    given = [(one.url, 1.0 - one.probability) for one in signals.signals]
    return SignalsOut(known=await service.signal(given))
