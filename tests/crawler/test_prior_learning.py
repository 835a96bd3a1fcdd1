"""Priors that are learned while the crawl runs."""

import asyncio
from itertools import count

import numpy as np
import pytest
from crawler.fakes import FakeWeb, MemoryStore, VirtualExecutor, crawl, settings_of
from crawler.restarting import Fleet, Run
from site_server import page_about

from recrawl.crawler import prior_learning
from recrawl.crawler.load import CrawlFrontier, Priors, fitted, load_frontier
from recrawl.crawler.prior_learning import ObservationSample, PriorLearning
from recrawl.crawler.store_thread import StoreThread
from recrawl.estimation import Observations, Prior
from recrawl.kernels.jit import Ints
from recrawl.records import Page
from recrawl.store.rows import Observed

DAY = 86_400_000_000
BUSY, QUIET = "https://busy.example", "https://quiet.example"


def frontier_of(pages: int = 30) -> CrawlFrontier:
    urls = [f"{host}/{page}" for host in (BUSY, QUIET) for page in range(pages)]
    return load_frontier(MemoryStore(*urls), settings_of(budget=60.0), 0)


def learning_of(frontier: CrawlFrontier, cost: float = 0.0) -> PriorLearning:
    times = count(0.0, cost)
    thread = StoreThread(MemoryStore(), VirtualExecutor({}))
    return PriorLearning(frontier, thread, cpu_time=lambda: next(times))


def teach(learning: PriorLearning, pages: int = 30, rounds: int = 5) -> None:
    for _ in range(rounds):
        for page in range(2 * pages):
            learning.observe(page, 1.0, changed=page < pages)


def mean_rates(frontier: CrawlFrontier, pages: list[int]) -> list[float]:
    shape, time = frontier.frontier.belief(pages).columns(len(pages))
    return [float(rate) for rate in shape / time]


def test_hosts_that_differ_get_different_priors_while_running() -> None:
    frontier = frontier_of()
    before = mean_rates(frontier, [0, 30])
    learning = learning_of(frontier)
    teach(learning)
    asyncio.run(learning.refit())
    busy, quiet = mean_rates(frontier, [0, 30])
    assert before[0] == before[1]
    assert busy > 2 * quiet
    new = [Page(n, f"{url}/new", url[8:]) for n, url in [(100, BUSY), (101, QUIET)]]
    frontier.add([*new, Page(102, "https://c.example/", "c.example")], 0)
    rates = mean_rates(frontier, [100, 101, 102])
    assert rates[:2] == pytest.approx([busy, quiet])
    assert quiet < rates[2] < busy


def test_priors_are_fitted_when_there_is_news_and_time() -> None:
    frontier = frontier_of()
    learning = learning_of(frontier, cost=3.0)

    async def main() -> None:
        await learning.refit()
        assert mean_rates(frontier, [0]) == mean_rates(frontier, [30]), "nothing to learn from"
        teach(learning)
        await learning.refit()
        once = mean_rates(frontier, [0, 30])
        assert once[0] != once[1]
        teach(learning, rounds=1)
        assert learning.is_worthwhile
        # It took six seconds, so that the next time is ten minutes later.
        await learning.refit()
        assert mean_rates(frontier, [0, 30]) == once

    asyncio.run(main())


def test_loading_kernels_puts_off_no_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    spent = [0.0]
    fits: list[int] = []

    def slow_at_first(seen: Observations, hosts: Ints) -> tuple[Prior, Priors]:
        spent[0] += 0.0 if fits else 1_000.0
        fits.append(seen.rows)
        return fitted(seen, hosts)

    monkeypatch.setattr(prior_learning, "fitted", slow_at_first)
    frontier = frontier_of()
    thread = StoreThread(MemoryStore(), VirtualExecutor({}))
    learning = PriorLearning(frontier, thread, cpu_time=lambda: spent[0])

    async def main() -> None:
        for _ in range(2):
            teach(learning)
            await learning.refit()

    asyncio.run(main())
    assert fits[1:] == [300, 600]


