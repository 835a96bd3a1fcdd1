"""IndexNow: sites announce which of their pages have changed, with a key on the site as proof."""

from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from recrawl.escaping import printable
from recrawl.service.api.dependencies import TheService
from recrawl.service.auth.guard import INDEXNOW, address_of
from recrawl.service.models.bodies import MAX_URL
from recrawl.service.models.examples import KEY, SUBMISSION, URL
from recrawl.service.problems import ProblemError, responses
from recrawl.service.push.indexnow import MAX_URLS
from recrawl.service.service import Service

router = APIRouter(tags=["signals"])

PROBLEMS = responses(
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.NOT_FOUND,
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.SERVICE_UNAVAILABLE,
)

#: URLs, key, where the key is, and the host.
Given = tuple[Sequence[str], str, str | None, str | None]


class SubmissionIn(BaseModel):
    """Pages of a site that are new, changed or gone."""

    model_config = ConfigDict(extra="ignore")

    host: str = Field(min_length=1, max_length=255, description="The host of the site.")
    key: str = Field(
        description="8 to 128 letters, digits and dashes; a file on the site contains it.",
        max_length=1_000,
    )
    keyLocation: str | None = Field(  # noqa: N815 - the protocol's name
        None,
        max_length=MAX_URL,
        description="The URL of that file; by default, KEY.txt at the root of the site.",
    )
    urlList: list[str] = Field(  # noqa: N815
        min_length=1, max_length=MAX_URLS, description="The pages."
    )


ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"description": "The key has been verified.", "content": {}},
    202: {"description": "The key is yet to be verified."},
    **PROBLEMS,
}


@router.get(INDEXNOW, response_class=Response, responses=ANSWERS)
async def submit_url(
    service: TheService,
    request: Request,
    url: Annotated[str | None, Query(description="The page.", examples=[URL])] = None,
    key: Annotated[str | None, Query(description="The key of its site.", examples=[KEY])] = None,
    key_location: Annotated[
        str | None, Query(alias="keyLocation", description="The URL of the file with the key.")
    ] = None,
) -> Response:
    """Announce that a page is new, changed or gone (IndexNow); needs no token."""

    async def read() -> Given:
        if url is None or key is None:
            raise ProblemError(HTTPStatus.BAD_REQUEST, "url and key are required")
        return [url], key, key_location, None

    return await _submit(service, request, read)


@router.post(
    INDEXNOW,
    response_class=Response,
    responses=ANSWERS,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": SubmissionIn.model_json_schema(),
                    "example": SUBMISSION,
                }
            },
        }
    },
)
async def submit_urls(service: TheService, request: Request) -> Response:
    """Announce that pages of a site are new, changed or gone (IndexNow); needs no token."""

    async def read() -> Given:
        body = await service.incoming.bodies.read(request)
        try:
            given = SubmissionIn.model_validate_json(body)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"])) or "body"
            problem = printable(f"{where}: {first['msg']}")
            raise ProblemError(HTTPStatus.BAD_REQUEST, problem) from None
        return given.urlList, given.key, given.keyLocation, given.host

    return await _submit(service, request, read)


async def _submit(
    service: Service, request: Request, read: Callable[[], Awaitable[Given]]
) -> Response:
    indexnow, address = service.incoming.indexnow, address_of(request.scope)
    if indexnow is None:
        raise ProblemError(
            HTTPStatus.NOT_FOUND, "IndexNow is off; the setting `indexnow = true` turns it on"
        )
    try:
        indexnow.admit(address)
        status = await indexnow.submit(address, *await read())
    except ProblemError as problem:
        indexnow.answers[problem.status] += 1
        raise
    indexnow.answers[status] += 1
    return Response(status_code=status)
