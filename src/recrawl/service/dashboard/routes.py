"""The pages of the dashboard, and the files that they need."""

from http import HTTPStatus

from fastapi import APIRouter, FastAPI
from fastapi.responses import Response

from recrawl.service.dashboard import api, budget, changes, hosts, overview, page, pages, settings
from recrawl.service.dashboard.live import Live
from recrawl.service.dashboard.rendering import HERE
from recrawl.service.problems import ProblemError
from recrawl.service.service import Service

#: Static files by name, and what they are. Nothing else is served, whatever is asked for.
FILES = {
    "dashboard.css": "text/css; charset=utf-8",
    "dashboard.js": "text/javascript; charset=utf-8",
    "charts.js": "text/javascript; charset=utf-8",
    "theme.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
    "uplot.css": "text/css; charset=utf-8",
    "uplot.js": "text/javascript; charset=utf-8",
    "uplot-LICENSE.txt": "text/plain; charset=utf-8",
}

router = APIRouter(include_in_schema=False)


@router.get("/static/{name}", response_class=Response)
def static_file(name: str) -> Response:
    """Return a static file; its path changes with its content, so that browsers may keep it."""
    if name not in FILES:
        raise ProblemError(HTTPStatus.NOT_FOUND, "there is no such file")
    return Response(
        (HERE / "static" / name).read_bytes(),
        media_type=FILES[name],
        headers={"Cache-Control": "public, max-age=86400"},
    )


def add_dashboard(app: FastAPI, service: Service) -> None:
    """Add the pages for browsers to an application."""
    app.state.live = Live(service)
    app.include_router(router)
    for module in (overview, pages, page, changes, hosts, budget, settings, api):
        app.include_router(module.router)
