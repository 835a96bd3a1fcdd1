"""The status of a crawl, from a real store."""

import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from crawler.believing import NO_PRIOR, rates, with_belief
from crawler.filled import ABOUT, BELIEFS, DAY, HOUR, NEW, NEWS, PRICE, fill, miss
from store.made_up import found as found_visit

from recrawl.estimation.shown.evidence import no_evidence
from recrawl.estimation.shown.rates import RatePrior, ShownRates
from recrawl.inspect.explain import Price
from recrawl.inspect.pages import Wanted, list_pages
from recrawl.inspect.status import Status, host_pages, read_status, size_of
from recrawl.records import NO_TIME, Outcome
from recrawl.scheduling.value import days_until_due, value_of_belief
from recrawl.store.kept.host_memory import HOST_PAUSE, PAUSE, pack_rows
from recrawl.store.listing import HostCounts
from recrawl.store.locking import runner_of
from recrawl.store.reading import RATE_PRIOR
from recrawl.store.rows import NewPage, Outlook, Spent, Trouble
from recrawl.store.sqlite import SqliteStore

NOW = 20_000 * DAY + HOUR // 2


def status_of(path: Path) -> Status:
    with SqliteStore.open(path) as store:
        return read_status(store, path, 10.0, NOW)


def fresh(url: str, days: float) -> float:
    return float(rates(BELIEFS[url]).fresh(np.array([days]))[0])


def test_pages_visits_and_spending_are_counted(tmp_path: Path) -> None:
    fill(tmp_path / "s.db", NOW)
    found = status_of(tmp_path / "s.db")
    assert (found.totals.pages, found.totals.alive, found.totals.gone) == (5, 4, 1)
    assert found.totals.with_copy == 2
    # News changed, one failed with two requests, one was gone with two.
    assert found.last_day.outcomes[Outcome.CHANGED] == 1
    assert found.last_day.outcomes[Outcome.FIRST] == 0
    assert found.ever.outcomes[Outcome.FIRST] == 2
    assert (found.last_day.requests, found.ever.requests) == (5, 7)
    assert (found.last_day.robots, found.last_day.sitemaps) == (2, 1)
    assert found.size >= (tmp_path / "s.db").stat().st_size > 0


def test_expected_freshness_weighs_by_importance(tmp_path: Path) -> None:
    """Two for the news, one for each other page that is not gone; no copy is no freshness."""
    fill(tmp_path / "s.db", NOW)
    expected = (2.0 * fresh(NEWS, 0.25) + fresh(ABOUT, 8.0)) / 5.0
    assert status_of(tmp_path / "s.db").expected_freshness == pytest.approx(expected)


