"""Subscribes to WebSub hubs, with a client that connects to public addresses only."""

from typing import final
from urllib.parse import urlencode

from recrawl.config.access import site_access
from recrawl.config.settings import Settings, agent_of
from recrawl.errors import AddressError
from recrawl.hosts import host_of
from recrawl.http.access import is_private_name
from recrawl.http.connector import Connector
from recrawl.http.failures import DROPPED, DroppedError, FetchError
from recrawl.http.headers import location
from recrawl.http.limits import Limits
from recrawl.http.memory_budget import MemoryBudget
from recrawl.http.request import HttpClient
from recrawl.records import Response
from recrawl.store.subscriptions import Subscription
from recrawl.urls import redirected

#: Seconds that a subscription should last: ten days, as the specification suggests.
LEASE = 10 * 86_400
#: Seconds for a request, and how many may be in flight.
TIMEOUT, CONNECTIONS = 15.0, 4
MAX_REDIRECTS = 3
_SUCCESS = range(200, 300)
_MOVED = frozenset({307, 308})
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@final
class Hubs:
    """The HTTP client for hubs.

    Args:
        settings: Who we are, and which addresses may be connected to.
    """

    def __init__(self, settings: Settings) -> None:
        limits = Limits(
            connections=CONNECTIONS,
            connect_timeout=TIMEOUT,
            read_timeout=TIMEOUT,
            total_timeout=TIMEOUT,
        )
        connector = Connector(allow_private=settings.allow_private, dns_threads=1)
        self._client = HttpClient(agent_of(settings), limits, connector, MemoryBudget())
        self._access = site_access(settings)
        self._allow_private = settings.allow_private

    async def subscribe(self, wanted: Subscription, callback: str) -> str | None:
        """Ask a hub to send messages about a feed to a URL.

        Returns:
            What was wrong; None if the hub is going to confirm the subscription.
        """
        form = {
            "hub.mode": "subscribe",
            "hub.topic": wanted.topic,
            "hub.callback": callback,
            "hub.lease_seconds": str(LEASE),
            "hub.secret": wanted.secret,
        }
        body, hub = urlencode(form).encode(), wanted.hub
        for _ in range(MAX_REDIRECTS + 1):
            try:
                response = await self._post(hub, body)
            except DroppedError:
                return DROPPED
            except FetchError as error:
                return str(error)
            if response.status in _SUCCESS:
                return None
            target = response.header("location")
            if response.status not in _MOVED or target is None:
                return f"the hub responded with status {response.status}"
            try:
                hub = redirected(hub, location(target))
            except AddressError as error:
                return f"the hub redirected to an invalid address: {error}"
        return f"the hub redirected more than {MAX_REDIRECTS} times"

    async def _post(self, hub: str, body: bytes) -> Response:
        proxy = self._access(hub).proxy
        if proxy is not None and not self._allow_private and is_private_name(hub):
            raise FetchError(f"{host_of(hub)} is a private address", permanent=True)
        return await self._client.post(hub, _FORM, body, proxy)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()
