"""What robots.txt allows, forbids, and asks for; by RFC 9309."""

import asyncio
import tracemalloc
from collections.abc import Callable
from itertools import pairwise

import pytest
from virtual_time import now as seconds
from virtual_time import run

from recrawl.clock import Clock
from recrawl.errors import ArgumentError
from recrawl.http import robots as module
from recrawl.http.robots import Robots, Rules, product_token
from recrawl.http.robots_rules import MAX_WILDCARDS, RobotsReader
from recrawl.records import Response, RobotsText

AGENT = "recrawl/0.1 (+https://example.org/bot)"
HOUR, DAY = 3600.0, 86_400.0

Reply = Callable[[str], Response]


def text(body: str | bytes, *, truncated: bool = False) -> Reply:
    data = body.encode() if isinstance(body, str) else body
    return lambda url: Response(url, 200, 0, body=data, truncated=truncated)


def status(number: int) -> Reply:
    error = None if number in {404, 410} else f"the server answered {number}"
    return lambda url: Response(url, number, 0, error=error)


def no_answer(url: str) -> Response:
    return Response(url, 0, 0, error="no connection: refused")


class Host:
    """Hosts that all respond alike, after a delay."""

    def __init__(self, reply: Reply, takes: float = 0.0) -> None:
        self.reply = reply
        self.takes = takes
        self.requests: list[tuple[float, str]] = []
        self.kept: dict[str, RobotsText] = {}

    async def fetch(self, url: str, max_bytes: int) -> Response:
        assert max_bytes == 512 * 1024
        self.requests.append((seconds(), url))
        await asyncio.sleep(self.takes)
        return self.reply(url)

    def robots(self, *, begin: float = 0.0) -> Robots:
        return Robots(
            self.fetch,
            AGENT,
            recall=self.kept.get,
            remember=self.kept.__setitem__,
            clock=Clock(wall=lambda: round((begin + seconds()) * 1e6)),
        )


def rules_for(reply: Reply) -> Rules:
    async def main() -> Rules:
        return await Host(reply).robots().rules("http://a.test/x")

    return run(main())


def test_rules_are_for_us_or_for_all_and_the_longest_decides() -> None:
    rules = rules_for(
        text("User-agent: other\nDisallow: /\n\nUser-agent: *\nDisallow: /private\n"
             "Allow: /private/open\nDisallow: /*.pdf$\n")
    )  # fmt: skip
    assert rules.allows("http://a.test/page")
    assert not rules.allows("http://a.test/private/a")
    assert rules.allows("http://a.test/private/open/a")
    assert not rules.allows("http://a.test/file.pdf")
    assert rules.allows("http://a.test/file.pdf?x=1")
    named = rules_for(text("User-agent: Recrawl\nDisallow: /a\n\nUser-agent: *\nDisallow: /"))
    assert named.allows("http://a.test/b")
    assert not named.allows("http://a.test/a")


@pytest.mark.parametrize("number", [400, 401, 403, 404, 410, 451, 301, 204])
def test_a_file_that_is_not_there_allows_everything(number: int) -> None:
    assert rules_for(status(number)).allows("http://a.test/x")


@pytest.mark.parametrize("reply", [status(500), status(503), status(429), no_answer])
def test_a_file_that_cannot_be_read_forbids_everything_for_now(reply: Reply) -> None:
    rules = rules_for(reply)
    assert not rules.allows("http://a.test/x")
    assert rules.problem is not None
    assert rules.problem.startswith("robots.txt of a.test cannot be read: ")
    assert rules.retry_after == 300.0
    assert not rules.permanent


@pytest.mark.parametrize(
    ("asks", "delay"),
    [
        ("Crawl-delay: 2", 2.0),
        ("Crawl-delay: 0.5", 0.5),
        ("Request-rate: 1/10s", 10.0),
        ("Request-rate: 6/1m", 10.0),
        ("Crawl-delay: 2\nRequest-rate: 1/3", 3.0),
        ("Crawl-delay: 30", 30.0),
        ("Crawl-delay: 86400", 30.0),
        ("Crawl-delay: -1", 0.0),
        ("Crawl-delay: nan", 0.0),
        ("Crawl-delay: soon", 0.0),
        ("", 0.0),
    ],
)
def test_pauses_asked_for_are_granted_up_to_a_limit(asks: str, delay: float) -> None:
    rules = rules_for(text(f"User-agent: *\n{asks}\nDisallow: /a"))
    assert rules.delay == delay


