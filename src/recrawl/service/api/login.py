"""Logging in with a browser: a token, or the link that the service prints, for a cookie."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from recrawl.service.api.needs import TheService
from recrawl.service.auth import SESSION_FOR, User
from recrawl.service.guard import COOKIE, address_of, cookie_of, too_many
from recrawl.service.service import Service

router = APIRouter(include_in_schema=False)

MAX_TOKEN = 200
_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Log in · recrawl</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<h1>recrawl</h1>
<form method="post" action="/login">
<p><label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<button>Log in</button>
<p role="alert">{problem}
</form></html>
"""
_POLICY = "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"


@router.get("/login", response_model=None)
async def login_page(
    request: Request,
    service: TheService,
    code: Annotated[str | None, Query(max_length=MAX_TOKEN)] = None,
) -> Response:
    """Show the form, or use the code of a link."""
    if code is None:
        return _form("")
    return _log_in(request, service, service.sessions.use_code(code))


@router.post("/login", response_model=None)
async def log_in(
    request: Request, service: TheService, token: Annotated[str, Form(max_length=MAX_TOKEN)]
) -> Response:
    """Exchange a token for a session."""
    wait = service.failed.wait(address_of(request.scope))
    if wait:
        return too_many(wait)
    return _log_in(request, service, service.tokens.find(token.strip()))


@router.post("/logout", response_model=None)
async def log_out(request: Request, service: TheService) -> Response:
    """End the session."""
    cookie = cookie_of(request.headers)
    if cookie is not None:
        service.sessions.end(cookie)
    answer = RedirectResponse("/login", HTTPStatus.SEE_OTHER)
    answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return answer


def _log_in(request: Request, service: Service, user: User | None) -> Response:
    address = address_of(request.scope)
    if user is None:
        wait = service.failed.wait(address)
        service.failed.note(address)
        return too_many(wait) if wait else _form("This token, or link, is not valid.")
    answer = RedirectResponse("/", HTTPStatus.SEE_OTHER)
    answer.set_cookie(
        COOKIE,
        service.sessions.start(user),
        max_age=round(SESSION_FOR),
        path="/",
        httponly=True,
        samesite="strict",
        secure=request.headers.get("x-forwarded-proto") == "https",
    )
    return answer


def _form(problem: str) -> Response:
    status = HTTPStatus.UNAUTHORIZED if problem else HTTPStatus.OK
    return HTMLResponse(
        _PAGE.format(problem=problem), status, headers={"Content-Security-Policy": _POLICY}
    )
