"""What a hostile client, page or network might try, one by one."""

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from service.dashboard_site import NAME, NEWS, browsing
from service.served import Served, served, settings_in
from virtual_time import run

from recrawl.service.api.changes import events
from recrawl.service.auth.cookies import COOKIE
from recrawl.service.auth.guard import MAX_BYTES, MAX_READER_BYTES, MAX_REPORTS_BYTES
from recrawl.service.auth.tokens import MAX_FAILURES, Access, User
from recrawl.service.dashboard.live import Live
from recrawl.service.streams import MAX_STREAMS
from recrawl.store.sqlite import SqliteStore

FORM = {"content-type": "application/x-www-form-urlencoded"}
JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(
    "body",
    [
        b'{"signals": [{"url": "https://a.example/", "probability": NaN}]}',
        b'{"signals": [{"url": "https://a.example/", "probability": Infinity}]}',
        b'{"signals": [{"url": "https://a.example/", "probability": 1e999}]}',
        b'{"signals": [{"url": "https://a.example/", "probability": ' + b"9" * 5_000 + b"}]}",
        b'{"signals": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"signals": ' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}",
        b"[" * 1_000_000,
        b'{"signals": [{"url": "\\ud800"}]}',
        b'"' + b"\\" * 99_999,
        b"\xff\xfe\x00",
        b"",
    ],
    ids=["nan", "inf", "1e999", "digits", "lists", "objects", "open", "half", "\\", "utf-16", "no"],
)
def test_bodies_that_are_no_json_or_go_deep_are_refused(tmp_path: Path, body: bytes) -> None:
    async def main() -> None:
        async with served(settings_in(tmp_path), ["https://a.example/"]) as on:
            answered = await on.ask("POST", "/api/v1/signals", headers=JSON, raw=body)
            assert answered.status in (400, 422), answered.body[:200]
            assert answered.headers["content-type"] == "application/problem+json"
            json.loads(answered.body, parse_constant=pytest.fail)
            assert len(answered.body) < 10_000

    run(main())


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_json_does_not_know_are_refused_everywhere(
    tmp_path: Path, number: str
) -> None:
    bodies = {
        (
            "POST",
            "/pages",
        ): f'{{"pages": [{{"url": "https://a.example/", "importance": {number}}}]}}',
        ("PATCH", "/page?url=https://a.example/"): f'{{"importance": {number}}}',
        ("PUT", "/budget"): f'{{"budget": {number}}}',
        ("POST", "/leases"): f'{{"seconds": {number}}}',
        ("POST", "/reports"): '{"lease": "1-0", "reports": [{"page": 0, "status": 200, '
        f'"changed": true, "seconds": {number}}}]}}',
    }

    async def main() -> None:
        async with served(settings_in(tmp_path), ["https://a.example/"]) as on:
            for (method, path), body in bodies.items():
                target, _, query = path.partition("?url=")
                asked: dict[str, Any] = {"url": query} if query else {}
                answered = await on.ask(
                    method, f"/api/v1{target}", headers=JSON, raw=body.encode(), **asked
                )
                assert answered.status == 422, (path, answered.body)
            for name in ("min_rate", "max_rate", "due_within"):
                filters: dict[str, Any] = {name: number}
                listed = await on.ask("GET", "/api/v1/pages", **filters)
                assert listed.status == 422, name

    run(main())


