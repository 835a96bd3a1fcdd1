"""Which IP addresses may be connected to, checked as each socket is created."""

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

#: Seconds that a DNS answer is cached.
DNS_SECONDS = 60

#: Seconds that an idle connection is kept open.
KEEP_ALIVE = 15.0

#: Not on the public internet, whatever this version of the standard library says.
_PRIVATE_V4 = tuple(
    ip_network(block)
    for block in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT
        "127.0.0.0/8",  # loopback
        "169.254.0.0/16",  # link-local; cloud metadata services
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
_PRIVATE_V6 = tuple(
    ip_network(block)
    for block in (
        "2001::/23",  # protocol assignments, including Teredo
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: can stand for any IPv4 address
        "3fff::/20",  # documentation
    )
)
#: The global unicast range.
_GLOBAL_V6 = IPv6Network("2000::/3")
#: Hold an IPv4 address in the last 32 bits: mapped, compatible, and NAT64.
_EMBEDDING_V4 = tuple(IPv6Network(block) for block in ("::ffff:0:0/96", "::/96", "64:ff9b::/96"))


def is_public(address: str | IPv4Address | IPv6Address) -> bool:
    """Whether an IP address is on the public internet.

    An IPv6 address that embeds an IPv4 address is as public as the latter. Anything that is not an
    IP address is not public.

    >>> is_public("9.9.9.9"), is_public("10.0.0.1"), is_public("::ffff:10.0.0.1")
    (True, False, False)
    """
    try:
        ip = ip_address(address)
    except ValueError:
        return False
    if isinstance(ip, IPv6Address):
        if any(ip in block for block in _EMBEDDING_V4):
            return is_public(IPv4Address(int(ip) & 0xFFFF_FFFF))
        return ip.is_global and ip in _GLOBAL_V6 and not any(ip in block for block in _PRIVATE_V6)
    return ip.is_global and not any(ip in block for block in _PRIVATE_V4)


class PrivateAddressError(OSError):
    """An address is not public.

    An OSError, because that is what makes aiohttp try the host's next address.
    """


@dataclass(slots=True)
class Attempt:
    """How far one attempt to send a request got.

    Attributes:
        connected: Whether a new connection was opened for it, or at least tried.
        refused: An address that was refused because it is not public.
    """

    connected: bool = False
    refused: str | None = None


#: The attempt that the current task opens a connection for.
ATTEMPT: ContextVar[Attempt | None] = ContextVar("ATTEMPT", default=None)


def connector(
    *,
    allow_private: bool = False,
    dns_threads: int = 32,
    resolver: AbstractResolver | None = None,
    allowed: Callable[[str], bool] = is_public,
) -> TCPConnector:
    """Return a connector that refuses addresses that are not public.

    Every address is checked as a socket is created for it, so that neither a redirect, an odd
    notation nor a DNS answer that changes can lead to a private one. Limiting the number of
    connections is up to the caller.

    Args:
        allow_private: Whether to connect to any address.
        dns_threads: Maximum number of concurrent DNS lookups.
        resolver: Resolves host names; the system's resolver by default.
        allowed: Decides which addresses are public.
    """

    def checked_socket(info: "AddrInfoType") -> socket.socket:
        family, kind, protocol, _, address = info
        attempt = ATTEMPT.get()
        if not (allow_private or allowed(str(address[0]))):
            if attempt is not None:
                attempt.refused = str(address[0])
            raise PrivateAddressError(f"{address[0]} is not public")
        if attempt is not None:
            attempt.connected = True
        return socket.socket(family, kind, protocol)

    return _Connector(
        limit=0,
        resolver=resolver or _SystemResolver(dns_threads),
        ttl_dns_cache=DNS_SECONDS,
        keepalive_timeout=KEEP_ALIVE,
        socket_factory=checked_socket,
    )


class _Connector(TCPConnector):
    """Also closes its resolver, which aiohttp leaves to the caller."""

    async def close(self, *, abort_ssl: bool = False) -> None:
        """Close all connections."""
        await super().close(abort_ssl=abort_ssl)
        await self._resolver.close()


class _SystemResolver(AbstractResolver):
    """Resolves names with the system's resolver, in threads of its own.

    The event loop's default threads are few and shared: a handful of unresponsive name servers
    would block all other lookups.
    """

    def __init__(self, threads: int) -> None:
        self._threads = ThreadPoolExecutor(threads, "dns")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list["ResolveResult"]:
        """Resolve a host name."""
        look_up = partial(socket.getaddrinfo, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
        infos = await asyncio.get_running_loop().run_in_executor(
            self._threads, look_up, host, port, family
        )
        return [
            {
                "hostname": host,
                "host": str(address[0]),
                "port": port,
                "family": kind,
                "proto": protocol,
                "flags": socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            }
            for kind, _, protocol, _, address in infos
        ]

    async def close(self) -> None:
        """Close without waiting for lookups in progress."""
        self._threads.shutdown(wait=False, cancel_futures=True)
