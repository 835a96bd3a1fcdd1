"""Extract the text of copies, as the crawler does."""

from functools import lru_cache
from typing import final

from recrawl.content.outline import Block
from recrawl.content.plain_text import own_lines
from recrawl.content.reader import Reader
from recrawl.content.template import SiteTemplate
from recrawl.crawler.settings import Settings
from recrawl.crawler.site_readers import site_readers
from recrawl.store.rows import Copy
from recrawl.store.sqlite import SqliteStore

#: The maximum number of site templates to cache.
TEMPLATES = 100


@final
class TextReader:
    """Extracts the text of copies, without the site's boilerplate and without noise.

    Args:
        store: The store, for the templates of sites.
        settings: Which elements count.
    """

    def __init__(self, store: SqliteStore, settings: Settings) -> None:
        self._reader_of = site_readers(settings)
        self._template_of = lru_cache(TEMPLATES)(
            lambda host: SiteTemplate.from_bytes(store.template(host) or b"")
        )

    def lines(self, copy: Copy, *, main: bool = False) -> list[Block]:
        """Return the lines of a copy.

        Args:
            copy: The copy.
            main: Only the running text in the main part of the page.
        """
        page, response = copy.page, copy.response
        reader = Reader("main") if main else self._reader_of(page.url)
        if reader.kind.startswith("bytes"):
            reader = Reader()
        template, kind = self._template_of(page.host), response.header("content-type")
        return own_lines(response.body or b"", kind, reader, template, page.ignored)
