"""The text of copies, read as the crawler reads pages."""

from recrawl.content.outline import Block
from recrawl.content.plain_text import own_lines
from recrawl.content.reader import Reader
from recrawl.content.template import SiteTemplate
from recrawl.crawler.settings import Settings
from recrawl.crawler.site_readers import site_readers
from recrawl.store.rows import Copy
from recrawl.store.sqlite import SqliteStore


def lines_of(
    store: SqliteStore, settings: Settings, copy: Copy, *, main: bool = False
) -> list[Block]:
    """Return the page's own lines of text, without what its site puts around them and noise.

    Args:
        store: Knows the template of the site.
        settings: Say what counts.
        copy: The copy.
        main: Only running text in the main part of the page.
    """
    page, response = copy.page, copy.response
    reader = Reader("main") if main else site_readers(settings)(page.url)
    if reader.kind.startswith("bytes"):
        reader = Reader()
    template = SiteTemplate.from_bytes(store.template(page.host) or b"")
    kind = response.header("content-type")
    return own_lines(response.body or b"", kind, reader, template, page.ignored)
