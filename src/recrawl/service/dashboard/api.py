"""The HTTP API as a page, rendered from its description in OpenAPI."""

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Request
from fastapi.responses import Response

from recrawl.service.api.dependencies import needs
from recrawl.service.api.openapi import operations, resolved
from recrawl.service.auth.cookies import is_by_tls
from recrawl.service.auth.tokens import Access
from recrawl.service.dashboard.html_route import HtmlRoute
from recrawl.service.dashboard.rendering import render

router = APIRouter(
    include_in_schema=False, route_class=HtmlRoute, dependencies=[needs(Access.READ)]
)

#: Without a stated access, anybody may call an operation.
ANYBODY = "none"
#: Maximum length of an example on one line.
MAX_LINE = 70
#: The names of text formats.
FORMATS: Final = {"date-time": "time"}


@dataclass(frozen=True, slots=True)
class Row:
    """A parameter, or a field of a body.

    Attributes:
        name: Its name; for a nested field, the full path.
        kind: The type and range of its values.
        meaning: What it is for.
        is_required: Whether it is required.
    """

    name: str
    kind: str
    meaning: str
    is_required: bool


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of the API.

    Attributes:
        name: Its name in the description and on the page.
        method: The method, in capitals.
        path: The path, with names in braces.
        tag: Its subject.
        access: What a token must allow; `ANYBODY` if none is needed.
        text: What it does, in paragraphs.
        parameters: Its parameters.
        body: The fields of a request's body.
        command: A request with curl.
        answer: An example of the response, if it has a body.
        fields: The fields of the response.
        problems: Other possible responses, as statuses and their names.
    """

    name: str
    method: str
    path: str
    tag: str
    access: str
    text: list[str]
    parameters: list[Row]
    body: list[Row]
    command: str
    answer: str
    fields: list[Row]
    problems: list[str]


@router.get("/docs", response_class=Response)
async def api(request: Request) -> Response:
    """Show the API."""
    document = request.app.openapi()
    # A copied command must not send a token in the clear.
    scheme = "https" if is_by_tls(request.headers) else request.url.scheme
    found = described(document, f"{scheme}://{request.headers['host']}")
    groups = [
        (tag["name"], tag["description"], [one for one in found if one.tag == tag["name"]])
        for tag in document["tags"]
    ]
    return render(request, "api.html", groups=groups, source=request.app.openapi_url)


def described(document: dict[str, Any], base: str) -> list[Operation]:
    """Return the operations of an API from its description; `base` is its URL."""
    return [_operation(document, base, *one) for one in operations(document)]


def _operation(
    document: dict[str, Any], base: str, method: str, path: str, described: dict[str, Any]
) -> Operation:
    sent = _content(described.get("requestBody", {}))
    code = next(code for code in described["responses"] if code.startswith("2"))
    answer = _content(described["responses"][code])
    roles = [role for one in described.get("security", ()) for role in next(iter(one.values()))]
    return Operation(
        name=described["operationId"],
        method=method.upper(),
        path=path,
        tag=described["tags"][0],
        access=roles[0] if roles else ANYBODY,
        text=described["description"].split("\n\n"),
        parameters=[_parameter(document, one) for one in described.get("parameters", ())],
        body=list(_fields(document, sent.get("schema", {}))),
        command=_command(base, method.upper(), path, described),
        answer=_written(answer.get("example", "")),
        fields=list(_fields(document, answer.get("schema", {}))),
        problems=[
            f"{status} {HTTPStatus(int(status)).phrase}"
            for status in described["responses"]
            if status != code
        ],
    )


def _content(described: dict[str, Any]) -> dict[str, Any]:
    """Return the only kind of body that a request or response may have, with its media type."""
    for media_type, content in described.get("content", {}).items():
        return {"media_type": media_type, **content}
    return {}


def _parameter(document: dict[str, Any], given: dict[str, Any]) -> Row:
    # Missing fields are null.
    kind = _kind(document, given["schema"]).removesuffix(" or null")
    return Row(given["name"], kind, given["description"], given.get("required", False))


def _fields(document: dict[str, Any], schema: dict[str, Any], prefix: str = "") -> Iterator[Row]:
    """Yield the fields of an object, each before its nested fields."""
    schema = resolved(document, schema)
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        row = f"{prefix}{name}"
        yield Row(row, _kind(document, field), field["description"], name in required)
        for part in (field, *field.get("anyOf", ())):
            is_list = part.get("type") == "array"
            yield from _fields(
                document,
                part.get("items", {}) if is_list else _object(part),
                f"{row}{'[]' * is_list}.",
            )


def _object(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema if it refers to another; one that is not named has no parts."""
    return schema if "$ref" in schema else {}


def _kind(document: dict[str, Any], schema: dict[str, Any]) -> str:
    """Return the type and range of values in words.

    >>> _kind({}, {"type": "integer", "minimum": 1, "maximum": 5000, "default": 100})
    'integer, 1 to 5,000, by default 100'
    >>> _kind({}, {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]})
    'time or null'
    """
    text = _type(document, schema)
    if "minimum" in schema and "maximum" in schema:
        text += f", {_number(schema['minimum'])} to {_number(schema['maximum'])}"
    default = schema.get("default")
    return f"{text}, by default {json.dumps(default)}" if default not in (None, "") else text


def _type(document: dict[str, Any], schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(_kind(document, one) for one in schema["anyOf"])
    if "$ref" in schema:
        return _type(document, resolved(document, schema))
    if "enum" in schema:
        return ", ".join(schema["enum"])
    if schema["type"] == "array":
        return f"list of {_type(document, schema['items'])}"
    return FORMATS.get(schema.get("format", ""), str(schema["type"]))


def _number(number: float) -> str:
    return f"{int(number):,}" if number == int(number) else f"{number:g}"


def _command(base: str, method: str, path: str, described: dict[str, Any]) -> str:
    """Return a curl command, from the examples of the parameters and the body."""
    query = {}
    for one in described.get("parameters", ()):
        examples = one["schema"].get("examples")
        if examples and one["in"] == "path":
            path = path.replace(f"{{{one['name']}}}", quote(examples[0]))
        elif examples and one["in"] == "query":
            query[one["name"]] = examples[0]
    url = f"{base}{path}{'?' * bool(query)}{urlencode(query, doseq=True)}"
    parts = [f"curl{'' if method == 'GET' else f' -X {method}'} {shlex.quote(url)}"]
    if described.get("security"):
        parts.append('-H "Authorization: Bearer $TOKEN"')
    sent = _content(described.get("requestBody", {}))
    if sent:
        parts.append(f"-H 'Content-Type: {sent['media_type']}'")
        parts.append(f"-d {shlex.quote(_written(sent['example']))}")
    return " \\\n  ".join(parts)


def _written(example: Any) -> str:  # noqa: ANN401 - as JSON has it
    """Return an example on one line if it is short; text unchanged."""
    if isinstance(example, str):
        return example
    line = json.dumps(example, ensure_ascii=False)
    return line if len(line) <= MAX_LINE else json.dumps(example, indent=2, ensure_ascii=False)
