"""Pages and sitemaps made to be slow to parse: the crawl goes on beside them, and stops when told.

The event loop's lag is measured inside the crawl, in processor time of its own thread: what else
the machine does is not its fault.
"""

import gzip
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from acceptance import program

from recrawl.records import Outcome
from recrawl.store.sqlite import SqliteStore

#: Seconds of the loop's own time that nobody else has a turn; `python -m benchmarks hostile` holds
#: it to a fifth of a second. Read without processes of their own, these pages take 9 to 30 seconds.
MAX_LAG = 4.0
SETTINGS = {
    "allow_private": "true",
    "budget": "100/s",
    "host_delay": "0.05s",
    "follow": "true",
    "contact": "https://example.org/bot",
}
#: The program with shorter limits than usual, which says at the end how long the loop was busy.
PROBED = """
import asyncio, sys, time
from recrawl.parsing import pool as parse_pool
from recrawl.crawler import stopping
from recrawl.engine.engine import Engine
stopping.STOP_SECONDS = 600.0
parse_pool.QUICK_SECONDS, parse_pool.SLOW_SECONDS = 0.2, 1.0
run = Engine.run

async def probe(worst):
    while True:
        before = time.thread_time()
        await asyncio.sleep(0.01)
        worst.append(time.thread_time() - before)

async def probed(self, seconds=None):
    worst = [0.0]
    task = asyncio.create_task(probe(worst))
    try:
        return await run(self, seconds)
    finally:
        task.cancel()
        print("longest turn", max(worst))

Engine.run = probed
from recrawl.cli.app import main
main()
"""
DEFAULTS = b" ".join(b'a%d CDATA "x"' % number for number in range(3_000))
PAGES = {
    "options": b"<select>" + b"<option>an option" * 25_000,
    "paragraphs": b"<p>" * 133_000,
    "custom-tags": b"".join(b"<x-%d>" % number for number in range(50_000)),
    "tables": b"<table><tr><td>" * 26_000,
    "formatting": b"".join(b"<font a=%d>x<p>" % number for number in range(25_000)),
    "attributes": b"<div " + b"".join(b"a%d " % number for number in range(80_000)) + b">",
    "short-formatting": b"".join(b"<font a=%d>x<p>" % number for number in range(1_000)),
}
SITEMAPS = {
    "comment.xml.gz": gzip.compress(b"<urlset><!--" + b"-" * 1 + b"x" * 45_000_000),
    "defaults.xml.gz": gzip.compress(
        b"<!DOCTYPE urlset [<!ATTLIST url " + DEFAULTS + b">]><urlset>" + b"<url/>" * 50_000
    ),
}

linux = pytest.mark.skipif(sys.platform != "linux", reason="hosts are 127.0.2.x")


class Handler(BaseHTTPRequestHandler):
    """Serves a bomb, or a good page, that is new every time."""

    protocol_version = "HTTP/1.1"
    visits = 0

    def do_GET(self) -> None:
        name = self.path.strip("/")
        body = SITEMAPS.get(name)
        if body is None and name in PAGES:
            body = PAGES[name] + b"<p>%d" % time.time_ns()
        if name.startswith("good"):
            Handler.visits += 1
            body = b"<p>Nothing to see here.<p>Word %d." % time.time_ns()
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as inherited
        """Say nothing."""


@contextmanager
def bombs(store: Path) -> Iterator[Callable[[], int]]:
    """Serve each bomb on a host of its own; yields how to count the visits to good pages."""
    servers = list[ThreadingHTTPServer]()
    names = [*PAGES, *SITEMAPS, "good"]
    for number, name in enumerate(names):
        server = ThreadingHTTPServer((f"127.0.2.{number + 1}", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        origin = "http://{}:{}".format(*server.server_address[:2])
        if name in SITEMAPS:
            with SqliteStore.open(store) as opened:
                opened.sitemaps.add(f"{origin}/{name}")
        elif name == "good":
            program.add(store, (f"{origin}/good{page}" for page in range(20)))
        else:
            program.add(store, [f"{origin}/{name}"])
    try:
        yield lambda: Handler.visits
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()


def start(store: Path, code: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", code, "run", "--store", str(store)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=program.environ(SETTINGS),
    )


def outcomes(store: Path) -> tuple[int, int]:
    """Return how many visits failed, and how many sitemaps were read."""
    with SqliteStore.open(store) as opened:
        left = [one.url for one in opened.sitemaps.all() if one.tried_at is None]
        return opened.spent(0).outcomes[Outcome.FAILED], len(SITEMAPS) - len(left)


@linux
def test_the_loop_never_waits_for_a_bomb_and_sigterm_is_obeyed_beside_them(tmp_path: Path) -> None:
    store = tmp_path / "bombs.db"
    with bombs(store) as visits, start(store, PROBED) as process:

        def is_done() -> bool:
            failed, read = outcomes(store)
            return failed >= 1 and read == len(SITEMAPS) and visits() > 30

        program.wait_until(is_done, process)
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=program.HANGS)
    assert process.returncode == 0, errors
    found = re.search(r"longest turn ([0-9.e-]+)", output)
    assert found is not None
    assert float(found[1]) < MAX_LAG
    with SqliteStore.open(store) as opened:
        assert opened.check() == []


HANGING = """
import sys, time
from recrawl.crawler import stopping
from recrawl.store.sqlite import SqliteStore
stopping.STOP_SECONDS = 1.0
record = SqliteStore.record

def stuck(self, visits, *others):
    if visits:
        print("stuck", flush=True)
        time.sleep(1000)

SqliteStore.record = stuck
from recrawl.cli.app import main
main()
"""


@linux
def test_sigterm_is_obeyed_even_if_a_write_hangs(tmp_path: Path) -> None:
    store = tmp_path / "hanging.db"
    with bombs(store), start(store, HANGING) as process:
        assert process.stdout is not None
        while "stuck" not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=program.HANGS)
    assert process.returncode == 1
    with SqliteStore.open(store) as opened:
        assert opened.check() == []
