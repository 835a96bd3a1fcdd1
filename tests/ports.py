"""Ports for programs that have to be told theirs."""

import random
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
#: Where the system begins to give ports to connections and to who asks for any.
_FIRST_EPHEMERAL = int(_RANGE.read_text().split()[0]) if _RANGE.exists() else 32_768
_LOWEST = 10_000


@contextmanager
def silent_port() -> Iterator[int]:
    """Reserve a port at 127.0.0.1 where nobody listens: connections to it are refused."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        yield reserved.getsockname()[1]


def free_port() -> int:
    """Return a port that nobody uses, and that the system gives to nobody in the meantime."""
    while True:
        port = random.SystemRandom().randrange(_LOWEST, _FIRST_EPHEMERAL)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("", port))
            return port
