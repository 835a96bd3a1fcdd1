"""Options that the commands of the crawler share, and how they are read."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recrawl.errors import ArgumentError, StoreError

if TYPE_CHECKING:
    from recrawl.config.settings import Settings
    from recrawl.records import Page
    from recrawl.store.rows import Copy
    from recrawl.store.sqlite import SqliteStore

SHOWN_AS = ("table", "json")

StoreFile = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="FILE",
        help="File that holds pages, visits and copies. Default: as set, or recrawl.db.",
    ),
]
SettingsFile = Annotated[
    str | None,
    typer.Option(
        "--settings",
        metavar="FILE",
        help="TOML file with settings. Default: recrawl.toml in the current directory, if any.",
    ),
]
ShownAs = Annotated[
    str, typer.Option("--format", metavar="NAME", help=f"Output format: {', '.join(SHOWN_AS)}.")
]
PageUrl = Annotated[str, typer.Argument(metavar="URL", help="The page.")]
UrlFile = Annotated[
    str | None,
    typer.Option(
        "--file",
        metavar="FILE",
        help="File with one URL per line, or CSV with the columns url and importance; - for "
        "standard input.",
    ),
]


def settings_of(
    store: str | None, file: str | None, options: Mapping[str, Any] | None = None
) -> "Settings":
    """Load the settings, with the options that were given."""
    from recrawl.config.sources import load_settings

    return load_settings({**(options or {}), "store": store}, file=file)


def present() -> int:
    """Return the time in microseconds since 1970."""
    return time.time_ns() // 1_000


def known_page(store: "SqliteStore", path: str, url: str) -> "Page":
    """Return the page at a URL, or raise an error that says how to add it."""
    from recrawl.urls import canonical

    page = store.page(canonical(url))
    if page is None:
        raise StoreError(f"{canonical(url)}: this page is not in {path}; `recrawl add` adds it")
    return page


def no_copy(page: "Page") -> StoreError:
    """Return the error for a page without a copy, which says why there is none."""
    from recrawl.records import State

    if page.state is State.REFUSED:
        why = f": it is refused, {page.reason}" if page.reason else ": it is refused"
    elif page.state is not State.ALIVE or page.missing_since is not None:
        why = ": the page was not found"
    elif page.failures:
        why = f" yet: visits failed; `recrawl show {page.url}` says why"
    else:
        why = " yet; `recrawl run` makes one"
    return StoreError(f"{page.url}: there is no copy{why}")


def check_text(copy: "Copy") -> None:
    """Refuse a copy that is not text, such as a picture."""
    from recrawl.content.media_type import is_binary

    kind = copy.response.header("content-type")
    if is_binary(copy.response.body or b"", kind):
        what = (kind or "").partition(";")[0].strip() or "a copy that is not text"
        raise StoreError(f"{copy.page.url}: {what} has no text")


def version_of(store: "SqliteStore", page: "Page", number: int, option: str) -> "Copy":
    """Return a copy of a page: 0 for the current one, 1 for the one before the last change."""
    copies = store.versions(page)
    if not copies:
        raise no_copy(page)
    if not 0 <= number < len(copies):
        kept = f"0 to {len(copies) - 1}" if len(copies) > 1 else "0, the current copy"
        raise ArgumentError(
            f"{option}: there is no version {number} of {page.url}; there is {kept}"
        )
    return copies[number]


def time_since(option: str, text: str, others: str = "") -> int:
    """Return the time in microseconds that an option gives: a time, or a duration ago.

    Args:
        option: The option, for errors.
        text: What was given.
        others: What else could be given, for errors.

    >>> time_since("--since", "1970-01-02")
    86400000000
    """
    from recrawl.records import MICROSECONDS_A_DAY
    from recrawl.units import parse_duration, parse_time, quoted

    try:
        return present() - round(parse_duration(text) * MICROSECONDS_A_DAY)
    except ArgumentError:
        pass
    try:
        return round(parse_time(text).timestamp() * 1e6)
    except ArgumentError:
        raise ArgumentError(
            f"{option}: {quoted(text)} is not a time{others and ' or a cursor'}; write for example "
            f"2026-01-31{others and f', {others}'} or 2h"
        ) from None
