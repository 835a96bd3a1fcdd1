"""The crawler's settings: their defaults, units and meanings."""

from dataclasses import dataclass, field, fields
from functools import cached_property

from recrawl.config.kinds import (
    BOOLEAN,
    COUNT,
    DURATION,
    FILLING,
    HOSTS,
    KEEPING,
    LISTENING,
    PATTERNS,
    PROXY,
    RATE,
    SECONDS,
    SELECTORS,
    SHARE,
    SIZE,
    SPENDING,
    TEXT,
    setting,
)
from recrawl.config.secrets import Secret
from recrawl.config.sites import Site, Sites


@dataclass(frozen=True)
class Settings:
    """Settings of a crawl. Delays and timeouts are in seconds, other durations in days.

    >>> Settings().host_delay
    1.0
    """

    store: str = setting("recrawl.db", TEXT, "File that holds pages, visits and copies.")
    budget: float = setting(
        "1000/day",
        RATE,
        "Maximum rate of requests for pages: first fetches, revisits, redirects and retries.",
        minimum=1e-9,
        maximum="1000M/day",
    )
    spend: str = setting(
        "worth",
        SPENDING,
        "Whether visits worth next to nothing are made too: worth for no, all for yes.",
    )
    slack: float = setting(
        "3d",
        DURATION,
        "Maximum time for which budget is saved for the hours in which most pages change.",
        minimum=0,
        maximum="10000y",
    )
    contact: str = setting(
        "", TEXT, "URL or email address for site owners to write to; sent in the User-Agent."
    )
    user_agent: str = setting(
        "", TEXT, "Complete User-Agent to send instead of recrawl/VERSION with the contact."
    )
    connections: int = setting(
        "64", COUNT, "Maximum number of concurrent requests.", minimum=1, maximum="10000"
    )
    host_connections: int = setting(
        "1", COUNT, "Maximum number of concurrent requests to one host.", minimum=1, maximum="1000"
    )
    host_delay: float = setting(
        "1s",
        SECONDS,
        "Minimum delay between two requests to a host; robots.txt may ask for more.",
        minimum=0,
        maximum="30d",
    )
    host_budget: float = setting(
        "0/day",
        RATE,
        "Maximum rate of visits to one host; 0 for no limit.",
        minimum=0,
        maximum="1000000M/day",
    )
    first_fill: str = setting(
        "polite",
        FILLING,
        "First visits to pages you add: polite for outside the budget, at the pace of their hosts.",
    )
    new_share: float = setting(
        "0.5",
        SHARE,
        "Maximum share of the budget for first visits to pages that links and sites add.",
        minimum=0,
        maximum="1",
    )
    new_host_share: float = setting(
        "0.05",
        SHARE,
        "The same for the pages of one host, unless it is the only one.",
        minimum=0,
        maximum="1",
    )
    max_crawl_delay: float = setting(
        "30s",
        SECONDS,
        "Maximum Crawl-delay from robots.txt that is honoured.",
        minimum=0,
        maximum="30d",
    )
    connect_timeout: float = setting(
        "10s", SECONDS, "Time limit for opening a connection.", minimum=0.001, maximum="1d"
    )
    read_timeout: float = setting(
        "15s",
        SECONDS,
        "Time limit for a server to send the next byte.",
        minimum=0.001,
        maximum="1d",
    )
    total_timeout: float = setting(
        "60s", SECONDS, "Time limit for a request and its response.", minimum=0.001, maximum="1d"
    )
    max_bytes: int = setting(
        "10MB",
        SIZE,
        "Maximum size of a page, decompressed; the rest is not read.",
        minimum=1,
        maximum="1GB",
    )
    max_redirects: int = setting(
        "5", COUNT, "Maximum number of redirects to follow.", minimum=0, maximum="100"
    )
    processes: int = setting(
        "1",
        COUNT,
        "Number of processes that fetch pages; more than one lease them from the first.",
        minimum=1,
        maximum="100",
    )
    parse_processes: int = setting(
        "0",
        COUNT,
        "Number of processes that parse pages; 0 for one per CPU core.",
        minimum=0,
        maximum="1000",
    )
    allow_private: bool = setting(
        "false", BOOLEAN, "Also crawl private, loopback and link-local addresses (intranets)."
    )
    proxy: Secret | None = setting(  # noqa: RUF009 - a description, as the others
        "", PROXY, "Proxy for all requests: its URL, or env:NAME or file:PATH to read it from."
    )
    min_interval: float = setting(
        "10m", DURATION, "Minimum time between two visits to a page.", minimum=0, maximum="10000y"
    )
    max_interval: float = setting(
        "0s",
        DURATION,
        "Maximum time between two visits to a page, as far as the budget allows; 0 for no limit.",
        minimum=0,
        maximum="10000y",
    )
    fingerprint: str = setting(
        "text", TEXT, "What is compared to detect changes: bytes, text, main or selector."
    )
    selector: str = setting(
        "", TEXT, "With fingerprint = selector: CSS selector of the elements to compare."
    )
    watch: tuple[str, ...] = setting(
        "", SELECTORS, "Elements that always count, even if they look like boilerplate."
    )
    ignore: tuple[str, ...] = setting(
        "", SELECTORS, "Elements that never count, such as a box of related pages."
    )
    min_change: float = setting(
        "0",
        SHARE,
        "Share of a page's own text that must differ for a change to count; 0 for any change.",
        minimum=0,
        maximum="1",
    )
    full_fetch_every: int = setting(
        "20",
        COUNT,
        "After this many 304 responses in a row, request the page unconditionally.",
        minimum=1,
        maximum="1000000",
    )
    gone_after: int = setting(
        "3",
        COUNT,
        "After this many 404 or 410 responses in a row over gone_after_time, a page is gone.",
        minimum=1,
        maximum="1000",
    )
    gone_after_time: float = setting(
        "1d",
        DURATION,
        "Minimum time for which a page must be missing before it is gone.",
        minimum=0,
        maximum="10y",
    )
    refused_retry: float = setting(
        "3d",
        DURATION,
        "Time after which a page that robots.txt or its server refused is checked again.",
        minimum=1e-6,
        maximum="10y",
    )
    refused_copies: str = setting(
        "keep",
        KEEPING,
        "What becomes of the copy of a page that robots.txt or its server refuses: keep or drop.",
    )
    keep_changes: int = setting(
        "1000000",
        COUNT,
        "Maximum number of changes in the feed; the oldest are dropped.",
        minimum=1,
        maximum="1000000000",
    )
    keep_versions: int = setting(
        "2",
        COUNT,
        "Number of old copies to keep of each page.",
        minimum=0,
        maximum="1000",
    )
    keep_for: float = setting(
        "90d",
        DURATION,
        "Time for which changes in the feed and old copies are kept; 0 for no limit.",
        minimum=0,
        maximum="10000y",
    )
    on_change: str = setting(
        "", TEXT, "Command to run for each change, with a line of JSON on standard input."
    )
    webhook_connections: int = setting(
        "1",
        COUNT,
        "Maximum number of concurrent requests to one webhook.",
        minimum=1,
        maximum="100",
    )
    webhook_timeout: float = setting(
        "15s",
        SECONDS,
        "Time limit for a webhook's receiver to respond.",
        minimum=0.001,
        maximum="10m",
    )
    webhook_attempts: int = setting(
        "8",
        COUNT,
        "Number of attempts to send a message that a webhook's receiver does not accept.",
        minimum=1,
        maximum="1000000",
    )
    half_life: float = setting(
        "1000d",
        DURATION,
        "Time after which half of what was learned about a page is forgotten.",
        minimum=1e-9,
        maximum="10000y",
    )
    neighbours: bool = setting(
        "true", BOOLEAN, "Whether a change on one page is evidence about neighbouring pages."
    )
    sitemap_interval: float = setting(
        "1d", DURATION, "Time between two reads of a sitemap or feed.", minimum=1e-6, maximum="10y"
    )
    sitemap_budget: float = setting(
        "1000/day",
        RATE,
        "Maximum rate of requests for sitemaps and feeds, counted over 24 hours.",
        minimum=0,
        maximum="1000000M/day",
    )
    max_sitemap_pages: int = setting(
        "1000000",
        COUNT,
        "Number of pages at which sitemaps and feeds stop adding more.",
        minimum=0,
        maximum="1000000000",
    )
    robots_sitemaps: bool = setting(
        "false", BOOLEAN, "Also read the sitemaps named in the robots.txt of crawled hosts."
    )
    include: tuple[str, ...] = setting(
        "", PATTERNS, "URL patterns that sitemaps, feeds and links may add; * matches anything."
    )
    exclude: tuple[str, ...] = setting(
        "", PATTERNS, "URL patterns that sitemaps, feeds and links never add; * matches anything."
    )
    follow: bool = setting("false", BOOLEAN, "Add the pages that crawled pages link to.")
    follow_hosts: tuple[str, ...] = setting(
        "", HOSTS, "With follow: hosts to stay within; by default, those of the pages you added."
    )
    max_depth: int = setting(
        "3",
        COUNT,
        "With follow: maximum number of links away from a page you added.",
        minimum=0,
        maximum="1000000",
    )
    max_pages: int = setting(
        "100000",
        COUNT,
        "With follow: number of pages at which links stop adding more.",
        minimum=0,
        maximum="2000000000",
    )
    link_importance: float = setting(
        "0.5",
        SHARE,
        "With follow: importance of a linked page, as a share of the linking page's.",
        minimum=0,
        maximum="1",
    )
    listen: str = setting(
        "127.0.0.1:8321", LISTENING, "Address and port at which the service listens."
    )
    server_names: tuple[str, ...] = setting(
        "",
        HOSTS,
        "Host names by which the service is reached, besides its address and localhost.",
    )
    public_url: str = setting(
        "",
        TEXT,
        "Public URL of the service; with it, recrawl subscribes to the hubs of feeds (WebSub).",
    )
    indexnow: bool = setting(
        "false", BOOLEAN, "Let sites announce at /indexnow which of their pages have changed."
    )
    lease_time: float = setting(
        "2min",
        SECONDS,
        "Time after which leased pages that were not reported are released.",
        minimum=1,
        maximum="1d",
    )
    sites: Sites = field(default=Sites(), compare=False)

    def site_of(self, url: str) -> Site:
        """Return the settings that apply to a canonical URL.

        >>> Settings().site_of("https://example.org/").delay
        1.0
        """
        numbers = self.sites.sections_of(url)
        if numbers not in self._merged:
            self._merged[numbers] = self.sites.merged(numbers, self)
        return self._merged[numbers]

    def delay_of(self, host: str) -> float:
        """Return the configured seconds between two requests to a host."""
        return self.site_of(f"https://{host}/").delay if self.sites.sections else self.host_delay

    @cached_property
    def _merged(self) -> dict[tuple[int, ...], Site]:
        return {}


#: All settings but the tables for sites.
FIELDS = {one.name: one for one in fields(Settings) if one.metadata}


def agent_of(settings: Settings) -> str:
    """Return the User-Agent: the program, and whom to contact.

    >>> agent_of(Settings(contact="https://example.org/bot")).partition("/")[2][-26:]
    '(+https://example.org/bot)'
    """
    from importlib.metadata import version

    if settings.user_agent:
        return settings.user_agent
    name = f"recrawl/{version('recrawl')}"
    return f"{name} (+{settings.contact})" if settings.contact else name
