"""The WebSub callback: hubs verify subscriptions and send messages."""

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Request, Response

from recrawl.service.api.dependencies import TheService
from recrawl.service.auth.guard import WEBSUB_FOLDER
from recrawl.service.models.examples import CALLBACK, CHALLENGE, FEED, MESSAGE
from recrawl.service.problems import ProblemError, responses
from recrawl.service.push.websub import WebSub
from recrawl.service.service import Service

router = APIRouter(tags=["signals"])

#: The longest text that a hub may send in a URL.
MAX_TEXT = 4_096
#: A media type that no browser shows: the challenge may be anything.
UNSHOWN = "application/octet-stream"
PROBLEMS = responses(
    HTTPStatus.NOT_FOUND,
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.GONE,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.TOO_MANY_REQUESTS,
)
Callback = Annotated[
    str, Path(max_length=100, description="The last part of the callback URL.", examples=[CALLBACK])
]


def _parameter(name: str, meaning: str, example: str) -> Any:  # noqa: ANN401 - as FastAPI has it
    """Return a parameter of a hub's request."""
    return Query(alias=name, max_length=MAX_TEXT, description=meaning, examples=[example])


@router.get(
    WEBSUB_FOLDER + "{callback}",
    response_class=Response,
    responses={
        200: {"content": {UNSHOWN: {"schema": {"type": "string"}, "example": CHALLENGE}}},
        **PROBLEMS,
    },
)
async def confirm_subscription(
    service: TheService,
    callback: Callback,
    mode: Annotated[str, _parameter("hub.mode", "What to confirm.", "subscribe")] = "",
    topic: Annotated[str, _parameter("hub.topic", "The feed.", FEED)] = "",
    challenge: Annotated[
        str, _parameter("hub.challenge", "The challenge to respond with.", CHALLENGE)
    ] = "",
    lease: Annotated[
        int | None,
        Query(
            alias="hub.lease_seconds",
            ge=1,
            le=10**9,
            description="How many seconds the subscription is valid.",
            examples=[864_000],
        ),
    ] = None,
) -> Response:
    """Confirm a subscription that this service requested from a WebSub hub; needs no token."""
    if not _websub(service).confirm(callback, mode, topic, challenge, lease):
        raise ProblemError(HTTPStatus.NOT_FOUND, "there is no such subscription")
    return Response(challenge, media_type=UNSHOWN)


@router.post(
    WEBSUB_FOLDER + "{callback}",
    status_code=HTTPStatus.NO_CONTENT,
    response_class=Response,
    responses=PROBLEMS,
    openapi_extra={
        "requestBody": {
            "content": {"application/atom+xml": {"schema": {"type": "string"}, "example": MESSAGE}}
        }
    },
)
async def receive_message(
    service: TheService,
    request: Request,
    callback: Callback,
    signature: Annotated[
        str,
        Header(
            alias="X-Hub-Signature",
            max_length=200,
            description="Signature of the body with the secret that the hub was given.",
        ),
    ] = "",
) -> Response:
    """Accept a message about a feed from a WebSub hub; wrong signatures are ignored.

    Needs no token. 410 tells the hub that the subscription no longer exists.
    """
    websub = _websub(service)
    websub.admit(callback)
    body = await service.incoming.bodies.read(request)
    await websub.receive(callback, signature, body)
    return Response(status_code=HTTPStatus.NO_CONTENT)


def _websub(service: Service) -> WebSub:
    if service.incoming.websub is None:
        raise ProblemError(
            HTTPStatus.NOT_FOUND, "WebSub is off; the setting `public_url` turns it on"
        )
    return service.incoming.websub
