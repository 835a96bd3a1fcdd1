"""WebSub: a real hub, a real site and a real crawl; and what somebody else may try."""

import hmac
import itertools
import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from acceptance import program
from crawler.fakes import ParsedHere, VirtualExecutor
from ports import free_port
from service.hub_server import Hub, asked, hub_serving
from site_server import Site, page_about, serving
from virtual_time import clock, run

from recrawl.records import Response
from recrawl.service.problems import ProblemError
from recrawl.service.push import websub
from recrawl.service.push.websub import WebSub, is_signed
from recrawl.service.store_reader import StoreReader
from recrawl.store.sqlite import SqliteStore
from recrawl.store.subscriptions import Subscription

#: Hubs are asked at once, and messages are not held to be too many.
QUICK = (
    "import recrawl.service.push.websub as websub; websub.ROUND = 0.1; websub.FIRST_BACKOFF = 0.2;"
)


def feed(*entries: tuple[str, str], hub: str = "") -> str:
    link = f'<link rel="hub" href="{hub}"/>' if hub else ""
    rows = "".join(
        f'<entry><link href="{url}"/><updated>{at}</updated></entry>' for url, at in entries
    )
    return f'<feed xmlns="http://www.w3.org/2005/Atom">{link}{rows}</feed>'


def now() -> str:
    return datetime.now(UTC).isoformat()


def waited_for(done: Callable[[], object]) -> None:
    end = time.monotonic() + program.HANGS
    while not done():
        assert time.monotonic() < end
        time.sleep(0.02)


class Crawl:
    """A crawl that serves, and what it knows."""

    def __init__(self, url: str, token: str, store: Path) -> None:
        self.url = url
        self.token = token
        self.store = store

    def read(self, path: str) -> bytes:
        return asked(self.url + path, Authorization=f"Bearer {self.token}")[1]

    def metric(self, name: str) -> float:
        text = self.read("/metrics").decode()
        found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
        assert found is not None, text
        return float(found[1])

    def subscriptions(self) -> list[Subscription]:
        with SqliteStore.open(self.store) as opened:
            return opened.subscriptions.all()

    def knows(self, url: str) -> bool:
        with SqliteStore.open(self.store) as opened:
            return opened.page(url) is not None


@contextmanager
def crawling(store: Path, port: int, **settings: str) -> Iterator[Crawl]:
    address = f"127.0.0.1:{port}"
    usual = {"allow_private": "true", "budget": "100/s", "host_delay": "0s", "spend": "worth"}
    usual |= {"listen": address, "public_url": f"http://{address}/"}
    usual |= {"contact": "https://example.org/bot", "min_interval": "1d"}
    command = ("run", "--serve", "--store", str(store), "--format", "json")
    with SqliteStore.open(store) as opened:
        for token in opened.service.tokens():
            opened.service.revoke_token(token.name)
    with program.start(*command, settings=usual | settings, before=QUICK) as process:
        try:
            assert process.stdout is not None
            shown = "".join(process.stdout.readline() for _ in range(2))
            made = re.search(r"rcrl_\S+", shown)
            assert made is not None, shown
            yield Crawl(f"http://{address}", made[0], store)
        finally:
            process.terminate()
            _, errors = process.communicate(timeout=program.HANGS)
    assert process.returncode == 0, errors
    program.check(store)


@contextmanager
def site_and_hub(folder: Path, hub_path: str = "") -> Iterator[tuple[Site, Hub, Path]]:
    """Serve a site with two pages and a feed, which names a hub; and add them to a store."""
    site, hub, store = Site({"/1": page_about("One.")}), Hub(), folder / "recrawl.db"
    with serving(site), hub_serving(hub):
        site.pages["/feed"] = feed((f"{site.url}/1", "2020-01-01"), hub=hub.url + hub_path)
        program.add(store, [f"{site.url}/1"])
        with SqliteStore.open(store) as opened:
            opened.sitemaps.add(f"{site.url}/feed")
        yield site, hub, store


