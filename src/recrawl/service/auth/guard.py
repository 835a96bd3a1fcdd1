"""The checks that every request has to pass first.

In this order: the Host header names this service (a page of another site cannot have its own name
lead here), somebody is behind the request (a token or a session, on all paths but a few), the
request was not sent by another site on behalf of a browser, and it is not too large.
"""

import re
from base64 import b64decode
from collections.abc import Collection
from dataclasses import replace
from http import HTTPStatus
from ipaddress import IPv6Address, ip_address
from typing import TYPE_CHECKING, final
from urllib.parse import urlencode

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from recrawl.service.auth.cookies import cookie_of
from recrawl.service.auth.tokens import Access, FailedLogins, Sessions, Tokens, User
from recrawl.service.problems import problem_response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Paths that need neither token nor session, and folders whose contents are public.
PUBLIC, PUBLIC_FOLDERS = frozenset({"/health", "/login"}), ("/static/",)
#: Where sites and hubs announce changes; the names in the folder are secret.
INDEXNOW, WEBSUB_FOLDER = "/indexnow", "/websub/"
#: Where nobody gets the headers alone: streams do not end, and there GET changes something.
NO_HEAD = ("/api/v1/changes/stream", "/live", "/login", INDEXNOW, WEBSUB_FOLDER)
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
#: A name or an IPv6 address, and perhaps a port.
HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\s:@/?#\[\]]+)(?::[0-9]{0,5})?", re.ASCII)
#: In the state of a request: its connection, which wants to know whether a user makes it.
CONNECTION = "connection"
#: Bytes of a request's body: reports carry the bodies of pages...
REPORTS, MAX_REPORTS_BYTES = "/api/v1/reports", 64_000_000
#: ...others lists of URLs; and those who may only read, or have yet to log in, next to nothing.
MAX_BYTES, MAX_READER_BYTES = 10_000_000, 10_000
#: Sites send lists of URLs, and hubs feeds.
MAX_PUSHED_BYTES = 4_000_000
#: On every response. What is shown comes from anywhere, and must not be taken for a page.
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}


class _TooLargeError(HTTPException):
    """A request is too large; the framework passes this exception on unchanged."""


@final
class Guard:
    """Middleware that lets only admissible requests through.

    Args:
        app: The application.
        tokens: Who may use it.
        sessions: Browsers that have logged in.
        wrong_tokens: Requests with a wrong token.
        names: What the Host header may be, without a port.
        indexnow: Whether sites need no token to say what has changed.
        websub: Whether hubs need none.
    """

    def __init__(
        self,
        app: "ASGIApp",
        tokens: Tokens,
        sessions: Sessions,
        wrong_tokens: FailedLogins,
        names: Collection[str],
        *,
        indexnow: bool = False,
        websub: bool = False,
    ) -> None:
        self._app = app
        self._tokens = tokens
        self._sessions = sessions
        self._wrong_tokens = wrong_tokens
        self._names = frozenset(name.lower() for name in names)
        self._public = PUBLIC | ({INDEXNOW} if indexnow else frozenset())
        self._public_folders = PUBLIC_FOLDERS + ((WEBSUB_FOLDER,) if websub else ())

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Let a request through, or answer it."""
        if scope["type"] == "websocket":
            # There are none, and refusing them needs no login.
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["method"] == "HEAD" and not scope["path"].startswith(NO_HEAD):
            # Whoever asks for the headers alone gets those of GET; the server sends no body.
            scope = {**scope, "method": "GET"}
        headers = Headers(scope=scope)
        answer = self._refusal(scope, headers)
        sender = _WithHeaders(send)
        if answer is not None:
            await answer(scope, receive, sender)
            return
        limit = _limit(scope)
        try:
            await self._app(scope, _limited(receive, limit), sender)
        except _TooLargeError:
            if sender.started:
                raise
            await too_large(limit)(scope, receive, sender)

    def _refusal(self, scope: "Scope", headers: Headers) -> Response | None:
        """Return the response to a request that may not pass; None if it may."""
        host = headers.get("host", "")
        if host_name(host) not in self._names:
            return problem_response(
                HTTPStatus.MISDIRECTED_REQUEST,
                "the Host header does not name this service; add the name to the setting "
                "`server_names`",
            )
        is_safe = scope["method"] in SAFE
        path = scope["path"]
        if path in self._public or path.startswith(self._public_folders):
            is_foreign = not is_safe and not _is_own(headers, host, may_lack=True)
            return _foreign() if is_foreign else _too_long(scope, headers)
        user, answer = self._user(scope, headers)
        state = scope.setdefault("state", {})
        if CONNECTION in state:
            state[CONNECTION].identify(known=user is not None)
        if user is None:
            return answer
        # Programs send neither of the headers by which browsers identify the sender.
        is_own = is_safe or _is_own(headers, host, may_lack=not user.by_cookie)
        if user.is_by_browser and not is_own:
            return _foreign()
        state["user"] = user
        return _too_long(scope, headers)

    def _user(self, scope: "Scope", headers: Headers) -> tuple[User | None, Response | None]:
        """Return the user who makes a request, or the response if there is none."""
        kind, token = _token_in(headers)
        if token:
            user = self._tokens.find(token)
            if user is not None:
                return replace(user, by_password=kind == "basic"), None
            address = address_of(scope)
            wait = self._wrong_tokens.wait(address)
            self._wrong_tokens.note(address)
            return None, (too_many(wait) if wait else _unknown_token())
        cookie = cookie_of(headers)
        user = None if cookie is None else self._sessions.find(cookie)
        if user is None or not self._tokens.admit(user):
            return None, (_to_login(scope) if _shows_page(scope, headers) else unauthorized())
        return user, None


def _token_in(headers: Headers) -> tuple[str, str]:
    """Return how a token was sent, and the token: by itself, or as the password of any user.

    >>> _token_in(Headers({"authorization": "Basic YW55Om15IHRva2Vu"}))
    ('basic', 'my token')
    """
    kind, _, given = headers.get("authorization", "").partition(" ")
    kind, given = kind.lower(), given.strip()
    if kind == "basic":
        try:
            given = b64decode(given, validate=True).decode().partition(":")[2]
        except ValueError:
            return kind, ""
    return kind, given if kind in {"bearer", "basic"} else ""


def _limit(scope: "Scope") -> int:
    """Return how many bytes a request's body may have."""
    user, path = scope.get("state", {}).get("user"), scope["path"]
    if path == INDEXNOW or path.startswith(WEBSUB_FOLDER):
        return MAX_PUSHED_BYTES
    if user is None or user.access < Access.CRAWL:
        return MAX_READER_BYTES
    return MAX_REPORTS_BYTES if path == REPORTS else MAX_BYTES


