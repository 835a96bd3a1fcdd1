"""Who is refused: nobody gets in without a token, and no other site, name or guess helps."""

import asyncio
import re
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from service.served import Served, served, settings_in
from virtual_time import run

from recrawl.service.auth.cookies import COOKIE
from recrawl.service.auth.guard import MAX_BYTES
from recrawl.service.auth.tokens import MAX_FAILURES, MAX_WRONG_TOKENS, Access, User, add_token

FORM = {"content-type": "application/x-www-form-urlencoded"}
OWN = {"origin": "http://127.0.0.1:8321"}
HOSTILE = "<script>alert(1)</script>\x1b[31m&\"'"


def paths(on: Served) -> list[tuple[str, str]]:
    """Return the methods and paths of the description, and some that are not in it."""
    described = on.app.openapi()["paths"]
    found = [
        (method.upper(), path.replace("{lease}", "x"))
        for path, methods in described.items()
        for method in methods
    ]
    others = ["/", "/pages", "/metrics", "/logout", "/docs", "/openapi.json", "/nope", "/api/v1/"]
    tricks = ["/health/../api/v1/pages", "/login/x", "/health/", "//health", "/%2e%2e/etc/passwd"]
    return [*found, *(("GET", path) for path in (*others, *tricks))]


def cookie_in(headers: dict[str, str]) -> str:
    found = re.match(rf"{COOKIE}_8321=[^;]+", headers["set-cookie"])
    assert found is not None
    return found[0]


async def logged_in(on: Served) -> str:
    """Log in with a token; return the cookie to send."""
    form = f"token={on.tokens['admin']}".encode()
    answered = await on.ask("POST", "/login", token=None, headers=FORM | OWN, raw=form)
    assert answered.status == 303
    set_cookie = answered.headers["set-cookie"].lower()
    assert "httponly" in set_cookie
    assert "samesite=strict" in set_cookie
    return cookie_in(answered.headers)


def test_without_a_token_nothing_but_health_and_login_answers(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(settings_in(tmp_path)) as on:
            asked = paths(on)
            assert len(asked) > 25
            for method, path in asked:
                for given in (None, "rcrl_wrong", ""):
                    answered = await on.ask(method, path, token=given)
                    is_open = path == "/health"
                    assert answered.status == (200 if is_open else 401), (method, path, given)
                    if not is_open:
                        assert answered.headers["www-authenticate"] == "Bearer"
                        assert answered.headers["content-type"] == "application/problem+json"
            assert (await on.ask("GET", "/login", token=None)).status == 200
            revoked = on.tokens["read"]
            on.store.service.revoke_token("read")
            await asyncio.sleep(0)
            on.service.tokens._until = 0.0  # noqa: SLF001 - a second later
            refused = await on.ask("GET", "/api/v1/status", token=revoked)
            assert refused.status == 401
            assert "this token is unknown or was revoked" in refused.json["detail"]
            nobody = await on.ask("GET", "/api/v1/status", token=None)
            assert "a token is required" in nobody.json["detail"]

    run(main())


def test_each_access_allows_what_it_should(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(settings_in(tmp_path)) as on:
            pages = {"pages": [{"url": "https://a.example/"}]}
            for method, path, body, least in (
                ("GET", "/api/v1/status", None, Access.READ),
                ("POST", "/api/v1/pages", pages, Access.CRAWL),
                ("POST", "/api/v1/leases", {}, Access.CRAWL),
                ("POST", "/api/v1/pages/remove", {"urls": ["?"]}, Access.ADMIN),
                ("PUT", "/api/v1/budget", {"budget": 5}, Access.ADMIN),
                ("GET", "/api/v1/settings", None, Access.ADMIN),
            ):
                for access in Access:
                    answered = await on.ask(method, path, body, token=access.name.lower())
                    assert answered.status == (200 if access >= least else 403), (path, access)

    run(main())


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8321",
        "127.0.0.1.evil.example",
        "",
        "localhost@evil.example",
        "[::1].evil.example",
        "[::1]evil.example:8321",
        "[::1]:8321.evil.example",
        "user@localhost",
        "localhost:8321@evil.example",
        "localhost:secret@localhost",
        "localhost:8321:8321",
        "localhost/evil.example",
        "localhost, evil.example",
    ],
)
def test_another_name_that_leads_here_is_refused(tmp_path: Path, host: str) -> None:
    async def main() -> None:
        async with served(settings_in(tmp_path)) as on:
            for path in ("/health", "/login", "/api/v1/status"):
                answered = await on.ask("GET", path, headers={"host": host})
                assert answered.status == 421
            for name in ("localhost:1", "[::1]:8321", "127.0.0.1"):
                answered = await on.ask("GET", "/health", headers={"host": name}, token=None)
                assert answered.status == 200

    run(main())


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://["},
        {"origin": "http://127.0.0.1:9999"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {},
    ],
    ids=str,
)
def test_another_site_cannot_use_a_session(tmp_path: Path, headers: dict[str, str]) -> None:
    async def main() -> None:
        async with served(settings_in(tmp_path)) as on:
            cookie = {"cookie": await logged_in(on)}
            body = {"budget": 5}
            foreign = await on.ask(
                "PUT", "/api/v1/budget", body, token=None, headers=cookie | headers
            )
            assert foreign.status == 403
            own = await on.ask("PUT", "/api/v1/budget", body, token=None, headers=cookie | OWN)
            assert own.status == 200
            # Whoever has a token is not a browser that was made to send it.
            by_token = await on.ask("PUT", "/api/v1/budget", body, headers=headers)
            assert by_token.status == 200

    run(main())


