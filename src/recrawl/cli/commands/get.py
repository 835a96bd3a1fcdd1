"""``recrawl get``: print the current copy of a page."""

import sys
from typing import Annotated

import typer

from recrawl.cli.crawl_options import (
    PageUrl,
    SettingsFile,
    StoreFile,
    known_page,
    settings_of,
)
from recrawl.cli.output import say_as_is
from recrawl.errors import OutputError, StoreError
from recrawl.escaping import printable


def get(
    url: PageUrl,
    *,
    headers: Annotated[
        bool, typer.Option("--headers", help="Start with the status and headers of the response.")
    ] = False,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Output file.")
    ] = "-",
    store: StoreFile = None,
    settings: SettingsFile = None,
) -> None:
    """Print the current copy of a page.

    The copy is byte for byte as the server sent it, but decompressed. Its headers fit that: those
    about compression are left out, and Content-Length is that of the copy. On a terminal, control
    characters are escaped. Examples:

        recrawl get https://example.org/
        recrawl get https://example.org/logo.png -o logo.png
        recrawl get https://example.org/ --headers
    """
    path = settings_of(store, settings).store
    from recrawl.formats.response_head import response_head
    from recrawl.formats.tables import check_target, whole_file
    from recrawl.store.sqlite import SqliteStore

    check_target(output)
    with SqliteStore.open(path) as opened:
        page = known_page(opened, path, url)
        copy = opened.copy(page.url)
    if copy is None:
        raise StoreError(f"{page.url}: there is no copy yet; `recrawl run` makes one")
    body = copy.response.body or b""
    content = response_head(copy.response).content + body if headers else body
    if output != "-":
        with whole_file(output) as file:
            file.write(content)
        return
    if sys.stdout.isatty() and b"\0" in body:
        raise OutputError("standard output: a terminal cannot show this copy; use -o FILE")
    if sys.stdout.isatty():
        # What a page says is not to move the cursor or set the title of somebody's terminal.
        text = content.decode("utf-8", "replace").replace("\r\n", "\n")
        say_as_is(printable(text, lines=True), nl=False)
        return
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()
