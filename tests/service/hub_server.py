"""A WebSub hub on this machine, written from the specification, which does as it is told."""

import hashlib
import hmac
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode

TIMEOUT = 60.0


def asked(url: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
    """Make a request; return status and body."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(url, body, named)  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:  # noqa: S310
            return int(answer.status), answer.read()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.read()


class Hub:
    """Takes requests for subscriptions at ``/``, and redirects those at ``/old`` there.

    Attributes:
        wanted: What was asked for.
        statuses: The statuses to answer with, before 202.
        lease: The seconds that it promises.
        confirms: Whether it confirms subscriptions.
        confirmed: What the subscriber answered to the challenge.
    """

    def __init__(self) -> None:
        self.wanted: list[dict[str, str]] = []
        self.statuses: list[int] = []
        self.lease = 864_000
        self.confirms = True
        self.confirmed: list[tuple[int, bytes]] = []
        self.url = ""

    @property
    def newest(self) -> dict[str, str]:
        """The newest request for a subscription."""
        return self.wanted[-1]

    def take(self, form: dict[str, str]) -> int:
        """Take a request for a subscription."""
        self.wanted.append(form)
        if self.statuses:
            return self.statuses.pop(0)
        if self.confirms:
            threading.Thread(target=self.confirm, args=(form,)).start()
        return 202

    def confirm(self, form: dict[str, str], **changed: str) -> tuple[int, bytes]:
        """Ask a subscriber whether it wants what was asked for."""
        about = {
            "hub.mode": form["hub.mode"],
            "hub.topic": form["hub.topic"],
            "hub.challenge": "9f3c0d",
            "hub.lease_seconds": str(self.lease),
        } | {f"hub.{name}": value for name, value in changed.items()}
        found = asked(f"{form['hub.callback']}?{urlencode(about)}")
        self.confirmed.append(found)
        return found

    def send(self, body: bytes, method: str = "sha256", secret: str | None = None) -> int:
        """Send a message to the newest subscriber; return the status of its answer."""
        key = self.newest["hub.secret"] if secret is None else secret
        digest = hmac.new(key.encode(), body, getattr(hashlib, method)).hexdigest()
        kind = "application/atom+xml"
        callback = self.newest["hub.callback"]
        return asked(callback, body, Content_Type=kind, X_Hub_Signature=f"{method}={digest}")[0]


@contextmanager
def hub_serving(hub: Hub) -> Iterator[Hub]:
    """Serve a hub."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
            moved = self.path == "/old"
            self.send_response(307 if moved else hub.take(form))
            if moved:
                self.send_header("Location", "/")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_address[1]}/"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
