"""Static pages on loopback, served by nginx if it is installed, or by our own server."""

import asyncio
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.sizes import sized

#: More than are fetched, so that a crawl that does not stop at once finds new pages.
PAGES, BYTES = sized((5_000, 5_000), (100, 5_000))
#: Long pages, under `LONG`, of which there are two versions.
LONG_PAGES, LONG_BYTES = sized((600, 60_000), (6, 60_000))
LONG = "long/"
#: Where the pages are, so that there are several hosts.
ADDRESSES = tuple(f"127.0.0.{number}" for number in range(1, 17))
#: Whoever has this in the User-Agent is served the second versions.
LATER = "later"
HOW_TO_GET_NGINX = "nginx is not installed (apt install nginx); pages come from our own server"

_NGINX = """
worker_processes 1; daemon off; error_log stderr crit; pid {folder}/nginx.pid;
events {{ worker_connections 1024; }}
http {{
  access_log off; keepalive_requests 1000000; default_type text/html;
  client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
  uwsgi_temp_path {folder}; scgi_temp_path {folder};
  map $http_user_agent $version {{ default 1; ~{later} 2; }}
  server {{ {listen} root {folder}/$version; }}
}}
"""


def page(number: int) -> bytes:
    """Return a page of about 5 kB: a heading, paragraphs, some links."""
    words = f"Page {number} tells what every page of its kind tells, in so many words. "
    paragraphs = "".join(f"<p>{words * 4}<a href='/{i}'>{i}</a></p>" for i in range(15))
    html = f"<!doctype html><title>{number}</title><body><h1>{number}</h1>{paragraphs}"
    return html.encode().ljust(BYTES)


def long_page(number: int, version: int) -> bytes:
    """Return a page of about 60 kB, with a menu and a footer; versions differ in two paragraphs."""
    rng = random.Random(number)  # noqa: S311 - no secret
    menu = "".join(f"<li><a href='/section/{i}'>Section {i}</a></li>" for i in range(60))
    blocks: list[str] = []
    size = 0
    while size < LONG_BYTES - 12_000:
        words = " ".join(rng.choices(_WORDS, k=60))
        at = len(blocks)
        edited = f" As of edition {version}." if at in {3, 40} else ""
        link = f"<a href='/long/{rng.randrange(LONG_PAGES)}' class='more'>{rng.choice(_WORDS)}</a>"
        blocks.append(f"<div class='part'><p id='p{at}'>{words}{edited} {link}.</p></div>")
        size += len(blocks[-1])
    html = (
        f"<!doctype html><html><head><title>Page {number}</title></head><body>"
        f"<nav><ul>{menu}</ul></nav><main><h1>Page {number}</h1>{''.join(blocks)}</main>"
        f"<footer><ul>{menu}</ul></footer></body></html>"
    )
    return html.encode().ljust(LONG_BYTES)


_WORDS = tuple(
    "the of and a to in is you that it he was for on are as with his they at be this from have or "
    "by one had not but what all were when we there can an your which their said if do will each "
    "about how up out them then she many some so these would other into has more her two like him "
    "see time could no make than first been its who now people my made over did down only way find "
    "use may water long little very after words called just where most know".split()
)


def bodies(version: int) -> Iterator[tuple[str, bytes]]:
    """Yield path and body of every page of a version."""
    for number in range(LONG_PAGES):
        yield f"{LONG}{number}", long_page(number, version)
    for number in range(PAGES if version == 1 else 0):
        yield str(number), page(number)


@contextmanager
def page_server() -> Iterator[tuple[str, str]]:
    """Serve the pages; yield the address and the name of the server."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        for version in (1, 2):
            root = Path(folder) / str(version)
            (root / LONG).mkdir(parents=True)
            for path, body in bodies(version):
                (root / path).write_bytes(body)
                # nginx makes ETags of sizes and of dates in whole seconds.
                os.utime(root / path, (version * 1_000_000_000, version * 1_000_000_000))
        nginx = shutil.which("nginx")
        if nginx is None:
            command, name = [sys.executable, "-m", "benchmarks.page_server", str(port)], "own"
        else:
            settings = Path(folder) / "nginx.conf"
            settings.write_text(_NGINX.format(folder=folder, listen=_listen(port), later=LATER))
            command, name = [nginx, "-p", folder, "-c", str(settings)], "nginx"
        server = subprocess.Popen(command)
        try:
            _wait_for(port)
            yield f"http://127.0.0.1:{port}", name
        finally:
            server.terminate()
            server.wait()


def _listen(port: int) -> str:
    return " ".join(f"listen {address}:{port};" for address in ADDRESSES)


def _wait_for(port: int) -> None:
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)


class _Protocol(asyncio.Protocol):
    """Responds to each request with the page of its path, with as little work as possible."""

    responses: list[dict[bytes, bytes]]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        *requests, self._rest = (self._rest + data).split(b"\r\n\r\n")
        for request in requests:
            version = 2 if LATER.encode() in request else 1
            if b'If-None-Match: "%d"' % version in request:
                response = _NOT_MODIFIED
            else:
                path = request.split(b" ", 2)[1][1:]
                response = self.responses[version - 1].get(path, _NOT_FOUND)
            self._transport.write(response)  # type: ignore[attr-defined]


_NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
_NOT_MODIFIED = b"HTTP/1.1 304 Not Modified\r\n\r\n"


async def _serve(port: int) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
    _Protocol.responses = [
        {
            path.encode(): b'%sETag: "%d"\r\nContent-Length: %d\r\n\r\n%s'
            % (head, version, len(body), body)
            for path, body in bodies(version)
        }
        for version in (1, 2)
    ]
    server = await asyncio.get_running_loop().create_server(_Protocol, ADDRESSES, port)
    await server.serve_forever()


if __name__ == "__main__":
    import uvloop

    uvloop.run(_serve(int(sys.argv[1])))
