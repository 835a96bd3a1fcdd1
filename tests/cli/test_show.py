"""What ``recrawl show`` prints about a page."""

import json
import time
from pathlib import Path

import pytest
from cli.crawling_site import move_to, run
from cli.refusing import refused
from crawler.filled import ABOUT, BELIEFS, BROKEN, GONE, NEW, NEWS, PRICE, fill
from scipy import stats

from recrawl.records import Outcome, Response, Visit
from recrawl.store.sqlite import SqliteStore


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    move_to(tmp_path, monkeypatch)
    fill("recrawl.db", time.time_ns() // 1_000)


def test_json_has_the_belief_and_the_reasons() -> None:
    shown = json.loads(run("show", NEWS, "--format", "json").stdout)
    shape, days = BELIEFS[NEWS]
    assert shown["change_rate"] == shape / days
    believed = stats.gamma(shape, scale=1 / days).interval(0.95)
    assert (shown["low"], shown["high"]) == pytest.approx(believed)
    assert (shown["visits"], shown["changes"], shown["price"]) == (2, 1, PRICE)
    assert shown["crawl_rate"] > 0
    assert shown["last_visit"] < shown["next_visit"] or shown["value"] >= PRICE
    assert "the price of a visit was, in the last run, 0.05" in shown["why"]
    assert [visit["outcome"] for visit in shown["history"]] == ["changed", "first"]


def test_the_text_has_the_same() -> None:
    shown = run("show", NEWS).stdout
    assert shown.startswith(f"{NEWS}\nstate        alive\nimportance   2\n")
    assert "changes      2 times per day (95 % sure: " in shown
    assert "The copy is 6 h old. The page changes 2 times per day" in shown
    assert "visited      every " in shown
    assert "next visit   " in shown


def test_pages_with_problems() -> None:
    assert "There is no copy yet" in run("show", NEW).stdout
    assert "no connection: refused" in run("show", BROKEN).stdout
    assert "The last visit failed" in run("show", BROKEN).stdout
    assert f"`recrawl add {GONE}` has it visited again" in run("show", GONE).stdout
    assert "visited only once" in run("show", ABOUT).stdout


def test_the_last_visits_or_all() -> None:
    with SqliteStore.open("recrawl.db") as store:
        page = store.page(BROKEN)
        assert page is not None
        store.record(
            [
                Visit(
                    page, Outcome.FAILED, Response(BROKEN, 500, at, error="the server answered 500")
                )
                for at in range(1, 31)
            ]
        )
    shown = run("show", BROKEN).stdout
    assert "These are the last 20 of 31; --all shows them all." in shown
    assert run("show", BROKEN, "--all").stdout.count("the server answered 500") == 30


def test_text_from_a_server_cannot_control_the_terminal() -> None:
    with SqliteStore.open("recrawl.db") as store:
        page = store.page(BROKEN)
        assert page is not None
        response = Response(BROKEN, 0, 1, error="bad \x1b[2J header")
        store.record([Visit(page, Outcome.FAILED, response)])
    assert "\x1b" not in run("show", BROKEN).stdout


def test_refusals() -> None:
    unknown = "https://nobody.example/"
    assert refused("show", unknown).startswith(f"{unknown}: this page is not in recrawl.db")
    assert refused("show", NEWS, "--format", "csv") == "--format: 'csv' is none of table, json"
