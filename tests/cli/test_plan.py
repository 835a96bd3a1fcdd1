"""What ``recrawl plan`` makes of a log and a budget."""

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import CliRunner, Result

from recrawl import GammaFilter, Observations, allocate, fit_host_priors, fit_prior, freshness
from recrawl.cli.app import app
from recrawl.planning.methods import METHODS, WITH_PRIOR

#: A page that changes daily, one that hardly does, one of another host, one seen once.
LOG = "page,time,outcome,importance\n" + "".join(
    [
        "https://a.org/news,2026-01-01,first,\n",
        *(
            f"https://a.org/news,2026-01-{day:02},{'changed' if day % 5 else 'unchanged'},\n"
            for day in range(2, 22)
        ),
        "https://a.org/about,2026-01-01,first,9\n",
        *(
            f"https://a.org/about,2026-01-{day:02},{'changed' if day == 9 else 'unchanged'},\n"
            for day in range(2, 20)
        ),
        "https://a.org/about,2026-01-20,unchanged,2\n",
        "https://a.org/about,2026-01-21,failed,\n",
        "https://b.org/,2026-01-03,first,0.5\n",
        "https://b.org/,2026-01-10,changed,\n",
        "https://b.org/,2026-01-12,gone,\n",
        "https://b.org/once,2026-01-10T12:00:00.25,first,\n",
    ]
)
PAGES = ["https://a.org/news", "https://a.org/about", "https://b.org/", "https://b.org/once"]
IMPORTANCE = [1.0, 2.0, 0.5, 1.0]
LAST = [
    datetime(2026, 1, 21, tzinfo=UTC),
    datetime(2026, 1, 20, tzinfo=UTC),
    datetime(2026, 1, 10, tzinfo=UTC),
    datetime(2026, 1, 10, 12, 0, 0, 250_000, tzinfo=UTC),
]
#: How often each page was seen, in 20 days of which 0.8 lie outside a page's visits, and 1.15 are
#: between two of them: 46 days in 40 gaps.
NOW = [times / (20 + 1.15 - 0.8) for times in (21, 20, 2, 1)]
COLUMNS = ["page", "change_rate", "low", "high", "importance", "crawl_rate", "next_visit"]


def observed() -> Observations:
    """Give what the log above teaches, counted by hand."""
    changed = [*(day % 5 > 0 for day in range(2, 22)), *(day == 9 for day in range(2, 21)), True]
    elapsed = [*[1.0] * 39, 7.0]
    return Observations.of(elapsed, changed, page=[0] * 20 + [1] * 19 + [2], pages=4)


def learned(prior: str = "fleet") -> tuple[Any, Any]:
    """Give the default method after these observations, and its state."""
    hosts = np.array([0, 0, 1, 1])
    priors = {"fleet": fit_prior(observed()), "host": fit_host_priors(observed(), hosts)}
    method = GammaFilter(prior=priors.get(prior))
    return method, method.update(method.start(4), observed())


def run(*arguments: str, given: str | bytes | None = LOG) -> Result:
    result = CliRunner().invoke(app, ["plan", *arguments], input=given)
    assert result.exit_code == 0, result.output
    return result


def rows(*arguments: str) -> list[dict[str, Any]]:
    """Give the plan of the log above, as JSON on standard output."""
    found: list[dict[str, Any]] = json.loads(run("-", "--format", "json", *arguments).stdout)
    return found


def column(found: list[dict[str, Any]], name: str) -> list[Any]:
    return [row[name] for row in found]


@pytest.mark.parametrize("prior", ["fleet", "alone", "host"])
@pytest.mark.parametrize("visits", ["periodic", "poisson"])
def test_a_plan_is_what_the_library_gives(
    prior: str, visits: Literal["periodic", "poisson"]
) -> None:
    method, state = learned(prior)
    low, high = method.interval(state, 0.95)
    rate = method.rate(state)
    best = allocate(rate, 3.0, importance=IMPORTANCE, visits=visits)
    found = rows("--budget", "3/day", "--prior", prior, "--visits", visits)
    assert list(found[0]) == COLUMNS
    assert column(found, "page") == PAGES
    assert column(found, "importance") == IMPORTANCE
    for name, values in (
        ("change_rate", rate),
        ("low", low),
        ("high", high),
        ("crawl_rate", best.crawl_rate),
    ):
        assert column(found, name) == pytest.approx(values.tolist())
    assert sum(column(found, "crawl_rate")) == pytest.approx(3.0)


