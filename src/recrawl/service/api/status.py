"""Status, hosts, sitemaps and health."""

from typing import Annotated

from fastapi import APIRouter, Query

from recrawl.service.api.dependencies import TheService, needs
from recrawl.service.auth.tokens import Access
from recrawl.service.models.status import (
    HealthOut,
    HostOut,
    HostsOut,
    SitemapOut,
    SitemapsOut,
    StatusOut,
)

router = APIRouter(tags=["status"])
health = APIRouter(tags=["status"])

MAX_HOSTS = 10_000


@health.get("/health")
async def show_health() -> HealthOut:
    """Respond if the service is up; needs no token."""
    return HealthOut()


@router.get("/status", dependencies=[needs(Access.READ)])
async def show_status(service: TheService) -> StatusOut:
    """Show what there is, what is going on, and whether the crawl is keeping up."""
    return StatusOut.of(await service.status())


@router.get("/hosts", dependencies=[needs(Access.READ)])
async def list_hosts(
    service: TheService,
    offset: Annotated[int, Query(ge=0, le=10**9, description="How many to skip.")] = 0,
    limit: Annotated[int, Query(ge=1, le=MAX_HOSTS, description="Maximum number to return.")] = 100,
) -> HostsOut:
    """List hosts, those with the most pages first."""
    hosts = await service.hosts()
    shown = hosts[offset : offset + limit]
    now, closed = service.clock.now(), service.stats.closed
    open_again = {host: until for host, until in closed.items() if until > now}
    listed = [
        HostOut.of(host, service.delay_of(host.name), open_again.get(host.name)) for host in shown
    ]
    return HostsOut(found=len(hosts), hosts=listed)


@router.get("/sitemaps", dependencies=[needs(Access.READ)])
async def list_sitemaps(service: TheService) -> SitemapsOut:
    """List sitemaps and feeds, those that cannot be read first."""
    hubs = await service.subscriptions()
    found = [SitemapOut.of(one, hubs.get(one.url)) for one in await service.sitemaps()]
    return SitemapsOut(sitemaps=found)
