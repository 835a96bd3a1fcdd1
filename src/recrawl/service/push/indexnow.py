"""IndexNow, the receiving side: sites announce which of their pages are new, changed or gone.

https://www.indexnow.org/documentation. Whoever says so names a key, and where on the site a file
contains it; nothing is believed until that file has been read. It is requested only from hosts
whose pages are kept fresh, and nobody learns from the answer which hosts those are.
"""

import asyncio
import hmac
import logging
import re
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import NamedTuple, final

from recrawl.clock import Clock
from recrawl.errors import AddressError
from recrawl.hosts import host_of
from recrawl.records import Response
from recrawl.service.auth.rate_limits import RateLimit, check_wait
from recrawl.service.problems import ProblemError
from recrawl.service.push.pushes import Pushes
from recrawl.urls import canonical, origin_of

LOGGER = logging.getLogger("recrawl.service")

#: The protocol's limits.
MAX_URLS = 10_000
KEY = r"[A-Za-z0-9-]{8,128}"
#: Requests per minute from one address, and from all together; and URLs in them.
ADDRESS_REQUESTS, ALL_REQUESTS, MINUTE = 60, 600, 60.0
ADDRESS_URLS, ALL_URLS = 2 * MAX_URLS, 10 * MAX_URLS
#: URLs per hour of one host, and unknown keys per hour that it is asked for.
HOST_URLS, HOST_KEYS, HOUR = MAX_URLS, 10, 3_600.0
#: Seconds for which a key is taken to be right, or wrong.
VALID_FOR, INVALID_FOR = 24 * HOUR, 10 * MINUTE
#: Keys that are remembered, that wait to be checked, and that are checked at the same time.
MAX_KEYS, MAX_WAITING, SIDE_BY_SIDE = 10_000, 100, 8
#: Bytes that are read of a file with a key.
MAX_KEY_BYTES = 4_096

FetchFile = Callable[[str], Awaitable[Response]]


class KeyFile(NamedTuple):
    """A key, and where it is said to be.

    Attributes:
        host: The host that it speaks for.
        key: The key.
        url: The canonical URL of the file that has it.
    """

    host: str
    key: str
    url: str


@final
@dataclass(frozen=True)
class Submission:
    """An announcement about a site.

    Attributes:
        key_file: Why they are to be believed.
        urls: Canonical URLs of its pages.
    """

    key_file: KeyFile
    urls: tuple[str, ...]

    @classmethod
    def read(
        cls, urls: Sequence[str], key: str, key_location: str | None = None, host: str | None = None
    ) -> "Submission":
        """Read what was submitted.

        Args:
            urls: At least one.
            key: The key.
            key_location: Where it is; None for the root of the site.
            host: The host of the URLs; None for that of the first.

        Raises:
            ProblemError: It does not follow the protocol.

        >>> Submission.read(["https://example.org/a"], "0123abcd").key_file.url
        'https://example.org/0123abcd.txt'
        """
        pages = tuple(dict.fromkeys(map(_canonical, urls)))
        if re.fullmatch(KEY, key) is None:
            raise _unprocessable("the key is not 8 to 128 letters, digits and dashes")
        own = {host_of(pages[0])}
        if host is not None:
            own = {host_of(f"{scheme}://{host.strip()}/") for scheme in ("http", "https")}
        file = f"{origin_of(pages[0])}/{key}.txt"
        if key_location is not None:
            file = _canonical(key_location)
        if host_of(file) not in own or "?" in file:
            raise _unprocessable("the key is not in a file of the same host")
        # A key in a folder speaks for this folder only, whatever the scheme.
        folder = _without_scheme(file).rpartition("/")[0] + "/"
        for page in pages:
            if host_of(page) not in own or not _without_scheme(page).startswith(folder):
                raise _unprocessable(f"{page} is not on this host, or not in the key's folder")
        return cls(KeyFile(host_of(pages[0]), key, file), pages)


class _Verdict(NamedTuple):
    """Whether a key is right, and until when that is valid."""

    is_valid: bool
    until: float


