"""Recorded pages on loopback: each site at an address of its own, as they were at a moment.

The moment is given by a clock that the process which crawls them shares with the server.
"""

import asyncio
import gzip
import multiprocessing
import socket
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from hashlib import sha1
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pyarrow import parquet

PORT = 8_468
#: Real seconds that reading the recordings may take.
LOADING = 300.0


@dataclass
class History:
    """The recordings of a page.

    Attributes:
        url: Where the server has it.
        at: When each was recorded, in seconds since 1970, in order.
        version: The version of the content in each.
        digest: The SHA-1 of each body, as crawls log it.
    """

    url: str
    at: list[float] = field(default_factory=list)
    version: list[int] = field(default_factory=list)
    digest: list[bytes] = field(default_factory=list)

    def index(self, at: float) -> int:
        """Return which recording is in force at a time; the first one before all of them."""
        return max(bisect_right(self.at, at) - 1, 0)


def read_histories(path: Path) -> list[History]:
    """Read everything about the recordings but their bodies."""
    return [history for history, _ in _histories(path, bodies=False)]


def _histories(path: Path, *, bodies: bool) -> Iterator[tuple[History, list[bytes]]]:
    """Yield the pages with their responses; the file has their recordings in order."""
    file = parquet.ParquetFile(path)
    sites: dict[str, int] = {}
    current, name, responses = History(""), "", list[bytes]()
    for group in range(file.num_row_groups):
        for row in file.read_row_group(group).to_pylist():
            if row["page"] != name:
                if name:
                    yield current, responses
                name, responses = row["page"], []
                number = sites.setdefault(row["service"], len(sites))
                address = f"127.3.{number // 250}.{number % 250 + 1}:{PORT}"
                current = History(f"http://{address}/{quote(name.rpartition('/')[2])}")
            body = row["html"].encode() if isinstance(row["html"], str) else row["html"]
            current.at.append(float(row["at"]))
            current.version.append(int(row["version"]))
            current.digest.append(sha1(body, usedforsecurity=False).digest())
            if bodies:
                responses.append(_response(body))
    yield current, responses


def _response(body: bytes) -> bytes:
    packed = gzip.compress(body, 1)
    head = (
        "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Encoding: gzip\r\n"
        f"Content-Length: {len(packed)}\r\n\r\n"
    )
    return head.encode() + packed


_NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


class SharedClock:
    """What time it is for the server, as another process says."""

    def __init__(self) -> None:
        self._numbers = multiprocessing.get_context("spawn").Array("d", [0.0, 0.0, 1.0])

    def set(self, start: float, speed: float) -> None:
        """Let it be ``start`` now, in seconds since 1970, and go on at a speed."""
        self._numbers[:] = [time.time(), start, speed]

    def now(self) -> float:
        """Return the time in seconds since 1970."""
        began, start, speed = map(float, self._numbers[:])
        return start + (time.time() - began) * speed


def history_server(path: Path) -> AbstractContextManager[SharedClock]:
    """Serve the recordings in a process of its own; the clock is to be set."""
    return server_process(_serve, path)


@contextmanager
def server_process(
    serve: Callable[..., object], *args: object, port: int = PORT
) -> Iterator[SharedClock]:
    """Serve something in a process of its own; yield the clock to set.

    Args:
        serve: Serves for ever; it is given the arguments, and the clock.
        args: The arguments.
        port: Where it serves.
    """
    context = multiprocessing.get_context("spawn")
    clock = SharedClock()
    server = context.Process(target=serve, args=(*args, clock), daemon=True)
    server.start()
    try:
        _wait_for_server(port)
        yield clock
    finally:
        server.terminate()
        server.join()


def _wait_for_server(port: int) -> None:
    end = time.monotonic() + LOADING
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise SystemExit("the server of the pages did not start")


def _serve(path: Path, clock: SharedClock) -> None:
    import uvloop

    pages = {history.url: (history, found) for history, found in _histories(path, bodies=True)}

    class Protocol(asyncio.Protocol):
        """Responds to each request with what was recorded last."""

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self._transport: Any = transport
            self._rest = b""

        def data_received(self, data: bytes) -> None:
            *requests, self._rest = (self._rest + data).split(b"\r\n\r\n")
            for request in requests:
                self._transport.write(self._response(request.decode("latin-1")))

        def _response(self, request: str) -> bytes:
            first, *lines = request.split("\r\n")
            fields = dict(line.lower().split(": ", 1) for line in lines if ": " in line)
            found = pages.get(f"http://{fields.get('host', '')}{first.split(' ')[1]}")
            return _NOT_FOUND if found is None else found[1][found[0].index(clock.now())]

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        # All of 127.0.0.0/8 is this machine.
        server = await loop.create_server(Protocol, "0.0.0.0", PORT)  # noqa: S104
        await server.serve_forever()

    uvloop.run(serve())
