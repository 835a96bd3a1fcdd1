"""Extract the plain text of a page: its own lines."""

from collections.abc import Sequence

from recrawl.content.boilerplate.template import SiteTemplate
from recrawl.content.html.outline import Block
from recrawl.content.html.parse import beginning, in_utf8, parse
from recrawl.content.media_type import is_binary
from recrawl.content.reader import Reader


def own_lines(
    body: bytes,
    content_type: str | None,
    reader: Reader,
    template: SiteTemplate | None = None,
    ignored: frozenset[bytes] = frozenset(),
) -> list[Block]:
    """Return the page's own lines of text, without furniture, noise and links; none if binary.

    Args:
        body: The body.
        content_type: Its media type.
        reader: Decides what counts.
        template: The site's template, if known.
        ignored: The keys of noisy blocks.

    >>> page = b"<title>T</title><h1>Soup</h1><ul><li>Leek</ul><p>Of <a href=/>the</a> day"
    >>> [block.text for block in own_lines(page, "text/html", Reader())]
    ['Soup', 'Leek', 'Of the day']
    """
    if is_binary(body, content_type):
        return []
    content = reader.read(body, content_type, template)
    return [block for block, _ in content.own(ignored) if not block.is_link]


def as_text(lines: Sequence[Block]) -> str:
    """Return lines as plain text."""
    return "".join(f"{block.text}\n" for block in lines)


def title_and_language(body: bytes, content_type: str | None) -> tuple[str | None, str | None]:
    """Return the title of an HTML page and the language that it declares, if any.

    >>> title_and_language(b"<html lang=de><title> Die Suppe </title>", "text/html")
    ('Die Suppe', 'de')
    """
    if is_binary(body, content_type):
        return None, None
    tree = parse(in_utf8(beginning(body), content_type))
    if tree is None:
        return None, None
    title, root = tree.css_first("title"), tree.css_first("html[lang]")
    text = " ".join(title.text().split()) if title is not None else ""
    language = (root.attributes.get("lang") or "").strip() if root is not None else ""
    return text or None, language or None
