"""Pack sitemaps into few objects, to send them from a parse process to the crawl."""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass

from recrawl.content.sitemaps.sitemaps import Sitemap, read_sitemap

#: Stands for a missing date.
_NO_DATE = -(2**63)
_Entries = Iterable[tuple[str, int | None]]


@dataclass(frozen=True, slots=True)
class PackedSitemap:
    """A `Sitemap` as a few long strings, which are fast to send even with 50,000 entries.

    Attributes:
        entries: Addresses, separated by newlines, which no canonical address has; and dates.
        sitemaps: The same for other sitemaps.
        is_whole: As in `Sitemap`.
        kind: As in `Sitemap`.
        problem: As in `Sitemap`.
    """

    entries: tuple[str, bytes]
    sitemaps: tuple[str, bytes]
    is_whole: bool
    kind: str
    problem: str | None

    def unpacked(self) -> Sitemap:
        """Return the sitemap."""
        return Sitemap(
            _unpacked(*self.entries),
            _unpacked(*self.sitemaps),
            self.is_whole,
            self.kind,
            self.problem,
        )


def read_packed(body: bytes) -> PackedSitemap:
    """Read a sitemap, as `read_sitemap` does.

    >>> read_packed(b"http://e.org/a").unpacked() == read_sitemap(b"http://e.org/a")
    True
    """
    found = read_sitemap(body)
    packed = _packed(found.entries), _packed(found.sitemaps)
    return PackedSitemap(*packed, found.is_whole, found.kind, found.problem)


def _packed(entries: _Entries) -> tuple[str, bytes]:
    dates = array("q", (_NO_DATE if date is None else date for _, date in entries))
    return "\n".join(url for url, _ in entries), dates.tobytes()


def _unpacked(urls: str, dates: bytes) -> tuple[tuple[str, int | None], ...]:
    times = (None if date == _NO_DATE else date for date in array("q", dates))
    return tuple(zip(urls.split("\n"), times, strict=True)) if dates else ()
