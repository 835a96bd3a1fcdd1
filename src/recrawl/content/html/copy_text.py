"""Read a copy for people: its own lines, as text or Markdown, its title, its blocks.

A copy is as untrusted as the response that it came from: `recrawl.inspect.text.CopyParser`
calls these functions, in a process that can be killed unless the copy is harmless.
"""

from dataclasses import dataclass

from recrawl.content.boilerplate.template import SiteTemplate
from recrawl.content.html.markdown import as_markdown, linked_lines
from recrawl.content.html.plain_text import as_text, own_lines, title_and_language
from recrawl.content.reader import Reader, explain_blocks


@dataclass(frozen=True, slots=True)
class CopySource:
    """What the text of a copy is read from.

    Attributes:
        body: The part of the body that is read.
        content_type: Its media type.
        reader: Decides what counts.
        template: The site's template.
        ignored: The keys of noisy blocks.
    """

    body: bytes
    content_type: str | None
    reader: Reader
    template: SiteTemplate | None = None
    ignored: frozenset[bytes] = frozenset()


def lines_of(source: CopySource) -> list[str]:
    """Return the page's own lines of text.

    >>> lines_of(CopySource(b"<h1>Soup</h1><p>Of <a href=/>the</a> day", "text/html", Reader()))
    ['Soup', 'Of the day']
    """
    return [block.text for block in own_lines(*_parts(source))]


def text_of(source: CopySource) -> str:
    """Return the page's own text."""
    return as_text(own_lines(*_parts(source)))


def markdown_of(source: CopySource, url: str) -> str:
    """Return the page's own text as Markdown.

    Args:
        source: The copy.
        url: The URL that its links are relative to.
    """
    linked = linked_lines(source.body, source.content_type, url)
    return as_markdown(own_lines(*_parts(source)), linked)


def titled_text_of(source: CopySource) -> tuple[str | None, str | None, str]:
    """Return the title of a page, the language that it declares, and its own text."""
    return *title_and_language(source.body, source.content_type), text_of(source)


def blocks_of(source: CopySource) -> list[tuple[str, str, str]]:
    """Return each block of a page: own, furniture, template or noise; its path; its text."""
    return explain_blocks(*_parts(source))


def _parts(
    source: CopySource,
) -> tuple[bytes, str | None, Reader, SiteTemplate | None, frozenset[bytes]]:
    return source.body, source.content_type, source.reader, source.template, source.ignored