def test_visits_are_regular_and_the_prior_is_the_fleets_unless_told() -> None:
    plain = rows("--budget", "3/day")
    assert plain == rows("--budget", "3/day", "--visits", "periodic", "--prior", "fleet")


@pytest.mark.parametrize("name", METHODS)
def test_every_method_plans_also_those_without_a_prior(name: str) -> None:
    log = LOG.replace("importance", "last_modified").replace(",9\n", ",\n").replace(",2\n", ",\n")
    log = log.replace(",0.5\n", ",\n")
    result = run("-", "--budget", "3/day", "--method", name, "--format", "json", given=log)
    found = json.loads(result.stdout)
    assert len(found) == 4
    same = run(
        *("-", "--budget", "3/day", "--method", name, "--format", "json"),
        *("--prior", "fleet" if name in WITH_PRIOR else "alone"),
        given=log,
    )
    assert same.stdout == result.stdout


def test_the_next_visit_is_a_gap_after_the_last_good_one() -> None:
    for row, last in zip(rows("--budget", "3/day"), LAST, strict=True):
        due = datetime.fromisoformat(row["next_visit"])
        assert row["next_visit"].endswith("Z")
        expected = last + timedelta(days=1 / row["crawl_rate"])
        assert abs(due - expected) <= timedelta(seconds=0.5)


def test_a_page_never_seen_is_due_after_it_was_last_looked_for() -> None:
    log = LOG + "https://c.org/,2026-01-15,failed,\n"
    result = run("-", "--budget", "3/day", "--format", "json", given=log)
    lost = json.loads(result.stdout)[-1]
    gap = datetime.fromisoformat(lost["next_visit"]) - datetime(2026, 1, 15, tzinfo=UTC)
    assert gap.total_seconds() == pytest.approx(86_400 / lost["crawl_rate"], abs=1)


def test_hosts_get_no_more_than_their_budget() -> None:
    method, state = learned()
    best = allocate(
        method.rate(state),
        3.0,
        importance=IMPORTANCE,
        visits="periodic",
        host=[0, 0, 1, 1],
        host_budget=1.5,
    )
    found = column(rows("--budget", "3/day", "--host-budget", "1.5/day"), "crawl_rate")
    assert found == pytest.approx(best.crawl_rate.tolist())
    assert sum(found[:2]) == pytest.approx(1.5)
    told = run("-", "--budget", "3/day", "--host-budget", "1/h", "--format", "csv").stderr
    assert "limited by" not in told
    told = run("-", "--budget", "9/day", "--host-budget", "1.5/day", "--format", "csv").stderr
    assert "4 pages on 2 hosts limited by the host budget of 1.5 visits per day\n" in told
    assert "this plan                     3 " in told


def test_importance_comes_from_a_file_where_one_is_given(tmp_path: Path) -> None:
    file = tmp_path / "views.parquet"
    parquet.write_table(pa.table({"page": PAGES[2:0:-1], "importance": [7, 0]}), file)
    found = rows("--budget", "3/day", "--importance", str(file))
    assert column(found, "importance") == [1.0, 0.0, 7.0, 1.0]
    assert (found[1]["crawl_rate"], found[1]["next_visit"]) == (0.0, None)
    method, state = learned()
    best = allocate(method.rate(state), 3.0, importance=[1, 0, 7, 1], visits="periodic")
    assert column(found, "crawl_rate") == pytest.approx(best.crawl_rate.tolist())


@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_all_pages_go_to_a_file_by_its_ending(tmp_path: Path, kind: str) -> None:
    (tmp_path / "log.csv").write_text(LOG, encoding="utf-8")
    path = tmp_path / f"plan.{kind}"
    result = run(str(tmp_path / "log.csv"), "--budget", "3/day", "-o", str(path))
    assert result.stdout == ""
    assert "this plan" in result.stderr
    if kind == "parquet":
        found = parquet.read_table(path).to_pylist()
        times = [f"{row['next_visit']:%Y-%m-%dT%H:%M:%SZ}" for row in found]
    else:
        text = path.read_text(encoding="utf-8")
        found = json.loads(text) if kind == "json" else list(csv.DictReader(io.StringIO(text)))
        times = column(found, "next_visit")
    expected = rows("--budget", "3/day")
    assert list(found[0]) == COLUMNS
    assert [float(row["crawl_rate"]) for row in found] == column(expected, "crawl_rate")
    assert times == column(expected, "next_visit")


