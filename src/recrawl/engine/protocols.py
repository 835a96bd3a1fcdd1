"""Protocols of the network and the parse pool that the engine uses; tests replace them."""

from collections.abc import Callable
from typing import ParamSpec, Protocol, TypeVar

from recrawl.records import Page, Response, Validators

P = ParamSpec("P")
T = TypeVar("T")


class Parsing(Protocol):
    """Where untrusted bytes are parsed; `recrawl.parsing.pool.ParsePool` is the real one."""

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function that may be slow."""


class FileFetching(Protocol):
    """Fetches files that are not pages."""

    async def fetch_file(
        self,
        url: str,
        max_bytes: int,
        validators: Validators | None = None,
        *,
        stay_on_site: bool = False,
    ) -> Response:
        """Fetch a file that is not a page, such as a sitemap."""

    async def named_sitemaps(self, url: str) -> tuple[str, ...] | None:
        """Return the sitemaps that the robots.txt of a URL's host names; None if not known."""


class Fetching(FileFetching, Protocol):
    """The HTTP client; a server's fault is a response, never an exception."""

    async def fetch(self, page: Page, *, conditional: bool) -> Response:
        """Fetch a page, with its validators if it may be answered with 304."""
