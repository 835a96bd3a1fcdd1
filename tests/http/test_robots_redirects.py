"""Redirects of a robots.txt: followed as RFC 9309 asks, and no further."""

import asyncio
from dataclasses import dataclass, replace
from itertools import pairwise

import pytest
from scripted_web import PATIENT, Web, answer, fetcher, redirect

from recrawl.http.fetch import Fetcher
from recrawl.records import Response

OTHER = "other.test"


@dataclass
class Neighbour:
    """Has the requests to one host made by another fetcher, as by another process."""

    fetcher: Fetcher

    async def request(self, url: str, max_bytes: int, *, is_robots: bool, pack: bool) -> Response:
        return await self.fetcher.fetch_hop(url, max_bytes, is_robots=is_robots, pack=pack)


@pytest.mark.parametrize("is_elsewhere", [False, True])
@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("/secret/r", "redirected to a page that robots.txt of other.test:PORT disallows"),
        ("/open/r", None),
        ("/robots.txt", "disallowed by robots.txt"),
    ],
)
def test_a_robots_txt_is_not_read_where_another_host_disallows_it(
    path: str, problem: str | None, is_elsewhere: bool
) -> None:
    rules = answer("User-agent: *\nDisallow: /secret\nDisallow: /a")
    web = Web({f"{OTHER}/robots.txt": rules, "/secret/r": answer(""), "/open/r": answer("")})
    web.scripts["/a"] = answer()

    async def main() -> Response:
        async with web, fetcher() as other, fetcher() as made:
            made.elsewhere = Neighbour(other) if is_elsewhere else None
            web.scripts["one.test/robots.txt"] = redirect(f"http://{OTHER}:{web.port}{path}")
            return await made.fetch(web.page("/a", "one.test"))

    got = asyncio.run(main())
    assert (got.error is None) == (problem is None)
    assert (problem or "").replace("PORT", str(web.port)) in (got.error or "")
    assert "/secret/r" not in web.targets()


def test_what_its_own_host_disallows_may_be_a_robots_txt() -> None:
    """The rules are not known before they have been read."""
    rules = answer("User-agent: *\nDisallow: /rules")
    web = Web({"/robots.txt": redirect("/rules"), "/rules": rules, "/a": answer()})

    async def main() -> Response:
        async with web, fetcher() as made:
            return await made.fetch(web.page("/a"))

    assert asyncio.run(main()).error is None
    assert web.targets() == ["/rules", "/a"]


@pytest.mark.parametrize(("redirects", "is_read"), [(5, True), (6, False)])
@pytest.mark.parametrize("max_redirects", [0, 20])
def test_five_redirects_are_followed_to_a_robots_txt(
    redirects: int, is_read: bool, max_redirects: int
) -> None:
    paths = ["/robots.txt", *(f"/{n}" for n in range(redirects))]
    web = Web({here: redirect(there) for here, there in pairwise(paths)})
    web.scripts |= {paths[-1]: answer("User-agent: *\nDisallow: /"), "/a": answer()}

    async def main() -> Response:
        async with web, fetcher(limits=replace(PATIENT, max_redirects=max_redirects)) as made:
            return await made.fetch(web.page("/a"))

    assert (asyncio.run(main()).error == "disallowed by robots.txt") is is_read
