"""Redirects to hosts whose pace another process keeps; here the other process is a fetcher, too."""

import asyncio
from dataclasses import dataclass

import pytest
from scripted_web import Web, answer, fetcher, redirect

from recrawl.http.access import Access
from recrawl.http.fetch import Fetcher
from recrawl.records import Response

OTHER = "other.test"


@dataclass
class Neighbour:
    """Has the requests to one host made by another fetcher."""

    fetcher: Fetcher
    asked: int = 0

    async def request(self, url: str, max_bytes: int, *, is_robots: bool, pack: bool) -> Response:
        self.asked += 1
        return await self.fetcher.fetch_hop(url, max_bytes, is_robots=is_robots, pack=pack)


def visit(
    scripts: dict[str, bytes], *, is_alone: bool = False
) -> tuple[Response, Web, Neighbour, Fetcher]:
    """Fetch a page that is redirected to another host; ``PORT`` in scripts is the server's."""

    async def main() -> tuple[Response, Web, Neighbour, Fetcher]:
        web = Web()
        async with web, fetcher() as other, fetcher() as one:
            port = str(web.port).encode()
            web.scripts |= {path: script.replace(b"PORT", port) for path, script in scripts.items()}
            neighbour = Neighbour(other)
            one.elsewhere = None if is_alone else neighbour
            secret = Access({"Authorization": "Basic secret"}, ())
            one.access = other.access = lambda _url: secret
            return await one.fetch(web.page("/a", "one.test")), web, neighbour, one

    return asyncio.run(main())


def there(path: str) -> bytes:
    return redirect(f"http://{OTHER}:PORT{path}")


def test_a_redirect_is_followed_by_whoever_keeps_the_pace_of_the_host() -> None:
    got, web, neighbour, one = visit({"/a": there("/b"), "/b": answer("<p>hello")})
    assert (got.error, got.body, got.requests) == (None, b"<p>hello", 2)
    assert got.url == f"http://{OTHER}:{web.port}/b"
    assert neighbour.asked == 1
    # Each has read the rules of its own host, and no other.
    assert one.robots.requests == neighbour.fetcher.robots.requests == 1
    assert one.gate.pacing.opens_at(f"{OTHER}:{web.port}") == -float("inf")


def test_it_leads_back_and_on() -> None:
    back = redirect("http://one.test:PORT/c")
    got, web, neighbour, _ = visit({"/a": there("/b"), "/b": back, "/c": answer("here")})
    assert (got.body, got.requests, neighbour.asked) == (b"here", 3, 1)
    assert web.targets().count("/b") == 1


def test_what_is_meant_for_the_first_host_is_not_sent_to_another() -> None:
    _, web, _, _ = visit({"/a": there("/b"), "/b": answer()})
    sent = {one.target: "authorization" in one.headers for one in web.log}
    assert sent["/a"]
    assert not sent["/b"]


@pytest.mark.parametrize(
    ("scripts", "error", "requests"),
    [
        ({"/robots.txt": answer("User-agent: *\nDisallow: /x")}, "disallowed by robots.txt", 1),
        ({"/x": answer("", "500 Oh No")}, "the server answered 500", 2),
        ({"/x": redirect("")}, None, 2),
        (
            {"/x": answer("", "429 Too Many Requests", [("Retry-After", "7")])},
            "the server answered 429",
            2,
        ),
    ],
    ids=["refused", "failed", "a redirect to itself", "too many"],
)
def test_what_goes_wrong_elsewhere_goes_wrong_here(
    scripts: dict[str, bytes], error: str | None, requests: int
) -> None:
    got, _, _, _ = visit({"/a": there("/x"), **scripts})
    assert got.error is not None
    assert error is None or got.error == error
    assert got.requests == requests
    assert not got.postponed
    alone, _, _, _ = visit({"/a": there("/x"), **scripts}, is_alone=True)
    assert (got.error, got.requests, got.transferred) == (
        alone.error,
        alone.requests,
        alone.transferred,
    )
    assert (got.status, got.retry_after, got.permanent) == (
        alone.status,
        alone.retry_after,
        alone.permanent,
    )