def _too_long(scope: "Scope", headers: Headers) -> Response | None:
    """Return the response to a request whose Content-Length is too large."""
    length, limit = headers.get("content-length", "0"), _limit(scope)
    is_short = length.isascii() and length.isdecimal() and int(length[:20]) <= limit
    return None if is_short else too_large(limit)


def _shows_page(scope: "Scope", headers: Headers) -> bool:
    """Whether a browser is asking for one of our pages."""
    is_page = scope["method"] == "GET" and not scope["path"].startswith("/api/")
    return is_page and "text/html" in headers.get("accept", "")


def _to_login(scope: "Scope") -> Response:
    """Return a redirect to the login, which leads back to the requested page."""
    asked = scope.get("query_string", b"").decode("latin-1")
    target = scope["path"] + (f"?{asked}" if asked else "")
    return RedirectResponse(f"/login?{urlencode({'next': target})}", HTTPStatus.SEE_OTHER)


def unauthorized() -> Response:
    """Return the response to a request without a token."""
    return _unauthorized(
        "a token is required: send it as `Authorization: Bearer TOKEN`, or log in at /login; "
        "`recrawl token add NAME` creates one"
    )


def _unknown_token() -> Response:
    """Return the response to a request with an unknown or revoked token."""
    return _unauthorized(
        "this token is unknown or was revoked; `recrawl token list` lists the names of valid tokens"
    )


def _unauthorized(detail: str) -> Response:
    return problem_response(HTTPStatus.UNAUTHORIZED, detail, {"WWW-Authenticate": "Bearer"})


def too_many(wait: float) -> Response:
    """Return the response to too many failed attempts."""
    return problem_response(
        HTTPStatus.TOO_MANY_REQUESTS,
        f"too many failed logins; try again in {wait:.0f} s",
        {"Retry-After": f"{max(wait, 1.0):.0f}"},
    )


def too_large(limit: int) -> Response:
    """Return the response to a request that is too large."""
    return problem_response(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"a request may have at most {limit:,} bytes; send less",
    )


def _foreign() -> Response:
    return problem_response(
        HTTPStatus.FORBIDDEN, "the request comes from another site; use the service's own pages"
    )


def host_name(host: str) -> str:
    """Return the name in a Host header, without port; nothing if it is not a name and a port.

    >>> host_name("LocalHost:8321"), host_name("[::1]:8321"), host_name("[::1].evil.example")
    ('localhost', '[::1]', '')
    """
    found = HOST.fullmatch(host.strip().lower())
    return "" if found is None else found[1]


def address_of(scope: "Scope") -> str:
    """Return the address of a client; for IPv6 its network, since a client has all of it.

    >>> address_of({"client": ("2001:db8::1:2:3:4", 80)}), address_of({"client": ("192.0.2.1", 80)})
    ('2001:db8::', '192.0.2.1')
    """
    client = scope.get("client")
    if not client:
        return ""
    try:
        address = ip_address(client[0].partition("%")[0])
    except ValueError:
        return str(client[0])
    if isinstance(address, IPv6Address) and address.ipv4_mapped is None:
        return str(IPv6Address(int(address) >> 64 << 64))
    return str(address)


def _is_own(headers: Headers, host: str, *, may_lack: bool = False) -> bool:
    """Whether a request was made by a page of this service, as browsers say."""
    origin = headers.get("origin")
    if origin is not None:
        return origin.partition("://")[2].lower() == host.lower()
    site = headers.get("sec-fetch-site")
    return may_lack if site is None else site in {"same-origin", "none"}


class _WithHeaders:
    """Sends responses with the headers that all of them have."""

    def __init__(self, send: "Send") -> None:
        self._send = send
        self.started = False

    async def __call__(self, message: "Message") -> None:
        if message["type"] == "http.response.start":
            self.started = True
            headers = list(message.get("headers", ()))
            known = {name.lower() for name, _ in headers}
            headers += [
                (name.lower().encode(), value.encode())
                for name, value in HEADERS.items()
                if name.lower().encode() not in known
            ]
            message = {**message, "headers": headers}
        await self._send(message)


def _limited(receive: "Receive", limit: int) -> "Receive":
    """Return what receives a request's body, as long as it is not too large."""
    received = 0

    async def limited() -> "Message":
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > limit:
            raise _TooLargeError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the request is too large")
        return message

    return limited
