"""Where the service listens, and the HTTP server in the crawl's event loop."""

import asyncio
import ipaddress
import logging
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, final

from recrawl.errors import ArgumentError, RecrawlError
from recrawl.hosts import address_and_port
from recrawl.service.api.app import LOOPBACK, create_app
from recrawl.service.auth.guard import host_name
from recrawl.service.auth.seldom import logged_seldom
from recrawl.service.service import Service
from recrawl.units import quoted

LOGGER = logging.getLogger("recrawl.service")

BACKLOG = 512
#: Real seconds that requests in flight have to finish.
GRACE = 2.0


@final
@dataclass(frozen=True)
class Address:
    """Where a service listens.

    Attributes:
        host: An IP address, or a name.
        port: The port; 0 for any that is free.
    """

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Parse an address and a port.

        Raises:
            ArgumentError: It is neither.

        >>> Address.parse("127.0.0.1:8321"), Address.parse("[::1]:80").host
        (Address(host='127.0.0.1', port=8321), '::1')
        """
        try:
            return cls(*address_and_port(text))
        except ValueError:
            raise ArgumentError(
                f"listen: {quoted(text)} is not an address and a port such as 127.0.0.1:8321"
            ) from None

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host.lower() == "localhost"

    @property
    def in_url(self) -> str:
        """The host as URLs have it."""
        return f"[{self.host}]" if ":" in self.host else self.host


def names_of(address: Address, names: Sequence[str]) -> tuple[str, ...]:
    """Return what the Host header of requests may be, without a port.

    >>> names_of(Address("192.0.2.1", 80), ["crawl.example.org:8443"])
    ('127.0.0.1', 'localhost', '[::1]', '192.0.2.1', 'crawl.example.org')
    """
    own = () if address.in_url in LOOPBACK else (address.in_url,)
    return (*LOOPBACK, *own, *map(host_name, names))


@contextmanager
def bound(address: Address) -> Iterator[socket.socket]:
    """Listen at an address.

    Raises:
        RecrawlError: It is in use, or not this machine's.
    """
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((address.host, address.port))
            listener.listen(BACKLOG)
        except OSError as error:
            raise RecrawlError(
                f"cannot listen at {address.in_url}:{address.port}: {error.strerror or error}; "
                "--listen sets another address and port"
            ) from None
        listener.setblocking(False)  # noqa: FBT003
        yield listener
    finally:
        listener.close()


@asynccontextmanager
async def answering(
    service: Service, listener: socket.socket, names: Sequence[str]
) -> AsyncIterator[None]:
    """Serve requests while the block runs."""
    import uvicorn

    from recrawl.service import protocol

    class Server(uvicorn.Server):
        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            """Leave signals to the crawl."""
            yield

    app = create_app(service, names)
    options: dict[str, Any] = {"log_config": None, "access_log": False, "lifespan": "off"}
    config = uvicorn.Config(
        app,
        # What makes a connection does as well as its type.
        http=protocol.bounded_protocol(),  # type: ignore[arg-type]
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=round(GRACE),
        **options,
    )
    uvicorns = logging.getLogger("uvicorn.error")
    uvicorns.setLevel(logging.WARNING)
    server = Server(config)
    with logged_seldom(uvicorns, protocol.LOGGER):
        task = asyncio.create_task(server.serve(sockets=[listener]))
        sampling = asyncio.create_task(app.state.live.run())
        try:
            yield
        finally:
            service.stopping.set()
            server.should_exit = True
            await task
            await sampling
