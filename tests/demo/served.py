"""A request handler whose pages change when a test says so."""

from collections.abc import Sequence

from recrawl.demo.handler import Request, RequestHandler, Response
from recrawl.demo.pages import DemoPage, PageRenderer, draw_pages
from recrawl.demo.sites import SITES, Validation
from recrawl.demo.slow_noise import day_of

MADE = 1_800_000_000.0
PAGES = draw_pages(60, seed=5)
ORIGINS = [f"http://127.0.0.{2 + number}:80" for number in range(len(SITES))]
RENDERER = PageRenderer(5, PAGES, ORIGINS)


def server_of(changes: Sequence[float], *, began: float | None = MADE) -> RequestHandler:
    """Return a handler whose pages all change at the same times, and are an hour old."""
    server = RequestHandler(RENDERER, [changes] * len(PAGES), [3600.0] * len(PAGES), MADE)
    if began is not None:
        server.begin(began)
    return server


def page_with(validation: Validation, *, noisy: bool = False) -> DemoPage:
    """Return a page of a site that sends these validators, with or without noise."""
    return next(
        page
        for page in PAGES
        if SITES[page.site].validation is validation and bool(page.noise) == noisy
    )


def ask(
    server: RequestHandler, page: DemoPage, second: float, known: Response | None = None
) -> Response:
    """Request a page at a second, with the validators of a response if one is given."""
    headers = dict(known.headers) if known else {}
    request = Request(page.site, page.path, headers.get("ETag"), headers.get("Last-Modified"))
    return server.respond(request, MADE + second)


def rendering_of(page: DemoPage, version: int, second: float = 0.0) -> bytes:
    """Return a page without fast noise after this many changes, as it is in a second."""
    assert not page.noise
    return b"".join(RENDERER.render(page, version, day_of(second)))
