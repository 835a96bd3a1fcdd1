"""``recrawl get``: print the copy of a page, or its text."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from recrawl.cli.crawl_options import (
    PageUrl,
    SettingsFile,
    StoreFile,
    check_text,
    known_page,
    settings_of,
    version_of,
)
from recrawl.cli.output import say_as_is
from recrawl.errors import ArgumentError, OutputError
from recrawl.escaping import printable

if TYPE_CHECKING:
    from recrawl.config.settings import Settings
    from recrawl.store.rows import Copy
    from recrawl.store.sqlite import SqliteStore


def get(
    url: PageUrl,
    *,
    headers: Annotated[
        bool, typer.Option("--headers", help="Start with the status and headers of the response.")
    ] = False,
    text: Annotated[
        bool,
        typer.Option(
            "--text", help="Only the page's own text, without the site's boilerplate around it."
        ),
    ] = False,
    markdown: Annotated[
        bool,
        typer.Option("--markdown", help="The same as Markdown: headings, lists, quotes, links."),
    ] = False,
    main: Annotated[
        bool, typer.Option("--main", help="Only the running text of the page's main part.")
    ] = False,
    version: Annotated[
        int,
        typer.Option(
            metavar="NUMBER", help="An older copy: 1 for the one before the last change, and so on."
        ),
    ] = 0,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Output file.")
    ] = "-",
    store: StoreFile = None,
    settings: SettingsFile = None,
) -> None:
    """Print the copy of a page, or its text.

    The copy is what the server sent, byte for byte, after decompression. The headers match it:
    those about compression are left out, and Content-Length is the length of the copy. On a
    terminal, control characters are escaped.

    Examples:
        recrawl get https://example.org/
        recrawl get https://example.org/logo.png -o logo.png
        recrawl get https://example.org/ --headers
        recrawl get https://example.org/ --markdown
        recrawl get https://example.org/ --text --version 1
    """
    if headers and (text or markdown or main):
        raise ArgumentError(
            "--headers: text has no headers; leave out --headers or the other option"
        )
    if text and markdown:
        raise ArgumentError("--markdown: choose either --text or --markdown")
    known = settings_of(store, settings)
    from recrawl.formats.response_head import response_head
    from recrawl.formats.tables import check_target, whole_file
    from recrawl.store.sqlite import SqliteStore

    check_target(output)
    with SqliteStore.open(known.store) as opened:
        page = known_page(opened, known.store, url)
        copy = version_of(opened, page, version, "--version")
        if text or markdown or main:
            check_text(copy)
            content = _text(opened, known, copy, markdown=markdown, main=main).encode()
        else:
            body = copy.response.body or b""
            content = response_head(copy.response).content + body if headers else body
    if output != "-":
        with whole_file(output) as file:
            file.write(content)
        return
    if sys.stdout.isatty() and b"\0" in content:
        raise OutputError("standard output: a terminal cannot show this copy; use -o FILE")
    if sys.stdout.isatty():
        # The content of a page must not move the cursor or set the title of a terminal.
        legible = content.decode("utf-8", "replace").replace("\r\n", "\n")
        say_as_is(printable(legible, lines=True), nl=False)
        return
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def _text(
    store: "SqliteStore", settings: "Settings", copy: "Copy", *, markdown: bool, main: bool
) -> str:
    from recrawl.content.html.copy_text import markdown_of, text_of
    from recrawl.inspect.text import CopyParser, TextReader
    from recrawl.parsing.pool import ParsePool

    source = TextReader(store, settings).source(copy, main=main)
    with CopyParser(ParsePool(1)) as parser:
        if markdown:
            return parser.call(copy.page.url, markdown_of, source, copy.response.url)
        return parser.call(copy.page.url, text_of, source)
