"""Single rounds of discovery: what a sitemap, a feed, a visit or an edit leads to."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from crawler.fakes import (
    SECOND,
    FakeWeb,
    MemoryStore,
    ParsedHere,
    VirtualExecutor,
    settings_of,
)
from virtual_time import run

from recrawl.engine.discovery.discovery import Discovery, is_unvisited
from recrawl.engine.frontier import CrawlFrontier, load_frontier
from recrawl.errors import RecrawlError
from recrawl.parsing.pool import TooExpensiveError
from recrawl.records import Outcome, Page, Response, State, Validators, Visit
from recrawl.store.rows import NewPage, SitemapFile, Spent
from recrawl.store.thread import StoreThread

A = "https://a.example"
MAP = f"{A}/sitemap.xml"
HOUR, DAY = 3_600 * SECOND, 86_400 * SECOND
NOW = 1_000 * DAY


def urlset(*urls: str) -> str:
    return f"<urlset>{''.join(f'<url><loc>{url}</loc></url>' for url in urls)}</urlset>"


def index(*urls: str) -> str:
    rows = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return f"<sitemapindex>{rows}</sitemapindex>"


def feed(*urls: str) -> str:
    rows = "".join(f"<item><link>{url}</link></item>" for url in urls)
    return f"<rss><channel>{rows}</channel></rss>"


def add(store: MemoryStore, *urls: str) -> None:
    store.add((NewPage(url, "a.example") for url in urls), NOW)


@dataclass
class Found:
    """A store, a web and what discovers pages in them; settings that differ from the usual."""

    store: MemoryStore
    web: FakeWeb
    settings: dict[str, Any] = field(default_factory=dict)
    pool: Any = field(default_factory=ParsedHere)
    feeds: list[str] = field(default_factory=list)
    signals: list[tuple[list[int], str]] = field(default_factory=list)

    def do(
        self, *steps: Callable[[Discovery], Coroutine[Any, Any, object] | None]
    ) -> CrawlFrontier:
        """Do some steps, one after another."""

        async def main() -> CrawlFrontier:
            settings = settings_of(**self.settings)
            frontier = load_frontier(self.store, settings, NOW)
            thread = StoreThread(self.store, VirtualExecutor({}))
            discovery = Discovery(frontier, thread, self.web, settings, self.pool)
            discovery.on_feed = lambda url, _response: self.feeds.append(url)
            signal = frontier.frontier.signal

            def noted(pages: list[int], now: float, kind: str) -> None:
                self.signals.append((list(pages), kind))
                signal(pages, now, kind)

            frontier.frontier.signal = noted  # type: ignore[method-assign, assignment]
            for step in steps:
                if (waits := step(discovery)) is not None:
                    await waits
            return frontier

        return run(main())

    def read(self, *times: int) -> SitemapFile:
        """Read what is due at some times; return the sitemap after that."""
        self.do(*(lambda one, at=at: one.read_sitemaps(at) for at in times or (NOW,)))
        return self.store.sitemaps.files[MAP]


def reading(answer: str | Response, **settings: Any) -> Found:  # noqa: ANN401
    store = MemoryStore()
    store.sitemaps.add(MAP)
    return Found(store, FakeWeb({MAP: answer}), settings)


# Sitemaps


def test_a_sitemap_is_noted_with_what_it_lists() -> None:
    found = reading(urlset(f"{A}/1", f"{A}/2", "https://b.example/"), sitemap_interval=0.5)
    found.web.named = {"b.example": (MAP,)}
    noted = found.read()
    assert (noted.pages, noted.skipped, noted.kind, noted.error) == (3, 0, "sitemap", None)
    assert (noted.read_at, noted.tried_at, noted.next_at) == (NOW, NOW, NOW + DAY // 2)
    assert found.feeds == []
    both = reading(index(f"{A}/1.xml", f"{A}/2.xml"))
    assert (both.read().pages, both.read().kind) == (2, "index")


def test_a_feed_is_announced_to_who_wants_to_know() -> None:
    found = reading(feed(f"{A}/1"))
    assert found.read().kind == "feed"
    assert found.feeds == [MAP]


def test_validators_are_kept_only_of_what_could_be_used_in_full() -> None:
    headers = (("ETag", '"1"'), ("Last-Modified", "yesterday"))
    whole = Response("", 200, 0, headers=headers, body=urlset(f"{A}/1").encode())
    assert reading(whole).read().validators == Validators('"1"', "yesterday")
    cut = reading(replace(whole, truncated=True)).read()
    assert (cut.validators, cut.error) == (Validators(), "only its beginning could be read")
    assert cut.failures == 0
    elsewhere = replace(whole, body=urlset("https://b.example/").encode())
    assert reading(elsewhere).read().validators == Validators()


class TooSlowPool:
    """Finds everything too expensive."""

    async def run(self, *_args: Any, **_kwargs: Any) -> Any:  # noqa: ANN401
        raise TooExpensiveError("too long")


def test_a_sitemap_that_is_too_expensive_to_parse_has_failed() -> None:
    found = reading(urlset())
    found.pool = TooSlowPool()
    noted = found.read()
    assert (noted.error, noted.failures, noted.next_at) == ("it is too long", 1, NOW + 120 * SECOND)
    assert noted.read_at is None


class BrokenPool:
    """Fails on everything for a reason that nobody has thought of."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def run(self, *_args: Any, **_kwargs: Any) -> Any:  # noqa: ANN401
        raise self.error


