"""``recrawl pages``: filters, orders and formats."""

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from cli.crawling_site import move_to, run
from cli.on_a_terminal import in_a_terminal
from cli.refusing import refused
from crawler.believing import NO_PRIOR, rates, with_belief

from recrawl.cli.commands.pages import LISTED_AS
from recrawl.cli.crawl_options import present
from recrawl.config.intervals import OF_RUN
from recrawl.inspect.explain import PRICE
from recrawl.inspect.pages import ORDERS
from recrawl.records import DISALLOWED, MICROSECONDS_A_DAY, Outcome, Response, State, Visit
from recrawl.store.reading import RATE_PRIOR
from recrawl.store.rows import NewPage
from recrawl.store.sqlite import SqliteStore
from recrawl.units import format_time

DAY = round(MICROSECONDS_A_DAY)
#: Path, host, state, days of the last visit, belief, failures and error.
PAGES = [
    ("/slow", "b.example", State.ALIVE, 20_000, (1.0, 100.0), 0, None),
    ("/fast", "a.example", State.ALIVE, 20_000, (40.0, 10.0), 0, None),
    ("/gone", "a.example", State.GONE, 19_000, (2.0, 10.0), 0, None),
    ("/down", "c.example", State.ALIVE, 19_500, (3.0, 10.0), 4, "Timed out after 30 s"),
    ("/lost", "c.example", State.MISSING, 19_500, (3.0, 10.0), 0, None),
    ("/odd", "a.example", State.ALIVE, 19_500, (3.0, 10.0), 1, "connection refused"),
    ("/new", "b.example", State.ALIVE, None, None, 0, None),
]


@pytest.fixture(autouse=True)
def _store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    move_to(tmp_path, monkeypatch)
    with SqliteStore.open("recrawl.db", create=True) as store:
        store.add([NewPage(f"https://{host}{path}", host) for path, host, *_ in PAGES], at=0)
        store.set_meta(PRICE, "0.5")
        store.set_meta(RATE_PRIOR, NO_PRIOR.text())
        for path, host, state, days, belief, failures, error in PAGES:
            if days is None:
                continue
            found = store.page(f"https://{host}{path}")
            assert found is not None
            page = replace(found, state=state, last_visit=days * DAY, failures=failures, visits=3)
            status = 0 if error else 404 if state else 200
            answer = Response(page.url, status, days * DAY, error=error)
            outcome = Outcome.FAILED if error else Outcome.UNCHANGED
            visit = Visit(page, outcome, answer)
            store.record([visit if belief is None else with_belief(visit, *belief)])


def listed(*options: str) -> list[str]:
    """Return the paths of the pages in the order in which they are listed."""
    rows = json.loads(run("pages", "--format", "json", *options).stdout)
    return [row["page"].rpartition("/")[2] for row in rows]


def test_without_filters_all_pages_are_listed_as_they_were_added() -> None:
    assert listed() == [path[1:] for path, *_ in PAGES]


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--state", "gone"], ["gone"]),
        (["--state", "gone", "--state", "missing"], ["gone", "lost"]),
        (["--host", "A.example"], ["fast", "gone", "odd"]),
        (["--failing"], ["down", "odd"]),
        (["--error", "TIMED OUT"], ["down"]),
        (["--error", "404"], ["gone", "lost"]),
        (["--min-rate", "1/day"], ["fast"]),
        (["--max-rate", "1/week"], ["slow"]),
        (["--due", "1h"], ["slow", "lost", "new"]),
        (["--limit", "2"], ["slow", "fast"]),
        (["--host", "nowhere.example"], []),
    ],
)
def test_filters_keep_the_pages_that_are_asked_for(options: list[str], names: list[str]) -> None:
    assert listed(*options) == names


@pytest.mark.parametrize(
    ("order", "names"),
    [
        ("url", ["fast", "gone", "odd", "new", "slow", "down", "lost"]),
        ("host", ["fast", "gone", "odd", "slow", "new", "down", "lost"]),
        ("state", ["slow", "fast", "down", "odd", "new", "lost", "gone"]),
        ("rate", ["fast", "down", "lost", "odd", "gone", "slow", "new"]),
        ("last-visit", ["gone", "down", "lost", "odd", "slow", "fast", "new"]),
        ("next-visit", ["new", "lost", "slow", "fast", "gone", "down", "odd"]),
        ("failures", ["down", "odd", "slow", "fast", "gone", "lost", "new"]),
        ("error", ["down", "odd", "gone", "lost", "slow", "fast", "new"]),
    ],
)
def test_pages_are_sorted_with_the_unknown_last(order: str, names: list[str]) -> None:
    assert listed("--sort", order) == names
    assert listed("--sort", order, "--reverse") == names[::-1]


