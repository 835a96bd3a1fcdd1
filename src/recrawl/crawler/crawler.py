"""The crawler's Python API: add pages, run, read copies and status."""

import os
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any, Self, final

from recrawl.clock import Clock
from recrawl.config.intervals import stored_intervals
from recrawl.config.settings import FIELDS
from recrawl.config.site_tables import TABLES, read_sites
from recrawl.config.sources import load_settings
from recrawl.content.html.copy_text import text_of
from recrawl.crawler.running import Watch, run_crawl
from recrawl.engine.discovery.seeds import checked_importance, named_page, with_initial_importance
from recrawl.engine.engine import Engine
from recrawl.engine.stats import Stats
from recrawl.errors import ArgumentError, SettingsError
from recrawl.inspect.status import Status, read_status
from recrawl.inspect.text import CopyParser, TextReader
from recrawl.parsing.pool import ParsePool
from recrawl.store.rows import Added
from recrawl.store.sqlite import SqliteStore
from recrawl.urls import canonical


@final
class Crawler:
    """Keep the copies of the pages in a store fresh: what ``recrawl run`` runs.

    Args:
        store: The store's file, which is created if there is none.
        clock: The clock of the crawl; by default the system's. With a `recrawl.Clock` that runs
            fast, months of a recorded or simulated site are crawled in minutes.
        settings: Any of the crawler's settings, as text: ``budget="2000/day"``,
            ``host_delay="2s"``. ``host`` and ``url`` are dictionaries of settings for sites, like
            the tables of a settings file: ``host={"example.org": {"delay": "5s"}}``. The
            environment and the settings file are not read.

    Raises:
        SettingsError: A setting cannot be used.
        StoreError: On entering: the store cannot be used.
    """

    def __init__(
        self,
        store: str | os.PathLike[str] = "recrawl.db",
        *,
        clock: Clock | None = None,
        **settings: Any,  # noqa: ANN401
    ) -> None:
        unknown = settings.keys() - {*FIELDS, *TABLES}
        if unknown:
            raise SettingsError(f"there is no setting '{min(unknown)}'")
        named = {name: value for name, value in settings.items() if name not in TABLES}
        given = {**named, "store": os.fspath(store)}
        for_all = load_settings(given, environ={}, file=os.devnull)
        self.settings = replace(for_all, sites=read_sites(settings))
        self.clock = clock or Clock()
        self._store: SqliteStore | None = None
        self._engine: Engine | None = None
        self._parser: CopyParser | None = None

    def __enter__(self) -> Self:
        self._store = SqliteStore.open(self.settings.store, create=True)
        return self

    def __exit__(self, *_: object) -> None:
        if self._parser is not None:
            self._parser.close()
            self._parser = None
        self.store.close()
        self._store = None

    @property
    def store(self) -> SqliteStore:
        """The open store: copies, history, visits."""
        if self._store is None:
            raise ArgumentError("the crawler is closed; open it: `with Crawler(...) as crawler:`")
        return self._store

    def add(self, urls: Iterable[str], *, importance: float | None = None) -> Added:
        """Add pages to keep fresh; known pages stay, and take the new importance if one is given.

        Raises:
            AddressError: A URL cannot be crawled; no page is added.
        """
        weight = None if importance is None else checked_importance(importance)
        pages = [named_page(url, weight) for url in urls]
        return self.store.add(with_initial_importance(pages, self.settings), self.clock.now())

    def text(self, url: str) -> str:
        """Return the text of a page's current copy, one line per block; empty without a copy.

        The site's boilerplate and noise are left out, as when pages are compared.

        Raises:
            StoreError: The copy is damaged, or takes too much time or memory to parse.
        """
        copy = self.store.copy(canonical(url))
        if copy is None:
            return ""
        if self._parser is None:
            self._parser = CopyParser(ParsePool(1))
        source = TextReader(self.store, self.settings).source(copy)
        return self._parser.call(copy.page.url, text_of, source)

    def run(self, seconds: float | None = None, *, watch: Watch | None = None) -> Stats:
        """Crawl for some seconds, or until `stop` or a signal; a second signal ends it at once.

        The signals are SIGINT, SIGTERM, and SIGHUP unless it is ignored, as under nohup.

        Args:
            seconds: How long to crawl, by the crawler's clock; None for no limit.
            watch: Called with the stats about twice per real second.

        Raises:
            StoreError: The store cannot be used, or another run uses it.
        """
        return run_crawl(
            self.settings,
            clock=self.clock,
            seconds=seconds,
            watch=watch,
            on_start=self._keep,
        )

    def _keep(self, engine: Engine) -> None:
        self._engine = engine

    def stop(self) -> None:
        """Stop a run soon and cleanly; call it from ``watch``."""
        if self._engine is not None:
            self._engine.stop()

    def status(self) -> Status:
        """Return pages, visits, spending and what is due next."""
        settings = self.settings
        limits = partial(stored_intervals, settings)
        return read_status(self.store, settings.store, settings.budget, self.clock.now(), limits)
