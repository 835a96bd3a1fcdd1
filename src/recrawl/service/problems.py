"""Errors as clients see them: problem+json (RFC 9457), one sentence in ``detail``."""

from http import HTTPStatus
from typing import Any, final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.routing import Match

from recrawl.errors import ArgumentError, RecrawlError, StoreError
from recrawl.escaping import printable

MEDIA_TYPE = "application/problem+json"
MAX_ERRORS = 20


class Problem(BaseModel):
    """Why a request was not carried out (RFC 9457)."""

    title: str = Field(description="The HTTP status in words.", examples=["Not Found"])
    status: int = Field(description="The HTTP status.", examples=[404])
    detail: str = Field(
        description="What is wrong, and what to do about it, in one sentence.",
        examples=["https://example.org/: this page is not here; add it first"],
    )
    errors: list[str] = Field(
        default_factory=list, description="Each part of the request that is wrong."
    )


@final
class ProblemError(RecrawlError):
    """A request cannot be carried out.

    Args:
        status: The HTTP status.
        detail: What is wrong, in one sentence.
        headers: Headers of the response.
    """

    def __init__(self, status: int, detail: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.headers = headers or {}


def problem_response(
    status: int, detail: str, headers: dict[str, str] | None = None, errors: list[str] | None = None
) -> JSONResponse:
    """Return the response for a problem."""
    found = Problem(
        title=HTTPStatus(status).phrase, status=status, detail=detail, errors=errors or []
    )
    return JSONResponse(
        found.model_dump(), status_code=status, headers=headers, media_type=MEDIA_TYPE
    )


def add_handlers(app: FastAPI) -> None:
    """Have every error of an application answered as a problem."""

    def recrawl_error(_request: Request, error: Exception) -> JSONResponse:
        if isinstance(error, ProblemError):
            return problem_response(error.status, str(error), error.headers)
        if isinstance(error, StoreError):
            return problem_response(HTTPStatus.SERVICE_UNAVAILABLE, str(error))
        is_argument = isinstance(error, ArgumentError | ValueError)
        status = HTTPStatus.UNPROCESSABLE_ENTITY if is_argument else HTTPStatus.BAD_REQUEST
        return problem_response(status, str(error))

    def invalid(_request: Request, error: Exception) -> JSONResponse:
        found = error.errors() if isinstance(error, RequestValidationError) else []
        errors = [
            f"{_location(one.get('loc', ()))}: {printable(str(one.get('msg', '')))}"
            for one in found[:MAX_ERRORS]
        ]
        detail = errors[0] if errors else "the request cannot be understood"
        return problem_response(HTTPStatus.UNPROCESSABLE_ENTITY, detail, errors=errors)

    def http_error(request: Request, error: Exception) -> JSONResponse:
        status = error.status_code if isinstance(error, HTTPException) else 500
        headers = dict(getattr(error, "headers", None) or {})
        if status == HTTPStatus.METHOD_NOT_ALLOWED:
            headers["Allow"] = ", ".join(sorted(_methods(request)))
        detail = str(getattr(error, "detail", "")) or HTTPStatus(status).phrase
        return problem_response(status, printable(detail), headers)

    app.add_exception_handler(RecrawlError, recrawl_error)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http_error)


def _methods(request: Request) -> set[str]:
    """Return the methods that a path has; the framework knows those of one of its routes."""
    found = set[str]()
    for route in request.app.routes:
        match, _ = route.matches(request.scope)
        if match is not Match.NONE:
            found |= set(getattr(route, "methods", None) or ())
    return found


def _location(location: Any) -> str:  # noqa: ANN401 - as pydantic has it
    """Return where in a request something is wrong, as people write it."""
    where, *parts = [str(part) for part in location] or ["request"]
    return printable(".".join(parts) or where)


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return what a route may answer instead, for its description."""
    schema = {"$ref": "#/components/schemas/Problem"}
    return {
        int(status): {
            "description": HTTPStatus(status).phrase,
            "content": {MEDIA_TYPE: {"schema": schema}},
        }
        for status in statuses
    }
