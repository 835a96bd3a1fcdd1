"""The HTTP client of one webhook, and the answers of its receiver."""

import time
from dataclasses import dataclass
from typing import NamedTuple, final

from recrawl.hosts import host_of
from recrawl.http.access import Proxy, is_private_name
from recrawl.http.connector import Connector
from recrawl.http.failures import DROPPED, DroppedError, FetchError
from recrawl.http.headers import retry_after
from recrawl.http.limits import Limits
from recrawl.http.memory_budget import MemoryBudget
from recrawl.http.request import HttpClient
from recrawl.notify.messages import signed
from recrawl.store.webhooks import Message, Webhook

_SUCCESS = range(200, 300)
_REDIRECT = range(300, 400)
_GONE = 410


@final
@dataclass(frozen=True, slots=True)
class SendLimits:
    """Limits on sending.

    Attributes:
        connections: Concurrent requests to one receiver.
        timeout: Seconds for a request.
        attempts: Failed attempts before a message is given up, if others are accepted.
    """

    connections: int = 1
    timeout: float = 15.0
    attempts: int = 8


class Answer(NamedTuple):
    """The result of a request.

    Attributes:
        error: What went wrong; None if the message was accepted.
        retry_after: Seconds for which the receiver wants to be left alone.
        is_gone: Whether it wants no more messages.
    """

    error: str | None = None
    retry_after: float = 0.0
    is_gone: bool = False


@final
class Receiver:
    """One webhook's HTTP client, with its own connections and threads.

    Args:
        hook: The webhook.
        agent: The User-Agent.
        limits: Limits on sending.
        proxy: Makes the connections; None to connect directly.
    """

    def __init__(
        self, hook: Webhook, agent: str, limits: SendLimits, proxy: Proxy | None = None
    ) -> None:
        self._hook = hook
        self._proxy = proxy
        timeouts = Limits(
            connections=limits.connections,
            connect_timeout=limits.timeout,
            read_timeout=limits.timeout,
            total_timeout=limits.timeout,
        )
        connector = Connector(allow_private=hook.allow_private, dns_threads=1)
        self._client = HttpClient(agent, timeouts, connector, MemoryBudget())

    async def send(self, message: Message) -> Answer:
        """Send a message; return the result."""
        hook, now = self._hook, time.time()
        if self._proxy is not None and not hook.allow_private and is_private_name(hook.url):
            return Answer(_private(host_of(hook.url)))
        headers = signed(hook.secret, message.id, int(now), message.body)
        try:
            try:
                response = await self._client.post(hook.url, headers, message.body, self._proxy)
            except DroppedError:
                # The connection had been idle for too long: retry on a new one.
                response = await self._client.post(hook.url, headers, message.body, self._proxy)
        except DroppedError:
            return Answer(DROPPED)
        except FetchError as error:
            is_private = error.response.permanent and self._proxy is None
            return Answer(_private(host_of(hook.url)) if is_private else str(error))
        if response.status in _SUCCESS:
            return Answer()
        problem = f"the receiver answered {response.status}"
        if response.status in _REDIRECT:
            problem += ", a redirect, which is not followed"
        wait = retry_after(response.header("retry-after"), now) or 0.0
        return Answer(problem, wait, response.status == _GONE)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()


def _private(host: str) -> str:
    return f"{host} is a private address; `recrawl webhook add --allow-private` allows it"
