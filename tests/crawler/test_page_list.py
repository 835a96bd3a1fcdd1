"""When the list of pages says that each is visited next."""

import math

import numpy as np
from numpy.testing import assert_array_equal

from recrawl.crawler.explain import Price
from recrawl.crawler.intervals import Intervals
from recrawl.crawler.page_list import Wanted, list_pages, next_visits
from recrawl.records import NO_TIME, State
from recrawl.scheduling.value import days_until_due
from recrawl.store.listing import PageColumns
from recrawl.store.rows import NewPage
from recrawl.store.sqlite import SqliteStore

DAY = 86_400_000_000
NO_BELIEF = math.nan


def columns(*rows: tuple[State, int, int, float]) -> PageColumns:
    """Return pages with a state, a last visit, failures in a row, and the shape of a belief."""
    state, last_visit, failures, shape = (np.array(column) for column in zip(*rows, strict=True))
    counts = np.zeros(len(rows), np.int64)
    return PageColumns(
        number=np.arange(len(rows)),
        host=counts,
        state=state,
        last_visit=last_visit,
        failures=failures,
        visits=counts,
        changes=counts,
        importance=np.full(len(rows), 2.0),
        shape=shape,
        time=np.full(len(rows), 3.0),
        hosts={0: "a.example"},
    )


PAGES = columns(
    (State.ALIVE, NO_TIME, 0, NO_BELIEF),
    (State.ALIVE, 5 * DAY, 0, 1.5),
    (State.MISSING, 5 * DAY, 0, 1.5),
    (State.ALIVE, 5 * DAY, 1, 1.5),
    (State.GONE, 5 * DAY, 0, 1.5),
    (State.REFUSED, NO_TIME, 0, NO_BELIEF),
    (State.ALIVE, 5 * DAY, 0, NO_BELIEF),
)


def test_a_page_is_next_when_its_visit_is_worth_the_price_and_at_once_without_a_copy() -> None:
    price = 0.1
    due = 5 * DAY + days_until_due(2.0, 1.5, 3.0, price) * DAY
    found = next_visits(PAGES, Price(price, is_now=True), Intervals())
    assert_array_equal(found, [-math.inf, due, due, *[math.nan] * 4])
    assert 5 * DAY < due < math.inf


def test_without_a_price_only_pages_without_a_copy_are_known_to_be_next() -> None:
    assert_array_equal(next_visits(PAGES, None, Intervals()), [-math.inf, *[math.nan] * 6])


def test_pages_are_listed_as_they_were_added_or_by_url() -> None:
    urls = [f"https://a.example/{name}" for name in "cab"]
    with SqliteStore.open(":memory:") as store:
        store.add([NewPage(url, "a.example") for url in urls], at=0)
        listed = {
            order: [page.url for page in list_pages(store, Wanted(order=order), None, DAY).rows]
            for order in ("added", "url")
        }
    assert listed == {"added": urls, "url": sorted(urls)}