def test_observations_of_pages_that_are_gone_teach_nothing() -> None:
    frontier = frontier_of()
    learning = learning_of(frontier)
    teach(learning)
    frontier.remove(range(60))
    assert learning.observations() is None


def test_what_earlier_runs_observed_counts() -> None:
    frontier = frontier_of()
    pages = np.repeat(np.arange(60), 5)
    frontier.observed = Observed(pages, np.full(pages.size, DAY), pages < 30)
    learning = learning_of(frontier)
    assert not learning.is_worthwhile
    teach(learning, rounds=1)
    asyncio.run(learning.refit())
    busy, quiet = mean_rates(frontier, [0, 30])
    assert busy > 2 * quiet


def test_a_sample_has_all_observations_of_its_pages_and_not_too_many() -> None:
    sample = ObservationSample(limit=100)
    for round_ in range(10):
        for page in range(64):
            sample.add(page, 1.0 + round_, changed=page % 3 == 0)
    pages, elapsed, changed = sample.columns()
    assert 100 < len(sample) == pages.size <= 200
    for one in np.unique(pages):
        assert elapsed[pages == one].tolist() == [1.0 + round_ for round_ in range(10)]
        assert set(changed[pages == one]) == {one % 3 == 0}


def test_a_prior_is_replaced_and_not_added() -> None:
    frontier = frontier_of(2).frontier
    frontier.report([0, 1], 1.0, changed=[False, False])
    frontier.report([0, 1], 4.0, changed=[True, False])
    before = np.array(frontier.belief([0, 1]).rate)
    frontier.replace_prior([0, 1, 2, 3], Prior(0.5, 20.0))
    once = np.array(frontier.belief([0, 1, 2, 3]).rate)
    assert (once[:2] < before).all()
    assert once[0] > once[1]
    # Of pages that were not visited nothing is known but the prior.
    assert once[2] == once[3] < 0.3
    for _ in range(2):
        frontier.replace_prior([0, 1, 2, 3], Prior(0.5, 20.0))
    assert np.array(frontier.belief([0, 1, 2, 3]).rate).tolist() == once.tolist()
    frontier.replace_prior([0, 1, 2, 3], None)
    assert np.array(frontier.belief([0, 1]).rate) == pytest.approx(before, rel=0.2)


def test_a_crawl_learns_while_it_runs() -> None:
    """Two hosts, of which one changes all the time; a page that comes later is known as theirs."""
    web = FakeWeb(
        lambda url: page_about(f"Number {web.clock() // DAY if url.startswith(BUSY) else 0}.")
    )
    store = MemoryStore(*(f"{host}/{page}" for host in (BUSY, QUIET) for page in range(8)))
    found: list[list[float]] = []

    def look(running: CrawlFrontier) -> None:
        new = [Page(n, f"{url}/new", url[8:]) for n, url in [(100, BUSY), (101, QUIET)]]
        running.add(new, 60 * DAY)
        found.append(mean_rates(running, [100, 101]))

    crawl(
        web,
        store,
        settings_of(budget=8.0),
        seconds=60 * 86_400.0,
        speed=86_400.0,
        during=lambda running: asyncio.get_running_loop().call_later(59.0, look, running.frontier),
    )
    ((busy, quiet),) = found
    assert busy > 1.5 * quiet


def test_a_run_that_never_restarts_is_no_worse_than_one_that_does() -> None:
    """The benchmark `restarts` has more pages, days and fleets."""
    fleets = [Fleet.drawn(hosts=6, pages=10, days=40.0, seed=seed) for seed in range(2)]
    steady = np.mean([Run(fleet, budget=12.0).freshness() for fleet in fleets])
    restarted = np.mean(
        [Run(fleet, 12.0, restart_every=4.0, refits=False).freshness() for fleet in fleets]
    )
    # Both are means over the same changes; what is left is luck in the order of visits.
    assert steady > restarted - 0.01
