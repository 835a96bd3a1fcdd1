"""Leases and reports: other crawlers ask which pages are next, and say what they found."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Header, Path, Response

from recrawl.service.api.needs import TheService, TheUser, needs
from recrawl.service.auth import Access
from recrawl.service.examples import LEASE
from recrawl.service.lease_models import (
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
        description="The same for a request that is repeated because it was not answered.",
    ),
]
TheLease = Annotated[str, Path(description="The id of the lease.", examples=[LEASE])]

#: What is leased if nothing is said.
ANY = LeaseIn.model_validate({})


@router.get("/leases", dependencies=[needs(Access.READ)])
async def list_leases(service: TheService) -> LeasesOut:
    """List the leases that have not ended."""
    return LeasesOut.of(service.leases)


@router.post(
    "/leases",
    dependencies=[needs(Access.CRAWL)],
    response_model=LeaseOut,
    responses=responses(409),
)
async def lease_pages(
    service: TheService, user: TheUser, wish: LeaseIn = ANY, idempotency_key: Key = None
) -> Response:
    """Lease pages that are due, as many as are wanted and may be visited now.

    Visit a page only before the deadline, and leave its delay between two requests to a host. No
    pages are no error: none is due, none is paid for, or their hosts may not be asked yet.
    """
    key = None if idempotency_key is None else f"{user.name}\n{idempotency_key}"
    leased = LeaseOut.of(await service.scheduler.lease(wish.wish(key)))
    # As text at once: the framework would check every page again.
    return Response(leased.model_dump_json(), media_type="application/json")


@router.delete("/leases/{lease}", dependencies=[needs(Access.CRAWL)], responses=responses(409))
async def release_lease(service: TheService, lease: TheLease) -> ReleasedOut:
    """End a lease early: pages that were not reported go to others at once."""
    return ReleasedOut(released=await service.scheduler.release(lease))


@router.post(
    "/reports",
    dependencies=[needs(Access.CRAWL)],
    responses=responses(HTTPStatus.CONFLICT),
)
async def report_visits(service: TheService, reports: ReportsIn) -> ReportsOut:
    """Report what visits to leased pages found; they are written when this is answered.

    A report may be repeated, and may come late: `recorded` if it is written, `duplicate` if it had
    been before, `superseded` if the lease has ended and somebody else has the page, `unknown` if
    there is no such page or lease, `unclear` if a page was found and neither body nor digest nor
    changed is given: it is still on the lease.
    """
    answers = await service.scheduler.report(
        reports.lease, [one.report() for one in reports.reports]
    )
    return ReportsOut(answers=answers)
