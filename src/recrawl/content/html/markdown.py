"""Convert the text of a page to Markdown, with its links."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from urllib.parse import urljoin

from recrawl.content.html.outline import Block, outline
from recrawl.content.html.parse import UNREAD, beginning, in_utf8, parse
from recrawl.content.media_type import is_binary

_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
#: What a line of Markdown starts with in an element, the innermost first.
_MARKS = {**_HEADINGS, "li": "-", "blockquote": ">"}
#: Private-use characters that mark a link: one for its number at the start, and one for its end.
_FIRST, _END = 0xF0000, "\U0010fffd"
_MAX_LINKS = 0xFFFD
_MARK = re.compile("[\U000f0000-\U000ffffd\U0010fffd]")
_LINK = re.compile("([\U000f0000-\U000ffffd])([^\U000f0000-\U000ffffd\U0010fffd]*)\U0010fffd")
#: What a link must start with to be safe to follow.
_SCHEMES = ("http://", "https://", "mailto:")
_ESCAPES = {" ": "%20", "(": "%28", ")": "%29", "<": "%3C", ">": "%3E"}

#: Lines with links, by the path of their element and their text, in order.
LinkedLines = Mapping[tuple[bytes, str], Sequence[str]]


def as_markdown(lines: Sequence[Block], linked: LinkedLines | None = None) -> str:
    r"""Return lines as Markdown: headings, items of lists, quotes, and paragraphs.

    Args:
        lines: The lines.
        linked: The lines of the page with their links, as `linked_lines` returns them.

    >>> from recrawl.content.html.plain_text import own_lines
    >>> from recrawl.content.reader import Reader
    >>> page = b"<h2>Soup</h2><ul><li>Leek<li><p>Pea</ul><p>Of <a href=/today>the day</a>"
    >>> lines = own_lines(page, "text/html", Reader())
    >>> as_markdown(lines, linked_lines(page, "text/html", "https://example.org/"))
    '## Soup\n\n- Leek\n- Pea\n\nOf [the day](https://example.org/today)\n'
    """
    left = {key: list(found) for key, found in (linked or {}).items()}
    written: list[str] = []
    before = ""
    for block in lines:
        mark = next(
            (_MARKS[around.tag] for around in block.element.ancestors() if around.tag in _MARKS), ""
        )
        if written and not (mark == before == "-"):
            written.append("")
        same = left.get((block.element.path, block.text))
        text = same.pop(0) if same else block.text
        written.append(f"{mark} {text}" if mark else text)
        before = mark
    return "".join(f"{line}\n" for line in written)


def linked_lines(body: bytes, content_type: str | None, base: str) -> LinkedLines:
    """Return the lines of a page that have links, with these in Markdown.

    The page is outlined again with marks around each link, and lines are matched by their text
    without the marks. A link around several lines is left out.

    Args:
        body: The body.
        content_type: Its media type.
        base: The URL of the page, which links are relative to.
    """
    found = defaultdict[tuple[bytes, str], list[str]](list)
    if is_binary(body, content_type):
        return found
    page = in_utf8(beginning(body), content_type)
    tree = None if _MARK.search(page.decode(errors="replace")) else parse(page)
    if tree is None:
        return found
    if (declared := tree.css_first("base[href]")) is not None:
        base = _joined(base, declared.attributes.get("href") or "")
    targets: list[str] = []
    for node in tree.css("a[href]")[:_MAX_LINKS]:
        node.insert_before(chr(_FIRST + len(targets)))
        node.insert_after(_END)
        targets.append(_target(base, node.attributes.get("href") or ""))
    for node in tree.css(UNREAD):
        node.decompose()
    for block in outline((tree.body and tree.body.html) or ""):
        text = " ".join(_MARK.sub("", block.text).split())
        if not block.is_link and text:
            written = _LINK.sub(lambda link: _written(link, targets), block.text)
            found[block.element.path, text].append(" ".join(_MARK.sub("", written).split()))
    return found


def _target(base: str, href: str) -> str:
    """Return the target of a link; empty if it should not be followed."""
    url = _joined(base, href)
    if not url.lower().startswith(_SCHEMES) or not url.isprintable():
        return ""
    return "".join(_ESCAPES.get(one, one) for one in url)


def _joined(base: str, href: str) -> str:
    try:
        return urljoin(base, href.strip())
    except ValueError:
        return ""


def _written(link: "re.Match[str]", targets: Sequence[str]) -> str:
    text, target = link[2].strip(), targets[ord(link[1]) - _FIRST]
    if not text or not target:
        return link[2]
    escaped = re.sub(r"([\[\]\\])", r"\\\1", text)
    return link[2].replace(text, f"[{escaped}]({target})", 1)
