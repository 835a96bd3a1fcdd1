"""Decide when a host may be sent requests, and how many: politeness and backoff. Pure: no I/O."""

import math
from collections.abc import Callable
from typing import final

from recrawl.challenges import is_challenge
from recrawl.records import Response

#: The number of hosts at which idle ones are forgotten.
MAX_HOSTS = 10_000
#: Seconds for which a host that answers 429 without a Retry-After is closed.
TOO_MANY_PAUSE = 60.0
#: Failures in a row after which a host is considered to be in trouble.
MAX_FAILURES = 3
#: Seconds of backoff then; each further failure doubles them, up to the maximum.
FIRST_BACKOFF, MAX_BACKOFF = 30.0, 3_600.0
MAX_DOUBLINGS = 10
#: A body of more than this many bytes, as received or decompressed, pauses its host for one second
#: per this many bytes: reading, comparing and storing it takes time that other hosts' pages need.
HEAVY = 1_000_000
#: The share of all connections for hosts that did not answer the last time, or sent a heavy body:
#: such a visit may have to wait for memory.
SUSPECT_SHARE = 0.5

#: The errors of responses that took too much CPU time or memory from others.
TOO_EXPENSIVE = "too expensive to parse"
TOO_SLOW = "too slow while others waited for memory"
TOO_LONG = "too long while many others waited for memory"

_TOO_MANY, _SERVER_ERROR = 429, 500
_BLAMED = frozenset({TOO_EXPENSIVE, TOO_SLOW, TOO_LONG})


