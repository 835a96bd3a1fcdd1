"""Event streams, and requests that wait: how many there may be, and until when they continue."""

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import final

from recrawl.service.auth.tokens import Tokens, User
from recrawl.service.problems import ProblemError

#: Each takes a connection for as long as a client listens, and the crawl needs some as well.
MAX_STREAMS = 500
#: Real seconds after which to try again.
RETRY_AFTER = 30


@final
class Streams:
    """The streams that are open.

    Args:
        tokens: Who may use the service.
        limit: How many there may be.

    Attributes:
        open: How many there are.
    """

    def __init__(self, tokens: Tokens, limit: int = MAX_STREAMS) -> None:
        self._tokens = tokens
        self._limit = limit
        self.open = 0

    def check(self) -> None:
        """Refuse another stream if too many are open.

        Raises:
            ProblemError: There are.
        """
        if self.open >= self._limit:
            raise ProblemError(
                HTTPStatus.SERVICE_UNAVAILABLE,
                f"{self._limit} streams are open or requests waiting, and no more are allowed; "
                "try again later",
                {"Retry-After": str(RETRY_AFTER)},
            )

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count a stream while it is open."""
        self.open += 1
        try:
            yield
        finally:
            self.open -= 1

    def goes_on_for(self, user: User) -> bool:
        """Whether a client may still listen: not once its token is revoked."""
        return self._tokens.admit(user)
