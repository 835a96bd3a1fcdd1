"""Ports for programs that have to be told theirs."""

import random
import socket
from contextlib import suppress
from pathlib import Path

_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
#: Where the system begins to give ports to connections and to who asks for any.
_FIRST_EPHEMERAL = int(_RANGE.read_text().split()[0]) if _RANGE.exists() else 32_768
_LOWEST = 10_000


def free_port() -> int:
    """Return a port that nobody uses, and that the system gives to nobody in the meantime."""
    while True:
        port = random.SystemRandom().randrange(_LOWEST, _FIRST_EPHEMERAL)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("", port))
            return port
