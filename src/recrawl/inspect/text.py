"""Extract the text of copies, as the crawler does, and within the same limits."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, final

from recrawl.config.readers import site_readers
from recrawl.config.settings import Settings
from recrawl.content.boilerplate.template import SiteTemplate
from recrawl.content.html.copy_text import CopySource
from recrawl.content.reader import Reader
from recrawl.content.reading import is_harmless
from recrawl.errors import RecrawlError, StoreError
from recrawl.parsing.pool import ParsePool, TooExpensiveError, log_parse_error
from recrawl.store.rows import Copy
from recrawl.store.sqlite import SqliteStore

P = ParamSpec("P")
T = TypeVar("T")

#: The maximum number of site templates to cache.
TEMPLATES = 100


@final
class TextReader:
    """Decides what the text of copies is: without the site's boilerplate and without noise.

    Args:
        store: The store, for the templates of sites.
        settings: Which elements count.
    """

    def __init__(self, store: SqliteStore, settings: Settings) -> None:
        self._reader_of = site_readers(settings)
        self._template_of = lru_cache(TEMPLATES)(
            lambda host: SiteTemplate.from_bytes(store.template(host) or b"")
        )

    def source(self, copy: Copy, *, main: bool = False, exact: bool = False) -> CopySource:
        """Return what the text of a copy is read from.

        Args:
            copy: The copy.
            main: Only the running text in the main part of the page.
            exact: As when pages are compared, even if all bytes count.
        """
        page, response = copy.page, copy.response
        reader = Reader("main") if main else self._reader_of(page.url)
        if reader.kind.startswith("bytes") and not exact:
            reader = Reader()
        kind = response.header("content-type")
        body = reader.beginning(response.body or b"", kind)
        return CopySource(body, kind, reader, self._template_of(page.host), page.ignored)


@final
class CopyParser:
    """Parses copies, which are as untrusted as what is fetched: within limits, in other processes.

    Those that are harmless are parsed at once, as in a visit.

    Args:
        pool: The processes; closed on leaving.
    """

    def __init__(self, pool: ParsePool) -> None:
        self._pool = pool

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Kill the processes."""
        self._pool.close()

    def submit(
        self,
        function: Callable[Concatenate[CopySource, P], T],
        source: CopySource,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Future[T]:
        """Begin to call a function of `recrawl.content.html.copy_text`, or one like them.

        What its future raises is explained by `parse_errors`.
        """
        sources = (source, *(one for one in args if isinstance(one, CopySource)))
        if not is_harmless(*(one.body for one in sources)):
            return self._pool.submit(function, source, *args, **kwargs)
        done = Future[T]()
        try:
            done.set_result(function(source, *args, **kwargs))
        except Exception as error:  # noqa: BLE001
            done.set_exception(error)
        return done

    def call(
        self,
        url: str,
        function: Callable[Concatenate[CopySource, P], T],
        source: CopySource,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Call such a function on the copy of a page.

        Raises:
            StoreError: The copy cannot be parsed.
        """
        with parse_errors(url):
            return self.submit(function, source, *args, **kwargs).result()

    async def run(
        self,
        url: str,
        function: Callable[Concatenate[CopySource, P], T],
        source: CopySource,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Call such a function on the copy of a page, while the event loop goes on.

        Raises:
            StoreError: The copy cannot be parsed.
        """
        with parse_errors(url):
            return await asyncio.wrap_future(self.submit(function, source, *args, **kwargs))


@contextmanager
def parse_errors(url: str) -> Iterator[Any]:
    """Raise a `StoreError` that says why the copy of a page cannot be parsed."""
    try:
        yield
    except RecrawlError:
        raise
    except TooExpensiveError:
        raise StoreError(
            f"{url}: the text of this copy takes too much time or memory to find"
        ) from None
    except Exception as error:  # noqa: BLE001
        raise StoreError(f"{url}: this copy {log_parse_error(url, error)}") from None
