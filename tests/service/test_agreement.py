"""A number that is shown in several places is the same in all of them, at the same time."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the service needs recrawl[serve]")
pytest.importorskip("jinja2", reason="the service needs recrawl[serve]")

from cli.crawling_site import move_to
from cli.crawling_site import run as run_program
from crawler.fakes import FakeWeb, crawl, failure
from service.dashboard_site import Browser
from service.served import served, settings_in
from site_server import page_about
from virtual_time import now as virtual_seconds
from virtual_time import run

from recrawl.cli.render.numbers import percent
from recrawl.cli.render.run import as_object, print_end
from recrawl.clock import Clock
from recrawl.engine.stats import Stats
from recrawl.hosts import host_of
from recrawl.service.auth.tokens import Access, User
from recrawl.store.rows import NewPage
from recrawl.store.sqlite import SqliteStore
from recrawl.units import format_worth

DAY = 86_400.0
BUDGET = "250/day"
#: What a page is like, by its number: some change with the hours, one fails, one is not found.
BROKEN, LOST = "https://a.example/0", "https://b.example/1"
URLS = [f"https://{'abc'[number % 3]}.example/{number}" for number in range(60)]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    move_to(tmp_path, monkeypatch)
    # A crawl counts the visits of a batch from the last of them on. In fast-forward that is
    # minutes later than the first, and not a few hundredths of a second.
    monkeypatch.setattr("recrawl.engine.engine.BATCH_SECONDS", 0.0)
    Path("recrawl.toml").write_text(f'budget = "{BUDGET}"\n', "utf-8")


def crawled(folder: Path, days: float) -> Stats:
    """Crawl for some days, in fast-forward."""

    def answer(url: str) -> Any:  # noqa: ANN401 - a body or a response
        number = int(url.rpartition("/")[2])
        if url in (BROKEN, LOST):
            return failure("no connection") if url == BROKEN else None
        hours = 3.0 * (1 + number)
        return page_about(f"Page {number}, issue {web.clock() // round(hours * 3.6e9)}.")

    web = FakeWeb(answer)
    with SqliteStore.open(folder / "recrawl.db", create=True) as store:
        store.add([NewPage(url, host_of(url), 1.0 + len(url) % 2) for url in URLS], at=0)
        known = settings_in(folder, budget=BUDGET)
        return crawl(web, store, known, seconds=days * DAY, speed=1_000.0)


def status_at(now: int, monkeypatch: pytest.MonkeyPatch) -> Any:  # noqa: ANN401 - as JSON has it
    monkeypatch.setattr("recrawl.cli.commands.status.present", lambda: now)
    return json.loads(run_program("status", "--format", "json").stdout)


@pytest.mark.parametrize("days", [0.2, 2.0])
def test_a_run_ends_with_the_numbers_that_status_shows(
    days: float,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stats = crawled(tmp_path, days)
    ended, shown = as_object(stats), status_at(stats.now, monkeypatch)
    assert shown["expected_freshness"] == pytest.approx(ended["expected_freshness"], abs=1e-5)
    assert shown["price"] == ended["price"] > 0.0
    assert shown["budget"] == shown["run_budget"] == ended["budget"] == 250.0
    assert shown["all_time"]["requests"] == ended["requests"]
    for outcome in ("first", "changed", "unchanged", "failed", "gone"):
        assert shown["all_time"][outcome] == ended[outcome]
    trouble = {name: shown["pages"][name] for name in ended["not_well"]}
    assert trouble == ended["not_well"]
    # In words, too.
    print_end(stats, None, as_json=False)
    text, table = capsys.readouterr().out, run_program("status").stdout
    fresh = percent(shown["expected_freshness"])
    assert f"Expected freshness at the end: {fresh}" in text
    assert f"expected fresh    {fresh}\n" in table
    assert f"price of a visit  {format_worth(shown['price'])}, in the last run\n" in table
    assert f"({BUDGET})" in text or f"(budget: {BUDGET})" in text
    assert f"budget            {BUDGET}\n" in table


def test_a_service_shows_the_same_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stats = crawled(tmp_path, 1.0)

    async def main() -> None:
        clock = Clock(wall=lambda: stats.now, steady=virtual_seconds)
        async with served(settings_in(tmp_path, budget=BUDGET), clock=clock) as on:
            working = asyncio.create_task(on.run())
            await asyncio.sleep(1.0)
            browser = Browser(on, on.service.sessions.start(User("", Access.READ)))
            api = await on.api("GET", "/status")
            metrics = (await on.ask("GET", "/metrics")).body.decode()
            page = _texts(await browser.show("/"))
            hosts = await on.api("GET", "/hosts")
            shown = status_at(stats.now, monkeypatch)
            table = run_program("status").stdout
            _compare(api, metrics, page, shown, table)
            assert {host["host"]: host["pages"] for host in hosts["hosts"]} == {
                host["host"]: host["pages"] for host in shown["hosts"]
            }
            # Nothing was visited since the run ended.
            assert api["expected_freshness"] == pytest.approx(stats.expected_freshness, abs=5e-4)
            on.engine.stop()
            await working

    run(main())


def _compare(
    api: dict[str, Any], metrics: str, page: dict[str, str], shown: dict[str, Any], table: str
) -> None:
    metric = {
        name: float(value) for name, value in re.findall(r"^(\S+) (\S+)$", metrics, re.MULTILINE)
    }
    fresh = shown["expected_freshness"]
    assert api["expected_freshness"] == pytest.approx(fresh, abs=1e-4)
    assert metric["recrawl_expected_freshness_ratio"] == pytest.approx(api["expected_freshness"])
    assert page["freshness"] == percent(api["expected_freshness"])
    assert api["price"] == shown["price"] == pytest.approx(metric["recrawl_visit_price_days"])
    assert page["price"] == format_worth(shown["price"])
    assert f"price of a visit  {page['price']}\n" in table
    assert api["budget"] == shown["budget"] == shown["run_budget"]
    per_second = metric["recrawl_budget_requests_per_second"]
    assert per_second == pytest.approx(api["budget"] / DAY)
    assert api["pages"] == shown["pages"]["all"]
    assert api["kept_fresh"] == metric["recrawl_pages"]
    copies = api["without_copy"], metric["recrawl_pages_without_copy"], int(page["without_copy"])
    assert {*copies} == {shown["pages"]["without_copy"]}
    for state in ("missing", "gone", "refused", "failing"):
        assert api[state] == shown["pages"][state]
        assert api[state] == metric[f'recrawl_troubled_pages{{state="{state}"}}']
    assert api["due"] == metric["recrawl_due_pages"] == int(page["due"])
    assert api["requests_last_day"] == shown["last_day"]["requests"]
    assert (page["verdict_key"], page["reason"]) == (api["health"], api["health_reason"])
    assert metric["recrawl_healthy"] == (api["health"] != "bad")


def _texts(page: str) -> dict[str, str]:
    """Return what the overview says, by what it is about."""
    found = dict(re.findall(r'data-live="(\w+)"[^>]*>([^<]*)<', page))
    found["verdict_key"] = re.findall(r'data-key="(\w+)"', page)[0]
    return found


def test_a_page_that_always_fails_is_trouble_and_not_something_to_catch_up_with(
    tmp_path: Path,
) -> None:
    stats = crawled(tmp_path, 1.0)

    async def healthy(word: str) -> None:
        clock = Clock(wall=lambda: stats.now, steady=virtual_seconds)
        async with served(settings_in(tmp_path, budget=BUDGET), clock=clock) as on:
            on.service.stats.trouble = on.store.trouble()
            up, health = on.service.keeping_up(), on.service.health()
            assert (up.without_copy > 0, health.word) == (True, word)

    run(healthy("Yes"))
    with SqliteStore.open(tmp_path / "recrawl.db") as store:
        store.add([NewPage("https://a.example/new", "a.example")], at=stats.now)
    run(healthy("Catching up"))