@final
class IndexNow:
    """Accepts submissions, checks their keys, and passes on what they announce.

    Args:
        pushes: Where URLs of sites with the right key go.
        fetch: Fetches a file with a key, as politely as a page.
        clock: The clock of the crawl.
        now: Returns seconds that never go back.

    Attributes:
        answers: How many submissions were answered with each status.
    """

    def __init__(
        self,
        pushes: Pushes,
        fetch: FetchFile,
        clock: Clock,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pushes = pushes
        self._fetch = fetch
        self._clock = clock
        self._now = now
        self._requests = RateLimit(ADDRESS_REQUESTS, MINUTE, now)
        self._all_requests = RateLimit(ALL_REQUESTS, MINUTE, now)
        self._urls = RateLimit(ADDRESS_URLS, MINUTE, now)
        self._all_urls = RateLimit(ALL_URLS, MINUTE, now)
        self._host_urls = RateLimit(HOST_URLS, HOUR, now)
        self._host_keys = RateLimit(HOST_KEYS, HOUR, now)
        self._known: OrderedDict[KeyFile, _Verdict] = OrderedDict()
        #: URLs that wait for their key to be checked.
        self._waiting: dict[KeyFile, dict[str, None]] = {}
        self._slots = asyncio.Semaphore(SIDE_BY_SIDE)
        self._tasks: set[asyncio.Task[None]] = set()
        self.answers: Counter[int] = Counter()

    def admit(self, address: str) -> None:
        """Admit a submission, before any of it is read.

        Raises:
            ProblemError: They do so too often.
        """
        check_wait(self._requests.spend(address) or self._all_requests.spend(""))

    async def submit(
        self,
        address: str,
        urls: Sequence[str],
        key: str,
        key_location: str | None = None,
        host: str | None = None,
    ) -> HTTPStatus:
        """Take a submission; see `Submission.read`.

        Returns:
            200 if its key is known to be right, 202 if not yet.

        Raises:
            ProblemError: It does not follow the protocol, its key is wrong, or it is too much.
        """
        check_wait(self._urls.spend(address, len(urls)) or self._all_urls.spend("", len(urls)))
        # In a thread: some URLs take long to parse.
        submission = await asyncio.to_thread(Submission.read, urls, key, key_location, host)
        file = submission.key_file
        if not await self._pushes.crawls(file.host):
            LOGGER.debug(
                "IndexNow: ignored a submission for %s, of which no page is kept fresh", file.host
            )
            return HTTPStatus.ACCEPTED
        verdict = self._known.get(file)
        if verdict is None or self._now() >= verdict.until:
            self._wait_for_key(
                file, submission.urls, was_valid=verdict is not None and verdict.is_valid
            )
            return HTTPStatus.ACCEPTED
        if not verdict.is_valid:
            raise ProblemError(
                HTTPStatus.FORBIDDEN, f"{file.url} does not contain the key, or cannot be read"
            )
        check_wait(self._host_urls.spend(file.host, len(submission.urls)))
        await self._take(submission.urls)
        return HTTPStatus.OK

    async def _take(self, urls: Sequence[str]) -> None:
        now = self._clock.now()
        await self._pushes.take(dict.fromkeys(urls, now), now)

    def _wait_for_key(self, file: KeyFile, urls: Sequence[str], *, was_valid: bool) -> None:
        """Keep URLs until their key has been checked, and start the check unless it is running."""
        waiting = self._waiting.get(file)
        if waiting is None:
            if len(self._waiting) >= MAX_WAITING:
                check_wait(MINUTE)
            # Made-up keys must not keep the site's own key from being checked.
            if not was_valid:
                check_wait(self._host_keys.spend(file.host))
            waiting = self._waiting[file] = {}
            task = asyncio.create_task(self._check(file))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif len(waiting) + len(urls) > MAX_URLS:
            check_wait(MINUTE)
        waiting.update(dict.fromkeys(urls))

    async def _check(self, file: KeyFile) -> None:
        """Check a key; if it is right, use the URLs that wait for it."""
        try:
            async with self._slots:
                is_valid = has_key(await self._fetch(file.url), file.key)
            self._known[file] = _Verdict(
                is_valid, self._now() + (VALID_FOR if is_valid else INVALID_FOR)
            )
            self._known.move_to_end(file)
            while len(self._known) > MAX_KEYS:
                self._known.popitem(last=False)
        finally:
            urls = list(self._waiting.pop(file))
        if not is_valid:
            LOGGER.info("IndexNow: %s does not contain the submitted key", file.url)
        elif not self._host_urls.spend(file.host, len(urls)):
            await self._take(urls)

    async def close(self) -> None:
        """Drop what has not been checked."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def has_key(response: Response, key: str) -> bool:
    """Whether a file has a key on one of its lines."""
    if response.error is not None or response.body is None:
        return False
    words = response.body.removeprefix(b"\xef\xbb\xbf").split()
    return any(hmac.compare_digest(word, key.encode()) for word in words)


def _canonical(url: str) -> str:
    try:
        return canonical(url)
    except AddressError as error:
        raise ProblemError(HTTPStatus.BAD_REQUEST, str(error)) from None


def _without_scheme(url: str) -> str:
    return url.partition("://")[2]


def _unprocessable(detail: str) -> ProblemError:
    return ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, detail)
