"""Fetch and cache the rules of hosts: robots.txt according to RFC 9309."""

import asyncio
import logging
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from recrawl.challenges import challenge_in_body
from recrawl.clock import Clock
from recrawl.errors import ArgumentError
from recrawl.hosts import host_of
from recrawl.http.robots_rules import MAX_BYTES, MAX_WILDCARDS, RobotsFile, RobotsReader
from recrawl.records import RobotsText
from recrawl.urls import origin_of

if TYPE_CHECKING:
    from recrawl.records import Response

#: The path of the file.
ROBOTS = "/robots.txt"

#: How long a robots.txt is valid, in microseconds.
MAX_AGE = 24 * 3_600_000_000

#: A robots.txt that cannot be read is retried after as long as it has been failing so far, within
#: these bounds, in microseconds.
MIN_RETRY, MAX_RETRY = 300_000_000, MAX_AGE

#: A robots.txt that cannot be read for this long counts as missing, in microseconds.
GIVE_UP_AFTER = 30 * MAX_AGE

#: Parsed files in the cache, and about how many bytes they take together. The longest file takes
#: some 5 MB, and most of a second to parse again.
MAX_FILES, MAX_MEMORY = 20_000, 20_000_000

_TOKEN = re.compile(r"[A-Za-z_-]+")
_NO_CONTENT, _TOO_MANY = 204, 429
_log = logging.getLogger(__package__)


@dataclass(frozen=True, slots=True)
class Rules:
    """The current rules of a host.

    Attributes:
        delay: Seconds between requests that the host asks for, as far as that is honoured.
        sitemaps: Addresses of sitemaps, as written in the file.
        problem: Why nothing may be fetched for now; None if the rules are known.
        permanent: Whether the problem is one of our own rules, and will not go away by itself.
        pending: Whether the problem is only that the host has not responded yet.
        retry_after: Seconds until it is worth trying again, if there is a problem.
    """

    delay: float = 0.0
    sitemaps: tuple[str, ...] = ()
    problem: str | None = None
    permanent: bool = False
    pending: bool = False
    retry_after: float | None = None
    _file: RobotsFile | None = field(default=None, repr=False, compare=False)

    @property
    def memory(self) -> int:
        """About how many bytes the rules take."""
        return 0 if self._file is None else self._file.memory

    def allows(self, url: str) -> bool:
        """Whether a page of the host may be fetched."""
        if self._file is None:
            return self.problem is None
        return self._file.allows(url)


@dataclass(frozen=True, slots=True)
class _Cached:
    """Rules with their expiry, and about how many bytes they take."""

    rules: Rules
    expires: int
    size: int


