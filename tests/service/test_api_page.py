"""The page about the API: everything is described, and its examples are requests that work."""

import html
import json
import re
import shlex
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

pytest.importorskip("fastapi", reason="the service needs recrawl[serve]")

from service.dashboard_site import acting, browsing
from service.served import Answered, Served, served, settings_in
from virtual_time import run

from recrawl.service.api.openapi import operations
from recrawl.service.auth.tokens import Access
from recrawl.service.dashboard.api import described
from recrawl.service.models.bodies import Body
from recrawl.service.models.examples import EXAMPLES, URL

REFERENCE = Path(__file__).parents[2] / "docs/reference/http-api.md"
#: What is answered where the service of a test is not as the examples have it: it listens to
#: neither sites nor hubs, and has no such change.
OTHERWISE = {"/indexnow": 401, "/websub/{callback}": 401, "/api/v1/changes": 409}


def document(folder: Path) -> dict[str, Any]:
    async def main() -> Any:  # noqa: ANN401 - as JSON has it
        async with served(settings_in(folder)) as on:
            return (await on.ask("GET", "/api/v1/openapi.json")).json

    found: dict[str, Any] = run(main())
    return found


def test_every_field_and_parameter_is_described(tmp_path: Path) -> None:
    found = document(tmp_path)
    for name, schema in found["components"]["schemas"].items():
        for field, described_as in schema.get("properties", {}).items():
            assert described_as.get("description", "").endswith("."), f"{name}.{field}"
    for method, path, operation in operations(found):
        for parameter in operation.get("parameters", ()):
            where = f"{method} {path} {parameter['name']}"
            assert parameter.get("description", "").endswith("."), where
            is_needed = parameter["required"]
            assert not is_needed or parameter["schema"].get("examples"), where
    tags = {tag["name"] for tag in found["tags"]}
    assert {operation["tags"][0] for *_, operation in operations(found)} == tags


def test_every_operation_has_examples_of_its_bodies(tmp_path: Path) -> None:
    for method, path, operation in operations(document(tmp_path)):
        bodies = {"request": operation.get("requestBody", {}), **operation["responses"]}
        for name, body in bodies.items():
            for content in body.get("content", {}).values():
                assert content.get("example"), f"{method} {path} {name}"


@pytest.mark.parametrize("model", EXAMPLES, ids=lambda model: model.__name__)
def test_an_example_is_as_its_model_says_and_an_answer_has_every_field(model: Any) -> None:  # noqa: ANN401
    example = EXAMPLES[model]
    read = model.model_validate_json(json.dumps(example))
    if not issubclass(model, Body):
        assert read.model_dump(mode="json") == example


def test_the_reference_shows_the_same_examples() -> None:
    blocks = re.findall(r"```json\n(.*?)```", REFERENCE.read_text(encoding="utf-8"), re.DOTALL)
    shown = [json.loads(block) for block in blocks]
    assert len(shown) == 2
    assert all(one in EXAMPLES.values() for one in shown)


async def sent(on: Served, command: str) -> Answered:
    """Send what a command with curl would."""
    name, *words = shlex.split(command.replace("\\\n", ""))
    assert name == "curl"
    _, method, *words = words if words[0] == "-X" else ["-X", "GET", *words]
    url = urlsplit(words.pop(0))
    headers, body, token = {}, None, None
    for option, value in zip(words[::2], words[1::2], strict=True):
        if option == "-d":
            body = value.encode()
            continue
        assert option == "-H"
        name, _, given = value.partition(": ")
        if given == "Bearer $TOKEN":
            token = "admin"  # noqa: S105 - the name of one
        else:
            headers[name.lower()] = given
    query: dict[str, Any] = {}
    for name, value in parse_qsl(url.query):
        query.setdefault(name, []).append(value)
    return await on.ask(method, url.path, token=token, headers=headers, raw=body, **query)


def test_the_commands_on_the_page_work(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(settings_in(tmp_path, budget="1000/s"), [URL]) as on:
            found = described(on.app.openapi(), "http://127.0.0.1:8321")
            assert len(found) == 25
            # What removes the page comes last, and a stream has no end.
            for one in sorted(found, key=lambda one: one.path.endswith("/remove")):
                if one.path.endswith("/stream"):
                    continue
                answered = await sent(on, one.command)
                expected = OTHERWISE.get(one.path, 200)
                assert answered.status == expected, (one.command, answered.body)

    run(main())


def test_the_page_shows_what_a_reader_of_the_description_would_find(tmp_path: Path) -> None:
    async def main() -> None:
        async with browsing(tmp_path, Access.READ) as browser:
            page = await browser.show("/docs")
            assert acting(page) == []
            text = html.unescape(page)
            for one in described(browser.on.app.openapi(), "http://127.0.0.1:8321"):
                assert f'id="{one.name}"' in page
                assert one.command in text
                assert one.answer in text
                for row in (*one.parameters, *one.body, *one.fields):
                    assert f"<code>{row.name}</code>" in text, row.name
            assert "<code>reports[].body</code>" in text
            assert "<code>sitemaps[].hub.until</code>" in text
            assert "integer, 1 to 5,000, by default 100" in text
            assert "integer, 0 to 2,147,483,646" in text
            answers = re.findall(r"<details>.*?</details>", page, re.DOTALL)
            assert ">required<" in page
            assert ">required<" not in "".join(answers)
            assert "`" not in re.sub(r"<pre.*?</pre>", "", text, flags=re.DOTALL)
            assert 'href="/docs" aria-current="page"' in page
            assert 'href="/api/v1/openapi.json"' in page
            assert (await browser.get("/api/v1/openapi.json")).status == HTTPStatus.OK

    run(main())


def test_behind_a_proxy_the_commands_speak_tls(tmp_path: Path) -> None:
    async def main() -> None:
        async with browsing(tmp_path) as browser:
            by_tls = await browser.get("/docs", **{"x-forwarded-proto": "https"})
            assert b"curl https://127.0.0.1:8321/api/v1/status" in by_tls.body
            assert b"http://127.0.0.1" not in by_tls.body
            assert "curl http://127.0.0.1:8321/api/v1/status" in await browser.show("/docs")

    run(main())


def test_nobody_sees_the_page_without_logging_in(tmp_path: Path) -> None:
    async def main() -> None:
        async with browsing(tmp_path, None) as browser:
            answered = await browser.get("/docs")
            assert answered.status == HTTPStatus.SEE_OTHER
            assert answered.headers["location"] == "/login?next=%2Fdocs"

    run(main())
