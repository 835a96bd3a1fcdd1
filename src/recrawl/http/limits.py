"""How much of anything a server gets from us: time, bytes, connections."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What a fetch may take.

    Attributes:
        connections: Requests at once, to all hosts together.
        idle_connections: Hosts that a connection is kept open to for the next request.
        connect_timeout: Seconds for a connection to be made.
        idle_timeout: Seconds without a byte.
        total_timeout: Seconds for one request and its response.
        max_bytes: Bytes of a page that are read, counted after decompression.
        max_redirects: Redirects that are followed for one page.
        max_headers: Lines of headers in a response.
        max_header_bytes: Bytes of one line of a response's headers.
    """

    connections: int = 32
    idle_connections: int = 200
    connect_timeout: float = 10.0
    idle_timeout: float = 15.0
    total_timeout: float = 60.0
    max_bytes: int = 10_000_000
    max_redirects: int = 5
    max_headers: int = 200
    max_header_bytes: int = 16_384
