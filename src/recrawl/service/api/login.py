"""Browser login: exchanges a token, or the link that the service prints, for a cookie."""

import re
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from recrawl.service.api.dependencies import TheService
from recrawl.service.auth.cookies import cookie_name, cookie_of, is_by_tls
from recrawl.service.auth.guard import address_of, too_many
from recrawl.service.auth.tokens import SESSION_FOR, User
from recrawl.service.dashboard.rendering import render
from recrawl.service.service import Service

router = APIRouter(include_in_schema=False)

MAX_TOKEN = 200
INVALID = "This token or link is not valid; a link works once, within 15 minutes of the start."
#: A path, and not the name of a host; browsers take a backslash for a slash.
_OWN_PATH = re.compile(r"/(?![/\\])[!-\[\]-~]*")
MAX_PATH = 10_000
Target = Annotated[str, Query(max_length=MAX_PATH, alias="next")]


@router.get("/login", response_model=None)
async def login_page(
    request: Request,
    service: TheService,
    code: Annotated[str | None, Query(max_length=MAX_TOKEN)] = None,
    target: Target = "/",
) -> Response:
    """Show the form, or use the code of a link."""
    if code is None:
        return _form(request, "", target)
    return _log_in(request, service, service.sessions.use_code(code), target)


@router.post("/login", response_model=None)
async def log_in(
    request: Request,
    service: TheService,
    token: Annotated[str, Form(max_length=MAX_TOKEN)],
    target: Annotated[str, Form(max_length=MAX_PATH, alias="next")] = "/",
) -> Response:
    """Exchange a token for a session."""
    wait = service.failed.wait(address_of(request.scope))
    if wait:
        return too_many(wait)
    return _log_in(request, service, service.tokens.find(token.strip()), target)


@router.post("/logout", response_model=None)
async def log_out(request: Request, service: TheService) -> Response:
    """End the session."""
    cookie = cookie_of(request.headers)
    if cookie is not None:
        service.sessions.end(cookie)
    answer = RedirectResponse("/login", HTTPStatus.SEE_OTHER)
    name = cookie_name(request.headers)
    answer.delete_cookie(name, path="/", httponly=True, samesite="strict")
    return answer


def _log_in(request: Request, service: Service, user: User | None, target: str) -> Response:
    address = address_of(request.scope)
    if user is None:
        wait = service.failed.wait(address)
        service.failed.note(address)
        return too_many(wait) if wait else _form(request, INVALID, target)
    answer = RedirectResponse(own_path(target), HTTPStatus.SEE_OTHER)
    answer.set_cookie(
        cookie_name(request.headers),
        service.sessions.start(user),
        max_age=round(SESSION_FOR),
        path="/",
        httponly=True,
        samesite="strict",
        secure=is_by_tls(request.headers),
    )
    return answer


def own_path(target: str) -> str:
    """Return where to go after logging in: a path of ours, and nothing else.

    >>> own_path("/pages?text=a"), own_path("//example.org"), own_path("https://example.org")
    ('/pages?text=a', '/', '/')
    """
    is_own = _OWN_PATH.fullmatch(target) is not None
    return target if is_own else "/"


def _form(request: Request, problem: str, target: str) -> Response:
    status = HTTPStatus.UNAUTHORIZED if problem else HTTPStatus.OK
    return render(request, "login.html", status, problem=problem, target=own_path(target))
