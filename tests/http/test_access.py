"""Headers, cookies, logins and proxies of sites: sent to the host they are for, and to no other."""

import asyncio
import logging
from collections.abc import Callable
from itertools import pairwise

import pytest
import scripted_web
from scripted_web import Names, Web, answer, only_loopback_is_public, redirect

from recrawl.errors import ArgumentError, InputError
from recrawl.http.access import NO_ACCESS, Access, Proxy, basic_auth, is_private_name, parse_proxy
from recrawl.http.address_guard import is_public
from recrawl.http.cookies import cookie_header, read_cookies
from recrawl.http.fetch import Fetcher
from recrawl.records import Page, Response

SECRETS = {"Authorization": basic_auth("me:sesame"), "X-Key": "1234", "Accept-Language": "de"}
COOKIES = read_cookies([".a.example\tTRUE\t/\tFALSE\t0\tsession\t5678"], "cookies.txt")


def of_host(name: str, access: Access) -> Callable[[str], Access]:
    return lambda url: access if f"//{name}" in url else NO_ACCESS


def fetcher(
    access: Callable[[str], Access], allowed: Callable[[str], bool] = only_loopback_is_public
) -> Fetcher:
    return scripted_web.fetcher(access=access, allowed=allowed)


class ScriptedClient:
    """Answers any URL, https too, and remembers what it was sent."""

    def __init__(
        self, redirects: dict[str, str], headers: tuple[tuple[str, str], ...] = ()
    ) -> None:
        self._redirects = redirects
        self._headers = headers
        self.sent: dict[str, dict[str, str]] = {}
        self.proxies: dict[str, Proxy | None] = {}

    async def get(
        self,
        url: str,
        headers: dict[str, str],
        max_bytes: int,
        proxy: Proxy | None = None,
        *,
        pack: bool = False,
        pages_only: bool = False,
    ) -> Response:
        del max_bytes, pack, pages_only
        self.sent[url] = headers
        self.proxies[url] = proxy
        if url.endswith("/robots.txt"):
            return Response(url, 404, 0)
        if url in self._redirects:
            return Response(url, 302, 0, (("Location", self._redirects[url]),))
        return Response(url, 200, 0, self._headers, b"page")

    async def close(self) -> None:
        """Do nothing."""


def sent_to(
    start: str, redirects: dict[str, str], access: Callable[[str], Access]
) -> dict[str, dict[str, str]]:
    """Fetch a page by way of redirects; return the headers that each URL was sent."""
    client = ScriptedClient(redirects)

    async def main() -> None:
        async with fetcher(access) as made:
            await made.client.close()
            made.client = client  # type: ignore[assignment]
            host = start.partition("//")[2].partition("/")[0]
            response = await made.fetch(Page(0, start, host))
            assert response.error is None

    asyncio.run(main())
    return client.sent


MINE = of_host("a.example", Access(SECRETS, COOKIES))
ALL = {*SECRETS, "Cookie"}


def test_headers_cookies_and_login_are_sent_to_their_host_and_its_robots_txt() -> None:
    sent = sent_to("https://a.example/1", {}, MINE)
    assert sent["https://a.example/1"] == {**SECRETS, "Cookie": "session=5678"}
    assert set(sent["https://a.example/robots.txt"]) == ALL
    assert sent_to("https://b.example/1", {}, MINE)["https://b.example/1"] == {}


def test_a_redirect_on_the_same_host_or_to_https_keeps_them() -> None:
    path = ["http://a.example/1", "http://a.example/2", "https://a.example/3"]
    sent = sent_to(path[0], dict(pairwise(path)), MINE)
    assert [set(sent[url]) for url in path] == [ALL, ALL, ALL]


@pytest.mark.parametrize(
    "target",
    [
        "https://b.example/",
        "https://a.example.b.example/",
        "https://a.example:8443/",
        "https://xa.example/",
        "https://sub.a.example/",
        "http://a.example/",
        "http://b.example/",
    ],
)
def test_a_redirect_to_another_host_or_from_https_to_http_drops_all_secrets(target: str) -> None:
    # The settings would apply to the target too: what counts is where the page is.
    sent = sent_to("https://a.example/1", {"https://a.example/1": target}, lambda _: _access())
    assert set(sent["https://a.example/1"]) == ALL
    assert sent[target] == {}


def _access() -> Access:
    return Access(SECRETS, COOKIES)


def test_secrets_do_not_come_back_after_a_detour() -> None:
    path = ["https://a.example/1", "http://a.example/2", "https://a.example/3"]
    sent = sent_to(path[0], dict(pairwise(path)), MINE)
    assert [set(sent[url]) for url in path] == [ALL, set(), set()]


def test_a_stranger_cannot_borrow_the_login_of_another_site() -> None:
    sent = sent_to("https://b.example/", {"https://b.example/": "https://a.example/1"}, MINE)
    assert sent["https://a.example/1"] == {}


