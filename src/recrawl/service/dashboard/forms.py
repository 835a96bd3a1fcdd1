"""Forms that only our own pages can send.

Browsers say where a request comes from, and `recrawl.service.auth.guard` refuses those from
other sites.
Beyond that, each form has a token that belongs to the session, which other sites cannot read.
"""

import hashlib
import hmac
import secrets
from http import HTTPStatus
from typing import Annotated

from fastapi import Depends, Form, Request

from recrawl.service.auth.cookies import cookie_of
from recrawl.service.problems import ProblemError

#: Of this process; sessions do not outlive it either.
_KEY = secrets.token_bytes(32)
MAX_TOKEN = 200


def form_token(request: Request) -> str:
    """Return the token of forms in a session; empty without a session."""
    cookie = cookie_of(request.headers)
    if cookie is None:
        return ""
    return hmac.new(_KEY, cookie.encode(), hashlib.sha256).hexdigest()


async def check_form(
    request: Request,
    sent: Annotated[str, Form(alias="form_token", max_length=MAX_TOKEN)] = "",
) -> None:
    """Refuse a form that none of our pages has shown in this session.

    Raises:
        ProblemError: It has another token, or there is no session.
    """
    expected = form_token(request)
    if not expected or not hmac.compare_digest(expected.encode(), sent.encode()):
        raise ProblemError(
            HTTPStatus.FORBIDDEN,
            "the form does not belong to this session; reload the page and try again",
        )


OwnForm = Depends(check_form)
