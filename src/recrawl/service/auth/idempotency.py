"""Requests repeated with the same Idempotency-Key get the same response as the first time."""

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, final

from starlette.datastructures import Headers

from recrawl.service.auth.guard import SAFE
from recrawl.service.problems import problem_response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADER = "idempotency-key"
MAX_KEY = 200
#: Responses that are remembered, for how many seconds, and how many bytes one may have.
MAX_ANSWERS, ANSWERS_FOR, MAX_BYTES = 1_000, 86_400.0, 100_000
#: Leases have the key in the store, so that it outlives the process.
LEASES = "/api/v1/leases"


@final
class Replaying:
    """Middleware that remembers the responses to requests with an Idempotency-Key.

    Args:
        app: The application.
        now: Returns seconds that never go back.
    """

    def __init__(self, app: "ASGIApp", now: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._now = now
        self._answers: OrderedDict[tuple[str, str], _Answer] = OrderedDict()

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Handle a request, or repeat the earlier response."""
        key = None
        if scope["type"] == "http" and scope["method"] not in SAFE and scope["path"] != LEASES:
            key = Headers(scope=scope).get(HEADER)
        user = scope.get("state", {}).get("user")
        if key is None or user is None:
            await self._app(scope, receive, send)
            return
        if len(key) > MAX_KEY:
            problem = f"an Idempotency-Key may have at most {MAX_KEY} characters"
            await problem_response(HTTPStatus.UNPROCESSABLE_ENTITY, problem)(scope, receive, send)
            return
        body = await _body(receive)
        if body is None:
            return
        asked = hashlib.sha256(
            b"\0".join([scope["method"].encode(), scope["path"].encode(), scope["query_string"]])
            + b"\0"
            + body
        ).digest()
        known = self._known((user.name, key))
        if known is not None:
            await known.send(asked, scope, receive, send)
            return
        answer = self._answers[user.name, key] = _Answer(asked, self._now() + ANSWERS_FOR)
        try:
            await self._app(scope, _given(body), answer.recording(send))
        finally:
            if not answer.is_kept:
                self._answers.pop((user.name, key), None)

    def _known(self, key: tuple[str, str]) -> "_Answer | None":
        now = self._now()
        while self._answers and (
            len(self._answers) > MAX_ANSWERS or next(iter(self._answers.values())).until <= now
        ):
            self._answers.popitem(last=False)
        return self._answers.get(key)


class _Answer:
    """An answer, and what was asked."""

    def __init__(self, asked: bytes, until: float) -> None:
        self._asked = asked
        self.until = until
        self._messages: list[dict[str, Any]] = []
        self._size = 0
        self._is_complete = False

    @property
    def is_kept(self) -> bool:
        """Whether it is to be repeated: not if the server failed, so that it can be tried again."""
        failed = HTTPStatus.INTERNAL_SERVER_ERROR
        is_success = bool(self._messages) and self._messages[0]["status"] < failed
        return self._is_complete and is_success and self._size <= MAX_BYTES

    def recording(self, send: "Send") -> "Send":
        """Return what sends an answer, and keeps it."""

        async def record(message: "Message") -> None:
            self._size += len(message.get("body", b""))
            if self._size <= MAX_BYTES:
                self._messages.append(dict(message))
            self._is_complete = message["type"] == "http.response.body" and not message.get(
                "more_body"
            )
            await send(message)

        return record

    async def send(self, asked: bytes, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Send the answer again."""
        if asked != self._asked:
            problem = "this Idempotency-Key was used for another request"
            answer = problem_response(HTTPStatus.UNPROCESSABLE_ENTITY, problem)
            await answer(scope, receive, send)
        elif not self._is_complete:
            problem = "a request with this Idempotency-Key is in progress; try again later"
            await problem_response(HTTPStatus.CONFLICT, problem)(scope, receive, send)
        else:
            for message in self._messages:
                await send(message)


async def _body(receive: "Receive") -> bytes | None:
    """Return the body of a request; None if its end never came, so that it is to be repeated."""
    parts = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


def _given(body: bytes) -> "Receive":
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> "Message":
        return messages.pop() if messages else {"type": "http.disconnect"}

    return receive
