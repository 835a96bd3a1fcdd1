"""Who may use the service: tokens, browser sessions, and limits on failed attempts.

A token is random and long, and the store keeps a digest of it. A browser exchanges a token, or the
code of the link that the service prints when it starts, for a session: a cookie that scripts cannot
read and that other sites cannot send.
"""

import hmac
import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import final

from recrawl.errors import ArgumentError, StoreError
from recrawl.store.access import ServiceTables, Token, token_digest
from recrawl.units import quoted

#: The prefix of tokens, by which people and secret scanners recognise them.
PREFIX = "rcrl_"
RANDOM_BYTES = 32
MAX_NAME = 100
#: Seconds for which tokens are not read again: a revoked one is refused after this at the latest.
TOKENS_FOR = 1.0
#: Seconds without a request after which a session ends, and how many there may be.
SESSION_FOR = 12 * 3600.0
MAX_SESSIONS = 1_000
#: Seconds for which the code of a login link is valid; it can be used once.
CODE_FOR = 900.0
#: Failed logins from one address within this many seconds, after which it has to wait.
MAX_FAILURES, FAILURES_WITHIN = 10, 60.0
#: The same for requests with a wrong token: programs make many before somebody notices.
MAX_WRONG_TOKENS = 1_000
MAX_ADDRESSES = 10_000


class Access(IntEnum):
    """What a token allows; each includes those before it."""

    READ = 1
    CRAWL = 2
    ADMIN = 3

    @classmethod
    def named(cls, name: str) -> "Access":
        """Return what a name means.

        Raises:
            ArgumentError: There is no such access.

        >>> Access.named("crawl")
        <Access.CRAWL: 2>
        """
        try:
            return cls[name.upper()]
        except KeyError:
            names = ", ".join(one.name.lower() for one in cls)
            raise ArgumentError(
                f"{quoted(name)} is not an access level; choose one of {names}"
            ) from None


@dataclass(frozen=True, slots=True)
class User:
    """The maker of a request.

    Attributes:
        name: The name of the token; empty for whoever followed the link that the service printed.
        access: What it allows.
        by_cookie: Whether a browser's cookie says so, so that other sites may have made it send
            the request.
        by_password: Whether the token was sent as a password, as a browser also may again.
        digest: Of the token; nothing for whoever followed the link.
    """

    name: str
    access: Access
    by_cookie: bool = False
    by_password: bool = False
    digest: bytes = field(default=b"", repr=False)

    @property
    def is_by_browser(self) -> bool:
        """Whether another site may have made a browser send the request."""
        return self.by_cookie or self.by_password


def new_token() -> str:
    """Return a new token."""
    return PREFIX + secrets.token_urlsafe(RANDOM_BYTES)


def add_token(tables: ServiceTables, name: str, access: Access, now: int) -> str:
    """Create a token and return it; it cannot be shown again.

    Raises:
        ArgumentError: The name cannot be used, or is taken.
    """
    if not name.strip() or len(name) > MAX_NAME or not name.isprintable():
        raise ArgumentError(f"{quoted(name)} is not a name of 1 to {MAX_NAME} characters")
    token = new_token()
    row = Token(name, token_digest(token), access.name.lower(), now)
    if not tables.add_token(row):
        raise ArgumentError(
            f"a token {quoted(name)} already exists; revoke it or choose another name"
        )
    return token


@final
class Tokens:
    """The tokens in the store, read again every now and then.

    Args:
        read: Reads them.
        now: Returns seconds that never go back.
    """

    def __init__(
        self, read: Callable[[], Iterable[Token]], now: Callable[[], float] = time.monotonic
    ) -> None:
        self._read = read
        self._now = now
        self._known: dict[bytes, Token] = {}
        self._until = float("-inf")

    def find(self, token: str) -> User | None:
        """Return whom a token belongs to, None if to nobody."""
        self._refresh()
        digest = token_digest(token)
        # The timing of a dictionary reveals at most the digest, which helps nobody.
        found = self._known.get(digest)
        if found is None or not hmac.compare_digest(found.digest, digest):
            return None
        return User(found.name, Access.named(found.access), digest=digest)

    def admit(self, user: User) -> bool:
        """Whether somebody's token has not been revoked; another may have its name since."""
        self._refresh()
        return not user.name or user.digest in self._known

    def _refresh(self) -> None:
        now = self._now()
        if now >= self._until:
            try:
                self._known = {token.digest: token for token in self._read()}
            except StoreError:
                # Rather refuse everybody than accept a revoked token.
                self._known = {}
            self._until = now + TOKENS_FOR


@final
class Sessions:
    """Browsers that have logged in, by cookie, and codes for doing so.

    Args:
        now: Returns seconds that never go back.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._sessions: OrderedDict[bytes, tuple[User, float]] = OrderedDict()
        self._codes: dict[bytes, tuple[User, float]] = {}

    def new_code(self, user: User) -> str:
        """Return a code that can be exchanged for a session once."""
        code = secrets.token_urlsafe(RANDOM_BYTES)
        self._codes[token_digest(code)] = user, self._now() + CODE_FOR
        return code

    def use_code(self, code: str) -> User | None:
        """Return whom a code is for, and forget it; None if there is no such code any more."""
        user, until = self._codes.pop(token_digest(code), (None, 0.0))
        return user if self._now() < until else None

    def start(self, user: User) -> str:
        """Start a session, and return its cookie."""
        cookie = secrets.token_urlsafe(RANDOM_BYTES)
        started = replace(user, by_cookie=True)
        self._sessions[token_digest(cookie)] = started, self._now() + SESSION_FOR
        while len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return cookie

    def find(self, cookie: str) -> User | None:
        """Return whose session it is, None if it has ended; it is prolonged."""
        key = token_digest(cookie)
        user, until = self._sessions.get(key, (None, 0.0))
        if user is None or self._now() >= until:
            self._sessions.pop(key, None)
            return None
        self._sessions[key] = user, self._now() + SESSION_FOR
        self._sessions.move_to_end(key)
        return user

    def end(self, cookie: str) -> None:
        """End a session."""
        self._sessions.pop(token_digest(cookie), None)


@final
class FailedLogins:
    """Failed logins by address: after too many of them, an address has to wait.

    Args:
        limit: How many failures there may be within `FAILURES_WITHIN` seconds.
        now: Returns seconds that never go back.

    >>> failed = FailedLogins(now=lambda: 0.0)
    >>> for _ in range(MAX_FAILURES):
    ...     failed.note("192.0.2.1")
    >>> failed.wait("192.0.2.1"), failed.wait("192.0.2.2")
    (60.0, 0.0)
    """

    def __init__(
        self, limit: int = MAX_FAILURES, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._limit = limit
        self._now = now
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()

    def note(self, address: str) -> None:
        """Note a failure."""
        times = self._failures.setdefault(address, deque(maxlen=self._limit))
        times.append(self._now())
        self._failures.move_to_end(address)
        while len(self._failures) > MAX_ADDRESSES:
            self._failures.popitem(last=False)

    def wait(self, address: str) -> float:
        """Return how many seconds an address has to wait before it may try again."""
        times = self._failures.get(address)
        if times is None or len(times) < self._limit:
            return 0.0
        return max(times[0] + FAILURES_WITHIN - self._now(), 0.0)
