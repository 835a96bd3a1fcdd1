"""URL patterns of the pages that sitemaps, feeds and links may add."""

from dataclasses import dataclass
from typing import final

from recrawl.urls import matches


@final
@dataclass(frozen=True)
class Scope:
    """Patterns of the URLs to include and exclude.

    Attributes:
        include: A URL must match one of these; if there are none, every URL does.
        exclude: A URL must match none of these.

    >>> scope = Scope(("https://example.org/*",), ("*.pdf",))
    >>> [url for url in ("https://example.org/a", "https://example.org/a.pdf") if url in scope]
    ['https://example.org/a']
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def __contains__(self, url: str) -> bool:
        """Whether a canonical URL is in scope."""
        if any(matches(pattern, url) for pattern in self.exclude):
            return False
        return not self.include or any(matches(pattern, url) for pattern in self.include)

    def __str__(self) -> str:
        """Return the patterns as text, to detect when they change."""
        return "" if self == Scope() else f"include {self.include}, exclude {self.exclude}"