class Robots:
    """Knows the rules of every host, from a robots.txt fetched once a day.

    A missing file (status 4xx), or one without content (204), allows everything. A file that cannot
    be read (5xx, 429, no response) disallows everything until it can be read, or until it has
    failed for 30 days; it is retried after five minutes, and then less and less often. A file with
    thousands of wildcards, which is meant to keep crawlers busy, disallows everything too.

    Args:
        fetch: Fetches a file, given its address and the number of bytes to read.
        agent: The User-Agent; the part before the version is the name used in robots.txt files.
        recall: Returns what an earlier run found.
        remember: Called with what was found.
        max_delay: The longest delay between requests that is honoured, in seconds.
        patience: Real seconds to wait for a file; the download continues after that.
        clock: The clock for the age of files.

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
        clock: Clock | None = None,
    ) -> None:
        self.requests = 0
        self._fetch = fetch
        self._token = product_token(agent)
        self._recall = recall
        self._remember = remember
        self._max_delay = max_delay
        self._patience = patience
        self._clock = clock or Clock()
        self._cache: OrderedDict[str, _Cached] = OrderedDict()
        self._size = 0
        self._tasks: dict[str, asyncio.Task[Rules]] = {}
        self._began: dict[str, float] = {}

    def known(self, url: str) -> Rules | None:
        """Return the rules of the host of a canonical address; None if they are not cached."""
        origin = origin_of(url)
        cached = self._cache.get(origin)
        if cached is None or not _is_valid(cached.expires, self._clock.now()):
            return None
        self._cache.move_to_end(origin)
        return cached.rules if cached.rules.problem is None else self._current(cached)

    async def rules(self, url: str, patience: float | None = None) -> Rules:
        """Return the rules of the host of a canonical address, fetched if necessary.

        Args:
            url: The address.
            patience: Real seconds to wait for the file at most; by default, the usual.
        """
        known = self.known(url)
        if known is not None:
            return known
        origin, loop = origin_of(url), asyncio.get_running_loop()
        task = self._tasks.get(origin)
        if task is None:
            task = asyncio.create_task(self._find(origin), name=origin)
            self._tasks[origin], self._began[origin] = task, loop.time()
            task.add_done_callback(self._finish)
        # Others may wait for the same task, so a caller that is cancelled must not cancel it.
        # A file that others have already waited for in vain is not waited for again.
        longest = self._patience if patience is None else patience
        left = max(self._began[origin] + longest - loop.time(), 0.0)
        done, _ = await asyncio.wait({task}, timeout=left)
        if not done:
            problem = f"robots.txt of {host_of(url)} has not arrived yet"
            return Rules(
                problem=problem, pending=True, retry_after=self._clock.passing(self._patience)
            )
        return task.result()

    async def close(self) -> None:
        """Cancel the downloads in progress."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _finish(self, task: asyncio.Task[Rules]) -> None:
        del self._tasks[task.get_name()], self._began[task.get_name()]
        # Callers that wait get the exception; if none does, asyncio must not report it.
        if not task.cancelled():
            task.exception()

    def _current(self, cached: _Cached) -> Rules:
        """Return cached rules; if there is a problem, with the time left until the next retry."""
        if cached.rules.problem is None:
            return cached.rules
        return replace(cached.rules, retry_after=(cached.expires - self._clock.now()) / 1e6)

    async def _find(self, origin: str) -> Rules:
        """Recall or download the rules of a host."""
        known = self._recall(origin)
        if known is None or not _is_valid(_expiry(known), self._clock.now()):
            known = await self._download(origin, known)
            # A failure due to one of our own rules is not remembered: the rule may be changed.
            if not known.permanent:
                self._remember(origin, known)
        return self._add(known, await _rules(known, self._token, self._max_delay))

    async def _download(self, origin: str, before: RobotsText | None) -> RobotsText:
        response = await self._fetch(origin + ROBOTS, MAX_BYTES)
        self.requests += response.requests
        found = RobotsText(origin, response.status, "", self._clock.now())
        problem = response.error
        if response.body is not None and response.body.lstrip().startswith(b"<"):
            problem = problem or challenge_in_body(response.body)
        if problem is None and response.body is not None:
            return replace(found, text=_text(response.body, truncated=response.truncated))
        is_missing = 300 <= response.status < 500  # noqa: PLR2004 - HTTP's
        if (is_missing and response.status != _TOO_MANY) or response.status == _NO_CONTENT:
            return found
        since = None if before is None else before.failing_since
        return replace(
            found,
            failing_since=found.fetched_at if since is None else since,
            problem=problem or f"the server answered {response.status}",
            permanent=response.permanent,
        )

    def _add(self, found: RobotsText, rules: Rules) -> Rules:
        """Cache the rules of a file, evicting the least recently used."""
        if rules.problem is not None:
            _log.warning("%s", rules.problem)
        before = self._cache.pop(found.origin, None)
        cached = _Cached(rules, _expiry(found), rules.memory)
        self._size += cached.size - (0 if before is None else before.size)
        self._cache[found.origin] = cached
        while len(self._cache) > 1 and (len(self._cache) > MAX_FILES or self._size > MAX_MEMORY):
            self._size -= self._cache.popitem(last=False)[1].size
        return self._current(cached)


def product_token(agent: str) -> str:
    """Return the name that robots.txt files use for an agent.

    Raises:
        ArgumentError: It has none, or it would break a request.

    >>> product_token("recrawl/0.1 (+https://example.org/bot)")
    'recrawl'
    """
    token = _TOKEN.match(agent)
    if token is None or not agent.isprintable():
        raise ArgumentError(
            f"a User-Agent is like 'name/1.0 (+https://example.org/bot)', not {agent!r}"
        )
    return token[0]


def _expiry(found: RobotsText) -> int:
    """Return until when a file is valid, or when one that cannot be read is retried."""
    if found.failing_since is None:
        return found.fetched_at + MAX_AGE
    failing = found.fetched_at - found.failing_since
    return found.fetched_at + min(max(failing, MIN_RETRY), MAX_RETRY)


def _is_valid(expires: int, now: int) -> bool:
    """Whether a file is still valid; not if it is from the future, as the clock was set back."""
    return now < expires <= now + MAX_AGE


def _text(body: bytes, *, truncated: bool) -> str:
    """Decode a file; if it was truncated, without its incomplete last line.

    A path in another encoding than UTF-8 is matched byte by byte, so no byte may get lost.
    """
    if truncated:
        body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
    return body.decode("utf-8-sig", "surrogateescape")


async def _rules(found: RobotsText, token: str, max_delay: float) -> Rules:
    """Return the rules in a file."""
    host = found.origin.partition("//")[2]
    if found.failing_since is not None:
        if found.fetched_at - found.failing_since >= GIVE_UP_AFTER:
            return Rules()
        problem = f"robots.txt of {host} cannot be read: {found.problem}"
        if found.permanent and found.problem is not None:
            problem = found.problem
        return Rules(problem=problem, permanent=found.permanent)
    if not found.text:
        return Rules()
    file = await _parsed(found.text, token)
    if file.wildcards > MAX_WILDCARDS:
        return Rules(problem=f"robots.txt of {host} has more than {MAX_WILDCARDS:,} wildcards")
    return Rules(
        delay=min(file.delay, max_delay),
        sitemaps=file.sitemaps,
        _file=file,
    )


async def _parsed(text: str, token: str) -> RobotsFile:
    """Parse a file, some milliseconds at a time, so that the event loop is not blocked."""
    reader = RobotsReader(text, token)
    for _ in reader.slices():
        await asyncio.sleep(0)
    return reader.file()
