"""Hundreds of ways to spell or to reach a private address: none gets there, and all would."""

import asyncio
import itertools
import random
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import pytest
from scripted_web import PATIENT, Names, Script, Web, address_info, answer, fetcher

from recrawl.errors import AddressError
from recrawl.hosts import host_of
from recrawl.http.connector import AddressInfo
from recrawl.http.fetch import Fetcher
from recrawl.records import Page, Response
from recrawl.urls import canonical

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="127.0.0.2 is another host")

#: Pages of our own server are public for these tests; what is at the other address is not.
PUBLIC, SECRET = "127.0.0.1", "127.0.0.2"
#: At least this many of the tricks on each route work where nothing is refused.
MIN_CONTROL = 100


def numbers(value: int) -> list[str]:
    """Spell a number as C programs read it."""
    return [str(value), hex(value), hex(value).upper().replace("X", "x"), f"0{value:o}"]


def numeric() -> Iterator[str]:
    """Spell the secret address in one to four parts, each in another base."""
    a, b, c, d = map(int, SECRET.split("."))
    for parts in ([a, b, c, d], [a, b, c * 256 + d], [a, (b * 256 + c) * 256 + d]):
        yield from (".".join(spelt) for spelt in itertools.product(*map(numbers, parts)))
    yield from numbers(((a * 256 + b) * 256 + c) * 256 + d)
    yield from ("0127.0.0.2", "127.0.0.002", "0x000000007f.0.0.2", "00000000177.0.0.2")


def in_other_letters() -> Iterator[str]:
    """Spell it with other digits, other dots and escapes."""
    digits = {
        "fullwidth": {str(n): chr(0xFF10 + n) for n in range(10)},
        "bold": {str(n): chr(0x1D7CE + n) for n in range(10)},
        "circled": {"0": "⓪"} | {str(n): chr(0x2460 + n - 1) for n in range(1, 10)},
        "superscript": {"0": "⁰", "1": "¹", "2": "²", "7": "⁷"},
        "escaped": {str(n): f"%3{n}" for n in range(10)},
    }
    dots = [".", "。", "．", "｡", "%2e", "%E3%80%82"]
    for letters, dot in itertools.product(digits.values(), dots):
        yield "".join(letters.get(char, dot if char == "." else char) for char in SECRET)
    yield from (SECRET.replace(".", dot) for dot in ("。", "．", "｡", "%2e"))
    yield from (f"{SECRET}.", f"{SECRET}%00.example.org", f"example.org%00.{SECRET}")


def with_others() -> Iterator[str]:
    """Hide it behind a name, or a name behind it."""
    for name in ("example.org", "example.org:80", "a:b"):
        yield from (f"{name}@{SECRET}", f"{name}%40{SECRET}", f"{name}\\@{SECRET}")
        yield from (f"{name}@@{SECRET}", f"{name}#@{SECRET}", f"{name}?@{SECRET}")
    yield from ("secret.test", "SECRET.test", "secret.test.", "ＳＥＣＲＥＴ.test", "s%65cret.test")


def in_v6() -> Iterator[str]:
    """Put it into an IPv6 address, or name another that is not public."""
    embedded = ("::ffff:127.0.0.2", "::ffff:7f00:2", "::127.0.0.2", "64:ff9b::127.0.0.2")
    others = ("::1", "::", "0:0:0:0:0:0:0:1", "0000::0001", "fe80::1%25lo", "fc00::1")
    mixed = ("::FFFF:7F00:0002", "2002:7f00:2::1", "0::0.0.0.1")
    yield from (f"[{one}]" for one in (*embedded, *others, *mixed))


V4 = [*numeric(), *in_other_letters(), *with_others()]
ALL = [*V4, *in_v6()]


class Spelt(Names):
    """A resolver that reads spelt addresses, as that of the system does."""

    async def resolve(self, host: str, port: int) -> list[AddressInfo]:
        if host.lower().rstrip(".") == "secret.test":
            return [address_info(SECRET, port)]
        with suppress(OSError):
            found = socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM, 0, 4)
            return [address_info(str(found[0][4][0]), port)]
        return await super().resolve(host, port)


class Secret:
    """Counts who gets to the secret address."""

    def __init__(self) -> None:
        self.reached = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            self.reached += 1
            writer.write(answer("secret"))
            await writer.drain()
        writer.close()


