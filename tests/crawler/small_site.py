"""A site whose pages a test writes, visited as the crawler visits them, without a network."""

import asyncio
from collections.abc import Callable, Iterable
from typing import ParamSpec, TypeVar

from recrawl.content.absence import Patience
from recrawl.content.reader import Reader
from recrawl.engine.templates import Templates
from recrawl.fetching.visit import Visitor
from recrawl.records import Outcome, Page, Response, Validators, Visit

P = ParamSpec("P")
T = TypeVar("T")
HTML = (("Content-Type", "text/html"),)


class SmallSite:
    """Pages by number, with their copies and what was learned of each and of the site.

    Args:
        write: Returns the body of a page, given its number; called at every fetch.
        reader: Makes fingerprints.
    """

    def __init__(self, write: Callable[[int], str], reader: Reader | None = None) -> None:
        self.write = write
        self.templates = Templates()
        self._pages = dict[int, Page]()
        self._bodies = dict[bytes, bytes]()
        self._now = 0
        self._visitor = Visitor(
            self, reader or Reader(), self._bodies.__getitem__, 20, Patience(), self,
            templates=self.templates,
        )  # fmt: skip

    def visit(self, number: int) -> Visit:
        """Visit a page, and learn from it as the crawler does."""
        url = f"https://a.example/{number}"
        page = self._pages.get(number) or Page(number, url, "a.example")
        self._now += 86_400_000_000
        found = asyncio.run(self._visitor.visit(page))
        self.templates.learn(found)
        self._pages[number] = found.page
        if found.content is not None and found.page.body is not None:
            self._bodies[found.page.body] = found.content
        return found

    def changed(self, numbers: Iterable[int]) -> list[int]:
        """Visit pages; return those that changed."""
        return [n for n in numbers if self.visit(n).outcome is Outcome.CHANGED]

    async def fetch(self, page: Page, *, conditional: bool) -> Response:
        """Answer with what the test writes."""
        del conditional
        return Response(page.url, 200, self._now, HTML, self.write(page.number).encode())

    async def fetch_file(
        self,
        url: str,
        max_bytes: int,
        validators: Validators | None = None,
        *,
        stay_on_site: bool = False,
    ) -> Response:
        """There are no files."""
        raise NotImplementedError

    async def named_sitemaps(self, url: str) -> tuple[str, ...] | None:
        """There are none."""
        raise NotImplementedError

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Parse right here."""
        return function(*args, **kwargs)


def first_copies(site: SmallSite, numbers: Iterable[int]) -> None:
    """Visit pages for the first time."""
    for number in numbers:
        assert site.visit(number).outcome is Outcome.FIRST
