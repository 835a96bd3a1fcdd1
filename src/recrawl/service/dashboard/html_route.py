"""Errors for people: a page that says in one sentence what is wrong."""

from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute

from recrawl.errors import RecrawlError, StoreError
from recrawl.service.dashboard.rendering import render
from recrawl.service.problems import ProblemError

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class HtmlRoute(APIRoute):
    """A route whose errors are pages."""

    def get_route_handler(self) -> Handler:
        """Return a handler that turns errors into pages."""
        answer = super().get_route_handler()

        async def handler(request: Request) -> Response:
            try:
                return await answer(request)
            except ProblemError as error:
                return _error_page(request, error.status, str(error))
            except StoreError as error:
                return _error_page(request, HTTPStatus.SERVICE_UNAVAILABLE, str(error))
            except RecrawlError as error:
                return _error_page(request, HTTPStatus.UNPROCESSABLE_ENTITY, str(error))
            except RequestValidationError as error:
                return _error_page(request, HTTPStatus.UNPROCESSABLE_ENTITY, _sentence(error))

        return handler


def _sentence(error: RequestValidationError) -> str:
    first: dict[str, Any] = next(iter(error.errors()), {})
    return f"{'.'.join(map(str, first.get('loc', ())[1:]))}: {first.get('msg', 'not understood')}"


def _error_page(request: Request, status: int, sentence: str) -> Response:
    title = HTTPStatus(status).phrase
    return render(request, "error.html", status, title=title, sentence=sentence)