def test_sitemaps_are_told() -> None:
    rules = rules_for(text("Sitemap: http://a.test/s.xml\nUser-agent: *\nSitemap: /other.xml"))
    assert rules.sitemaps == ("http://a.test/s.xml", "/other.xml")


@pytest.mark.parametrize(
    "body",
    [b"\xef\xbb\xbfUser-agent: *\nDisallow: /x", b"User-agent: *\r\rDisallow: /x\r# \xff",
     b"\xff\xfe\x00\nuser-agent:*\nDISALLOW:/x # no"],
)  # fmt: skip
def test_odd_files_are_read_as_far_as_possible(body: bytes) -> None:
    assert not rules_for(text(body)).allows("http://a.test/x")


@pytest.mark.parametrize("body", [b"", b"\x00" * 1000, b"<html><body>Disallow: /</body></html>"])
def test_what_is_no_robots_txt_forbids_nothing(body: bytes) -> None:
    assert rules_for(text(body)).allows("http://a.test/x")


def test_a_file_that_is_there_to_keep_us_busy_is_not_followed() -> None:
    lines = "".join(f"Disallow: /*{n}z\n" for n in range(25_000))
    rules = rules_for(text(f"User-agent: *\n{lines}"))
    assert not rules.allows("http://a.test/x")
    assert rules.problem == "robots.txt of a.test has more than 5,000 wildcards"
    assert rules.retry_after == DAY
    plain = rules_for(text("User-agent: *\n" + lines.replace("*", "")))
    assert plain.allows("http://a.test/x")
    assert not plain.allows("http://a.test/24999z")


def test_a_line_that_was_cut_is_not_read() -> None:
    cut = text("User-agent: *\nDisallow: /private\nDisallow: /", truncated=True)
    assert rules_for(cut).allows("http://a.test/x")
    assert not rules_for(cut).allows("http://a.test/private")


def test_a_host_is_asked_once_a_day_however_many_want_to_know() -> None:
    host = Host(text("User-agent: *\nDisallow: /x"), takes=2.0)

    async def main() -> int:
        robots = host.robots()
        found = await asyncio.gather(*(robots.rules(f"http://a.test/{n}") for n in range(20)))
        assert all(not rules.allows("http://a.test/x") for rules in found)
        await asyncio.sleep(DAY - 10)
        await robots.rules("http://a.test/x")
        assert len(host.requests) == 1
        await asyncio.sleep(10)
        await robots.rules("http://a.test/x")
        await robots.rules("https://a.test/x")  # other schemes and ports have their own
        await robots.rules("http://a.test:81/x")
        return robots.requests

    assert run(main()) == 4
    assert [url for _, url in host.requests[1:]] == [
        "http://a.test/robots.txt",
        "https://a.test/robots.txt",
        "http://a.test:81/robots.txt",
    ]


def test_one_who_gives_up_does_not_spoil_it_for_others() -> None:
    host = Host(text("User-agent: *\nDisallow: /x"), takes=2.0)

    async def main() -> None:
        robots = host.robots()
        one, other = (asyncio.create_task(robots.rules("http://a.test/x")) for _ in range(2))
        await asyncio.sleep(1.0)
        one.cancel()
        assert not (await other).allows("http://a.test/x")
        assert len(host.requests) == 1

    run(main())


def test_a_file_that_hangs_is_not_waited_for_and_is_read_in_the_end() -> None:
    host = Host(text("User-agent: *\nDisallow: /x"), takes=20.0)

    async def main() -> None:
        robots = host.robots()
        rules = await robots.rules("http://a.test/a")
        assert seconds() == 5.0
        assert rules.problem == "robots.txt of a.test has not arrived yet"
        assert rules.retry_after == 5.0
        assert not rules.allows("http://a.test/a")
        await asyncio.sleep(15.0)
        assert (await robots.rules("http://a.test/a")).allows("http://a.test/a")
        assert len(host.requests) == 1

    run(main())


def test_what_cannot_be_read_is_asked_ever_more_rarely_and_given_up_after_a_month() -> None:
    host = Host(status(503))

    async def main() -> list[bool]:
        robots = host.robots()
        story = []
        for _ in range(31 * 24 * 12):
            rules = await robots.rules("http://a.test/x")
            story.append(rules.allows("http://a.test/x"))
            await asyncio.sleep(300.0)
        return story

    story = run(main())
    times = [at for at, _ in host.requests]
    assert times[:6] == [0, 300, 600, 1200, 2400, 4800]
    assert all(later - earlier <= DAY for earlier, later in pairwise(times))
    assert times[-1] - times[-2] == DAY
    allowed_from = story.index(True) * 300.0
    assert 30 * DAY <= allowed_from <= 31 * DAY
    assert all(story[story.index(True) :])