def test_a_sitemap_on_which_parsing_fails_does_not_end_the_crawl(
    caplog: pytest.LogCaptureFixture,
) -> None:
    found = reading(urlset())
    found.pool = BrokenPool(ZeroDivisionError("division by zero"))
    noted = found.read()
    assert (noted.error, noted.failures) == ("it cannot be parsed (ZeroDivisionError)", 1)
    assert "division by zero" in caplog.text
    found.pool = BrokenPool(RecrawlError("the processes cannot start"))
    with pytest.raises(RecrawlError, match="cannot start"):
        found.read()


@pytest.mark.parametrize(("asked", "wait"), [(None, 5.0), (0.0, 5.0), (4.0, 5.0), (7.5, 7.5)])
def test_a_postponed_sitemap_is_read_in_five_seconds_or_when_its_host_opens(
    asked: float | None, wait: float
) -> None:
    closed = Response("", 0, 0, error="closed", postponed=True, retry_after=asked)
    noted = reading(closed).read()
    assert noted.next_at == NOW + round(wait * SECOND)
    assert (noted.failures, noted.error, noted.tried_at) == (0, None, None)


def test_a_sitemap_that_works_again_is_not_failing() -> None:
    found, failing = reading(Response("", 500, 0)), list[dict[str, str]]()
    found.do(
        lambda one: one.read_sitemaps(NOW),
        lambda one: failing.append(dict(one.failing)),
        lambda _one: found.web.answers.update({MAP: urlset()}),  # type: ignore[union-attr]
        lambda one: one.read_sitemaps(NOW + HOUR),
        lambda one: failing.append(dict(one.failing)),
    )
    assert failing == [{MAP: "the server answered 500"}, {}]


def test_one_that_was_removed_is_not_failing() -> None:
    found, failing = reading(Response("", 500, 0)), list[dict[str, str]]()
    found.do(
        lambda one: one.read_sitemaps(NOW),
        lambda _one: found.store.sitemaps.files.clear(),
        lambda one: one.read_sitemaps(NOW + SECOND),
        lambda one: failing.append(dict(one.failing)),
    )
    assert failing == [{}]


def test_five_sitemaps_of_a_host_are_read_in_a_round() -> None:
    store = MemoryStore()
    for number in range(12):
        store.sitemaps.add(f"https://{'ab'[number % 2]}.example/{number}.xml")
    found = Found(store, FakeWeb(lambda _url: urlset()))
    found.do(lambda one: one.read_sitemaps(NOW))
    assert found.web.files == 10
    found.do(lambda one: one.read_sitemaps(NOW))
    assert found.web.files == 12


