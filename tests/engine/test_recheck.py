"""Pages that are gone or refused are checked again, for a small share of the budget."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest
from crawler.fakes import SECOND, MemoryStore, VirtualExecutor, settings_of
from virtual_time import run as run_in_virtual_time

from recrawl.engine.frontier import CrawlFrontier, load_frontier
from recrawl.engine.recheck import AGAIN, MAX_WOKEN, WAKING_SHARE, Waking
from recrawl.records import Outcome, Page, Response, State, Visit
from recrawl.store.thread import StoreThread

A = "https://a.example"
DAY = 86_400 * SECOND
BEGIN = 30 * DAY
#: Of this budget, ten visits a day are for such pages.
BUDGET = 10.0 / WAKING_SHARE


def with_gone_pages(pages: int, retry_at: int = 0) -> MemoryStore:
    store = MemoryStore(*(f"{A}/{number}" for number in range(pages)))
    for page in list(store.known.values()):
        store.known[page.number] = replace(
            page, state=State.GONE, failures=3, retry_at=retry_at, last_visit=0
        )
    return store


def woken(store: MemoryStore, *steps: Callable[[Waking], object] | int) -> list[int]:
    """Wake pages at some times, with other steps between; return how many are awake after each."""

    async def main() -> list[int]:
        frontier = load_frontier(store, settings_of(), BEGIN)
        waking = Waking(frontier, StoreThread(store, VirtualExecutor({})), BUDGET)
        counts = list[int]()
        for step in steps:
            if callable(step):
                step(waking)
            else:
                await waking.wake(step)
                counts.append(len(frontier))
        return counts

    return asyncio.run(main())


def test_as_many_pages_wake_as_a_share_of_the_budget_pays_for() -> None:
    store = with_gone_pages(50)
    # Nothing is saved from before the run, and a part of a visit is saved until it is a whole one.
    times = [BEGIN, BEGIN + DAY // 11, BEGIN + DAY // 10, BEGIN + DAY]
    assert woken(store, *times) == [0, 0, 1, 10]


def test_what_is_saved_has_a_limit() -> None:
    store = with_gone_pages(3 * MAX_WOKEN)
    assert woken(store, BEGIN + 100 * DAY, BEGIN + 101 * DAY) == [MAX_WOKEN, MAX_WOKEN + 10]


def test_what_no_page_needed_is_saved() -> None:
    store = with_gone_pages(15)
    store.known |= {n: replace(store.known[n], retry_at=BEGIN + 2 * DAY) for n in range(5, 15)}
    assert woken(store, BEGIN + DAY, BEGIN + 2 * DAY) == [5, 15]


def test_a_clock_that_is_set_back_costs_nothing() -> None:
    store = with_gone_pages(50)
    assert woken(store, BEGIN + DAY, BEGIN, BEGIN + DAY) == [10, 10, 20]


def test_another_budget_counts_from_then_on() -> None:
    store = with_gone_pages(50)
    steps = (BEGIN + DAY, lambda waking: waking.set_budget(2 * BUDGET), BEGIN + 2 * DAY)
    assert woken(store, *steps) == [10, 30]


def test_a_page_that_woke_comes_first_and_again_a_day_later_if_it_is_not_visited() -> None:
    store = with_gone_pages(1, retry_at=BEGIN)
    other = Page(1, f"{A}/other", "a.example", importance=100.0, last_visit=0)
    store.known[1], store.beliefs[1] = other, (100.0, 1.0)

    async def main() -> CrawlFrontier:
        frontier = load_frontier(store, settings_of(), BEGIN)
        frontier.frontier.spend(-5)
        await Waking(frontier, StoreThread(store, VirtualExecutor({})), BUDGET).wake(BEGIN + DAY)
        return frontier

    frontier = asyncio.run(main())
    assert store.known[0].retry_at == BEGIN + DAY + AGAIN
    assert AGAIN == DAY
    assert frontier.take(BEGIN + DAY, 1) == [0]


def test_a_page_that_woke_and_cannot_be_requested_costs_nothing() -> None:
    def settle(requests: int, *numbers: int) -> Callable[[Waking], object]:
        response = Response("", 0, BEGIN, requests=requests)
        pages = [Page(number, f"{A}/{number}", "a.example") for number in numbers]
        visits = [Visit(page, Outcome.FAILED, response) for page in pages]
        return lambda waking: waking.settle(visits)

    then = BEGIN + DAY
    # Each counts once, and only if it woke.
    refunded = (then, settle(0, 0, 1), settle(0, 0, 1, 40), then)
    assert woken(with_gone_pages(50), *refunded) == [10, 12]
    assert woken(with_gone_pages(50), then, settle(1, 0, 1), then) == [10, 10]


@pytest.mark.parametrize("is_reported", [False, True])
def test_a_page_that_is_out_when_it_is_time_to_check_it_is_not_taken_again(
    is_reported: bool,
) -> None:
    """Not while it is visited, and not for what the store knew before the visit ended."""
    store = with_gone_pages(2)
    store_seconds = {"wake": 60.0}

    async def main() -> list[int]:
        frontier = load_frontier(store, settings_of(), BEGIN)
        waking = Waking(frontier, StoreThread(store, VirtualExecutor(store_seconds)), BUDGET)
        await waking.wake(BEGIN + DAY)
        frontier.frontier.spend(-9)
        assert sorted(frontier.take(BEGIN + DAY, 9)) == [0, 1]
        again = asyncio.create_task(waking.wake(BEGIN + 3 * DAY))
        await asyncio.sleep(30.0)
        if is_reported:
            assert frontier.end_visit(0)
            frontier.remove([0])
        await again
        return frontier.take(BEGIN + 3 * DAY, 9)

    assert run_in_virtual_time(main()) == []
