"""A real local web server whose pages tests can change, and which logs every request."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from aiohttp import web

ROBOTS = "/robots.txt"


@dataclass(frozen=True)
class Request:
    """A request received."""

    at: float
    host: str
    path: str
    headers: dict[str, str]


@dataclass
class Site:
    """What the server serves by path, and the requests it received.

    Attributes:
        pages: Bodies by path; other paths are 404.
        status: Statuses other than 200 by path.
        headers: Additional headers by path.
        etags: Whether pages have an ETag, and matching requests get 304.
        delay: Seconds until a response, other than robots.txt.
        requests: The requests received.
        urls: The server's origins, one per host.
    """

    pages: dict[str, str] = field(default_factory=dict)
    status: dict[str, int] = field(default_factory=dict)
    headers: dict[str, dict[str, str]] = field(default_factory=dict)
    etags: bool = False
    delay: float = 0.0
    requests: list[Request] = field(default_factory=list)
    urls: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        """The first origin."""
        return self.urls[0]

    def asked(self, path: str) -> list[Request]:
        """Return the requests for a path."""
        return [request for request in self.requests if request.path == path]

    async def respond(self, request: web.Request) -> web.Response:
        """Respond to a request."""
        path = request.path_qs
        seen = Request(time.time(), request.host, path, dict(request.headers))
        self.requests.append(seen)
        if self.delay and path != ROBOTS:
            await asyncio.sleep(self.delay)
        body = self.pages.get(path)
        headers = dict(self.headers.get(path, {}))
        if body is None:
            return web.Response(status=self.status.get(path, 404), headers=headers)
        if self.etags:
            headers["ETag"] = f'"{hash(body):x}"'
            if request.headers.get("If-None-Match") == headers["ETag"]:
                return web.Response(status=304, headers=headers)
        usual = "text/plain" if path == ROBOTS else "text/html"
        kind = headers.pop("Content-Type", usual)
        return web.Response(
            text=body, status=self.status.get(path, 200), headers=headers, content_type=kind
        )


@contextmanager
def serving(site: Site, hosts: int = 1) -> Iterator[Site]:
    """Serve a site on 127.0.0.1 and the following addresses, one per host."""
    ready, ended = threading.Event(), threading.Event()
    loop = asyncio.new_event_loop()
    stop: asyncio.Event | None = None

    async def serve() -> None:
        nonlocal stop
        stop = asyncio.Event()
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", site.respond)
        # Who waits for an answer when a test ends does not get it.
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        for number in range(1, hosts + 1):
            listener = web.TCPSite(runner, f"127.0.0.{number}", 0)
            await listener.start()
            site.urls.append(f"http://127.0.0.{number}:{runner.addresses[-1][1]}")
        ready.set()
        await stop.wait()
        await runner.cleanup()

    def run() -> None:
        loop.run_until_complete(serve())
        loop.close()
        ended.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(300.0)
    try:
        yield site
    finally:
        if stop is not None:
            loop.call_soon_threadsafe(stop.set)
        ended.wait(10.0)


def page_about(*paragraphs: str, links: tuple[str, ...] = ()) -> str:
    """Return a page."""
    text = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    more = "".join(f'<a href="{link}">{link}</a> ' for link in links)
    return f"<!doctype html><title>A page</title><body><h1>A page</h1>{text}{more}</body>"
