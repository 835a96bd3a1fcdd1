"""The application: routers, errors, and the guard in front of them."""

from collections.abc import Collection
from importlib.metadata import version

from fastapi import FastAPI

from recrawl.service.api import (
    changes,
    indexnow,
    leases,
    login,
    metrics,
    pages,
    planning,
    status,
    websub,
)
from recrawl.service.api.dependencies import ALWAYS
from recrawl.service.api.openapi import complete
from recrawl.service.auth.guard import Guard
from recrawl.service.auth.idempotency import Replaying
from recrawl.service.dashboard.routes import add_dashboard
from recrawl.service.problems import add_handlers
from recrawl.service.service import Service

PREFIX = "/api/v1"
#: Host names of a service on this machine.
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")

DESCRIPTION = """\
Keeps a copy of the web fresh on a budget.

Send a token with each request: `Authorization: Bearer TOKEN`. Errors are problem+json (RFC 9457)
with one sentence in `detail`. Times are ISO 8601 in UTC, rates are per day, delays in seconds.
"""
#: The subjects of the API, in the order of its description.
TAGS = [
    {"name": "pages", "description": "Pages to keep fresh: list, add, remove and explain them."},
    {
        "name": "changes",
        "description": "What happened to pages: read it, wait for it, or stream it.",
    },
    {"name": "leases", "description": "For other crawlers: lease pages and report what was found."},
    {
        "name": "budget and settings",
        "description": "What another budget would buy, and the current settings.",
    },
    {"name": "status", "description": "The state of the crawl."},
    {"name": "signals", "description": "For sites and hubs that announce changes."},
]


def create_app(service: Service, names: Collection[str] = LOOPBACK) -> FastAPI:
    """Return the application of a service.

    Args:
        service: What handlers ask, and have do things.
        names: What the Host header of requests may be, without a port.
    """
    app = FastAPI(
        title="recrawl",
        version=version("recrawl"),
        description=DESCRIPTION,
        openapi_tags=TAGS,
        openapi_url=f"{PREFIX}/openapi.json",
        # Their pages load scripts from other hosts.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.service = service
    add_handlers(app)
    app.include_router(status.health)
    app.include_router(login.router)
    app.include_router(metrics.router)
    app.include_router(indexnow.router)
    app.include_router(websub.router)
    for module in (pages, leases, changes, planning, status):
        app.include_router(module.router, prefix=PREFIX, responses=ALWAYS)
    add_dashboard(app, service)
    complete(app)
    app.add_middleware(Replaying)
    app.add_middleware(
        Guard,
        tokens=service.tokens,
        sessions=service.sessions,
        wrong_tokens=service.wrong_tokens,
        names=names,
        indexnow=service.incoming.indexnow is not None,
        websub=service.incoming.websub is not None,
    )
    return app
