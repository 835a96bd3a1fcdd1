"""The readers that make the fingerprints of sites, by what is set for them."""

from collections.abc import Callable
from typing import cast

from recrawl.content.reader import Mode, Reader
from recrawl.crawler.settings import Settings
from recrawl.errors import ArgumentError, SettingsError


def site_readers(settings: Settings) -> Callable[[str], Reader]:
    """Return a function from a URL to the reader of its pages.

    Raises:
        SettingsError: A selector is invalid.
    """
    made: dict[tuple[str, str], Reader] = {}
    made[settings.fingerprint, settings.selector] = _reader(
        settings.fingerprint, settings.selector, "selector"
    )
    for section in settings.sites.sections:
        if "fingerprint" in section.values:
            mode, selector = section.values["fingerprint"], section.values["selector"]
            made[mode, selector] = _reader(mode, selector, f"{section.source}, selector")

    def of(url: str) -> Reader:
        site = settings.site_of(url)
        return made[site.fingerprint, site.selector]

    return of


def _reader(mode: str, selector: str, source: str) -> Reader:
    try:
        return Reader(cast("Mode", mode), selector or None)
    except ArgumentError as error:
        raise SettingsError(f"{source}: {str(error).removeprefix('selector: ')}") from None
