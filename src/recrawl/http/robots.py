"""What hosts allow: robots.txt by RFC 9309."""

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from recrawl.errors import ArgumentError
from recrawl.records import RobotsText
from recrawl.urls import host_of, origin_of

if TYPE_CHECKING:
    from protego import Protego

    from recrawl.records import Response

#: Bytes of a robots.txt that are read; the RFC wants no less than 500 KiB to be.
MAX_BYTES = 512 * 1024

#: How long a robots.txt is believed, in microseconds.
BELIEVED = 24 * 3_600_000_000

#: How long it is waited, in microseconds, before a robots.txt that cannot be read is tried again:
#: as long as it could not be read so far, but within these.
SOONEST, LATEST = 300_000_000, BELIEVED

#: How long a robots.txt cannot be read until that counts as there being none, in microseconds.
GIVEN_UP = 30 * BELIEVED

#: Files that are kept ready, and their characters in all: ready ones take some 60 times the room.
MAX_FILES, MAX_CHARACTERS = 2_000, 2_000_000

#: Wildcards in a file. Real ones have some hundreds; each is tried on every address, and tens of
#: thousands of them stop everything else for a third of a second a page.
MAX_WILDCARDS = 5_000

_TOKEN = re.compile(r"[A-Za-z_-]+")
_TOO_MANY = 429


@dataclass(frozen=True, slots=True)
class Rules:
    """What a host allows now.

    Attributes:
        delay: Seconds between requests that it asks for, 0 if it does not.
        capped: Whether it asks for more than ``delay``, which is as much as is granted.
        sitemaps: Addresses of sitemaps, as they stand in the file.
        problem: Why nothing may be fetched for now; None if the rules are known.
        permanent: Whether the problem is a rule of ours, not chance.
        pending: Whether the problem is only that the host takes its time to response.
        retry_after: Seconds until it is worth asking again, where there is a problem.
    """

    delay: float = 0.0
    capped: bool = False
    sitemaps: tuple[str, ...] = ()
    problem: str | None = None
    permanent: bool = False
    pending: bool = False
    retry_after: float | None = None
    _agent: str = ""
    _file: "Protego | None" = field(default=None, repr=False, compare=False)

    def allows(self, url: str) -> bool:
        """Whether a page of the host may be fetched."""
        if self._file is None:
            return self.problem is None
        return self._file.can_fetch(url, self._agent)


@dataclass(frozen=True, slots=True)
class _Ready:
    """Rules, and how long they hold."""

    rules: Rules
    until: int
    size: int


