"""Why there is no response, in a few plain words."""

import aiohttp

from recrawl.http.address_guard import Attempt
from recrawl.http.bodies import BrokenBodyError
from recrawl.http.limits import Limits


class FetchError(Exception):
    """A fetch ends without anything to learn from.

    Attributes:
        status: HTTP's, or 0 where there was no response.
        retry_after: Seconds until it is worth trying again, where known.
        permanent: Whether trying again is pointless.
        postponed: Whether nothing was asked, because it was not the time.
        headers: Of the response, if there was one.
    """

    def __init__(
        self,
        error: str,
        *,
        status: int = 0,
        retry_after: float | None = None,
        permanent: bool = False,
        postponed: bool = False,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.status = status
        self.retry_after = retry_after
        self.permanent = permanent
        self.postponed = postponed
        self.headers = headers
        super().__init__(error)


class DroppedError(aiohttp.ClientError):
    """The server closed the connection before it answered.

    Its own class, so that aiohttp does not ask again by itself, uncounted and without a pause.
    """


def told(error: Exception, attempt: Attempt, limits: Limits) -> FetchError:
    """Say what went wrong with a request."""
    if attempt.refused is not None and not attempt.connected:
        return FetchError(
            f"the address {attempt.refused} is private; --allow-private lets it be crawled",
            permanent=True,
        )
    return FetchError(_words(error, limits))


def _words(error: Exception, limits: Limits) -> str:
    """Find words for an exception."""
    if isinstance(error, BrokenBodyError):
        return str(error)
    if isinstance(error, aiohttp.ClientConnectorError) and not isinstance(error, _IN_WORDS):
        return f"no connection: {_reason(error.os_error)}"
    words = next((words for kind, words in _WORDS if isinstance(error, kind)), None)
    if words is None:
        return "the address cannot be asked for"
    return words.format(limits=limits)


def _reason(error: OSError) -> str:
    """Give the system's own words, as inside a sentence."""
    if isinstance(error, ConnectionRefusedError):
        return "refused"
    # Where it was tried stands in brackets after them.
    return (error.strerror or "").partition("[")[0].strip().lower() or "not reached"


#: Failures to connect that say more than the system does.
_IN_WORDS = (
    aiohttp.ClientConnectorCertificateError,
    aiohttp.ClientConnectorSSLError,
    aiohttp.ClientConnectorDNSError,
)

#: The more special stand before the more general.
_WORDS: tuple[tuple[type[Exception], str], ...] = (
    (aiohttp.ClientConnectorCertificateError, "the certificate is not valid"),
    (aiohttp.ClientConnectorSSLError, "no secure connection: the server does not speak TLS"),
    (aiohttp.ClientConnectorDNSError, "no connection: the host is not known"),
    (aiohttp.ConnectionTimeoutError, "no connection within {limits.connect_timeout:g} s"),
    (aiohttp.SocketTimeoutError, "nothing came for {limits.idle_timeout:g} s"),
    (TimeoutError, "timed out after {limits.total_timeout:g} s"),
    (aiohttp.ClientPayloadError, "the body is incomplete or broken"),
    (aiohttp.ClientResponseError, "the response is not valid HTTP"),
    (DroppedError, "the connection was closed before the response"),
    (OSError, "the connection was closed before the response"),
)
