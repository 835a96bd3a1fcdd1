"""Errors for clients: problem+json (RFC 9457), with one sentence in ``detail``."""

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
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
DESCRIBED = "/docs"
#: What the framework says of a body that it cannot parse for whatever reason.
UNPARSED = "There was an error parsing the body"
#: What the framework calls a body that is not an object.
NO_OBJECT = {"model_attributes_type", "model_type", "dict_type"}


class Problem(BaseModel):
    """Why a request was not carried out (RFC 9457)."""

    title: str = Field(description="The HTTP status in words.")
    status: int = Field(description="The HTTP status.")
    detail: str = Field(description="What is wrong, and what to do about it, in one sentence.")
    errors: list[str] = Field(
        default_factory=list, description="Each part of the request that is invalid."
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
    """Turn every error of an application into a problem response."""

    async def recrawl_error(_request: Request, error: Exception) -> JSONResponse:
        if isinstance(error, ProblemError):
            return problem_response(error.status, str(error), error.headers)
        if isinstance(error, StoreError):
            return problem_response(HTTPStatus.SERVICE_UNAVAILABLE, str(error))
        is_argument = isinstance(error, ArgumentError | ValueError)
        status = HTTPStatus.UNPROCESSABLE_ENTITY if is_argument else HTTPStatus.BAD_REQUEST
        return problem_response(status, str(error))

    async def invalid(request: Request, error: Exception) -> JSONResponse:
        found = error.errors() if isinstance(error, RequestValidationError) else []
        errors = [_sentence(request, one) for one in found[:MAX_ERRORS]]
        detail = errors[0] if errors else "the request cannot be understood"
        return problem_response(HTTPStatus.UNPROCESSABLE_ENTITY, detail, errors=errors)

    async def http_error(request: Request, error: Exception) -> JSONResponse:
        status = error.status_code if isinstance(error, HTTPException) else 500
        headers = dict(getattr(error, "headers", None) or {})
        detail = str(getattr(error, "detail", "")) or HTTPStatus(status).phrase
        if status == HTTPStatus.METHOD_NOT_ALLOWED:
            headers["Allow"] = allowed = ", ".join(sorted(_methods(request)))
            detail = f"this path does not accept {request.method}, only {allowed}"
        elif detail == UNPARSED:
            detail = "the body cannot be parsed: it is not text in UTF-8, or nested too deeply"
        elif detail == HTTPStatus.NOT_FOUND.phrase:
            detail = f"there is nothing at {request.url.path}; {DESCRIBED} describes the API"
        return problem_response(status, printable(detail), headers)

    app.add_exception_handler(RecrawlError, recrawl_error)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http_error)


def _methods(request: Request) -> set[str]:
    """Return the methods that a path has; the framework knows those of one of its routes."""
    return {
        method
        for method in METHODS
        for route in request.app.routes
        if route.matches({**request.scope, "method": method})[0] is Match.FULL
    }


def _sentence(request: Request, error: dict[str, Any]) -> str:
    """Return what is wrong with a part of a request, as the framework found it."""
    location = tuple(error.get("loc", ()))
    if error.get("type") == "json_invalid":
        reason = printable(str(error.get("ctx", {}).get("error", "")))
        return f"the body is not JSON: {reason}, at character {location[-1]}"
    if location == ("body",):
        if error.get("type") == "missing":
            return "the request has no body; send a JSON object with Content-Type: application/json"
        if not _is_json(request):
            return "the body is not marked as JSON; send Content-Type: application/json"
        if error.get("type") in NO_OBJECT:
            return "the body is not a JSON object, as in {…}"
    return f"{_location(location)}: {printable(str(error.get('msg', '')))}"


def _is_json(request: Request) -> bool:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return media_type == "application/json" or media_type.endswith("+json")


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
