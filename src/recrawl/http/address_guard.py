"""Which addresses of the internet may be connected to, checked where the connection is made."""

import asyncio
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING

from aiohttp import TCPConnector
from aiohttp.abc import AbstractResolver

if TYPE_CHECKING:
    from aiohttp import AddrInfoType
    from aiohttp.abc import ResolveResult

#: How long a response of DNS is used, in seconds.
DNS_SECONDS = 60

#: How long a connection that nobody uses is kept, in seconds.
KEEP_ALIVE = 15.0

#: What is not on the internet, whatever the standard library of the day says.
_CLOSED_V4 = tuple(
    ip_network(block)
    for block in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # a provider's own
        "127.0.0.0/8",  # loopback
        "169.254.0.0/16",  # link-local; clouds tell secrets there
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocols' own
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # relays of 6to4
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
_CLOSED_V6 = tuple(
    ip_network(block)
    for block in (
        "2001::/23",  # protocols' own, Teredo among them
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: leads to any IPv4 address
        "3fff::/20",  # documentation
    )
)
#: All that is given out for use on the internet is in here.
_GLOBAL_V6 = IPv6Network("2000::/3")
#: An IPv4 address stands in the last 32 bits: mapped, compatible, and for translation by NAT64.
_HOLDING_V4 = tuple(IPv6Network(block) for block in ("::ffff:0:0/96", "::/96", "64:ff9b::/96"))


def is_public(address: str | IPv4Address | IPv6Address) -> bool:
    """Whether an IP address is one that anybody on the internet may connect to.

    Addresses of IPv6 that stand for one of IPv4 are as public as that is. What is not an IP address
    is not public.

    >>> is_public("9.9.9.9"), is_public("10.0.0.1"), is_public("::ffff:10.0.0.1")
    (True, False, False)
    """
    try:
        ip = ip_address(address)
    except ValueError:
        return False
    if isinstance(ip, IPv6Address):
        if any(ip in block for block in _HOLDING_V4):
            return is_public(IPv4Address(int(ip) & 0xFFFF_FFFF))
        return ip.is_global and ip in _GLOBAL_V6 and not any(ip in block for block in _CLOSED_V6)
    return ip.is_global and not any(ip in block for block in _CLOSED_V4)


class PrivateAddressError(OSError):
    """An address may not be connected to.

    An OSError, since connectors go on to a host's next address after one of these only.
    """


@dataclass(slots=True)
class Attempt:
    """What became of one try to have a request answered.

    Attributes:
        connected: Whether a new connection was made, or begun, for it.
        refused: An address that was not connected to because it is not public.
    """

    connected: bool = False
    refused: str | None = None


#: The attempt that a connection is made for, in the task that asks for it.
ATTEMPT: ContextVar[Attempt | None] = ContextVar("ATTEMPT", default=None)


def connector(
    *,
    allow_private: bool = False,
    connections: int = 32,
    resolver: AbstractResolver | None = None,
    allowed: Callable[[str], bool] = is_public,
) -> TCPConnector:
    """Make what connects to servers, and to no address that is not public.

    Every address is checked in the moment a socket is made for it. So it does not matter what DNS
    said before, or what a redirect says: no name and no notation leads elsewhere.

    Args:
        allow_private: Whether to connect to any address.
        connections: How many names are looked up at once. How many connections there are at once
            is the caller's to limit.
        resolver: What looks up names; the system does if not given.
        allowed: Which addresses are public.
    """

    def checked_socket(info: "AddrInfoType") -> socket.socket:
        family, kind, protocol, _, where = info
        attempt = ATTEMPT.get()
        if not (allow_private or allowed(str(where[0]))):
            if attempt is not None:
                attempt.refused = str(where[0])
            raise PrivateAddressError(f"{where[0]} is not public")
        if attempt is not None:
            attempt.connected = True
        return socket.socket(family, kind, protocol)

    return _Connector(
        limit=0,
        resolver=resolver or _SystemResolver(connections),
        ttl_dns_cache=DNS_SECONDS,
        keepalive_timeout=KEEP_ALIVE,
        socket_factory=checked_socket,
    )


class _Connector(TCPConnector):
    """Closes what looks up names along with itself; aiohttp leaves that to whoever made it."""

    async def close(self, *, abort_ssl: bool = False) -> None:
        """Close all connections."""
        await super().close(abort_ssl=abort_ssl)
        await self._resolver.close()


class _SystemResolver(AbstractResolver):
    """Asks the system for addresses, in threads of its own.

    The loop's own threads are few, and shared: some names whose servers never response would keep
    every other name waiting.
    """

    def __init__(self, threads: int) -> None:
        self._threads = ThreadPoolExecutor(threads, "dns")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list["ResolveResult"]:
        """Look a name up."""
        look_up = partial(socket.getaddrinfo, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
        infos = await asyncio.get_running_loop().run_in_executor(
            self._threads, look_up, host, port, family
        )
        return [
            {
                "hostname": host,
                "host": str(where[0]),
                "port": port,
                "family": kind,
                "proto": protocol,
                "flags": socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            }
            for kind, _, protocol, _, where in infos
        ]

    async def close(self) -> None:
        """Wait for nobody."""
        self._threads.shutdown(wait=False, cancel_futures=True)