@final
class HostPacing:
    """Decides when a host may be sent a request, and how many requests and visits may be in flight.

    Time is an argument, in seconds of any monotonic clock.

    - **Requests.** The delay lies between the end of a request and the start of the next, so a
      server never sees two requests closer than that, however long they travel. A host with a delay
      has one request in flight, one without has up to ``host_connections``. A host that answers
      429, or 503 with a Retry-After, is closed for as long as it asks. `recrawl.http.gate.Gate`
      enforces all this for pages, robots.txt, sitemaps and every hop of a redirect.
    - **Visits.** A visit is a page with all its requests. A host has up to ``host_connections`` of
      them. Hosts that did not answer the last time, or sent a very long page, are suspects, and
      share half of all connections. A host in trouble is left alone, with exponential backoff; the
      engine asks for it after each visit, and defers the host in the frontier.
    - **Leases.** A host whose pages are lent to another process is sent nothing from here, and is
      lent to nobody else. Its delay begins when the last page is back: whoever has the lease keeps
      the delay between its pages.

    Args:
        delay: Seconds between two requests to a host, or a function of the host; robots.txt may
            ask for more.
        host_connections: Visits in flight per host, and requests in flight where the delay is 0.
        connections: Visits in flight to all hosts together.
        asked_at: When unknown hosts may last have been sent a request.

    >>> pacing = HostPacing(delay=1.0)
    >>> pacing.start_request("example.org")
    >>> pacing.may_request("example.org", now=5.0)
    False
    >>> pacing.end_request("example.org", now=5.0)
    >>> pacing.opens_at("example.org")
    6.0
    >>> refused = Response("https://example.org/", 0, at=0, error="no connection")
    >>> [pacing.backoff("example.org", refused) for _ in range(4)]
    [0.0, 0.0, 30.0, 60.0]
    """

    def __init__(
        self,
        delay: float | Callable[[str], float] = 1.0,
        host_connections: int = 1,
        *,
        connections: int = 1,
        asked_at: float = -math.inf,
    ) -> None:
        self._usual_delay = delay if callable(delay) else lambda _host: delay
        self._host_connections = host_connections
        self._max_suspects = max(round(SUSPECT_SHARE * connections), 1)
        self._asked_at = asked_at
        self._hosts: dict[str, _Host] = {}
        self._forget_at = MAX_HOSTS
        #: Visits to suspects that are in flight.
        self._suspected = 0

    def __len__(self) -> int:
        """How many hosts are remembered."""
        return len(self._hosts)

    # Requests

    def set_delay(self, host: str, delay: float) -> None:
        """Set the delay that a host's robots.txt asks for; the configured delay is the minimum."""
        usual = self._usual_delay(host)
        if host in self._hosts or delay > usual:
            self._host(host).delay = max(delay, usual)

    def delay_of(self, host: str) -> float:
        """Return the seconds between two requests to a host."""
        known = self._hosts.get(host)
        return self._usual_delay(host) if known is None else known.delay

    def opens_at(self, host: str) -> float:
        """Return when a host may be sent the next request, if none is in flight then."""
        return self._host(host).opens_at()

    def is_busy(self, host: str) -> bool:
        """Whether a host has as many requests in flight as it may have."""
        known = self._host(host)
        return known.requests >= self._max_requests(known)

    def may_request(self, host: str, now: float) -> bool:
        """Whether a request to a host may start now."""
        known = self._host(host)
        return known.requests < self._max_requests(known) and known.opens_at() <= now

    def start_request(self, host: str) -> None:
        """Note that a request has started."""
        self._host(host).requests += 1

    def end_request(self, host: str, now: float) -> None:
        """Note that a request has ended."""
        known = self._host(host)
        known.requests -= 1
        known.ended = now
        if len(self._hosts) > self._forget_at:
            self._forget(now)

    def start_waiting(self, host: str) -> None:
        """Note that a request waits for its turn: until then, the host is not lent."""
        self._host(host).waiting += 1

    def end_waiting(self, host: str) -> None:
        """Note that a request no longer waits."""
        self._host(host).waiting -= 1

    def close_host(
        self, host: str, status: int, retry_after: float | None, now: float
    ) -> float | None:
        """Close a host that answered 429 or 503, and return for how long, None for not at all.

        A longer time that it requested earlier stands.
        """
        pause = TOO_MANY_PAUSE if retry_after is None and status == _TOO_MANY else retry_after
        if pause is not None:
            known = self._host(host)
            known.closed_until = max(known.closed_until, now + pause)
        return pause

    # Visits

    def has_free_visit(self, host: str) -> bool:
        """Whether a host has fewer visits in flight than it may have."""
        known = self._hosts.get(host)
        return known is None or (known.visits < self._host_connections and not known.lent)

    def is_held_back(self, host: str) -> bool:
        """Whether a host is a suspect, and suspects have all the connections they may have."""
        known = self._hosts.get(host)
        return known is not None and known.suspect and not self.free_suspects

    @property
    def free_suspects(self) -> int:
        """How many more visits to suspects may start."""
        return max(self._max_suspects - self._suspected, 0)

    def start_visit(self, host: str) -> None:
        """Note that a visit to one of the host's pages has started."""
        known = self._host(host)
        known.visits += 1
        self._suspected += known.suspect

    def end_visit(self, host: str) -> None:
        """Note that a visit has ended."""
        known = self._host(host)
        known.visits -= 1
        self._suspected -= known.suspect

    # Leases

    def may_lend(self, host: str, now: float) -> bool:
        """Whether a page of a host may be lent: it may be asked, and nobody here wants to."""
        known = self._host(host)
        is_asked = known.visits or known.requests or known.waiting
        return not is_asked and known.opens_at() <= now

    def is_lent(self, host: str) -> bool:
        """Whether pages of a host are lent."""
        return self._host(host).lent > 0

    def lend(self, host: str) -> None:
        """Note that a page, whose visit has started, is lent to another process."""
        known = self._host(host)
        known.lent += 1
        known.requests += 1

    def take_back(self, host: str, now: float) -> None:
        """Note that a page that was lent is back; its visit has yet to end."""
        self._host(host).lent -= 1
        self.end_request(host, now)

    # Backoff

    def backoff(self, host: str, response: Response) -> float:
        """Learn from a visit's response; return the seconds to leave the host's pages alone."""
        known = self._host(host)
        is_unanswered = response.status == 0 and response.error is not None
        is_blamed = response.error in _BLAMED
        size = max(len(response.body or b""), response.transferred)
        is_suspect = (is_unanswered or is_blamed) and not response.permanent
        self._suspect(known, is_suspect=is_suspect or size > HEAVY)
        if response.permanent:
            return 0.0
        # A challenge says that we are taken for a bot that asks for too much.
        too_many = response.status == _TOO_MANY or is_challenge(response.error)
        if not (too_many or response.status >= _SERVER_ERROR or is_unanswered or is_blamed):
            known.failures = 0
            return max(response.retry_after or 0.0, size / HEAVY if size > HEAVY else 0.0)
        known.failures += 1
        # A 429, a challenge, or a response that cost others much, is enough at once. A Retry-After
        # takes precedence, but one that is too short does not protect a host forever.
        at_once = is_blamed or (too_many and response.retry_after is None)
        doublings = known.failures - (1 if at_once else MAX_FAILURES)
        backoff = FIRST_BACKOFF * 2.0 ** min(doublings, MAX_DOUBLINGS) if doublings >= 0 else 0.0
        return max(response.retry_after or 0.0, min(backoff, MAX_BACKOFF))

    def _max_requests(self, known: "_Host") -> int:
        return 1 if known.delay > 0.0 else self._host_connections

    def _suspect(self, known: "_Host", *, is_suspect: bool) -> None:
        if is_suspect != known.suspect:
            self._suspected += known.visits if is_suspect else -known.visits
            known.suspect = is_suspect

    def _host(self, host: str) -> "_Host":
        known = self._hosts.get(host)
        if known is None:
            known = self._hosts[host] = _Host(self._usual_delay(host), self._asked_at)
        return known

    def _forget(self, now: float) -> None:
        """Forget hosts that may be sent a request now; their delay is set before each request."""
        self._hosts = {host: known for host, known in self._hosts.items() if not known.is_idle(now)}
        # At least as many are added before the next time, so that this costs little per host.
        self._forget_at = max(MAX_HOSTS, 2 * len(self._hosts))


class _Host:
    """What is known about a host."""

    __slots__ = (
        "closed_until",
        "delay",
        "ended",
        "failures",
        "lent",
        "requests",
        "suspect",
        "visits",
        "waiting",
    )

    def __init__(self, delay: float, asked_at: float) -> None:
        self.delay = delay
        self.ended = asked_at
        self.closed_until = -math.inf
        self.requests = self.visits = self.lent = self.waiting = self.failures = 0
        self.suspect = False

    def opens_at(self) -> float:
        return max(self.closed_until, self.ended + self.delay)

    def is_idle(self, now: float) -> bool:
        """Whether nothing is in flight, and what went wrong was too long ago to matter."""
        in_trouble = self.failures or self.suspect
        remembered_until = self.opens_at() + (MAX_BACKOFF if in_trouble else 0.0)
        is_used = self.requests or self.visits or self.waiting
        return not is_used and remembered_until <= now
