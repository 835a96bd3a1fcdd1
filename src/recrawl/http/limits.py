"""Limits on what a server can take from us: time, bytes and connections."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on fetches.

    Attributes:
        connections: Concurrent requests, to all hosts together.
        idle_connections: Hosts to which an idle connection is kept open.
        connect_timeout: Seconds to establish a connection.
        read_timeout: Seconds without receiving a byte.
        total_timeout: Seconds for one request and its response.
        max_bytes: Bytes read per page, after decompression.
        max_redirects: Redirects followed per page.
        max_headers: Header lines per response.
        max_header_bytes: Bytes per header line.
    """

    connections: int = 32
    idle_connections: int = 200
    connect_timeout: float = 10.0
    read_timeout: float = 15.0
    total_timeout: float = 60.0
    max_bytes: int = 10_000_000
    max_redirects: int = 5
    max_headers: int = 200
    max_header_bytes: int = 16_384