def test_logging_in_and_out(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(settings_in(tmp_path)) as on:
            cookie = {"cookie": await logged_in(on)}
            assert (await on.ask("GET", "/api/v1/status", token=None, headers=cookie)).status == 200
            out = await on.ask("POST", "/logout", token=None, headers=cookie | OWN)
            assert out.status == 303
            assert (await on.ask("GET", "/api/v1/status", token=None, headers=cookie)).status == 401
            code = on.service.sessions.new_code(User("", Access.ADMIN))
            linked = await on.ask("GET", "/login", token=None, code=code)
            assert linked.status == 303
            cookie = {"cookie": cookie_in(linked.headers)}
            assert (await on.ask("GET", "/api/v1/status", token=None, headers=cookie)).status == 200
            assert (await on.ask("GET", "/login", token=None, code=code)).status == 401

    run(main())


def test_a_session_ends_when_its_token_is_revoked(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(settings_in(tmp_path)) as on:
            cookie = {"cookie": await logged_in(on)}
            on.store.service.revoke_token("admin")
            on.service.tokens._until = 0.0  # noqa: SLF001 - a second later
            assert (await on.ask("GET", "/api/v1/status", token=None, headers=cookie)).status == 401

    run(main())


def test_a_session_ends_though_another_token_has_the_name_of_its_own(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(settings_in(tmp_path)) as on:
            cookie = {"cookie": await logged_in(on)}
            on.store.service.revoke_token("admin")
            add_token(on.store.service, "admin", Access.READ, 0)
            on.service.tokens._until = 0.0  # noqa: SLF001 - a second later
            assert (await on.ask("GET", "/api/v1/status", token=None, headers=cookie)).status == 401

    run(main())


def test_guessing_is_slowed_down(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(settings_in(tmp_path)) as on:
            statuses = [
                (
                    await on.ask(
                        "POST", "/login", token=None, headers=FORM, raw=b"token=rcrl_guess"
                    )
                ).status
                for _ in range(MAX_FAILURES + 5)
            ]
            assert statuses == [401] * MAX_FAILURES + [429] * 5
            right = f"token={on.tokens['admin']}".encode()
            late = await on.ask("POST", "/login", token=None, headers=FORM, raw=right)
            assert late.status == 429
            assert int(late.headers["retry-after"]) > 0
            for _ in range(MAX_WRONG_TOKENS):
                on.service.wrong_tokens.note("127.0.0.1")
            assert (await on.ask("GET", "/api/v1/status", token="rcrl_guess")).status == 429  # noqa: S106
            # Whoever has a token does not wait for those who have none.
            assert (await on.ask("GET", "/api/v1/status")).status == 200

    run(main())


def test_what_is_too_large_is_refused(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(settings_in(tmp_path)) as on:
            large = {"content-length": str(MAX_BYTES + 1)}
            assert (await on.ask("POST", "/api/v1/pages", headers=large)).status == 413
            # Without a length, as in chunks.
            sent = await on.ask("POST", "/login", token=None, headers=FORM, raw=b"token=" * 9_999)
            assert sent.status == 413
            odd = await on.ask("POST", "/api/v1/pages", headers={"content-length": "-5"})
            assert odd.status == 413

    run(main())


def test_hostile_text_is_json_and_nothing_else(tmp_path: Path) -> None:
    async def main() -> None:
        settings = settings_in(tmp_path, host_delay="0s", budget="100/s")
        async with served(settings, ["https://a.example/%3Cscript%3E"]) as on:
            await asyncio.sleep(1.0)
            lease = await on.api("POST", "/leases", {})
            report = {"page": 0, "status": 500, "error": HOSTILE, "url": "https://b.example/"}
            report |= {"etag": HOSTILE, "content_type": HOSTILE}
            await on.api("POST", "/reports", {"lease": lease["lease"], "reports": [report]})
            asked: list[tuple[str, dict[str, Any]]] = [
                ("/api/v1/page", {"url": "https://a.example/%3Cscript%3E"}),
                ("/api/v1/pages", {"text": "<script>"}),
                ("/api/v1/page", {"url": HOSTILE}),
                ("/api/v1/pages", {"order": HOSTILE}),
                ("/metrics", {}),
                (f"/api/v1/{HOSTILE}", {}),
            ]
            for path, query in asked:
                answered = await on.ask("GET", path, **query)
                assert "html" not in answered.headers["content-type"]
                assert answered.headers["x-content-type-options"] == "nosniff"
                assert b"\x1b" not in answered.body
                assert "default-src 'none'" in answered.headers["content-security-policy"]
            form = await on.ask("GET", "/login", token=None, code=HOSTILE)
            assert b"<script>" not in form.body

    run(main())


def test_a_token_may_be_a_password(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(settings_in(tmp_path), ["https://a.example/"]) as on:

            def sent(text: str, **more: str) -> dict[str, str]:
                return {"authorization": f"Basic {b64encode(text.encode()).decode()}"} | more

            async def recheck(headers: dict[str, str]) -> int:
                path, page = "/api/v1/page/recheck", "https://a.example/"
                asked = await on.ask("POST", path, token=None, headers=headers, url=page)
                return asked.status

            token = on.tokens["crawl"]
            assert await recheck(sent(f"anybody:{token}")) == 200
            assert await recheck(sent(f":{token}", origin="http://127.0.0.1:8321")) == 200
            # A browser that was once told a password sends it along.
            assert await recheck(sent(f":{token}", origin="https://evil.example")) == 403
            assert await recheck(sent(f":{token}", **{"sec-fetch-site": "cross-site"})) == 403
            assert await recheck(sent(f":{on.tokens['read']}")) == 403
            for wrong in (sent(token), sent("a:b"), {"authorization": "Basic \u00e9"}):
                assert await recheck(wrong) == 401
            for wrong_kind in ("Digest", "basic", "Basic ", "Basic =", "Bearer"):
                assert await recheck({"authorization": f"{wrong_kind} x"}) == 401

    run(main())


@pytest.mark.parametrize(
    ("raw", "headers", "sentence"),
    [
        (
            b'{"limit": 1}',
            {},
            "the body is not marked as JSON; send Content-Type: application/json",
        ),
        (
            b'{"limit": 1}',
            FORM,
            "the body is not marked as JSON; send Content-Type: application/json",
        ),
        (
            b'{"limit": 1',
            {"content-type": "application/json"},
            "the body is not JSON: Expecting ',' delimiter, at character 11",
        ),
        (
            b"[" * 100_000,
            {"content-type": "application/json"},
            "the body cannot be parsed: it is not text in UTF-8, or nested too deeply",
        ),
        (
            b"[1]",
            {"content-type": "application/json; charset=utf-8"},
            "the body is not a JSON object, as in {…}",
        ),
    ],
)
def test_a_body_that_is_no_json_is_refused_in_our_words(
    tmp_path: Path, raw: bytes, headers: dict[str, str], sentence: str
) -> None:
    async def main() -> None:
        async with served(settings_in(tmp_path)) as on:
            answered = await on.ask("POST", "/api/v1/leases", raw=raw, headers=headers)
            assert answered.status in (400, 422)
            assert answered.json["detail"] == sentence

    run(main())


def test_what_is_not_there_is_said_in_a_sentence(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(settings_in(tmp_path)) as on:
            nowhere = await on.ask("GET", "/api/v1/nope")
            assert nowhere.json["detail"] == (
                "there is nothing at /api/v1/nope; /docs describes the API"
            )
            wrong = await on.ask("PUT", "/api/v1/leases")
            assert wrong.json["detail"] == "this path does not accept PUT, only GET, POST"
            assert wrong.headers["allow"] == "GET, POST"
            empty = await on.ask("POST", "/api/v1/reports")
            assert empty.json["detail"] == (
                "the request has no body; send a JSON object with Content-Type: application/json"
            )
            # All that a lease may say has a default.
            assert (await on.ask("POST", "/api/v1/leases")).status == 200

    run(main())
