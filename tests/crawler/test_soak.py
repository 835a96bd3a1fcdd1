"""Months of crawling in virtual time, on a web that fails in every way a web does."""

import logging
from collections.abc import Iterator

import pytest
from crawler.soak_web import SoakWeb
from crawler.soaking import Soaked, folder_in_memory, growth, soak

HOSTS, PAGES, DAYS = 4, 50, 180
BUDGETS = (40.0, 50.0, 30.0)


@pytest.fixture(scope="module")
def soaked() -> Iterator[Soaked]:
    """Crawl once for all tests; the same is done at full size by `python -m benchmarks soak`."""
    logging.disable(logging.WARNING)  # hosts fail thousands of times
    with folder_in_memory() as folder:
        yield soak(folder / "recrawl.db", SoakWeb(HOSTS, PAGES, DAYS, seed=5), BUDGETS)
    logging.disable(logging.NOTSET)


def test_every_page_that_is_there_is_alive_after_months_of_outages(soaked: Soaked) -> None:
    assert soaked.alive > 0.9 * HOSTS * PAGES
    assert soaked.lost == []
    assert soaked.unvisited == []


def test_each_day_spends_its_budget(soaked: Soaked) -> None:
    assert len(soaked.days) == DAYS
    assert soaked.off_budget(0.01) == []


def test_no_host_is_asked_more_often_than_it_allows(soaked: Soaked) -> None:
    assert (soaked.wrongs, soaked.complaints) == (0, [])


def test_nothing_grows_over_months(soaked: Soaked) -> None:
    # Of the few thousand objects that a crawl keeps, some come and go with what is in flight.
    assert growth(soaked.objects) < 0.5
    # The benchmark has a narrower bar; here, memory is that of all the tests in this process.
    assert growth(soaked.memory) < 0.25


def test_the_store_is_whole_after_months(soaked: Soaked) -> None:
    assert soaked.damage == []