def test_session_cookies_of_a_response_are_not_kept_for_exports() -> None:
    kept = (("Set-Cookie", "session=9"), ("ETag", '"1"'))
    found = {}

    async def main() -> None:
        async with fetcher(MINE) as made:
            await made.client.close()
            made.client = ScriptedClient({}, kept)  # type: ignore[assignment]
            for host in ("a.example", "b.example"):
                found[host] = (await made.fetch(Page(0, f"https://{host}/", host))).headers

    asyncio.run(main())
    assert found == {"a.example": kept[1:], "b.example": kept}


def test_secrets_stay_out_of_logs_and_of_what_is_printed(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    access = Access(SECRETS, COOKIES, Proxy("http://proxy.example:1", "me", "sesame"))
    web = Web({"/a": answer()})

    async def main() -> str:
        async with web, fetcher(lambda _: access) as made:
            failed = await made.fetch(web.page("/a"))
        async with web, fetcher(lambda _: Access(SECRETS)) as made:
            got = await made.fetch(web.page("/a"))
        assert got.body == b"hello"
        assert web.log[-1].headers["x-key"] == "1234"
        return repr((failed, got, access, COOKIES))

    printed = asyncio.run(main()) + caplog.text
    for secret in ("sesame", "1234", "5678", SECRETS["Authorization"]):
        assert secret not in printed


# Proxies


def test_a_proxy_makes_the_request_and_robots_txt_goes_by_it_too() -> None:
    proxy = Web({"http://far.example/a": answer("from afar")})
    names = []

    async def main() -> Response:
        async with proxy:
            by = Access(proxy=Proxy(f"http://proxy.test:{proxy.port}", "me", "sesame"))
            async with fetcher(lambda _: by) as made:
                response = await made.fetch(Page(0, "http://far.example/a", "far.example"))
                names.extend(made.client.connector._resolver.lookups)  # type: ignore[attr-defined]  # noqa: SLF001
                return response

    got = asyncio.run(main())
    assert (got.error, got.body) == (None, b"from afar")
    targets = [request.target for request in proxy.log]
    assert targets == ["http://far.example/robots.txt", "http://far.example/a"]
    assert {one.headers["proxy-authorization"] for one in proxy.log} == {basic_auth("me:sesame")}
    assert set(names) == {"proxy.test"}, "the proxy resolves the names of pages"


def error_by(
    proxy: str, url: str = "http://far.example/a", allowed: Callable[[str], bool] = is_public
) -> str | None:
    async def main() -> Response:
        async with fetcher(lambda _: Access(proxy=parse_proxy(proxy)), allowed) as made:
            return await made.fetch(Page(0, url, "far.example"))

    return asyncio.run(main()).error


def test_a_proxy_at_a_private_address_is_refused() -> None:
    error = error_by("http://me:sesame@127.0.0.1:9")
    assert error == "the proxy's address 127.0.0.1 is private; use --allow-private to use it"


@pytest.mark.parametrize(
    "host", ["10.0.0.1", "127.0.0.1:8080", "[::1]", "[fd00::1]:81", "localhost", "x.localhost"]
)
def test_a_proxy_is_not_asked_for_a_private_address(host: str) -> None:
    assert is_private_name(f"http://{host}/")
    error = error_by("http://127.0.0.1:9", f"http://{host}/", only_loopback_is_public)
    assert error is not None
    assert "is private; use --allow-private" in error


def test_a_proxy_that_does_not_answer_is_named_without_its_login() -> None:
    error = error_by("http://me:sesame@127.0.0.1:1", allowed=only_loopback_is_public)
    assert error == "robots.txt of far.example cannot be read: no connection to the proxy: refused"


def test_a_proxy_whose_name_is_unknown_is_said_to_be_the_proxy() -> None:
    names = Names({"proxy.test": []})
    by = Access(proxy=Proxy("http://proxy.test:1"))

    async def main() -> Response:
        async with scripted_web.fetcher(access=lambda _: by, names=names) as made:
            return await made.fetch_file("http://far.example/a", 100)

    error = asyncio.run(main()).error or ""
    assert error.endswith("no connection to the proxy: unknown host")


def test_a_redirect_by_a_proxy_keeps_the_proxy_of_its_own_url() -> None:
    proxy = Web({"http://a.example/1": redirect("http://b.example/2"), "/2": answer("direct")})

    async def main() -> Response:
        async with proxy:
            by = Access(SECRETS, proxy=Proxy(f"http://proxy.test:{proxy.port}"))
            proxy.scripts["http://a.example/1"] = redirect(f"http://b.test:{proxy.port}/2")
            async with fetcher(of_host("a.example", by)) as made:
                return await made.fetch(Page(0, "http://a.example/1", "a.example"))

    got = asyncio.run(main())
    assert got.body == b"direct"
    assert "authorization" not in proxy.log[-1].headers


@pytest.mark.parametrize(
    ("typed", "url", "user", "password"),
    [
        ("http://proxy.example:3128", "http://proxy.example:3128", "", ""),
        ("https://u%40x:p%3A1@proxy.example", "https://proxy.example", "u@x", "p:1"),
        ("http://[2001:db8::1]:80/", "http://[2001:db8::1]:80", "", ""),
    ],
)
def test_proxies_are_parsed(typed: str, url: str, user: str, password: str) -> None:
    assert parse_proxy(typed) == Proxy(url, user, password)


@pytest.mark.parametrize("typed", ["socks5://me:sesame@p:1", "sesame", "http://", "http://p:x", ""])
def test_what_is_no_proxy_is_refused_and_not_repeated(typed: str) -> None:
    with pytest.raises(ArgumentError, match=r"this is not a proxy URL") as caught:
        parse_proxy(typed)
    assert "sesame" not in str(caught.value)


# Cookies

FILE = """# Netscape HTTP Cookie File
# A comment.

.a.example\tTRUE\t/\tFALSE\t0\tall\t1
a.example\tFALSE\t/\tFALSE\t0\thost\t2
.a.example\tTRUE\t/shop\tFALSE\t0\tshop\t3
#HttpOnly_.a.example\tTRUE\t/\tTRUE\t0\tsecure\t4
.a.example\tTRUE\t/\tFALSE\t1000\told\t5
.b.example\tTRUE\t/\tFALSE\t0\tother\t6
.0.0.1\tTRUE\t/\tFALSE\t0\tnumbers\t7
.a.example\tTRUE\t/\tFALSE\t0\tempty\t
"""


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("https://a.example/", "all=1; host=2; secure=4; empty="),
        ("http://a.example/", "all=1; host=2; empty="),
        ("http://a.example:8080/", "all=1; host=2; empty="),
        ("https://www.a.example/", "all=1; secure=4; empty="),
        ("http://a.example/shop", "shop=3; all=1; host=2; empty="),
        ("http://a.example/shop/1?x=/", "shop=3; all=1; host=2; empty="),
        ("http://a.example/shopping", "all=1; host=2; empty="),
        ("https://xa.example/", ""),
        ("https://a.example.evil.example/", ""),
        ("https://evil.example/a.example/", ""),
        # No address is a subdomain of the numbers it ends in.
        ("http://127.0.0.1:8080/", ""),
    ],
)
def test_cookies_obey_domain_path_expiry_and_secure(url: str, sent: str) -> None:
    cookies = read_cookies(FILE.splitlines(keepends=True), "cookies.txt")
    assert cookie_header(cookies, url, now=2000.0) == sent