class Robots:
    """Knows what every host allows, having asked once a day.

    A file that is not there (status 4xx) allows everything. One that cannot be read (5xx, 429, no
    response) forbids everything until it can, or until that has lasted for 30 days. It is tried
    again after five minutes, and then ever more rarely. One with thousands of wildcards, which is
    there to keep crawlers busy, forbids everything too.

    Args:
        fetch: Fetches a file: its address and how many bytes of it are wanted.
        agent: The User-Agent; what stands before its version is the name that files know us by.
        recall: Gives what was found in an earlier run.
        remember: Is given what was found.
        max_delay: The longest pause between requests that is granted, in seconds.
        patience: How many seconds a file is waited for. Reading goes on after that.
        now: Microseconds since 1970.

    Attributes:
        requests: Requests made for files.
    """

    def __init__(
        self,
        fetch: "Callable[[str, int], Awaitable[Response]]",
        agent: str,
        *,
        recall: Callable[[str], RobotsText | None] = lambda _: None,
        remember: Callable[[str, RobotsText], None] = lambda *_: None,
        max_delay: float = 30.0,
        patience: float = 5.0,
        now: Callable[[], int] = lambda: time.time_ns() // 1000,
    ) -> None:
        self.requests = 0
        self._fetch = fetch
        self._token = product_token(agent)
        self._recall = recall
        self._remember = remember
        self._max_delay = max_delay
        self._patience = patience
        self._now = now
        self._ready: OrderedDict[str, _Ready] = OrderedDict()
        self._size = 0
        self._under_way: dict[str, asyncio.Task[Rules]] = {}

    async def rules(self, url: str) -> Rules:
        """Give what the host of a canonical address allows; asks it if that is not known."""
        origin = origin_of(url)
        ready = self._ready.get(origin)
        if ready is not None and ready.until > self._now():
            self._ready.move_to_end(origin)
            return ready.rules if ready.rules.problem is None else self._at_present(ready)
        task = self._under_way.get(origin)
        if task is None:
            task = asyncio.create_task(self._find(origin), name=origin)
            self._under_way[origin] = task
            task.add_done_callback(self._finish)
        # Others wait for the same response, so that one who gives up must not end the asking.
        done, _ = await asyncio.wait({task}, timeout=self._patience)
        if not done:
            problem = f"robots.txt of {host_of(url)} has not answered yet"
            return Rules(problem=problem, pending=True, retry_after=self._patience)
        return task.result()

    async def close(self) -> None:
        """Stop asking."""
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _finish(self, task: asyncio.Task[Rules]) -> None:
        """Let others ask; a failure is told to those who wait, and to nobody if none does."""
        del self._under_way[task.get_name()]
        if not task.cancelled():
            task.exception()

    def _at_present(self, ready: _Ready) -> Rules:
        """Tell how long there is to wait from now on."""
        return replace(ready.rules, retry_after=(ready.until - self._now()) / 1e6)

    async def _find(self, origin: str) -> Rules:
        """Find out what a host allows: remembered, or asked for."""
        known = self._recall(origin)
        if known is None or _holds_until(known) <= self._now():
            known = await self._ask(origin, known)
            # What a rule of ours forbids is asked again when the rule is another.
            if not known.permanent:
                self._remember(origin, known)
        return self._keep(known)

    async def _ask(self, origin: str, before: RobotsText | None) -> RobotsText:
        """Ask a host for its file."""
        response = await self._fetch(f"{origin}/robots.txt", MAX_BYTES)
        self.requests += response.requests
        found = RobotsText(origin, response.status, "", self._now())
        if response.error is None and response.body is not None:
            return replace(found, text=_text(response.body, truncated=response.truncated))
        if 300 <= response.status < 500 and response.status != _TOO_MANY:  # noqa: PLR2004 - HTTP's
            return found
        since = None if before is None else before.failing_since
        return replace(
            found,
            failing_since=found.fetched_at if since is None else since,
            problem=response.error or f"the server answered {response.status}",
            permanent=response.permanent,
        )

    def _keep(self, found: RobotsText) -> Rules:
        """Make rules of a file and keep them ready; those not used for longest make room."""
        rules = _rules(found, self._token, self._max_delay)
        before = self._ready.pop(found.origin, None)
        ready = _Ready(rules, _holds_until(found), len(found.text))
        self._size += ready.size - (0 if before is None else before.size)
        self._ready[found.origin] = ready
        while len(self._ready) > 1 and (
            len(self._ready) > MAX_FILES or self._size > MAX_CHARACTERS
        ):
            self._size -= self._ready.popitem(last=False)[1].size
        return rules if rules.problem is None else self._at_present(ready)


def product_token(agent: str) -> str:
    """Give the name that robots.txt knows an agent by.

    Raises:
        ArgumentError: It has none, or would break a request.

    >>> product_token("recrawl/0.1 (+https://example.org/bot)")
    'recrawl'
    """
    token = _TOKEN.match(agent)
    if token is None or not agent.isprintable():
        raise ArgumentError(
            f"agent: a User-Agent is like 'name/1.0 (+https://example.org/bot)', not {agent!r}"
        )
    return token[0]


def _holds_until(found: RobotsText) -> int:
    """Give until when what was found is believed."""
    if found.failing_since is None:
        return found.fetched_at + BELIEVED
    lasted = found.fetched_at - found.failing_since
    return found.fetched_at + min(max(lasted, SOONEST), LATEST)


def _text(body: bytes, *, truncated: bool) -> str:
    """Read a file as text; where the rest is missing, so is the line that it begins in."""
    if truncated:
        body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
    return body.decode("utf-8-sig", "replace")


def _rules(found: RobotsText, token: str, max_delay: float) -> Rules:
    """Make rules of what was found."""
    host = found.origin.partition("//")[2]
    if found.failing_since is not None:
        if found.fetched_at - found.failing_since >= GIVEN_UP:
            return Rules()
        problem = f"robots.txt of {host} cannot be read: {found.problem}"
        if found.permanent and found.problem is not None:
            problem = found.problem
        return Rules(problem=problem, permanent=found.permanent)
    if not found.text:
        return Rules()
    if found.text.count("*") + found.text.count("$") > MAX_WILDCARDS:
        return Rules(problem=f"robots.txt of {host} has more rules than can be followed")
    from protego import Protego

    file = Protego.parse(found.text)
    rate = file.request_rate(token)
    asked = max(
        file.crawl_delay(token) or 0.0, 0.0 if rate is None else rate.seconds / rate.requests
    )
    return Rules(
        delay=min(asked, max_delay),
        capped=asked > max_delay,
        sitemaps=tuple(file.sitemaps),
        _agent=token,
        _file=file,
    )