def test_what_can_be_read_again_counts_at_once() -> None:
    host = Host(status(503))

    async def main() -> None:
        robots = host.robots()
        assert not (await robots.rules("http://a.test/x")).allows("http://a.test/x")
        host.reply = text("")
        await asyncio.sleep(100.0)
        assert (await robots.rules("http://a.test/x")).retry_after == 200.0
        await asyncio.sleep(200.0)
        assert (await robots.rules("http://a.test/x")).allows("http://a.test/x")
        assert host.kept["http://a.test"].failing_since is None

    run(main())


def test_another_run_goes_on_where_the_last_one_ended() -> None:
    host = Host(text("User-agent: *\nDisallow: /x\nCrawl-delay: 3"))

    async def first() -> None:
        await host.robots().rules("http://a.test/x")

    async def second(begin: float) -> Rules:
        return await host.robots(begin=begin).rules("http://a.test/x")

    run(first())
    assert host.kept["http://a.test"] == RobotsText(
        "http://a.test", 200, "User-agent: *\nDisallow: /x\nCrawl-delay: 3", 0
    )
    rules = run(second(23 * HOUR))
    assert rules.delay == 3.0
    assert not rules.allows("http://a.test/x")
    assert len(host.requests) == 1
    host.reply = status(503)
    assert not run(second(25 * HOUR)).allows("http://a.test/x")
    assert not run(second(28 * DAY)).allows("http://a.test/x")
    assert run(second(32 * DAY)).allows("http://a.test/x")
    assert len(host.requests) == 4


@pytest.mark.parametrize("is_restarted", [True, False])
def test_a_file_that_was_read_while_the_clock_was_a_year_ahead_is_read_again(
    is_restarted: bool,
) -> None:
    host, ahead = Host(text("User-agent: *\nDisallow:")), 365 * DAY

    async def main() -> None:
        nonlocal ahead
        clock = Clock(wall=lambda: round((ahead + seconds()) * 1e6))

        def made() -> Robots:
            recall, remember = host.kept.get, host.kept.__setitem__
            return Robots(host.fetch, AGENT, recall=recall, remember=remember, clock=clock)

        robots = made()
        assert (await robots.rules("http://a.test/x")).allows("http://a.test/x")
        host.reply = text("User-agent: *\nDisallow: /")
        ahead = 0.0
        robots = made() if is_restarted else robots
        assert not (await robots.rules("http://a.test/x")).allows("http://a.test/x")
        await robots.rules("http://a.test/y")
        assert len(host.requests) == 2

    run(main())


def test_a_rule_of_ours_is_not_remembered() -> None:
    refusal = "the address 10.0.0.1 is private; use --allow-private to crawl it"
    host = Host(lambda url: Response(url, 0, 0, error=refusal, permanent=True, requests=0))

    async def main() -> Rules:
        return await host.robots().rules("http://a.test/x")

    rules = run(main())
    assert (rules.problem, rules.permanent) == (refusal, True)
    assert host.kept == {}


RULES = "User-agent: *\nDisallow: /x"
MEMORY = 122  # bytes that it is taken to need


@pytest.mark.parametrize(("files", "memory"), [(3, 1_000_000), (100, 3 * MEMORY)])
def test_the_least_recently_used_rules_are_evicted(
    monkeypatch: pytest.MonkeyPatch, files: int, memory: int
) -> None:
    monkeypatch.setattr(module, "MAX_FILES", files)
    monkeypatch.setattr(module, "MAX_MEMORY", memory)
    host = Host(text(RULES))

    async def main() -> None:
        robots = Robots(host.fetch, AGENT, clock=Clock(wall=lambda: round(seconds() * 1e6)))
        for name in "abc":
            await robots.rules(f"http://{name}.test/")
        await asyncio.sleep(DAY)
        # Files that are fetched again count once.
        for name in "abcab":
            await robots.rules(f"http://{name}.test/")
        assert len(host.requests) == 6
        await robots.rules("http://d.test/")
        for name in "abd":
            await robots.rules(f"http://{name}.test/")
        assert len(host.requests) == 7
        await robots.rules("http://c.test/")
        assert len(host.requests) == 8

    run(main())


def test_a_file_longer_than_the_cache_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_MEMORY", 10)
    host = Host(text(RULES))

    async def main() -> None:
        robots = host.robots()
        for _ in range(2):
            assert not (await robots.rules("http://big.test/")).allows("http://big.test/x")
        assert len(host.requests) == 1

    run(main())


