"""Exceptions for failed requests, and their descriptions."""

import ssl
from dataclasses import replace

from recrawl.http.access import Proxy
from recrawl.http.bodies import BrokenBodyError
from recrawl.http.connection import (
    ConnectionDroppedError,
    IncompleteBodyError,
    InvalidResponseError,
    ReadTimeoutError,
)
from recrawl.http.connector import Attempt, UnknownHostError
from recrawl.http.limits import Limits
from recrawl.records import PRIVATE, Response

#: The error of a request whose connection was dropped.
DROPPED = "the connection was closed before the response"


class FetchError(Exception):
    """A fetch failed.

    Args:
        error: Why, in a few words.
        response: The server's response, if there was one.
        retry_after: Seconds until it is worth trying again, if known.
        permanent: Whether trying again is pointless.
        postponed: Whether no request was made because it was too soon.

    Attributes:
        response: The failure as a response.
    """

    def __init__(
        self,
        error: str,
        response: Response | None = None,
        *,
        retry_after: float | None = None,
        permanent: bool = False,
        postponed: bool = False,
    ) -> None:
        self.response = replace(
            response or Response("", 0, at=0),
            truncated=False,
            error=error,
            retry_after=retry_after,
            permanent=permanent,
            postponed=postponed,
        )
        super().__init__(error)


class DroppedError(Exception):
    """The server closed a connection that was kept open, before it responded: try another."""


class ConnectError(Exception):
    """A connection could not be opened in time."""


class ProxyError(Exception):
    """A proxy did not do as requested; the message says what it did."""


#: Everything that a server or the network can do to a request.
FAILURES = (
    OSError,
    BrokenBodyError,
    IncompleteBodyError,
    InvalidResponseError,
    ConnectError,
    ProxyError,
    ValueError,
    RuntimeError,
)


def as_fetch_error(
    error: Exception, attempt: Attempt, limits: Limits, proxy: Proxy | None
) -> FetchError:
    """Describe why a request failed."""
    if attempt.refused is not None and not attempt.connected:
        which, use = ("the address", "crawl") if proxy is None else ("the proxy's address", "use")
        return FetchError(
            f"{which} {attempt.refused} {PRIVATE} to {use} it",
            permanent=True,
        )
    if isinstance(error, (BrokenBodyError, ProxyError)):
        return FetchError(str(error))
    to_proxy = " to the proxy" if proxy is not None and not attempt.connected else ""
    if isinstance(error, UnknownHostError):
        return FetchError(f"no connection{to_proxy}: unknown host")
    for kind, words in _WORDS:
        if isinstance(error, kind):
            return FetchError(words.format(limits=limits))
    if isinstance(error, OSError):
        by = " to the proxy" if proxy is not None else ""
        return FetchError(f"no connection{by}: {_reason(error)}")
    return FetchError("the request cannot be made")


def _reason(error: OSError) -> str:
    """Return the operating system's message, worded for use inside a sentence."""
    if isinstance(error, ConnectionRefusedError):
        return "refused"
    # The address that was tried follows in brackets.
    return (error.strerror or "").partition("[")[0].strip().lower() or "unreachable"


#: More specific exceptions come before more general ones.
_WORDS: tuple[tuple[type[Exception], str], ...] = (
    (ssl.SSLCertVerificationError, "the certificate is not valid"),
    (ssl.SSLError, "no secure connection: the server does not speak TLS"),
    (ConnectError, "no connection within {limits.connect_timeout:g} s"),
    (ReadTimeoutError, "no data for {limits.read_timeout:g} s"),
    (TimeoutError, "timed out after {limits.total_timeout:g} s"),
    (IncompleteBodyError, "the body is incomplete or broken"),
    (InvalidResponseError, "the response is not valid HTTP"),
    (ConnectionDroppedError, DROPPED),
)
