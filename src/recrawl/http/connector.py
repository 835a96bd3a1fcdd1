"""Opening connections: names are resolved, and every address is checked as its socket is made."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv4Address, ip_address
from typing import Final, Protocol, TypeAlias, final

from aiohappyeyeballs import start_connection

from recrawl.http.address_guard import is_public
from recrawl.http.connection import Connection

#: Seconds that a DNS answer is cached, and how many names.
DNS_SECONDS: Final = 60.0
MAX_NAMES: Final = 10_000
#: Seconds after which the next address of a host is tried alongside the first, as RFC 8305 advises.
NEXT_ADDRESS: Final = 0.25

AddressInfo: TypeAlias = tuple[int, int, int, str, tuple[str, int] | tuple[str, int, int, int]]


class Resolving(Protocol):
    """Looks names up."""

    async def resolve(self, host: str, port: int) -> list[AddressInfo]:
        """Return the addresses of a host as `socket.getaddrinfo` does, or raise OSError."""

    def close(self) -> None:
        """Release what is needed for it."""


class PrivateAddressError(OSError):
    """An address is not public.

    An OSError, so that the host's next address is tried.
    """


class UnknownHostError(OSError):
    """There is no such name, as far as the resolver knows."""


@dataclass(slots=True)
class Attempt:
    """How far an attempt to open a connection got.

    Attributes:
        connected: Whether an address was tried.
        refused: An address that was refused because it is not public.
    """

    connected: bool = False
    refused: str | None = None


@final
class Connector:
    """Opens connections to hosts, but not to addresses that are not public.

    Every address is checked as a socket is created for it, so that neither a redirect, an odd
    notation nor a DNS answer that changes can lead to a private one. Limiting the number of
    connections is up to the caller.

    Args:
        allow_private: Whether to connect to any address.
        dns_threads: Maximum number of concurrent DNS lookups.
        resolver: Resolves host names; the system's resolver by default.
        allowed: Decides which addresses are public.
    """

    def __init__(
        self,
        *,
        allow_private: bool = False,
        dns_threads: int = 32,
        resolver: Resolving | None = None,
        allowed: Callable[[str], bool] = is_public,
    ) -> None:
        self._allow_private = allow_private
        self._allowed = allowed
        self._resolver = resolver or _SystemResolver(dns_threads)
        self._names: dict[tuple[str, int], tuple[float, list[AddressInfo]]] = {}
        self._tls: ssl.SSLContext | None = None

    async def open(
        self,
        host: str,
        port: int,
        make: Callable[[], Connection],
        attempt: Attempt,
        *,
        tls: bool = False,
    ) -> Connection:
        """Open a connection.

        Args:
            host: A name, or an IP address without brackets.
            port: The port.
            make: Makes the object that speaks on it.
            attempt: Filled in on the way.
            tls: Whether to speak TLS, with a certificate for this host.

        Raises:
            OSError: It cannot be opened.
        """
        infos = await self._addresses(host, port)
        # Nothing else may reach the network: the socket is made for a checked address only.
        opened = await start_connection(
            infos,
            happy_eyeballs_delay=NEXT_ADDRESS,
            interleave=1,
            socket_factory=partial(self._checked_socket, attempt),
        )
        try:
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _, made = await asyncio.get_running_loop().create_connection(
                make,
                sock=opened,
                ssl=self._context() if tls else None,
                server_hostname=host if tls else None,
            )
        except BaseException:
            opened.close()
            raise
        return made

    async def secure(
        self, connection: Connection, host: str, make: Callable[[], Connection]
    ) -> Connection:
        """Speak TLS to a host through a tunnel that a proxy has opened."""
        made = make()
        transport = await asyncio.get_running_loop().start_tls(
            connection.detach(), made, self._context(), server_hostname=host
        )
        if transport is None:
            raise ConnectionResetError
        made.connection_made(transport)
        return made

    def close(self) -> None:
        """Release the resolver."""
        self._resolver.close()

    async def _addresses(self, host: str, port: int) -> list[AddressInfo]:
        if (literal := _literal(host, port)) is not None:
            return [literal]
        now = asyncio.get_running_loop().time()
        known = self._names.get((host, port))
        if known is not None and known[0] > now:
            return known[1]
        try:
            infos = await self._resolver.resolve(host, port)
        except (OSError, UnicodeError) as error:
            raise UnknownHostError(str(error)) from None
        if not infos:
            raise UnknownHostError(host)
        if len(self._names) >= MAX_NAMES:
            self._names.clear()
        self._names[host, port] = now + DNS_SECONDS, infos
        return infos

    def _checked_socket(self, attempt: Attempt, info: AddressInfo) -> socket.socket:
        family, kind, protocol, _, address = info
        if not (self._allow_private or self._allowed(str(address[0]))):
            attempt.refused = str(address[0])
            raise PrivateAddressError(f"{address[0]} is not public")
        attempt.connected = True
        return socket.socket(family, kind, protocol)

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls


def _literal(host: str, port: int) -> AddressInfo | None:
    """Return an IP address as the resolver would; None for a name."""
    try:
        address = ip_address(host)
    except ValueError:
        return None
    family = socket.AF_INET if isinstance(address, IPv4Address) else socket.AF_INET6
    return family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (host, port)


@final
class _SystemResolver:
    """Resolves names with the system's resolver, in threads of its own.

    The event loop's default threads are few and shared: a handful of unresponsive name servers
    would block all other lookups.
    """

    def __init__(self, threads: int) -> None:
        self._threads = ThreadPoolExecutor(threads, "dns")

    async def resolve(self, host: str, port: int) -> list[AddressInfo]:
        """Resolve a host name."""
        look_up = partial(socket.getaddrinfo, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._threads, look_up, host, port)
        return [*found]  # type: ignore[list-item]

    def close(self) -> None:
        """Close without waiting for lookups in progress."""
        self._threads.shutdown(wait=False, cancel_futures=True)
