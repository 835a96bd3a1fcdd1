"""Static pages on loopback, served by nginx if it is installed, or by our own server."""

import asyncio
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: More than are fetched, so that a crawl that does not stop at once finds new pages.
PAGES, BYTES = 5_000, 5_000
HOW_TO_GET_NGINX = "nginx is not installed (apt install nginx); pages come from our own server"

_NGINX = """
worker_processes 1; daemon off; error_log stderr crit; pid {folder}/nginx.pid;
events {{ worker_connections 1024; }}
http {{
  access_log off; keepalive_requests 1000000; default_type text/html;
  client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
  uwsgi_temp_path {folder}; scgi_temp_path {folder};
  server {{ listen 127.0.0.1:{port}; root {folder}; }}
}}
"""


def page(number: int) -> bytes:
    """Return a page of about 5 kB: a heading, paragraphs, some links."""
    words = f"Page {number} tells what every page of its kind tells, in so many words. "
    paragraphs = "".join(f"<p>{words * 4}<a href='/{i}'>{i}</a></p>" for i in range(15))
    html = f"<!doctype html><title>{number}</title><body><h1>{number}</h1>{paragraphs}"
    return html.encode().ljust(BYTES)


@contextmanager
def page_server() -> Iterator[tuple[str, str]]:
    """Serve the pages; yield the address and the name of the server."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        for number in range(PAGES):
            (Path(folder) / str(number)).write_bytes(page(number))
        nginx = shutil.which("nginx")
        if nginx is None:
            command, name = [sys.executable, "-m", "benchmarks.page_server", str(port)], "own"
        else:
            settings = Path(folder) / "nginx.conf"
            settings.write_text(_NGINX.format(folder=folder, port=port))
            command, name = [nginx, "-p", folder, "-c", str(settings)], "nginx"
        server = subprocess.Popen(command)
        try:
            _wait_for(port)
            yield f"http://127.0.0.1:{port}", name
        finally:
            server.terminate()
            server.wait()


def _wait_for(port: int) -> None:
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)


class _Protocol(asyncio.Protocol):
    """Responds to each request with the page of its number, with as little work as possible."""

    responses: list[bytes]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        *requests, self._rest = (self._rest + data).split(b"\r\n\r\n")
        for request in requests:
            name = request.split(b" ", 2)[1][1:]
            found = name.isdigit() and int(name) < len(self.responses)
            response = self.responses[int(name)] if found else _NOT_FOUND
            self._transport.write(response)  # type: ignore[attr-defined]


_NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


async def _serve(port: int) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n"
    _Protocol.responses = [head % len(page(n)) + page(n) for n in range(PAGES)]
    server = await asyncio.get_running_loop().create_server(_Protocol, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    import uvloop

    uvloop.run(_serve(int(sys.argv[1])))