@pytest.mark.parametrize("order", ORDERS)
def test_a_limit_takes_the_first_of_the_order(order: str) -> None:
    for turned in ([], ["--reverse"]):
        everything = listed("--sort", order, *turned)
        assert len(everything) == len(PAGES)
        for limit in (1, 3, 100):
            some = listed("--sort", order, *turned, "--limit", str(limit))
            assert some == everything[:limit]


def refuse(path: str, retry_at: int) -> str:
    """Have robots.txt forbid a page that was never visited; return its URL."""
    with SqliteStore.open("recrawl.db") as store:
        url = f"https://b.example{path}"
        store.add([NewPage(url, "b.example")], at=0)
        found = store.page(url)
        assert found is not None
        page = replace(found, state=State.REFUSED, reason=DISALLOWED, retry_at=retry_at)
        answer = Response(url, 0, 20_000 * DAY, error=DISALLOWED, permanent=True)
        store.record([Visit(page, Outcome.FAILED, answer)])
    return url


def test_a_refused_page_has_its_reason_and_when_it_is_looked_at_again() -> None:
    soon, late = present() + DAY, present() + 9 * DAY
    shut = refuse("/shut", late)
    refuse("/closed", soon)
    assert listed("--error", "ROBOTS.TXT") == listed("--state", "refused") == ["shut", "closed"]
    assert listed("--due", "2d") == ["slow", "lost", "new", "closed"]
    assert listed("--sort", "next-visit")[:6] == ["new", "lost", "slow", "closed", "shut", "fast"]
    page = json.loads(run("pages", "--state", "refused", "--format", "json").stdout)[0]
    shown = json.loads(run("show", shut, "--format", "json").stdout)
    assert page["error"] == shown["reason"] == DISALLOWED
    assert page["next_visit"] == shown["next_visit"] == format_time(late)
    table = run("pages", "--state", "refused").stdout
    assert DISALLOWED in table
    assert "in 9 days" in table


def test_every_error_in_the_table_can_be_filtered_by() -> None:
    refuse("/shut", 0)
    rows = json.loads(run("pages", "--format", "json").stdout)
    errors = {row["error"] for row in rows if row["error"]}
    assert errors == {"Timed out after 30 s", "connection refused", "status 404", DISALLOWED}
    table = run("pages").stdout
    for error in errors:
        assert error in table
        assert listed("--error", error) == [
            row["page"].rpartition("/")[2] for row in rows if row["error"] == error
        ]


def test_a_rate_that_nothing_was_compared_for_is_marked_as_a_guess() -> None:
    assert "a guess" not in run("pages").stdout
    with SqliteStore.open("recrawl.db") as store:
        found = store.page("https://b.example/new")
        assert found is not None
        page = replace(found, failures=1)
        answer = Response(page.url, 500, 20_000 * DAY, error="the server answered 500")
        store.record([with_belief(Visit(page, Outcome.FAILED, answer), 3.0, 1.0)])
    assert "2.7 times per day (a guess)" in run("pages", "--failing").stdout
    rows = json.loads(run("pages", "--format", "json").stdout)
    assert [row["page"] for row in rows if row["is_guess"]] == ["https://b.example/new"]


def test_all_formats_have_the_same_rows() -> None:
    objects = json.loads(run("pages", "--format", "json").stdout)
    lines = run("pages", "--format", "jsonl").stdout.splitlines()
    assert [json.loads(line) for line in lines] == objects
    rows = list(csv.DictReader(io.StringIO(run("pages", "--format", "csv").stdout)))
    assert [row["page"] for row in rows] == [one["page"] for one in objects]
    assert list(rows[0]) == list(objects[0])
    down = objects[3]
    assert (down["state"], down["failures"], down["error"]) == ("alive", 4, "Timed out after 30 s")
    assert down["next_visit"] is None
    assert down["change_rate"] == rates((3.0, 10.0)).typical[0]