def test_a_message_on_which_parsing_fails_does_not_end_the_service(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    url = "https://a.example/feed"

    class BrokenPool:
        async def run(self, *_args: Any, **_kwargs: Any) -> Any:  # noqa: ANN401
            raise ZeroDivisionError

    async def main() -> None:
        with SqliteStore.open(tmp_path / "recrawl.db", create=True) as store:
            store.sitemaps.add(url)
            nobody: Any = None
            reader = StoreReader(store, VirtualExecutor({}))
            listening = WebSub(nobody, nobody, reader, BrokenPool(), clock(), "https://me.example/")
            body = feed(hub="https://hub.example/").encode()
            listening.note_feed(url, Response(url, 200, 0, body=body))
            (known,) = listening._by_feed.values()  # noqa: SLF001 - the hub knows it
            signature = f"sha256={hmac.digest(known.secret.encode(), body, 'sha256').hex()}"
            await listening.receive(known.callback, signature, body)
            assert listening.messages[websub.UNREADABLE] == 1
            assert "ZeroDivisionError" in caplog.text

    run(main())


def test_a_feed_that_was_removed_is_not_listened_to_any_more(tmp_path: Path) -> None:
    url, said = "https://a.example/feed", list[str]()

    class Noted:
        async def take(self, modified: dict[str, int], _now: int, *, add: bool = True) -> None:
            said.extend(modified if add else ())

    async def main() -> None:
        with SqliteStore.open(tmp_path / "recrawl.db", create=True) as store:
            store.sitemaps.add(url)
            pushes: Any = Noted()
            nobody: Any = None
            reader = StoreReader(store, VirtualExecutor({}))
            listening = WebSub(pushes, nobody, reader, ParsedHere(), clock(), "https://me.example/")
            body = feed(("https://a.example/new", now()), hub="https://hub.example/").encode()
            listening.note_feed(url, Response(url, 200, 0, body=body))
            (known,) = listening._by_feed.values()  # noqa: SLF001 - the hub knows it
            signature = f"sha256={hmac.digest(known.secret.encode(), body, 'sha256').hex()}"
            listening.admit(known.callback)
            await listening.receive(known.callback, signature, body)
            assert said == ["https://a.example/new"]
            store.sitemaps.remove([url])
            await listening.receive(known.callback, signature, body)
            assert said == ["https://a.example/new"]
            with pytest.raises(ProblemError, match="no longer exists"):
                listening.admit(known.callback)

    run(main())


def test_a_hub_says_what_has_changed(tmp_path: Path) -> None:
    with site_and_hub(tmp_path, "old") as (site, hub, store):
        port = free_port()
        with crawling(store, port) as crawl:
            waited_for(lambda: hub.confirmed)
            assert hub.confirmed == [(200, b"9f3c0d")]
            assert hub.newest["hub.mode"] == "subscribe"
            assert hub.newest["hub.topic"] == f"{site.url}/feed"
            assert hub.newest["hub.callback"].startswith(f"http://127.0.0.1:{port}/websub/")
            assert len(hub.newest["hub.secret"]) >= 32
            waited_for(lambda: crawl.subscriptions()[0].lease_until)
            waited_for(lambda: crawl.metric('recrawl_visits_total{outcome="first"}') >= 1)
            time.sleep(0.01)
            news = feed(
                (f"{site.url}/1", now()),
                (f"{site.url}/2", now()),
                ("http://127.0.0.9/3", now()),
            ).encode()
            # Nobody else can say so...
            assert hub.send(news, secret="a guess") == 204  # noqa: S106
            assert asked(hub.newest["hub.callback"], news)[0] == 204
            assert crawl.metric('recrawl_websub_messages_total{became="forged"}') == 2
            assert not crawl.knows(f"{site.url}/2")
            # ...and what the hub says is used, of the feed's own site.
            assert hub.send(news, "sha1") == 204
            waited_for(lambda: crawl.knows(f"{site.url}/2"))
            assert not crawl.knows("http://127.0.0.9/3")
            assert crawl.metric('recrawl_pushed_pages_total{became="signalled"}') == 1
            assert hub.send(news) == 204
            # It is no news a second time.
            assert crawl.metric('recrawl_pushed_pages_total{became="signalled"}') == 1
            assert hub.send(b"<broken") == 204
            (listed,) = json.loads(crawl.read("/api/v1/sitemaps"))["sitemaps"]
            assert listed["hub"]["url"] == f"{hub.url}old"
            assert listed["hub"]["until"] is not None
            assert b"a hub announces changes" in crawl.read("/hosts")
        (known,) = crawl.subscriptions()
        assert known.received_at is not None
        assert known.error is None
        # After a restart the same subscription goes on: the hub is not asked again.
        hub.wanted, before = [], hub.newest
        with crawling(store, port) as crawl:
            time.sleep(0.5)
            assert hub.wanted == []
            hub.wanted = [before]
            assert hub.send(feed((f"{site.url}/4", now())).encode(), "sha512") == 204
            waited_for(lambda: crawl.knows(f"{site.url}/4"))


def test_leases_are_renewed_and_failures_tried_again(tmp_path: Path) -> None:
    before = QUICK.replace("0.2;", "0.2; websub.MIN_LEASE = 1;")
    with site_and_hub(tmp_path) as (_, hub, store):
        hub.statuses, hub.lease = [500, 404], 1
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(globals(), "QUICK", before)
            with crawling(store, free_port()) as crawl:
                # Refused twice, then confirmed, then renewed with the same callback and secret.
                waited_for(lambda: len(hub.wanted) >= 5)
                assert len({tuple(sorted(one.items())) for one in hub.wanted}) == 1
                waited_for(lambda: crawl.subscriptions()[0].error is None)


def test_a_hub_is_told_nothing_that_was_not_asked_for(tmp_path: Path) -> None:
    with site_and_hub(tmp_path) as (site, hub, store):
        hub.confirms = False
        with crawling(store, free_port()) as crawl:
            waited_for(lambda: hub.wanted)
            form = hub.newest
            other = {"hub.callback": f"{crawl.url}/websub/guessed"}
            assert hub.confirm(form | other)[0] == 404
            assert hub.confirm(form, topic=f"{site.url}/other")[0] == 404
            assert hub.confirm(form, mode="unsubscribe")[0] == 404
            assert hub.confirm(form, challenge="x" * 2_000)[0] == 404
            assert hub.confirm(form, lease_seconds="soon")[0] == 422
            assert asked(other["hub.callback"], b"news")[0] == 410
            assert crawl.subscriptions()[0].lease_until is None
            assert hub.confirm(form, mode="denied")[0] == 200
            waited_for(lambda: "denied" in (crawl.subscriptions()[0].error or ""))
            markup = "<script>alert(1)</script>"
            status, body = hub.confirm(form, challenge=markup)
            assert (status, body.decode()) == (200, markup)


def test_without_a_public_url_no_hub_is_asked(tmp_path: Path) -> None:
    with site_and_hub(tmp_path) as (site, hub, store):
        with crawling(store, free_port(), public_url="") as crawl:
            waited_for(lambda: site.asked("/feed"))
            time.sleep(0.5)
            assert asked(f"{crawl.url}/websub/x", b"news")[0] == 401
        assert hub.wanted == []


def test_a_hub_that_sends_too_much_has_to_wait(tmp_path: Path) -> None:
    with site_and_hub(tmp_path) as (_, hub, store), crawling(store, free_port()):
        waited_for(lambda: hub.confirmed)
        # The more slowly they come, the more of them are taken.
        sent = (hub.send(b"", secret="wrong") for _ in range(10 * websub.MESSAGES))  # noqa: S106
        found = list(itertools.takewhile(lambda status: status != 429, sent))
        assert websub.MESSAGES <= len(found) < 10 * websub.MESSAGES


@pytest.mark.parametrize(
    "signature", ["", "sha256=", "sha256", "md5=5d41402abc4b2a76b9719d911017c592", "=", "sha256=é"]
)
def test_no_other_signature_will_do(signature: str) -> None:
    assert not is_signed(b"hello", "secret", signature)


def test_signatures_are_those_of_the_specification() -> None:
    # Computed with OpenSSL: printf hello | openssl dgst -sha1 -hmac secret
    known = {
        "sha1": "5112055c05f944f85755efc5cd8970e194e9f45b",
        "sha256": "88aab3ede8d3adf94d26ab90d3bafd4a2083070c3bcce9c014ee04a443847c0b",
    }
    for method, digest in known.items():
        assert is_signed(b"hello", "secret", f"{method}={digest}")
        assert is_signed(b"hello", "secret", f" {method.upper()}={digest.upper()}")
        assert not is_signed(b"hello!", "secret", f"{method}={digest}")