def test_redirects_and_bytes_of_sitemaps_are_paid_for() -> None:
    """Each takes two requests, and the last one allowed is made."""
    answer = Response("", 200, 0, body=urlset().encode(), requests=2, transferred=300_000_000)
    found = reading(answer, sitemap_budget=5.0, sitemap_interval=1e-5)
    found.read(*(NOW + hour * HOUR for hour in range(5)))
    assert found.web.files == 3
    # A gigabyte a day is read of a host, which the fourth would exceed and the fifth may not begin.
    found = reading(answer, sitemap_budget=50.0, sitemap_interval=1e-5)
    noted = found.read(*(NOW + hour * HOUR for hour in range(5)))
    assert (found.web.files, noted.failures) == (4, 1)
    assert noted.error == "its host or index has reached today's limit for sitemaps"


@pytest.mark.parametrize(("hours", "files"), [(23, 0), (24, 0), (25, 1)])
def test_what_earlier_runs_spent_counts_for_a_day_from_the_end_of_its_hour(
    hours: int, files: int
) -> None:
    found = reading(urlset(), sitemap_budget=1.0)
    found.store.spent.append(Spent(NOW - hours * HOUR, sitemaps=1))
    found.read()
    assert found.web.files == files


def test_what_was_spent_in_this_hour_counts_from_now() -> None:
    found = reading(urlset(), sitemap_budget=1.0, sitemap_interval=1e-5)
    found.store.spent.append(Spent(NOW, sitemaps=1))
    found.read(NOW, NOW + DAY - 1)
    assert found.web.files == 0
    found.read(NOW, NOW + DAY)
    assert found.web.files == 1


def test_chains_of_three_indexes_are_followed_and_no_longer() -> None:
    found = reading(index(f"{A}/more.xml"))
    found.store.sitemaps.files[MAP] = replace(found.store.sitemaps.files[MAP], depth=2)
    assert found.read().error is None
    found = reading(index(f"{A}/more.xml"))
    found.store.sitemaps.files[MAP] = replace(found.store.sitemaps.files[MAP], depth=3)
    assert "nested too deep" in (found.read().error or "")


def test_an_index_names_a_thousand_sitemaps_and_no_more() -> None:
    found = reading(index(*(f"{A}/{number}.xml" for number in range(1_002))))
    noted = found.read()
    assert noted.error == "2 sitemaps too many in this index were left out"
    assert len(found.store.sitemaps.files) == 1_001


def test_pages_above_the_limit_are_left_out() -> None:
    urls = [f"{A}/{number}" for number in range(5)]
    found = reading(urlset(*urls), max_sitemap_pages=4)
    add(found.store, *urls[:1])
    noted = found.read()
    assert noted.error == "1 pages above max_sitemap_pages were left out"
    assert {page.url for page in found.store.known.values()} == set(urls[:4])
    full = reading(urlset(*urls), max_sitemap_pages=0)
    add(full.store, *urls[:2])
    assert "3 pages above" in (full.read().error or "")


# The sitemaps that robots.txt names


def test_a_hundred_sitemaps_of_a_robots_txt_are_used() -> None:
    found = Found(MemoryStore(f"{A}/"), FakeWeb({}), {"robots_sitemaps": True})
    found.web.named = {"a.example": tuple(f"{A}/{number}.xml" for number in range(101))}
    visit = Visit(found.store.known[0], Outcome.FIRST, Response("", 200, NOW))
    found.do(
        lambda one: one.learn([visit, visit]),
        lambda one: one.read_sitemaps(NOW),
        lambda one: one.learn([visit]),
        lambda one: one.read_sitemaps(NOW),
    )
    assert len(found.store.sitemaps.files) == 100
    # Once per run.
    assert found.web.robots == 1


# Signals


def signalled(*dates: int, last_visit: int | None = NOW - DAY, known: bool = True) -> int:
    """Return how many signals some dates for one page are."""
    found = Found(MemoryStore(f"{A}/"), FakeWeb({}))
    page = replace(found.store.known[0], last_visit=last_visit)
    found.store.known[0] = page
    named = page if known else replace(page, number=9)
    found.do(*(lambda one, at=at: one.signal([(named, at)], "sitemap", NOW) for at in dates))
    assert all(one == ([0], "sitemap") for one in found.signals)
    return len(found.signals)