def test_a_dozen_long_files_are_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a megabyte that says nothing takes no memory once it is parsed."""
    parsed = list[str]()

    def reader(text: str, token: str) -> RobotsReader:
        parsed.append(text)
        return RobotsReader(text, token)

    monkeypatch.setattr(module, "RobotsReader", reader)
    host = Host(text("User-agent: *\nDisallow: /x\n" + "#" * 500_000))

    async def main() -> None:
        robots = host.robots()
        for _ in range(3):
            for number in range(12):
                await robots.rules(f"http://h{number}.test/")

    run(main())
    assert len(parsed) == 12


def test_wildcards_are_counted() -> None:
    lines = [f"Disallow: /*{n}\n" for n in range(MAX_WILDCARDS + 1)]
    others = "User-agent: other\nDisallow: /*a*b*c\nUser-agent: *\nDisallow: /a*\nDisallow: /b$\n"
    assert rules_for(text(others + "".join(lines[1:]))).problem is None
    assert rules_for(text("User-agent: *\n" + "".join(lines))).problem is not None


BOMB = (
    "".join(f"User-agent: a{n}\n" for n in range(15_000))
    + "User-agent: *\n"
    + "".join(f"Disallow: /{n}\n" for n in range(15_000))
)


@pytest.mark.parametrize("stored", [False, True])
def test_a_file_with_thousands_of_agents_and_rules_stops_nothing(stored: bool) -> None:
    """Everything else gets its turn while it is read, and it takes memory like its text."""
    host = Host(text(BOMB))
    if stored:
        host.kept["http://a.test"] = RobotsText("http://a.test", 200, BOMB, 0)

    async def main() -> tuple[Rules, int]:
        asked = asyncio.create_task(host.robots().rules("http://a.test/x"))
        turns = 0
        while not asked.done():
            await asyncio.sleep(0)
            turns += 1
        return asked.result(), turns

    tracemalloc.start()
    rules, turns = run(main())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(host.requests) == (not stored)
    assert not rules.allows("http://a.test/14999")
    assert rules.allows("http://a.test/x")
    assert turns > len(BOMB) / 8_000
    assert peak < 20 * len(BOMB)


def test_reading_can_be_ended_at_any_moment() -> None:
    host = Host(text(BOMB))

    async def main() -> None:
        robots = host.robots()
        asked = asyncio.create_task(robots.rules("http://a.test/x"))
        for _ in range(10):
            await asyncio.sleep(0)
        await robots.close()
        with pytest.raises(asyncio.CancelledError):
            await asked

    run(main())


def test_closing_waits_until_downloads_have_ended() -> None:
    ended = list[str]()

    async def fetch(url: str, _max_bytes: int) -> Response:
        try:
            await asyncio.sleep(HOUR)
        finally:
            # As closing a connection does, this takes a turn of the event loop.
            await asyncio.sleep(0)
            ended.append(url)
        return no_answer(url)

    async def main() -> None:
        robots = Robots(fetch, AGENT, recall=lambda _: None, remember=lambda _url, _file: None)
        asked = asyncio.create_task(robots.rules("http://a.test/x"))
        await asyncio.sleep(1.0)
        await robots.close()
        assert ended == ["http://a.test/robots.txt"]
        with pytest.raises(asyncio.CancelledError):
            await asked

    run(main())


def test_a_stored_file_longer_than_what_is_read_is_read_as_far() -> None:
    rule = "User-agent: *\rDisallow: /x\r"
    host = Host(text(""))
    long = rule + "Allow: /y\r" * 100_000
    host.kept["http://a.test"] = RobotsText("http://a.test", 200, long, 0)

    async def main() -> Rules:
        return await host.robots().rules("http://a.test/x")

    assert not run(main()).allows("http://a.test/x")


def test_trouble_with_a_file_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    rules_for(text(RULES))
    assert caplog.records == []
    rules_for(no_answer)
    assert [(one.name, one.levelname) for one in caplog.records] == [("recrawl.http", "WARNING")]
    assert "a.test cannot be read: no connection: refused" in caplog.text


def test_an_agent_has_a_name() -> None:
    assert product_token("my-bot") == "my-bot"
    assert product_token("My_Bot/2 (x)") == "My_Bot"
    for agent in ("", "/1.0", "1bot", "bot\r\nX: y"):
        with pytest.raises(ArgumentError, match="User-Agent"):
            product_token(agent)
