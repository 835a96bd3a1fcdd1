"""What ``recrawl show`` prints about a page."""

import json
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli.crawling_site import move_to, run
from cli.refusing import refused
from crawler.believing import belief, rates
from crawler.filled import ABOUT, BELIEFS, BROKEN, GONE, NEW, NEWS, NEWS_BODY, PRICE, fill

from recrawl.cli.render.show import overview
from recrawl.engine.retries import FIRST_PAUSE
from recrawl.inspect.explain import explain
from recrawl.records import Change, ChangeKind, Outcome, Page, Response, Visit
from recrawl.store.sqlite import SqliteStore
from recrawl.units import format_time


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    move_to(tmp_path, monkeypatch)
    fill("recrawl.db", time.time_ns() // 1_000)


def test_json_has_the_belief_and_the_reasons() -> None:
    shown = json.loads(run("show", NEWS, "--format", "json").stdout)
    known = rates(BELIEFS[NEWS])
    assert shown["change_rate"] == known.typical[0]
    assert [shown["low"], shown["high"]] == [known.quantile(one)[0] for one in (0.025, 0.975)]
    assert (shown["visits"], shown["changes"], shown["price"]) == (2, 1, PRICE)
    assert shown["crawl_rate"] > 0
    assert shown["last_visit"] < shown["next_visit"] or shown["value"] >= PRICE
    assert "the price of a visit in the last run was 1.2 h of freshness" in shown["why"]
    assert [visit["outcome"] for visit in shown["history"]] == ["changed", "first"]


def test_the_text_has_the_same() -> None:
    shown = run("show", NEWS).stdout
    assert shown.startswith(f"{NEWS}\nstate        alive\nimportance   2\n")
    assert "changes      1.9 times per day (95 % sure: " in shown
    assert "The copy is 6 h old. The page changes 1.9 times per day" in shown
    assert "planned      a visit every " in shown
    assert "next visit   " in shown


def test_too_wide_an_interval_is_left_out() -> None:
    page = Page(0, NEWS, "example.org", last_visit=0, visits=3)
    rows = dict(overview(explain(page, belief(0.3, 0.01), None, 1), []))
    assert rows["changes"].endswith(", a guess: there is too little evidence yet")


def test_pages_with_problems() -> None:
    assert "There is no copy yet" in run("show", NEW).stdout
    assert "no connection: refused" in run("show", BROKEN).stdout
    assert "The last visit failed" in run("show", BROKEN).stdout
    assert f"`recrawl add {GONE}` has it visited again" in run("show", GONE).stdout
    assert "visited only once" in run("show", ABOUT).stdout


def test_a_failing_page_says_when_it_is_retried_and_counts_visits_as_the_list_does() -> None:
    with SqliteStore.open("recrawl.db") as store:
        page = store.page(NEW)
        assert page is not None
        at, error = time.time_ns() // 1_000, "the server answered 500"
        visits = [
            Visit(
                replace(page, failures=failures),
                Outcome.FAILED,
                Response(NEW, 500, at + failures, error=error),
            )
            for failures in range(1, 12)
        ]
        store.record(visits)
    retry = at + 11 + (FIRST_PAUSE << 10)
    shown = json.loads(run("show", NEW, "--format", "json").stdout)
    assert shown["next_visit"] == format_time(retry)
    listed = json.loads(run("pages", "--format", "json").stdout)
    assert {row["page"]: row["visits"] for row in listed}[NEW] == shown["visits"] == 0
    assert (shown["failures"], shown["failed_visits"]) == (11, 11)
    text = run("show", NEW).stdout
    assert "visits       11, all of which failed\n" in text
    assert re.search(r"it is retried in 2\.8 h at the earliest, and each retry waits longer", text)
    assert "next visit   " in text


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


def log_changes(*changes: tuple[Outcome, Change | None]) -> None:
    """Log visits to a page that differed from its copy, the last one last."""
    with SqliteStore.open("recrawl.db") as store:
        page = store.page(NEWS)
        assert page is not None
        at = (page.last_visit or 0) + 1
        store.record(
            [
                Visit(page, outcome, Response(NEWS, 200, at + n), change=change)
                for n, (outcome, change) in enumerate(changes)
            ]
        )


def test_how_large_changes_were() -> None:
    furniture = Outcome.UNCHANGED, Change(ChangeKind.FURNITURE)
    log_changes(
        (Outcome.CHANGED, Change(ChangeKind.LINKS)),
        furniture,
        (Outcome.CHANGED, Change(ChangeKind.TEXT, 0.125)),
        furniture,
        (Outcome.UNCHANGED, None),
    )
    shown = run("show", NEWS).stdout
    assert re.search(r"last change  \d{4}-\d\d-\d\d \d\d:\d\d UTC, 12 % of its text\n", shown)
    assert "furniture    2 visits found only the site's furniture changed\n" in shown
    assert "compared; links only" in shown
    assert shown.count("compared; furniture only") == 2
    told = json.loads(run("show", NEWS, "--format", "json").stdout)
    assert told["furniture_visits"] == 2
    sizes = [(visit["change_kind"], visit["change_share"]) for visit in told["history"]]
    assert sizes[:3] == [(None, None), ("furniture", 0.0), ("text", 0.125)]


BLOCKS = [
    ("furniture", "nav", "Home"),
    ("own", "main > p", "News \x1b[2J of the day. " + "Many words. " * 30),
    ("template", "div.related", "Also read"),
    ("noise", "main > time", "[bold]12:00"),
]


def explained(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Let the copy have these blocks; return what they are asked about."""
    asked: list[Any] = []

    def explain(*given: Any) -> list[tuple[str, str, str]]:  # noqa: ANN401
        asked.extend(given)
        return BLOCKS

    monkeypatch.setattr("recrawl.content.html.copy_text.explain_blocks", explain)
    return asked


def test_what_is_taken_for_the_pages_own(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = explained(monkeypatch)
    shown = run("show", NEWS, "--blocks").stdout
    assert shown.startswith(f"{NEWS}\nBlocks in the copy of ")
    assert "UTC: 1 own, 1 furniture, 1 template, 1 noise.\n" in shown
    lines = shown.splitlines()[4:8]
    for line, (kind, element, _) in zip(lines, BLOCKS, strict=True):
        assert line.startswith(kind)
        assert line.rstrip().endswith(element)
    assert "\x1b" not in shown
    assert "[bold]12:00" in shown
    body, content_type, reader, template, ignored = asked
    assert (body, content_type) == (NEWS_BODY, "text/html; charset=latin-1")
    assert (reader.kind.partition("/")[0], template.pages, ignored) == ("text", 0, frozenset())


def test_blocks_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    explained(monkeypatch)
    printed = run("show", NEWS, "--blocks", "--format", "json").stdout
    assert "\x1b" not in printed
    told = json.loads(printed)
    assert told["page"] == NEWS
    listed = [(block["kind"], block["element"], block["text"]) for block in told["blocks"]]
    assert listed == BLOCKS


def test_blocks_are_those_of_the_stored_copy_read_by_what_is_set() -> None:
    Path("recrawl.toml").write_text('[host."a.example"]\nselector = "i"\n', encoding="utf-8")
    assert run("show", ABOUT, "--blocks").stdout.endswith(" UTC: none.\n")
    assert json.loads(run("show", NEWS, "--blocks", "--format", "json").stdout)["blocks"] == []
    Path("recrawl.toml").unlink()
    (block,) = json.loads(run("show", NEWS, "--blocks", "--format", "json").stdout)["blocks"]
    assert (block["kind"], block["text"]) == ("own", "News é")


def test_refusals() -> None:
    assert (
        refused("show", NEW, "--blocks") == f"{NEW}: there is no copy yet; `recrawl run` makes one"
    )
    unknown = "https://nobody.example/"
    assert refused("show", unknown).startswith(f"{unknown}: this page is not in recrawl.db")
    assert refused("show", NEWS, "--format", "csv") == "--format: 'csv' is none of table, json"