def test_a_summary_compares_the_log_all_alike_and_the_plan() -> None:
    method, state = learned()
    rate = method.rate(state)
    best = allocate(rate, 3.0, importance=IMPORTANCE, visits="periodic")
    result = run("-", "--budget", "3/day")
    assert result.stderr == ""
    pages, summary = result.stdout.split("\n\n")
    lines = [line.split("  ") for line in summary.splitlines()]
    told = {line[0]: [cell.strip() for cell in line if cell.strip()][1:] for line in lines}
    for name, rates in (
        ("as in the log", np.array(NOW)),
        ("all pages alike", np.full(4, 0.75)),
        ("this plan", best.crawl_rate),
    ):
        share = freshness(rates, rate, importance=IMPORTANCE, visits="periodic")
        assert told[name] == [f"{rates.sum():.3g}", f"{100 * share:.1f} %"]
    assert summary.endswith(
        "4 pages, 46 visits from 2026-01-01 to 2026-01-21; 1 page with no visit to learn from\n"
    )
    assert len(pages.splitlines()) == 5


def test_a_table_shows_the_pages_with_most_visits_in_words() -> None:
    names = [f"p{number}" for number in range(30)]
    visits = "".join(
        f"{name},{day},{day * number % 30 < number:d}\n"
        for number, name in enumerate(names)
        for day in range(0, 86_400 * 20, 86_400)
    )
    log = f"page,time,changed\n{visits}"
    found = json.loads(run("-", "--budget", "9/day", "--format", "json", given=log).stdout)
    shown = run("-", "--budget", "9/day", given=log).stdout.split("\n\n")[0].splitlines()
    order = sorted(found, key=lambda row: -row["crawl_rate"])
    assert shown[0].split("  ")[0] == "page"
    assert [line.split()[0] for line in shown[1:21]] == column(order[:20], "page")
    assert shown[1].endswith(order[0]["next_visit"][:16].replace("T", " "))
    assert shown[21] == "These 20 get the most visits; -o FILE lists all pages."


def test_pages_not_worth_a_visit_are_counted_with_the_reason() -> None:
    fast = "".join(f"fast,{hour * 3600},{hour % 99 > 0:d},\n" for hour in range(480))
    slow = "".join(f"slow,{day * 86_400},{day % 5 == 4:d},\n" for day in range(20))
    still = "".join(f"still,{day * 86_400},0,\n" for day in range(20))
    unloved = "".join(f"unloved,{day * 86_400},{day % 2},0\n" for day in range(20))
    log = f"page,time,changed,importance\n{fast}{slow}{still}{unloved}"
    result = run("-", "--budget", "0.2/day", "--method", "mle", given=log)
    assert (
        "3 pages not worth a visit: 1 not important enough for how fast they change, "
        "1 never seen to change, 1 with importance 0\n"
    ) in result.stdout
    found = run("-", "--budget", "0.2/day", "--method", "mle", "--format", "json", given=log)
    assert [row["crawl_rate"] > 0 for row in json.loads(found.stdout)] == [
        False,
        True,
        False,
        False,
    ]
    assert "not worth" not in run("-", "--budget", "3/day").stdout


def test_a_fleet_in_which_nothing_changed_gets_a_plan_without_visits() -> None:
    log = "page,time,changed\na,1,\na,2,0\n"
    result = run("-", "--budget", "3/day", "--method", "mle", given=log)
    assert "1 page not worth a visit: 1 never seen to change" in result.stdout
    assert "100.0 %" in result.stdout


def test_names_do_not_steer_the_terminal() -> None:
    shown = run("-", "--budget", "1/day", given="page,time,changed\n\x1b[2J,1,\n\x1b[2J,2,1\n")
    assert "\\x1b[2J " in shown.stdout
    assert "\x1b" not in shown.stdout


def test_unknown_columns_are_skipped_in_both_files_when_asked(tmp_path: Path) -> None:
    file = tmp_path / "views.csv"
    file.write_text("page,importance,title\na,2,x\n", encoding="utf-8")
    log = "page,time,changed,status\na,1,,200\na,2,1,200\n"
    run("-", "--budget", "1/day", "--ignore-unknown", "--importance", str(file), given=log)
