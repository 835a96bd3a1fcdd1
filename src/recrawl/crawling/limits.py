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
        total_timeout: Seconds for one request and its answer.
        most_bytes: Bytes of a page that are read, counted after decompression.
        most_redirects: Redirects that are followed for one page.
        most_headers: Lines of headers in an answer.
        most_header_bytes: Bytes of one line of an answer's headers.
    """

    connections: int = 32
    idle_connections: int = 200
    connect_timeout: float = 10.0
    idle_timeout: float = 15.0
    total_timeout: float = 60.0
    most_bytes: int = 10_000_000
    most_redirects: int = 5
    most_headers: int = 200
    most_header_bytes: int = 16_384
