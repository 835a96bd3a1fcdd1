"""``recrawl get``: print the current copy of a page."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from recrawl.cli.crawl_options import (
    PageUrl,
    SettingsFile,
    StoreFile,
    known_page,
    settings_of,
)
from recrawl.errors import OutputError, StoreError

if TYPE_CHECKING:
    from recrawl.records import Response


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

    The copy is byte for byte as the server sent it, but decompressed. Examples:

        recrawl get https://example.org/
        recrawl get https://example.org/logo.png -o logo.png
        recrawl get https://example.org/ --headers
    """
    path = settings_of(store, settings).store
    from recrawl.formats.tables import check_target, whole_file
    from recrawl.store.sqlite import SqliteStore

    check_target(output)
    with SqliteStore.open(path) as opened:
        page = known_page(opened, path, url)
        copy = opened.copy(page.url)
    if copy is None:
        raise StoreError(f"{page.url}: there is no copy yet; `recrawl run` makes one")
    body = copy.response.body or b""
    content = _head(copy.response) + body if headers else body
    if output != "-":
        with whole_file(output) as file:
            file.write(content)
        return
    if sys.stdout.isatty() and b"\0" in body:
        raise OutputError("standard output: a terminal cannot show this copy; use -o FILE")
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def _head(response: "Response") -> bytes:
    """Format status and headers as in HTTP."""
    lines = [
        f"HTTP/1.1 {response.status}",
        *(f"{name}: {value}" for name, value in response.headers),
    ]
    return "".join(f"{line}\r\n" for line in [*lines, ""]).encode("utf-8", "surrogateescape")
