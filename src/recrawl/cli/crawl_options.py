"""What the commands of the crawler share: options, settings, and addresses of pages."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recrawl.errors import StoreError

if TYPE_CHECKING:
    from recrawl.crawler.settings import Settings
    from recrawl.records import Page
    from recrawl.store.sqlite import SqliteStore

SHOWN_AS = ("table", "json")

StoreFile = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="FILE",
        help="Where pages, visits and copies are kept. Unless given, as the settings say: "
        "recrawl.db in the current directory.",
    ),
]
SettingsFile = Annotated[
    str | None,
    typer.Option(
        "--settings",
        metavar="FILE",
        help="A TOML file with settings. Unless given, recrawl.toml in the current directory, if "
        "it is there.",
    ),
]
ShownAs = Annotated[
    str, typer.Option("--format", metavar="NAME", help=f"What to print: {', '.join(SHOWN_AS)}.")
]
PageAddress = Annotated[str, typer.Argument(metavar="URL", help="The page.")]
AddressFile = Annotated[
    str | None,
    typer.Option(
        "--file",
        metavar="FILE",
        help="Pages from a file: a URL a line, or CSV with the columns url and importance; "
        "- reads a pipe.",
    ),
]


def settings_of(
    store: str | None, file: str | None, flags: Mapping[str, Any] | None = None
) -> "Settings":
    """Gather settings, with the flags that were given."""
    from recrawl.crawler.settings import load_settings

    return load_settings({**(flags or {}), "store": store}, file=file)


def present() -> int:
    """Give the time in microseconds since 1970."""
    return time.time_ns() // 1_000


def known_page(store: "SqliteStore", place: str, url: str) -> "Page":
    """Find a page that somebody names, or say how to have it."""
    from recrawl.urls import canonical

    address = canonical(url)
    page = store.page(address)
    if page is None:
        raise StoreError(f"{address}: this page is not in {place}; `recrawl add` adds it")
    return page