def test_a_table_says_how_many_pages_there_are() -> None:
    assert run("pages", "--limit", "3").stdout.endswith(
        "These are 3 of 7 pages; --limit shows more.\n"
    )
    shown = run("pages").stdout
    assert shown.endswith("7 pages\n")
    assert "Timed out after 30 s" in shown


def test_nothing_found_is_empty_in_every_format() -> None:
    nothing = ["pages", "--host", "nowhere.example", "--format"]
    assert run(*nothing, "json").stdout == "[]\n"
    assert run(*nothing, "jsonl").stdout == ""
    assert run(*nothing, "csv").stdout.count("\n") == 1
    assert run(*nothing, "table").stdout == "0 pages\n"


def test_what_cannot_be_asked_for_is_refused() -> None:
    states = ", ".join(state.name.lower() for state in State)
    assert states.partition(",")[0] in refused("pages", "--state", "dead")
    assert "next-visit" in refused("pages", "--sort", "size")
    assert "jsonl" in refused("pages", "--format", "xml")
    assert "--limit" in refused("pages", "--limit", "0")


def test_help_names_every_order_and_format() -> None:
    shown = run("pages", "--help").stdout
    assert all(name in shown for name in (*ORDERS, *LISTED_AS))


def test_the_exported_log_says_why_visits_failed() -> None:
    run("export", "log", "log.csv")
    with Path("log.csv").open(encoding="utf-8") as file:
        errors = {row["url"]: row["error"] for row in csv.DictReader(file)}
    assert errors["https://c.example/down"] == "Timed out after 30 s"
    assert errors["https://a.example/fast"] == ""


@pytest.mark.parametrize(
    "settings",
    [
        'min_interval = "2000y"',
        'max_interval = "1h"',
        '[host."b.example"]\nmin_interval = "90d"\n[host."c.example"]\nmax_interval = "15m"',
    ],
)
def test_pages_status_and_show_agree_on_the_next_visit(settings: str) -> None:
    unlimited = _next_visits()
    Path("recrawl.toml").write_text(settings, encoding="utf-8")
    limited = _next_visits()
    assert limited != unlimited
    status = json.loads(run("status", "--format", "json").stdout)
    told = {row["page"]: row["time"] for row in status["due"] if row["time"]}
    assert told == {page: limited[page] for page in told}
    for page in ("https://b.example/slow", "https://c.example/lost"):
        assert page in told
        shown = json.loads(run("show", page, "--format", "json").stdout)
        assert shown["next_visit"] == limited[page]


def _next_visits() -> dict[str, str | None]:
    rows = json.loads(run("pages", "--format", "json").stdout)
    return {row["page"]: row["next_visit"] for row in rows}


@pytest.mark.parametrize(("columns", "is_table"), [(60, False), (140, True)])
def test_a_narrow_terminal_shows_every_page_whole(columns: int, *, is_table: bool) -> None:
    code, shown = in_a_terminal("pages", columns=columns)
    assert code == 0
    assert ("──" in shown) == is_table
    for path, host, *_ in PAGES:
        assert f"https://{host}{path}" in shown
    assert "Timed out after 30 s" in shown
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    if not is_table:
        assert re.search(r"page +https://c.example/down *\r\nstate +alive", plain)
        assert max(map(len, plain.partition("\npage")[2].splitlines())) <= columns


def test_a_run_with_other_limits_is_shown_as_it_goes() -> None:
    """Options of a run are not in the settings that others read."""
    url = "https://b.example/slow"

    def shown() -> list[str]:
        due = json.loads(run("status", "--format", "json").stdout)["due"]
        listed = json.loads(run("pages", "--format", "json").stdout)
        return [
            json.loads(run("show", url, "--format", "json").stdout)["next_visit"],
            *(page["next_visit"] for page in listed if page["page"] == url),
            *(page["time"] for page in due if page["page"] == url),
        ]

    with SqliteStore.open("recrawl.db") as store:
        store.set_meta(OF_RUN, "20.0 0.0")
        before = shown()
        with store.lock():
            during = shown()
    assert len(set(before)) == 1
    assert set(during) == {format_time(20_020 * DAY)}
    assert before[0] < during[0]
