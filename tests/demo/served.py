"""A little server whose pages change when a test says so."""

from collections.abc import Sequence

from recrawl.demo.answering import Answered, Asked, LittleServer
from recrawl.demo.pages import LittlePage, LittlePress, little_pages
from recrawl.demo.sites import SITES, Validation

MADE = 1_800_000_000.0
PAGES = little_pages(60, seed=5)
ORIGINS = [f"http://127.0.0.{2 + number}:80" for number in range(len(SITES))]
PRESS = LittlePress(5, PAGES, ORIGINS)


def server_of(changes: Sequence[float], *, began: float | None = MADE) -> LittleServer:
    """Make a server whose pages all change at the same times, and were an hour old."""
    server = LittleServer(PRESS, [changes] * len(PAGES), [3600.0] * len(PAGES), MADE)
    if began is not None:
        server.begin(began)
    return server


def page_with(validation: Validation, *, noisy: bool = False) -> LittlePage:
    """Give a page of a site that sends this, with noise or without."""
    return next(
        page
        for page in PAGES
        if SITES[page.site].validation is validation and bool(page.noise) == noisy
    )


def ask(
    server: LittleServer, page: LittlePage, second: float, known: Answered | None = None
) -> Answered:
    """Ask for a page, so many seconds after the server was made, as who has an answer already."""
    headers = dict(known.headers) if known else {}
    asked = Asked(page.site, page.path, headers.get("ETag"), headers.get("Last-Modified"))
    return server.answer(asked, MADE + second)


def print_of(page: LittlePage, version: int) -> bytes:
    """Give a page without noise as it is after so many changes."""
    assert not page.noise
    return b"".join(PRESS.print(page, version))
