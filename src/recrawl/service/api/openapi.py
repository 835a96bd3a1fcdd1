"""The description of the API in OpenAPI: what errors look like, and an example of every body."""

from collections.abc import Iterator
from typing import Any, Final

from fastapi import FastAPI

from recrawl.service.models.examples import EXAMPLES
from recrawl.service.problems import Problem

METHODS: Final = ("get", "post", "put", "patch", "delete")
#: What FastAPI would have errors look like.
_UNUSED = ("HTTPValidationError", "ValidationError")
_REFERENCE = "#/components/schemas/"


def complete(app: FastAPI) -> None:
    """Have an application describe itself with examples, and errors as they are."""
    described = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = described()
            known = document.setdefault("components", {}).setdefault("schemas", {})
            known["Problem"] = Problem.model_json_schema()
            for name in _UNUSED:
                known.pop(name, None)
            _add_examples(document)
        return app.openapi_schema or {}

    app.openapi = openapi  # type: ignore[method-assign]


def _add_examples(document: dict[str, Any]) -> None:
    examples = {f"{_REFERENCE}{model.__name__}": one for model, one in EXAMPLES.items()}
    for _, _, operation in operations(document):
        for answer in (operation.get("requestBody", {}), *operation["responses"].values()):
            for content in answer.get("content", {}).values():
                reference = content.get("schema", {}).get("$ref")
                if reference in examples:
                    content["example"] = examples[reference]


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield method, path and description of each operation."""
    for path, methods in document["paths"].items():
        for method in METHODS:
            if method in methods:
                yield method, path, methods[method]


def resolved(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema, or the one that it refers to."""
    name = schema.get("$ref", "").removeprefix(_REFERENCE)
    found: dict[str, Any] = document["components"]["schemas"][name] if name else schema
    return found
