"""Months of a site in a minute: everything that keeps time does so by the crawl's clock."""

from crawler.fakes import FakeWeb, MemoryStore, crawl, failure, settings_of
from site_server import page_about

from recrawl.records import DISALLOWED, Outcome

DAY = 86_400.0
MICROSECONDS = DAY * 1e6


def test_a_history_is_crawled_in_fast_forward() -> None:
    """A page that changes daily, one that never does and one that fails, for sixty days."""
    daily, quiet, down = (f"https://{name}.example/" for name in ("daily", "quiet", "down"))
    web = FakeWeb(
        lambda url: (
            page_about(f"Day {web.clock() // MICROSECONDS if url == daily else 'one'}.")
            if url != down
            else failure("no connection")
        )
    )
    store = MemoryStore(daily, quiet, down)
    store.sitemaps.add("https://quiet.example/sitemap.xml")
    settings = settings_of(budget=6.0, host_delay=60.0, host_connections=1)
    stats = crawl(web, store, settings, seconds=60 * DAY, speed=DAY)
    assert (stats.now - stats.began) / MICROSECONDS > 59
    assert 0.8 < stats.requests / (60 * 6.0) < 1.02
    outcomes = store.outcomes(daily)
    assert outcomes.count(Outcome.CHANGED) > 45
    assert store.outcomes(quiet).count(Outcome.CHANGED) == 0
    shape, time = store.beliefs[store.page(daily).number]
    assert 0.6 < shape / time < 2.0
    # A host that is down is asked again after at most an hour, by the clock, as far as is worth it.
    assert len(web.times(down)) > 20
    read = [url for url in web.file_urls if url.endswith("sitemap.xml")]
    assert 2 < len(read) < 70


def test_a_page_that_is_gone_for_days_is_gone_within_the_run() -> None:
    web = FakeWeb(lambda url: None if url.endswith("/x") and web.clock() > 2 * MICROSECONDS
                  else page_about("A page."))  # fmt: skip
    store = MemoryStore("https://a.example/x", *(f"https://a.example/{n}" for n in range(9)))
    crawl(web, store, settings_of(budget=60.0), seconds=20 * DAY, speed=DAY)
    assert Outcome.GONE in store.outcomes("https://a.example/x")
    assert store.page("https://a.example/x").state.name == "GONE"


def test_what_robots_txt_forbids_waits_for_days_and_is_not_logged() -> None:
    web = FakeWeb(lambda _: failure(DISALLOWED, permanent=True, requests=0))
    store = MemoryStore(*(f"https://a.example/{number}" for number in range(30)))
    settings = settings_of(budget=300.0)
    stats = crawl(web, store, settings, seconds=30 * DAY, speed=DAY)
    looks = 30 / settings.refused_retry
    assert store.log == []
    assert 30 <= len(web.fetched) <= 30 * (looks + 1)
    assert (stats.requests, stats.refused) == (0, len(web.fetched))


def test_a_page_that_takes_days_to_answer_is_asked_once_at_a_time() -> None:
    """Whoever asks for it: gone pages are checked a day after the last check, if it failed."""
    slow = [f"https://h{number}.example/" for number in range(6)]
    web = FakeWeb(lambda url: page_about("A page.") if url == slow[0] else None, seconds=2.5)
    store = MemoryStore(*slow)
    crawl(web, store, settings_of(budget=600.0), seconds=60 * DAY, speed=DAY)
    assert set(web.max_in_flight.values()) == {1}
    assert [store.page(url).state.name for url in slow] == ["ALIVE"] + 5 * ["GONE"]
    assert all(len(web.times(url)) > 3 for url in slow)