@pytest.mark.parametrize("depth", [2, 500, 2_000, 9_000, 100_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_what_is_nested_is_refused_however_deeply(
    tmp_path: Path, opening: str, closing: str, depth: int
) -> None:
    nested = f"{opening * depth}1{closing * depth}"

    async def no_key(*_: object) -> Any:  # noqa: ANN401 - it is never asked for
        pytest.fail("nothing was submitted")

    async def main() -> None:
        settings = settings_in(tmp_path, indexnow="true")
        async with served(settings, fetch_key=no_key) as on:
            for method, path, field in (
                ("POST", "/api/v1/leases", "hosts"),
                ("POST", "/api/v1/pages", "pages"),
                ("POST", "/api/v1/pages/remove", "urls"),
                ("POST", "/api/v1/reports", "reports"),
                ("POST", "/indexnow", "urlList"),
                ("PUT", "/api/v1/budget", "budget"),
            ):
                body = f'{{"{field}": {nested}}}'.encode()
                answered = await on.ask(method, path, headers=JSON, raw=body)
                assert answered.status in (400, 422), (path, answered.body[:200])
                assert answered.json["detail"]
                assert len(answered.body) < 10_000

    run(main())


def test_who_may_do_little_may_send_little(tmp_path: Path) -> None:
    """A body is read before anybody looks who may use the path."""
    reports, pages = "/api/v1/reports", "/api/v1/pages"

    async def main() -> None:
        async with served(settings_in(tmp_path)) as on:
            for token, path, limit in (
                ("read", reports, MAX_READER_BYTES),
                ("crawl", pages, MAX_BYTES),
                ("crawl", reports, MAX_REPORTS_BYTES),
            ):
                said = {"content-length": str(limit + 1)}
                assert (await on.ask("POST", path, token=token, headers=said)).status == 413
            # Sent in chunks, without saying how much it will be.
            sent = await on.ask("POST", reports, token="read", raw=b" " * (MAX_READER_BYTES + 1))  # noqa: S106
            assert sent.status == 413
            for length in ("1e3", "٣", "-1", "0x10", ""):
                odd = await on.ask("POST", pages, headers={"content-length": length})
                assert odd.status == 413, length

    run(main())


def test_addresses_of_one_network_count_as_one(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(settings_in(tmp_path)) as on:
            statuses = [await _log_in_from(on, f"2001:db8:1:2::{number:x}") for number in range(12)]
            assert statuses == [401] * MAX_FAILURES + [429] * 2
            assert await _log_in_from(on, "2001:db8:1:3::1") == 401
            mapped = [await _log_in_from(on, "::ffff:192.0.2.7") for _ in range(MAX_FAILURES + 1)]
            assert mapped[-1] == 429
            assert await _log_in_from(on, "::ffff:192.0.2.8") == 401

    run(main())


async def _log_in_from(on: Served, address: str) -> int:
    async def app(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
        await on.app({**scope, "client": (address, 4711)}, receive, send)

    elsewhere = Served(on.service, on.engine, on.lending, app, on.store)
    return (
        await elsewhere.ask("POST", "/login", token=None, headers=FORM, raw=b"token=rcrl_x")
    ).status


def test_a_header_that_anybody_can_send_does_not_say_where_they_are(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(settings_in(tmp_path)) as on:
            statuses = []
            for number in range(MAX_FAILURES + 1):
                forged = {"x-forwarded-for": f"192.0.2.{number}", "x-real-ip": f"192.0.2.{number}"}
                answered = await on.ask(
                    "POST", "/login", token=None, headers=FORM | forged, raw=b"token=rcrl_x"
                )
                statuses.append(answered.status)
            assert statuses[-1] == 429

    run(main())


def test_a_session_that_somebody_else_chose_is_worth_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(settings_in(tmp_path)) as on:
            planted = {"cookie": f"{NAME}=planted"}
            form = f"token={on.tokens['admin']}".encode()
            answered = await on.ask("POST", "/login", token=None, headers=FORM | planted, raw=form)
            assert answered.status == 303
            assert "planted" not in answered.headers["set-cookie"]
            status = await on.ask("GET", "/api/v1/status", token=None, headers=planted)
            assert status.status == 401

    run(main())


@pytest.mark.parametrize(
    ("headers", "is_secure"),
    [({"x-forwarded-proto": "https"}, True), ({"x-forwarded-proto": "http"}, False), ({}, False)],
)
def test_the_cookie_is_for_tls_only_behind_a_proxy_that_has_it(
    tmp_path: Path, headers: dict[str, str], is_secure: bool
) -> None:
    async def main() -> None:
        async with served(settings_in(tmp_path)) as on:
            form = f"token={on.tokens['admin']}".encode()
            answered = await on.ask("POST", "/login", token=None, headers=FORM | headers, raw=form)
            flags = [part.strip().lower() for part in answered.headers["set-cookie"].split(";")]
            assert ("secure" in flags) == is_secure
            assert {"httponly", "samesite=strict", "path=/"} <= set(flags)
            assert not any(flag.startswith("domain") for flag in flags)

    run(main())


def test_services_on_two_ports_of_a_host_do_not_take_each_others_sessions(tmp_path: Path) -> None:
    """Browsers send the cookies of a host to all of its ports."""

    async def main() -> None:
        async with browsing(tmp_path, Access.READ) as browser:
            both = {"cookie": f"{COOKIE}_9999=other; a[]=1; {NAME}={browser.cookie}; {COOKIE}=x"}
            assert (await browser.on.ask("GET", "/", token=None, headers=both)).status == 200
            other = {"cookie": f"{COOKIE}_9999={browser.cookie}"}
            refused = await browser.on.ask("GET", "/api/v1/status", token=None, headers=other)
            assert refused.status == 401

    run(main())


def test_every_answer_says_how_browsers_should_treat_it(tmp_path: Path) -> None:
    async def main() -> None:
        async with browsing(tmp_path) as browser:
            for path in (
                "/",
                f"/page?url={NEWS}",
                "/settings",
                "/api/v1/status",
                "/nope",
                "/login",
            ):
                headers = (await browser.get(path)).headers
                assert headers["cache-control"] == "no-store", path
                assert headers["x-frame-options"] == "DENY"
                assert "frame-ancestors 'none'" in headers["content-security-policy"]
                assert "unsafe" not in headers["content-security-policy"]
                assert headers["referrer-policy"] in {"no-referrer", "same-origin"}
                assert headers["cross-origin-opener-policy"] == "same-origin"
                assert "server" not in headers

    run(main())


def test_websockets_are_closed(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(settings_in(tmp_path)) as on:
            sent: list[dict[str, Any]] = []

            async def send(message: dict[str, Any]) -> None:
                sent.append(message)

            scope = {"type": "websocket", "path": "/live", "headers": []}
            await on.app(scope, None, send)
            assert [message["type"] for message in sent] == ["websocket.close"]

    run(main())


def test_only_so_many_streams_are_open(tmp_path: Path) -> None:
    async def main() -> None:
        async with browsing(tmp_path) as browser:
            streams = browser.on.service.streams
            streams.open = MAX_STREAMS
            for path in ("/live", "/api/v1/changes/stream"):
                answered = await browser.get(path)
                assert answered.status == 503
                assert b"streams are open" in answered.body
            streams.open = 0
            with streams.counted(), streams.counted():
                assert streams.open == 2
            assert streams.open == 0

    run(main())


def test_a_stream_ends_when_its_token_is_revoked(tmp_path: Path) -> None:
    async def main() -> None:
        async with browsing(tmp_path) as browser:
            service = browser.on.service
            reader, owner = service.tokens.find(browser.on.tokens["read"]), User("", Access.ADMIN)
            assert reader is not None
            end = await service.feed.cursor(None)
            live = Live(service)
            ended = [events(service, reader, end, []), live.events(reader)]
            going_on = [events(service, owner, end, []), live.events(owner)]
            for stream in (*ended, *going_on):
                assert "connected" in await anext(stream)
            assert service.streams.open == 4
            browser.on.store.service.revoke_token("read")
            service.tokens._until = 0.0  # noqa: SLF001 - a second later
            for stream in ended:
                assert [text async for text in stream] == []
            for stream in going_on:
                assert "nothing new" in await anext(stream)
            assert service.streams.open == 2

    run(main())


def test_a_slow_look_at_the_store_does_not_hold_up_who_comes_next(tmp_path: Path) -> None:
    begun, over = threading.Event(), threading.Event()

    def wait() -> int:
        begun.set()
        return int(over.wait(600.0))

    def look(store: SqliteStore) -> None:
        connection = store._database._connection  # noqa: SLF001 - a statement that takes long
        connection.create_function("wait", 0, wait)
        assert connection.execute("SELECT wait()").fetchone() == (1,)

    async def main() -> None:
        # With a thread of its own for reading, as in real life.
        with ThreadPoolExecutor(1) as thread:
            async with served(settings_in(tmp_path), reading=thread) as on:
                looking = asyncio.ensure_future(on.service.read(look))
                await asyncio.to_thread(begun.wait, 600.0)
                timer = threading.Timer(60.0, over.set)
                timer.start()
                assert on.service.tokens.find(on.tokens["read"]) is not None
                assert not over.is_set()
                timer.cancel()
                over.set()
                await looking

    asyncio.run(main())
