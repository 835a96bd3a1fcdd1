"""A real web server on this machine, whose pages change when told and which logs every request."""

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
    """A request that came in."""

    at: float
    host: str
    path: str
    headers: dict[str, str]


@dataclass
class Site:
    """What the server serves, by path, and what it was asked.

    Attributes:
        pages: Bodies by path; another path is answered with 404.
        status: Other statuses by path.
        headers: More headers by path.
        etags: Whether pages have an ETag, and "not modified" is an answer.
        delay: Seconds that an answer takes.
        requests: What came in.
        urls: The server's addresses, without a slash at the end: a host each.
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
        """The first address."""
        return self.urls[0]

    def asked(self, path: str) -> list[Request]:
        """Give the requests for a path."""
        return [request for request in self.requests if request.path == path]

    async def answer(self, request: web.Request) -> web.Response:
        """Answer a request."""
        path = request.path_qs
        seen = Request(time.time(), request.host, path, dict(request.headers))
        self.requests.append(seen)
        if self.delay:
            await asyncio.sleep(self.delay)
        body = self.pages.get(path)
        headers = dict(self.headers.get(path, {}))
        if body is None:
            return web.Response(status=self.status.get(path, 404), headers=headers)
        if self.etags:
            headers["ETag"] = f'"{hash(body):x}"'
            if request.headers.get("If-None-Match") == headers["ETag"]:
                return web.Response(status=304, headers=headers)
        kind = "text/plain" if path == ROBOTS else "text/html"
        return web.Response(
            text=body, status=self.status.get(path, 200), headers=headers, content_type=kind
        )


@contextmanager
def serving(site: Site, hosts: int = 1) -> Iterator[Site]:
    """Serve a site on 127.0.0.1 and on as many addresses after it as there are hosts."""
    ready, ended = threading.Event(), threading.Event()
    loop = asyncio.new_event_loop()
    stop: asyncio.Event | None = None

    async def serve() -> None:
        nonlocal stop
        stop = asyncio.Event()
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", site.answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        for number in range(1, hosts + 1):
            place = web.TCPSite(runner, f"127.0.0.{number}", 0)
            await place.start()
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
    ready.wait(10.0)
    try:
        yield site
    finally:
        if stop is not None:
            loop.call_soon_threadsafe(stop.set)
        ended.wait(10.0)


def page_about(*paragraphs: str, links: tuple[str, ...] = ()) -> str:
    """Write a page."""
    text = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    more = "".join(f'<a href="{link}">{link}</a> ' for link in links)
    return f"<!doctype html><title>A page</title><body><h1>A page</h1>{text}{more}</body>"
