"""A receiver of webhooks on this machine, which verifies every message and does as it is told."""

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

#: What a receiver does with a message: answer with a status, or not at all (None).
Plan = Callable[[dict[str, Any]], int | None]


@dataclass(frozen=True)
class Received:
    """A message as it came.

    Attributes:
        path: Where to.
        id: Its id.
        type: What it says.
        data: The rest of it.
        status: What was answered; None for nothing.
    """

    path: str
    id: str
    type: str
    data: dict[str, Any]
    status: int | None

    @property
    def serial(self) -> int:
        """The serial of the change."""
        return int(self.data["cursor"])


def verified(secret: str, headers: Any, body: bytes) -> bool:  # noqa: ANN401 - any mapping
    """Verify a message as the specification of Standard Webhooks says, written from its text."""
    assert secret.startswith("whsec_")
    key = base64.b64decode(secret[len("whsec_") :])
    content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    mac = base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode()
    fits = f"v1,{mac}" in headers["webhook-signature"].split(" ")
    return fits and abs(time.time() - int(headers["webhook-timestamp"])) < 3_600


def accept(_message: dict[str, Any]) -> int | None:
    """Accept a message."""
    return 204


class Receiver:
    """Receives messages at any path, which can be stopped and started again on the same port."""

    def __init__(self) -> None:
        self.secrets: dict[str, str] = {}
        self.plans: dict[str, Plan] = {}
        self.received: list[Received] = []
        self.problems: list[str] = []
        self.location: str | None = None
        self.before: Callable[[], object] = lambda: None
        self._lock = threading.Lock()
        self._released = threading.Event()
        self._server: ThreadingHTTPServer | None = None
        self.port = 0
        self.start()

    @property
    def url(self) -> str:
        """The address of the server."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Listen."""
        self._released.clear()
        self._server = _Server(("127.0.0.1", self.port), self._handler())
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.005,), daemon=True).start()

    def stop(self) -> None:
        """Refuse connections, and end those that wait for an answer."""
        self._released.set()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def at(self, path: str) -> list[Received]:
        """Return what came to a path."""
        with self._lock:
            return [one for one in self.received if one.path == path]

    def accepted(self, path: str) -> list[Received]:
        """Return what was accepted at a path."""
        return [one for one in self.at(path) if one.status is not None and one.status < 300]

    def _take(self, path: str, headers: Any, body: bytes) -> int | None:  # noqa: ANN401
        message = json.loads(body)
        with self._lock:
            if not verified(self.secrets[path], headers, body):
                self.problems.append(f"{path}: {headers['webhook-id']} is not signed")
            if headers["content-type"] != "application/json":
                self.problems.append(f"{path}: {headers['content-type']}")
            status = self.plans.get(path, accept)(message)
            self.received.append(
                Received(path, headers["webhook-id"], message["type"], message["data"], status)
            )
        return status

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                outer.before()
                status = outer._take(self.path, self.headers, body)
                if status is None:
                    outer._released.wait()
                    self.close_connection = True
                    return
                self.send_response(status)
                if outer.location is not None:
                    self.send_header("Location", outer.location)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = 128

    def handle_error(self, *_: object) -> None:
        """Senders may hang up."""


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Receive messages during the block; all of them must be signed."""
    receiver = Receiver()
    try:
        yield receiver
    finally:
        receiver.stop()
    assert receiver.problems == []