@pytest.mark.parametrize(
    "line",
    [
        "a.example\tTRUE\t/\tFALSE\t0",
        "a.example\tmaybe\t/\tFALSE\t0\tname\tsesame",
        "a.example\tTRUE\t/\tFALSE\tsoon\tname\tsesame",
        "a.example\tTRUE\t/\tFALSE\t1e400\tname\tsesame",
        "a.example\tTRUE\tpath\tFALSE\t0\tname\tsesame",
        "\tTRUE\t/\tFALSE\t0\tname\tsesame",
        "a.example\tTRUE\t/\tFALSE\t0\tname\tsesame; other=1",
        "a.example\tTRUE\t/\tFALSE\t0\tname\tsesame\tmore",
        "a.example\tTRUE\t/\tFALSE\t0\tname\tsesam\u00e9",
        "Set-Cookie: sesame",
    ],
)
def test_a_line_that_is_no_cookie_is_named_by_number_only(line: str) -> None:
    with pytest.raises(InputError, match=r"^cookies\.txt, row 2: this is not a cookie") as caught:
        read_cookies(["# comment\n", line], "cookies.txt")
    assert "sesam" not in str(caught.value)


def test_a_tunnel_tells_the_proxy_its_login_and_nothing_of_the_site() -> None:
    proxy = Web({"far.example:443": answer("", "407 Proxy Authentication Required")})

    async def main() -> Response:
        async with proxy:
            by = Proxy(f"http://proxy.test:{proxy.port}", "me", "sesame")
            async with fetcher(lambda _: Access(SECRETS, COOKIES, by)) as made:
                return await made.fetch(Page(0, "https://far.example/a", "far.example"))

    error = asyncio.run(main()).error
    assert error == "robots.txt of far.example cannot be read: the proxy answered 407"
    (request,) = proxy.log
    assert request.headers["proxy-authorization"] == basic_auth("me:sesame")
    assert not {"authorization", "cookie", "x-key"} & set(request.headers)