def test_a_little_freshness_is_some_and_none_is_not_known(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with SqliteStore.open(path, create=True) as store:
        store.add([NewPage("https://a/", "a", 0.25)], 0)
        assert read_status(store, path, 10.0, NOW).expected_freshness is None
        visit = found_visit(store.pages([0])[0], b"one", NOW - DAY)
        store.record([visit])
        expected = ShownRates(no_evidence(1), RatePrior.world()).fresh(np.array([1.0]))
        assert read_status(store, path, 10.0, NOW).expected_freshness == pytest.approx(expected[0])


def test_pages_without_a_copy_are_next_then_those_that_are_due(tmp_path: Path) -> None:
    fill(tmp_path / "s.db", NOW)
    found = status_of(tmp_path / "s.db")
    assert found.price == Price(PRICE, is_now=False)
    assert [due.url for due in found.due[:1]] == [NEW]
    assert {due.url for due in found.due[1:]} == {NEWS, ABOUT}
    assert found.due[0].at is None
    late = [due for due in found.due if due.at is not None and due.at <= NOW]
    assert [due.value for due in late] == sorted((due.value for due in late), reverse=True)
    assert all(due.value >= PRICE for due in late)


def test_pages_that_are_due_come_by_value_and_the_others_by_time(tmp_path: Path) -> None:
    """By the days until they are due; what is worth most may not have waited longest."""
    ahead = {"late": (-3.0, 1.0), "worth": (-1.0, 9.0), "soon": (0.5, 1.0), "later": (2.0, 9.0)}
    with SqliteStore.open(tmp_path / "s.db", create=True) as store:
        store.add([NewPage(f"https://a/{name}", "a", ahead[name][1]) for name in ahead], 0)
        visits = []
        for page, (days, importance) in zip(
            store.pages(range(4)).values(), ahead.values(), strict=True
        ):
            due = days_until_due(importance, 1.0, 1.0, 0.1)
            last = NOW - round((due - days) * DAY)
            visits.append(with_belief(found_visit(page, b"one", last), 1.0, 1.0))
        store.record(visits)
        store.set_meta("price", "0.1")
        listed = read_status(store, tmp_path / "s.db", 10.0, NOW).due
    assert [due.url.rpartition("/")[2] for due in listed] == ["worth", "late", "soon", "later"]
    times = [(due.at - NOW) / DAY for due in listed if due.at is not None]
    assert times == pytest.approx([-1.0, -3.0, 0.5, 2.0])


def test_without_a_price_only_pages_without_a_copy_are_told(tmp_path: Path) -> None:
    fill(tmp_path / "s.db", NOW, price=None)
    found = status_of(tmp_path / "s.db")
    assert found.price is None
    assert [due.url for due in found.due] == [NEW]


def test_hosts_are_told_by_size(tmp_path: Path) -> None:
    fill(tmp_path / "s.db", NOW)
    found = status_of(tmp_path / "s.db")
    hosts = [(host.name, host.pages, host.without_copy, host.failing) for host in found.hosts]
    assert hosts == [("a.example", 3, 1, 0), ("b.example", 2, 1, 1)]
    assert found.other_hosts == 0


def test_the_pages_of_hosts_add_up_to_all(tmp_path: Path) -> None:
    """A page that is not found has failed too; it is counted once."""
    fill(tmp_path / "s.db", NOW)
    miss(tmp_path / "s.db", NOW)
    found = status_of(tmp_path / "s.db")
    totals, hosts = found.totals, found.hosts
    assert (totals.pages, found.trouble) == (5, Trouble(missing=1, gone=1, refused=1, failing=1))
    assert sum(host.pages for host in hosts) == totals.pages
    assert sum(host.missing for host in hosts) == totals.missing
    assert sum(host.gone for host in hosts) == totals.gone
    assert sum(host.refused for host in hosts) == totals.refused
    assert sum(host.failing for host in hosts) == found.trouble.failing
    assert sum(host.without_copy for host in hosts) == totals.unvisited == 1


def test_an_empty_store_stands_too(tmp_path: Path) -> None:
    with SqliteStore.open(tmp_path / "s.db", create=True):
        pass
    found = status_of(tmp_path / "s.db")
    assert found.expected_freshness is None
    assert (found.due, found.hosts) == ([], [])


def test_a_run_is_noticed_and_not_disturbed(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    fill(path, NOW)
    assert runner_of(path) is None
    script = (
        "import sys\nfrom recrawl.store.sqlite import SqliteStore\n"
        "with SqliteStore.open(sys.argv[1]) as store, store.lock():\n"
        "    print('locked', flush=True); sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", script, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"locked\n"
        assert runner_of(path) == process.pid
        found = status_of(path)
        assert found.runner == process.pid
        assert found.price == Price(PRICE, is_now=True)
        process.communicate()
    assert runner_of(path) is None


def test_a_run_that_was_killed_is_none(tmp_path: Path) -> None:
    """Its number stays in the file, and may be another process's by now."""
    path = tmp_path / "s.db"
    fill(path, NOW)
    (tmp_path / "s.db-run").write_text(f"{os.getpid()}\n", encoding="ascii")
    assert runner_of(path) is None
    with SqliteStore.open(path) as store, store.lock():
        assert runner_of(path) == os.getpid()


def test_of_very_many_pages_some_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts stay exact; freshness is that of the pages read, here all of them."""
    fill(tmp_path / "s.db", NOW)
    pages = status_of(tmp_path / "s.db").totals.pages
    monkeypatch.setattr("recrawl.inspect.status.MAX_READ", pages)
    exact = status_of(tmp_path / "s.db")
    monkeypatch.setattr("recrawl.inspect.status.MAX_READ", pages - 1)
    found = status_of(tmp_path / "s.db")
    assert (exact.sampled, found.sampled) == (None, 4)
    assert found.expected_freshness == pytest.approx(exact.expected_freshness)
    assert found.due == []
    assert [replace(host, expected_freshness=0.0) for host in found.hosts] == [
        replace(host, expected_freshness=0.0) for host in exact.hosts
    ]
    assert all(math.isnan(host.expected_freshness) for host in found.hosts)


def test_a_sample_is_like_the_whole(tmp_path: Path) -> None:
    with SqliteStore.open(tmp_path / "s.db", create=True) as store:
        url = "http://a.example/{}".format
        pages = [NewPage(url(n), "a.example", float(n % 7)) for n in range(5_000)]
        store.add(pages, at=0)
        store.remove([url(n) for n in range(0, 5_000, 10)])
        sample, whole = store.outlook(500), store.outlook()
    # A tenth of the numbers is of pages that were removed.
    assert abs(sample.number.size - 450) < 4 * (500 * 0.1 * 0.9) ** 0.5
    assert set(sample.number.tolist()) <= set(whole.number.tolist())
    error = whole.importance.std() / sample.number.size**0.5
    assert abs(sample.importance.mean() - whole.importance.mean()) < 4 * error


def test_pages_of_a_host_that_is_left_alone_are_next_after_that(tmp_path: Path) -> None:
    fill(tmp_path / "s.db", NOW)
    until = NOW + 20 * DAY
    with SqliteStore.open(tmp_path / "s.db") as store:
        rows = np.array([(until, 30 * DAY), (NOW + DAY, DAY)], PAUSE)
        store.keep(HOST_PAUSE, pack_rows(["a.example", "gone.example"], rows))
        listed = list(list_pages(store, Wanted(), Price(PRICE, is_now=True), NOW).rows)
    later = [due.at for due in status_of(tmp_path / "s.db").due[1:]]
    assert later == pytest.approx([until, until], abs=1)
    assert [page.next_visit for page in listed if page.url in (NEWS, ABOUT)] == [until, until]


def outlook(hosts: list[str], **columns: Any) -> Outlook:  # noqa: ANN401
    """Make columns of pages: visited a day ago, alike and well unless given."""
    host = np.array(columns.pop("host", [0]), np.int64)
    usual: dict[str, Any] = {
        "number": np.arange(host.size),
        "importance": np.ones(host.size),
        "shape": np.ones(host.size),
        "time": np.ones(host.size),
        "last_visit": np.full(host.size, NOW - DAY),
        "failures": np.zeros(host.size, np.int64),
        "rates": rates(*[(1.0, 1.0)] * host.size),
    }
    given = {
        name: column if name == "rates" else np.array(column) for name, column in columns.items()
    }
    return Outlook(host=host, hosts=hosts, **(usual | given))


def counts(name: str) -> HostCounts:
    return HostCounts(name, 1, 2, 3, 4, 5, 6)


def test_the_freshness_of_a_host_is_that_of_its_pages_by_importance() -> None:
    fleet = outlook(["a", "b", "c"], host=[0, 0, 1, 2], importance=[1.0, 3.0, 0.5, 1.0])
    fresh = np.array([0.5, 0.75, 0.5, 0.0])
    names = ["b", "a", "unknown", "c"]
    found = host_pages([counts(name) for name in names], fleet, fresh, is_sample=False)
    assert [one.name for one in found] == names
    assert [one.expected_freshness for one in found[:2]] == [0.5, 2.75 / 4.0]
    # It has no copies, or none that may be current.
    assert all(math.isnan(one.expected_freshness) for one in found[2:])
    first = found[0]
    assert (first.pages, first.missing, first.gone, first.refused) == (1, 2, 3, 4)
    assert (first.failing, first.without_copy) == (5, 6)


@pytest.mark.parametrize(("pages", "is_known"), [(99, False), (100, True)])
def test_a_hundred_pages_of_a_sample_are_enough_for_a_host(pages: int, is_known: bool) -> None:
    fleet = outlook(["a"], host=[0] * pages)
    (found,) = host_pages([counts("a")], fleet, np.ones(pages), is_sample=True)
    assert math.isnan(found.expected_freshness) != is_known


def test_a_copy_is_fresh_with_a_chance_that_falls_and_never_without_one() -> None:
    known = rates(*[(1.0, 3.0)] * 4)
    fleet = outlook(["a"], host=[0] * 4, rates=known)
    fleet = replace(fleet, last_visit=np.array([NOW - DAY, NOW - 9 * DAY, NOW, NO_TIME]))
    fresh = fleet.fresh(NOW)
    assert fresh.tolist() == known.fresh(np.array([1.0, 9.0, 0.0, math.inf])).tolist()
    assert 1.0 == fresh[2] > fresh[0] > fresh[1] > fresh[3] == 0.0
    # By a clock that was set back, the visit is in the future.
    assert fleet.fresh(NOW - 9 * DAY)[0] == 1.0


def test_ten_pages_and_hosts_are_listed(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with SqliteStore.open(path, create=True) as store:
        names = [f"h{number:02}.example" for number in range(12)]
        store.add([NewPage(f"https://{name}/", name, 1.0) for name in names], 0)
        visits = [
            with_belief(found_visit(page, b"one", NOW - DAY), 1.0, 3.0)
            for page in store.pages(range(8)).values()
        ]
        store.record(visits)
        store.set_meta("price", "1e-9")
        store.set_meta(RATE_PRIOR, NO_PRIOR.text())
        found = read_status(store, path, 10.0, NOW)
    assert (len(found.hosts), found.other_hosts) == (10, 2)
    # Four of them have no copy, which come first, and six others are due.
    assert [due.at is None for due in found.due] == [True] * 4 + [False] * 6
    known = rates((1.0, 3.0))
    stale = 1.0 - known.fresh(np.ones(1))[0]
    assert [due.stale for due in found.due] == pytest.approx([1.0] * 4 + [stale] * 6)
    assert all(math.isnan(due.change_rate) and math.isnan(due.value) for due in found.due[:4])
    value = value_of_belief(1.0, 3.0, 1.0)
    assert [due.change_rate for due in found.due[4:]] == pytest.approx([known.typical[0]] * 6)
    assert [due.value for due in found.due[4:]] == pytest.approx([value] * 6)


def test_the_last_day_is_twenty_four_whole_hours(tmp_path: Path) -> None:
    """The hour that has begun, and the 23 before it."""
    path = tmp_path / "s.db"
    with SqliteStore.open(path, create=True) as store:
        for hours in (0, 22, 23, 24, 25):
            store.record([], Spent(at=NOW - hours * HOUR, robots=1))
        found = read_status(store, path, 10.0, NOW)
        assert (found.last_day.robots, found.ever.robots) == (3, 5)
        assert (found.budget, found.run_budget, found.budget_now) == (10.0, None, 10.0)
        store.set_meta("budget", "25.0")
        later = read_status(store, path, 10.0, NOW)
        assert (later.budget, later.run_budget, later.budget_now) == (10.0, 25.0, 10.0)
        assert replace(later, runner=7).budget_now == 25.0


def test_the_size_of_a_store_is_that_of_its_files(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    assert size_of(path) == 0
    path.write_bytes(bytes(30))
    assert size_of(path) == 30
    (tmp_path / "s.db-wal").write_bytes(bytes(12))
    assert size_of(path) == 42
