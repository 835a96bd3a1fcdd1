"""``recrawl get``: the current copy of a page."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from recrawl.cli.crawl_options import (
    PageAddress,
    SettingsFile,
    StoreFile,
    known_page,
    settings_of,
)
from recrawl.errors import OutputError, StoreError

if TYPE_CHECKING:
    from recrawl.records import Response


def get(
    url: PageAddress,
    *,
    headers: Annotated[
        bool, typer.Option("--headers", help="Begin with the status and headers it came with.")
    ] = False,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where to write.")
    ] = "-",
    store: StoreFile = None,
    settings: SettingsFile = None,
) -> None:
    """Give the current copy of a page.

    It is as its server sent it, byte for byte, but decompressed. Examples:

        recrawl get https://example.org/
        recrawl get https://example.org/logo.png -o logo.png
        recrawl get https://example.org/ --headers
    """
    place = settings_of(store, settings).store
    from recrawl.formats.tables import check_target, whole_file
    from recrawl.store.sqlite import SqliteStore

    check_target(output)
    with SqliteStore.open(place) as opened:
        page = known_page(opened, place, url)
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
    """Write status and headers as HTTP does."""
    lines = [
        f"HTTP/1.1 {response.status}",
        *(f"{name}: {value}" for name, value in response.headers),
    ]
    return "".join(f"{line}\r\n" for line in [*lines, ""]).encode("utf-8", "surrogateescape")
