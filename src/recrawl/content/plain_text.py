"""The text of a page for people and indexes: its own lines, plain or as Markdown."""

from collections.abc import Sequence

from recrawl.content.html import beginning, in_utf8, parse
from recrawl.content.outline import Block
from recrawl.content.reader import Reader, is_binary
from recrawl.content.template import SiteTemplate

_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
#: What begins a line of Markdown in an element, the innermost first.
_MARKS = {**_HEADINGS, "li": "-", "blockquote": ">"}


def own_lines(
    body: bytes,
    content_type: str | None,
    reader: Reader,
    template: SiteTemplate | None = None,
    ignored: frozenset[bytes] = frozenset(),
) -> list[Block]:
    """Return the page's own lines of text, without furniture, noise and links; none of a picture.

    Args:
        body: The body.
        content_type: Its media type.
        reader: Decides what counts.
        template: What is known of the site's template.
        ignored: The keys of blocks that are noise.

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


def as_markdown(lines: Sequence[Block]) -> str:
    r"""Return lines as Markdown: headings, items of lists, quotes, and paragraphs.

    >>> page = b"<h2>Soup</h2><ul><li>Leek<li><p>Pea</ul><p>Of the day"
    >>> as_markdown(own_lines(page, "text/html", Reader()))
    '## Soup\n\n- Leek\n- Pea\n\nOf the day\n'
    """
    written: list[str] = []
    before = ""
    for block in lines:
        mark = next(
            (_MARKS[around.tag] for around in block.element.ancestors() if around.tag in _MARKS), ""
        )
        if written and not (mark == before == "-"):
            written.append("")
        written.append(f"{mark} {block.text}" if mark else block.text)
        before = mark
    return "".join(f"{line}\n" for line in written)


def title_and_language(body: bytes, content_type: str | None) -> tuple[str | None, str | None]:
    """Return the title of an HTML page and the language that it declares, where it has them.

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
