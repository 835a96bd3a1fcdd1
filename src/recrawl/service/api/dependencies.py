"""What handlers need: the service, and a user who may call them.

All of it is asynchronous: FastAPI calls other functions in threads, which costs more than they do.
"""

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from recrawl.service.auth.tokens import Access, User
from recrawl.service.problems import ProblemError, responses
from recrawl.service.service import Service

_BEARER = HTTPBearer(auto_error=False, description="A token; `recrawl token add NAME` creates one.")


async def service_of(request: Request) -> Service:
    """Return the service that a request is for."""
    found: Service = request.app.state.service
    return found


async def user_of(request: Request) -> User:
    """Return the user who makes a request; the guard lets nobody else through."""
    found: User = request.state.user
    return found


TheService = Annotated[Service, Depends(service_of)]
TheUser = Annotated[User, Depends(user_of)]


def needs(access: Access) -> Any:  # noqa: ANN401 - FastAPI keeps the type to itself
    """Return a dependency that refuses users without the required access."""
    name = access.name.lower()
    # OpenAPI names the role that is needed; FastAPI calls it a scope.
    bearer = Security(_BEARER, scopes=[name])

    async def check(
        user: TheUser, _token: Annotated[HTTPAuthorizationCredentials | None, bearer] = None
    ) -> None:
        if user.access < access:
            raise ProblemError(
                HTTPStatus.FORBIDDEN,
                f"this needs a token with {name} access; `recrawl token add` creates one",
            )

    return Depends(check)


#: What any route may respond with.
ALWAYS = responses(
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.CONFLICT,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.MISDIRECTED_REQUEST,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.SERVICE_UNAVAILABLE,
)
