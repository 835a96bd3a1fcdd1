"""The HTTP client of a process that leaves fetching to others."""

from typing import final

from recrawl.records import Page, Response, Validators


@final
class NoFetching:
    """Fetches nothing; implements `recrawl.engine.protocols.Fetching`."""

    async def fetch(self, page: Page, *, conditional: bool) -> Response:
        """Return that nothing was requested."""
        del conditional
        return _nothing(page.url)

    async def fetch_file(
        self,
        url: str,
        max_bytes: int,
        validators: Validators | None = None,
        *,
        stay_on_site: bool = False,
    ) -> Response:
        """Return that nothing was requested."""
        del max_bytes, validators, stay_on_site
        return _nothing(url)

    async def named_sitemaps(self, url: str) -> tuple[str, ...] | None:
        """Return that nothing is known."""
        del url
        return None


def _nothing(url: str) -> Response:
    return Response(
        url, 0, 0, requests=0, error="this process does not fetch pages", postponed=True
    )