@asynccontextmanager
async def public_and_secret(
    scripts: dict[str, Script] | None = None,
) -> AsyncIterator[tuple[Web, Secret]]:
    """Serve both addresses on one port, which is rarely free at one of them only."""
    async with AsyncExitStack() as opened:
        secret = Secret()
        while True:
            web = await opened.enter_async_context(Web(scripts))
            with suppress(OSError):
                server = await asyncio.start_server(secret.serve, SECRET, web.port)
                await opened.enter_async_context(server)
                break
        yield web, secret


Route = Callable[[Fetcher, Web, str], Awaitable[Response | None]]


def moved(where: str) -> bytes:
    """Return a redirect as servers send them, whatever the letters."""
    head = f"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: {where}\r\n\r\n"
    return head.encode()


async def directly(made: Fetcher, web: Web, host: str) -> Response | None:
    """Ask for a page there, and for its robots.txt before."""
    with suppress(AddressError):
        url = canonical(f"http://{host}:{web.port}/a")
        return await made.fetch(Page(0, url, host_of(url)))
    return None


async def as_a_sitemap(made: Fetcher, web: Web, host: str) -> Response | None:
    with suppress(AddressError):
        return await made.fetch_file(canonical(f"http://{host}:{web.port}/sitemap.xml"), 1_000)
    return None


async def by_a_redirect(made: Fetcher, web: Web, host: str) -> Response | None:
    web.scripts["/a"] = moved(f"http://{host}:{web.port}/secret")
    return await made.fetch(web.page("/a", "good.test"))


async def by_a_robots_txt_that_moved(made: Fetcher, web: Web, host: str) -> Response | None:
    name = f"r{len(web.log)}.test"
    web.scripts[f"{name}/robots.txt"] = moved(f"//{host}:{web.port}/robots.txt")
    return await made.fetch(web.page("/a", name))


ROUTES = {
    "directly": directly,
    "as a sitemap": as_a_sitemap,
    "by a redirect": by_a_redirect,
    "by a robots.txt that moved": by_a_robots_txt_that_moved,
}


def attempts(route: Route, hosts: list[str], *, allow: bool) -> int:
    """Try to reach the secret address; return how often that was possible."""

    async def main() -> int:
        def allowed(address: str) -> bool:
            return allow or address == PUBLIC

        async with (
            public_and_secret() as (web, secret),
            fetcher(limits=PATIENT, names=Spelt(), allowed=allowed) as made,
        ):
            for host in hosts:
                got = await route(made, web, host)
                assert allow or got is None or b"secret" not in (got.body or b"")
        return secret.reached

    return asyncio.run(main())


@pytest.mark.parametrize("route", ROUTES.values(), ids=ROUTES)
def test_no_spelling_reaches_a_private_address(route: Route) -> None:
    assert attempts(route, ALL, allow=False) == 0


@pytest.mark.parametrize("route", ROUTES.values(), ids=ROUTES)
def test_the_same_spellings_reach_it_where_that_is_allowed(route: Route) -> None:
    assert attempts(route, V4, allow=True) > MIN_CONTROL


@pytest.mark.parametrize("allow", [False, True])
def test_names_that_change_their_address_do_not_reach_a_private_one(allow: bool) -> None:
    rng = random.Random(7)  # noqa: S311 - made-up answers
    known = {}
    for number in range(100):
        answers = [[rng.choice([PUBLIC, SECRET]) for _ in range(rng.randrange(1, 4))] for _ in "ab"]
        known[f"flip{number}.test"] = [*answers, [SECRET]]

    async def main() -> tuple[int, int]:
        page = answer("fine", headers=[("Connection", "close")])
        async with (
            public_and_secret({"/a": page}) as (web, secret),
            fetcher(names=Names(known), allowed=lambda one: allow or one == PUBLIC) as made,
        ):
            for host in known:
                for _ in range(3):
                    await made.fetch(web.page("/a", host))
                    # As if a minute had passed.
                    made.client.connector._names.clear()  # noqa: SLF001
        return secret.reached, len(web.log)

    reached, fine = asyncio.run(main())
    assert fine > 10
    assert (reached > 100) if allow else (reached == 0)
