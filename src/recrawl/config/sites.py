"""Settings of sites: the tables ``[host."example.org"]`` and ``[url."https://example.org/news/*"]``.

Order of precedence for a URL: an option or an environment variable, the most specific URL pattern,
the host, a wildcard of hosts, the general setting.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, final

from recrawl.config.secrets import Secret
from recrawl.hosts import host_of
from recrawl.urls import matches

if TYPE_CHECKING:
    from recrawl.config.settings import Settings

#: The general settings that a site's settings override.
GLOBAL_NAMES = {
    "delay": "host_delay",
    "budget": "host_budget",
    "fingerprint": "fingerprint",
    "selector": "selector",
    "watch": "watch",
    "ignore": "ignore",
    "min_change": "min_change",
    "proxy": "proxy",
    "min_interval": "min_interval",
    "max_interval": "max_interval",
}


@final
@dataclass(frozen=True)
class Site:
    """The settings for a URL. Delays are in seconds, other durations in days, rates per day.

    Attributes:
        delay: Seconds between two requests to the host.
        budget: Visits per day to the host; 0 for no limit.
        fingerprint: What is compared.
        selector: A CSS selector, for the fingerprint ``selector``.
        watch: CSS selectors of elements that always count.
        ignore: CSS selectors of elements that never count.
        min_change: The share of a page's own text that must differ for a change to count.
        headers: Names and values.
        cookies: Path of a cookies file, "" for none.
        auth: User and password.
        proxy: The proxy's URL.
        importance: Of pages added without one; None for the default.
        min_interval: Days between two visits to a page, at least.
        max_interval: Days between two visits to a page, at most; 0 for no limit.
        set_by: Where each of these was set, by name.
    """

    delay: float
    budget: float
    fingerprint: str
    selector: str
    watch: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    min_change: float = 0.0
    headers: tuple[tuple[str, Secret], ...] = ()
    cookies: str = ""
    auth: Secret | None = None
    proxy: Secret | None = None
    importance: float | None = None
    min_interval: float = 0.0
    max_interval: float = 0.0
    set_by: Mapping[str, str] = field(default_factory=dict, compare=False, hash=False)

    @property
    def limits(self) -> tuple[float, float]:
        """The minimum and maximum interval, in days; infinity for no maximum."""
        return self.min_interval, self.max_interval or math.inf

    @property
    def has_access(self) -> bool:
        """Whether requests need headers, credentials or a proxy of their own."""
        return bool(self.headers or self.cookies or self.auth or self.proxy)


class Scope(NamedTuple):
    """What a table applies to.

    Attributes:
        host: As `host_of` returns it.
        with_subdomains: Whether it applies to the subdomains, and not to the host itself.
        scheme: ``http`` or ``https``; None for both.
        path: A pattern for path and query, as in `recrawl.urls.matches`; None for all.
        literal: Characters of the path that are not wildcards.
    """

    host: str
    with_subdomains: bool
    scheme: str | None = None
    path: str | None = None
    literal: int = 0

    @property
    def specificity(self) -> tuple[bool, bool, int, int]:
        """Higher goes first: URLs before hosts, a host before a wildcard, longer before shorter."""
        return self.path is not None, not self.with_subdomains, self.literal, len(self.host)

    def has(self, scheme: str, path: str) -> bool:
        """Whether a URL of its host is in scope."""
        return self.path is None or (scheme == self.scheme and matches(self.path, path))


class Section(NamedTuple):
    """A table of the settings file.

    Attributes:
        title: As in the file.
        source: The file and the table, for messages.
        values: What it sets, by name.
        typed: The same as typed, with secrets masked.
        scope: What it applies to.
        order: Its position in the file.
    """

    title: str
    source: str
    values: Mapping[str, Any]
    typed: Mapping[str, str]
    scope: Scope
    order: int


@final
@dataclass(frozen=True)
class Sites:
    """The tables for sites.

    Attributes:
        sections: The tables, the most specific first.
        overridden: Settings that an option or an environment variable has overridden.
    """

    sections: tuple[Section, ...] = ()
    overridden: frozenset[str] = frozenset()

    @cached_property
    def _by_host(self) -> dict[tuple[str, bool], list[int]]:
        """Numbers of tables, by host and whether they apply to its subdomains."""
        found: dict[tuple[str, bool], list[int]] = {}
        for number, section in enumerate(self.sections):
            key = section.scope.host, section.scope.with_subdomains
            found.setdefault(key, []).append(number)
        return found

    def sections_of(self, url: str) -> tuple[int, ...]:
        """Return the numbers of the tables that apply to a canonical URL, most specific first."""
        if not self.sections:
            return ()
        host, scheme, path = host_of(url), url.partition("://")[0], path_of(url)
        candidates = list(self._by_host.get((host, False), ()))
        _, _, parent = host.partition(".")
        while parent:
            candidates += self._by_host.get((parent, True), ())
            _, _, parent = parent.partition(".")
        return tuple(
            number for number in sorted(candidates) if self.sections[number].scope.has(scheme, path)
        )

    def sets(self, *names: str) -> bool:
        """Whether any table sets one of these."""
        return any(name in section.values for section in self.sections for name in names)

    def values(self, name: str) -> list[Any]:
        """Return the values that tables set."""
        return [section.values[name] for section in self.sections if name in section.values]

    def merged(self, numbers: tuple[int, ...], settings: "Settings") -> Site:
        """Merge some tables, the most specific first, with the general settings."""
        return _merged([self.sections[number] for number in numbers], settings, self.overridden)


def path_of(url: str) -> str:
    """Return the path and query of a URL.

    >>> path_of("https://example.org/a?b=1")
    '/a?b=1'
    """
    _, slash, path = url.partition("://")[2].partition("/")
    return f"{slash or '/'}{path}"


def _merged(sections: list[Section], settings: "Settings", overridden: frozenset[str]) -> Site:
    """Merge tables, the most specific first, with the general settings."""
    values = {name: getattr(settings, known) for name, known in GLOBAL_NAMES.items()}
    set_by: dict[str, str] = {}
    for section in reversed(sections):
        own = {name: value for name, value in section.values.items() if name not in overridden}
        if "selector" in overridden or "fingerprint" in overridden:
            own = {
                key: value for key, value in own.items() if key not in {"fingerprint", "selector"}
            }
        if "headers" in own:
            own["headers"] = _joined_headers(values.get("headers", ()), own["headers"])
        values |= own
        set_by |= dict.fromkeys(own, section.title)
    low, high = values["min_interval"], values["max_interval"]
    if "min_interval" not in set_by and low == type(settings).min_interval and high > 0.0:
        # An explicit maximum overrides the default minimum.
        low = values["min_interval"] = min(low, high)
    # If limits from different tables conflict, the minimum interval wins.
    values["max_interval"] = max(low, high) if high > 0.0 else 0.0
    return Site(**values, set_by=set_by)


def _joined_headers(
    general: tuple[tuple[str, Secret], ...], specific: tuple[tuple[str, Secret], ...]
) -> tuple[tuple[str, Secret], ...]:
    own = {name.lower() for name, _ in specific}
    return (*(pair for pair in general if pair[0].lower() not in own), *specific)