def test_a_date_after_the_last_visit_is_a_signal_once() -> None:
    assert signalled(NOW - DAY) == 0
    assert signalled(NOW - DAY + 1) == 1
    assert signalled(NOW - DAY + 1, NOW - DAY + 1) == 1
    assert signalled(NOW - DAY + 1, NOW - DAY + 2) == 2
    assert signalled(NOW - DAY + 2, NOW - DAY + 1) == 1
    # One in the future is no earlier than now.
    assert signalled(NOW + DAY) == 1
    assert signalled(NOW + DAY, last_visit=NOW) == 0
    assert signalled(NOW, last_visit=None) == 0
    assert signalled(NOW, known=False) == 0


@pytest.mark.parametrize(
    ("outcome", "signals"),
    [(Outcome.CHANGED, 2), (Outcome.UNCHANGED, 2), (Outcome.FAILED, 1), (Outcome.GONE, 1)],
)
def test_after_a_visit_the_same_date_may_be_a_signal_again(outcome: Outcome, signals: int) -> None:
    found = Found(MemoryStore(f"{A}/"), FakeWeb({}))
    page = found.store.known[0] = replace(found.store.known[0], last_visit=NOW - DAY)
    visit = Visit(page, outcome, Response("", 200, NOW))
    found.do(
        lambda one: one.signal([(page, NOW)], "feed", NOW),
        lambda one: one.learn([visit]),
        lambda one: one.signal([(page, NOW)], "feed", NOW),
    )
    assert found.signals == [([0], "feed")] * signals


# Links


def linking(*links: str, **settings: Any) -> dict[str, tuple[float, int]]:  # noqa: ANN401
    """Return the importance and depth of the pages that a page of importance 2 leads to."""
    store = MemoryStore(f"{A}/")
    page = store.known[0] = replace(store.known[0], importance=2.0, depth=4)
    found = Found(store, FakeWeb({}), {"follow": True, "follow_hosts": ("a.example",)} | settings)
    visit = Visit(page, Outcome.CHANGED, Response("", 200, NOW), links=links)
    found.do(lambda one: one.learn([visit]))
    new = [page for page in store.known.values() if page.number]
    return {page.url: (page.importance, page.depth) for page in new}


def test_a_linked_page_has_a_share_of_the_importance_and_is_one_link_further() -> None:
    links = f"{A}/1", f"{A}/", "https://b.example/"
    assert linking(*links, link_importance=0.25) == {f"{A}/1": (0.5, 5)}
    assert linking(*links, follow=False) == {}
    assert linking(*links, exclude=("*/1",)) == {}


def test_links_add_pages_up_to_the_limit() -> None:
    links = [f"{A}/{number}" for number in range(5)]
    assert list(linking(*links, max_pages=3)) == links[:2]
    assert linking(*links, max_pages=0) == {}


# Edits


def test_edits_of_others_reach_the_frontier() -> None:
    found = Found(MemoryStore(*(f"{A}/{number}" for number in range(3))), FakeWeb({}))

    def edit(_one: Discovery) -> None:
        found.store.remove(f"{A}/0")
        found.store.set_importance(f"{A}/1", 7.0)
        add(found.store, f"{A}/new")

    frontier = found.do(
        edit,
        lambda one: one.apply_edits(NOW),
        # Nothing is applied twice.
        lambda one: one.apply_edits(NOW),
    )
    assert [number in frontier for number in range(5)] == [False, True, True, True, False]


# Pages that come back


@pytest.mark.parametrize(
    ("state", "last_visit", "modified", "is_wanted"),
    [
        (State.GONE, 5, 6, True),
        (State.GONE, 5, 5, False),
        (State.GONE, 5, None, False),
        (State.GONE, None, 1, True),
        (State.GONE, None, 0, False),
        (State.ALIVE, 5, 6, False),
        (State.REFUSED, 5, 6, False),
    ],
)
def test_a_page_that_is_gone_is_wanted_again_if_it_was_modified_since(
    state: State, last_visit: int | None, modified: int | None, is_wanted: bool
) -> None:
    page = Page(0, f"{A}/", "a.example", state=state, last_visit=last_visit)
    assert is_unvisited(page, modified) is is_wanted
    assert is_unvisited(None, modified)
