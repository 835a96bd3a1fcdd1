"""Build the readers that fingerprint pages, from the settings of their sites."""

from collections.abc import Callable
from typing import Any, cast

from recrawl.config.settings import Settings
from recrawl.config.sites import Site
from recrawl.content.reader import Mode, Reader
from recrawl.errors import ArgumentError, SettingsError

#: The settings that a reader is built from.
_NAMES = ("fingerprint", "selector", "watch", "ignore", "min_change")


def site_readers(settings: Settings) -> Callable[[str], Reader]:
    """Return a function from a URL to the reader of its pages.

    Raises:
        SettingsError: A selector is invalid.
    """
    made: dict[tuple[Any, ...], Reader] = {}

    def reader_of(site: Site | Settings) -> Reader:
        key = tuple(getattr(site, name) for name in _NAMES)
        if key not in made:
            made[key] = _reader(*key)
        return made[key]

    # Errors are reported now; which tables combine depends on the URL.
    for_all = reader_of(settings)
    if not settings.sites.sections:
        return lambda _url: for_all
    for section in settings.sites.sections:
        given = [section.values.get(name, getattr(Settings, name)) for name in _NAMES]
        _reader(*given, source=f"{section.source}, ")
    return lambda url: reader_of(settings.site_of(url))


def _reader(
    mode: str,
    selector: str,
    watch: tuple[str, ...],
    ignore: tuple[str, ...],
    min_change: float,
    *,
    source: str = "",
) -> Reader:
    try:
        return Reader(
            cast("Mode", mode),
            selector or None,
            watch=watch,
            ignore=ignore,
            min_change=min_change,
        )
    except ArgumentError as error:
        raise SettingsError(f"{source}{error}") from None
