"""Ten thousand hosts that nothing is known about: how soon does their delay alone limit the crawl?

A server answers for addresses of 127.0.0.0/8, each of which is a host with a robots.txt and pages.
Reading robots.txt is a request too: within the first delay, no page is visited.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.report import Figure, printed
from benchmarks.sizes import sized

HOSTS, CONNECTIONS = sized((10_000, 1_024), (5, 4))
#: Seconds between two requests to a host, and how long the crawl runs.
DELAY, SECONDS = sized((20.0, 60.0), (0.5, 2.0))
#: The delay of the second crawl, which fewer connections have to do for.
SHORT_DELAY, FEW_CONNECTIONS, SHORT = sized((1.0, 64, 30.0), (0.5, 2, 1.0))

_PAGE = b"<!doctype html><title>A page</title><body><h1>A page</h1><p>It says little.</p>"
_HEAD = b"HTTP/1.1 %s\r\nContent-Type: text/%s\r\nContent-Length: %d\r\n\r\n"
_ANSWERS = {
    True: _HEAD % (b"200 OK", b"plain", 13) + b"User-agent: *",
    False: _HEAD % (b"200 OK", b"html", len(_PAGE)) + _PAGE,
}


def run() -> list[Figure]:
    """Crawl new hosts for a minute with many connections, then others with few."""
    with Console(stderr=True).status(f"{HOSTS:,} new hosts"), _server() as port:
        many = _crawl(port, DELAY, CONNECTIONS, SECONDS)
        few = _crawl(port, SHORT_DELAY, FEW_CONNECTIONS, SHORT)
    # In the time of one delay, each host can be asked once.
    share = (_visits_at(many, SECONDS) - _visits_at(many, SECONDS - DELAY)) / HOSTS
    rate = _visits_at(few, SHORT) / SHORT
    print(
        f"with {FEW_CONNECTIONS} connections and {SHORT_DELAY:g} s: {rate:,.0f} visits per second"
    )
    for second in range(5, round(SECONDS) + 1, 5):
        print(f"  {second:3} s: {_visits_at(many, second):8,.0f} visits")
    return [
        Figure("new hosts: share of what their delays allow", share, 0.9, at_least=True),
        Figure("new hosts: visits per second and connection", rate / FEW_CONNECTIONS, 2.0,
               at_least=True),
    ]  # fmt: skip


def _visits_at(samples: list[tuple[float, int]], second: float) -> float:
    """Return how many visits had been made at a time."""
    before = [sample for sample in samples if sample[0] <= second] or [(0.0, 0)]
    after = [sample for sample in samples if sample[0] > second] or before[-1:]
    (begin, low), (end, high) = before[-1], after[0]
    return low + (high - low) * ((second - begin) / (end - begin) if end > begin else 0.0)


def _crawl(port: int, delay: float, connections: int, seconds: float) -> list[tuple[float, int]]:
    """Crawl in a process of its own; return how many visits had been made at which second."""
    arguments = [str(value) for value in (port, delay, connections, seconds)]
    said = printed([sys.executable, "-m", "benchmarks.new_hosts", "crawl", *arguments])
    return [(float(at), int(visits)) for at, visits in json.loads(said.splitlines()[-1])]


def _crawl_here(
    port: int, delay: float, connections: int, seconds: float
) -> list[tuple[float, int]]:
    from recrawl import Crawler

    pages = round(seconds / delay) + 2
    samples: list[tuple[float, int]] = []

    def watch(stats: Any) -> None:  # noqa: ANN401 - as the crawler's
        samples.append(((stats.now - stats.began) / 1e6, stats.visits))

    with tempfile.TemporaryDirectory() as folder:
        settings: dict[str, Any] = {
            "host_delay": f"{delay}s",
            "connections": connections,
            "min_interval": "0s",
        }
        path = Path(folder) / "recrawl.db"
        with Crawler(path, budget="1000M/day", allow_private=True, **settings) as crawler:
            crawler.add(
                f"http://{host}:{port}/{page}" for host in _hosts() for page in range(pages)
            )
            crawler.run(seconds + 1.0, watch=watch)
    return samples


def _hosts() -> Iterator[str]:
    return (f"127.1.{number // 250}.{number % 250 + 1}" for number in range(HOSTS))


class _Protocol(asyncio.Protocol):
    """Responds to each request with robots.txt or a page, with as little work as possible."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        for request in data.split(b"\r\n\r\n")[:-1]:
            answer = _ANSWERS[request.startswith(b"GET /robots.txt")]
            self._transport.write(answer)  # type: ignore[attr-defined]


async def _serve() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(_Protocol, "0.0.0.0", 0, backlog=4_096)  # noqa: S104
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def _server() -> Iterator[int]:
    """Serve; yield the port."""
    command = [sys.executable, "-m", "benchmarks.new_hosts", "serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield int(server.stdout.readline())
        finally:
            server.terminate()


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        import uvloop

        uvloop.run(_serve())
    else:
        port, delay, connections, seconds = sys.argv[2:]
        found = _crawl_here(int(port), float(delay), int(connections), float(seconds))
        print(json.dumps(found))
