"""What ``recrawl status`` prints."""

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
from cli.crawling_site import move_to, run
from cli.refusing import left_alone, refused
from crawler.filled import NEW, NEWS, PRICE, fill

from recrawl.records import Outcome, Response, State, Visit
from recrawl.store.rows import NewPage, SitemapFile
from recrawl.store.sqlite import SqliteStore


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    move_to(tmp_path, monkeypatch)


def test_the_tables_show_the_status() -> None:
    fill("recrawl.db", time.time_ns() // 1_000)
    shown = " ".join(run("status").stdout.split())
    assert "pages 5: 4 alive, 1 gone, 1 failing, 2 without a copy" in shown
    assert "run none" in shown
    assert f"{NEW} now no copy yet" in shown
    assert f"{NEWS} " in shown
    assert "price of a visit 1.2 h of freshness, in the last run" in shown
    assert "b.example 2 1 0 1 1 0 –" in shown


def test_json_has_the_same() -> None:
    fill("recrawl.db", time.time_ns() // 1_000)
    printed = json.loads(run("status", "--format", "json").stdout)
    assert printed["pages"] == {
        "all": 5,
        "alive": 4,
        "missing": 0,
        "gone": 1,
        "refused": 0,
        "failing": 1,
        "with_copy": 2,
        "without_copy": 2,
    }
    assert printed["price"] == PRICE
    assert printed["run"] is None
    assert printed["due"][0] == {
        "page": NEW,
        "time": None,
        "change_rate": None,
        "stale": 1.0,
        "value": None,
    }
    assert printed["all_time"]["requests"] == 7
    assert 0.0 < printed["expected_freshness"] < 1.0


def test_the_budget_is_that_of_the_settings_as_it_was_typed() -> None:
    fill("recrawl.db", time.time_ns() // 1_000)
    Path("recrawl.toml").write_text('budget = "2000/day"\n', encoding="utf-8")
    shown = " ".join(run("status").stdout.split())
    assert "budget 2000/day" in shown
    assert "share of a day's budget 0.2 %" in shown
    with SqliteStore.open("recrawl.db") as store:
        store.set_meta("budget", "7200.0")
    found = json.loads(run("status", "--format", "json").stdout)
    assert (found["budget"], found["run_budget"]) == (2_000.0, 7_200.0)
    shown = " ".join(run("status").stdout.split())
    assert "budget 2000/day; 5/min in the last run" in shown
    # What the last run was allowed is not what is allowed now.
    assert "share of a day's budget 0.2 %" in shown


def test_a_little_of_the_budget_is_not_none_of_it() -> None:
    fill("recrawl.db", time.time_ns() // 1_000)
    Path("recrawl.toml").write_text('budget = "10/s"\n', encoding="utf-8")
    assert "share of a day's budget under 0.1 %" in " ".join(run("status").stdout.split())


def test_a_store_without_a_copy_has_no_freshness_to_boast_of() -> None:
    with SqliteStore.open("recrawl.db", create=True) as store:
        store.add([NewPage(NEW, "a.example")], at=0)
    assert "expected fresh no copies yet" in " ".join(run("status").stdout.split())
    assert json.loads(run("status", "--format", "json").stdout)["expected_freshness"] is None


def test_refused_pages_are_shown_with_their_reason() -> None:
    with SqliteStore.open("recrawl.db", create=True) as store:
        store.add([NewPage(NEW, "a.example")], at=0)
        page = replace(store.pages([0])[0], state=State.REFUSED, reason="the server answered 403")
        store.record([Visit(page, Outcome.FAILED, Response(NEW, 403, 1, error=page.reason))])
    shown = " ".join(run("status").stdout.split())
    assert "1: 0 alive, 1 refused" in shown
    assert "refused 1: the server answered 403" in shown
    assert "state refused: the server answered 403" in " ".join(run("show", NEW).stdout.split())
    printed = json.loads(run("show", NEW, "--format", "json").stdout)
    assert (printed["state"], printed["reason"]) == ("refused", "the server answered 403")


def test_an_empty_store_has_a_status_too() -> None:
    with SqliteStore.open("recrawl.db", create=True):
        pass
    assert "pages             0: 0 alive" in run("status").stdout


def test_status_works_during_a_run() -> None:
    fill("recrawl.db", time.time_ns() // 1_000)
    with SqliteStore.open("recrawl.db") as store, store.lock():
        printed = json.loads(run("status", "--format", "json").stdout)
    assert printed["run"] is not None


def test_sitemaps_are_listed_with_entries_last_read_and_last_error() -> None:
    now = time.time_ns() // 1_000
    fill("recrawl.db", now)
    good, bad = "https://a.example/good.xml", "https://a.example/bad.xml"
    with SqliteStore.open("recrawl.db") as store:
        for url in (good, bad):
            store.sitemaps.add(url)
        store.sitemaps.note(SitemapFile(good, 0, pages=1_234, next_at=now + 10**9, kind="feed"))
        store.sitemaps.note(
            SitemapFile(bad, tried_at=0, failures=1, error="the server answered 404")
        )
    shown = run("status").stdout
    assert "1,234" in shown
    assert "1970-01-01" in shown
    assert "never" in shown
    assert "404" in shown
    listed = json.loads(run("status", "--format", "json").stdout)["sitemaps"]
    assert [one["url"] for one in listed] == [bad, good]
    assert (listed[0]["error"], listed[0]["entries"]) == ("the server answered 404", None)
    assert (listed[1]["last_read"], listed[1]["entries"]) == ("1970-01-01T00:00:00.000000Z", 1_234)
    assert (listed[1]["kind"], listed[1]["error"]) == ("feed", None)


def test_refusals(tmp_path: Path) -> None:
    assert "there is no store here" in left_alone(tmp_path, "status")
    assert refused("status", "--format", "xml") == "--format: 'xml' is none of table, json"
