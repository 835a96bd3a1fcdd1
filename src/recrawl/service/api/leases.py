"""Leases and reports: other crawlers ask which pages are next and report what they found."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Header, Path, Response

from recrawl.service.api.dependencies import TheService, TheUser, needs
from recrawl.service.auth.tokens import Access
from recrawl.service.models.examples import LEASE
from recrawl.service.models.leases import (
    LeaseIn,
    LeaseOut,
    LeasesOut,
    ReleasedOut,
    ReportsIn,
    ReportsOut,
)
from recrawl.service.problems import responses

router = APIRouter(tags=["leases"])

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        max_length=200,
        description="The same key for a request that is repeated because it got no response.",
    ),
]
TheLease = Annotated[str, Path(description="The id of the lease.", examples=[LEASE])]

#: What is leased by default.
ANY = LeaseIn.model_validate({})


@router.get("/leases", dependencies=[needs(Access.READ)])
async def list_leases(service: TheService) -> LeasesOut:
    """List the active leases."""
    return LeasesOut.of(service.leases)


@router.post(
    "/leases",
    dependencies=[needs(Access.CRAWL)],
    response_model=LeaseOut,
    responses=responses(409),
)
async def lease_pages(
    service: TheService, user: TheUser, asked: LeaseIn = ANY, idempotency_key: Key = None
) -> Response:
    """Lease due pages, as many as requested and allowed right now.

    Visit pages only before the deadline, and leave the delay between two requests to a host. An
    empty lease is not an error: no page is due, the budget is used up, or hosts need a pause.
    """
    key = None if idempotency_key is None else f"{user.name}\n{idempotency_key}"
    leased = LeaseOut.of(await service.lending.lease(asked.request(key)))
    # As text at once: the framework would check every page again.
    return Response(leased.model_dump_json(), media_type="application/json")


@router.delete("/leases/{lease}", dependencies=[needs(Access.CRAWL)], responses=responses(409))
async def release_lease(service: TheService, lease: TheLease) -> ReleasedOut:
    """End a lease early: pages that were not reported are released at once."""
    return ReleasedOut(released=service.lending.release(lease))


@router.post(
    "/reports",
    dependencies=[needs(Access.CRAWL)],
    responses=responses(HTTPStatus.CONFLICT),
)
async def report_visits(service: TheService, reports: ReportsIn) -> ReportsOut:
    """Report what visits to leased pages found; the response is sent once they are written.

    Reports may be repeated and may come late. The result of each is `recorded` if it was written,
    `duplicate` if it had been before, `superseded` if the lease has expired and somebody else has
    the page, `not_leased` if the page was never on this lease, `unknown` if there is no such page
    or lease, or it ended too long ago, and `unclear` if a page was found but body, digest and
    changed are all missing; it is then still on the lease.
    """
    answers = await service.lending.report(reports.lease, [one.report() for one in reports.reports])
    return ReportsOut(answers=answers)
