"""When the list of pages says that each is visited next."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from crawler.believing import NO_PRIOR, rates, with_belief
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from store.made_up import failed, found, gone

from recrawl.config.intervals import Intervals
from recrawl.inspect.explain import Price
from recrawl.inspect.pages import (
    ORDERS,
    Wanted,
    after_pauses,
    is_unfiltered,
    list_pages,
    next_visits,
)
from recrawl.records import MICROSECONDS_A_DAY, NO_TIME, RESTING, Outcome, Response, State, Visit
from recrawl.scheduling.value import days_until_due, value_of_belief
from recrawl.store.listing import DueBy, PageColumns, PageFilter
from recrawl.store.queries import statement
from recrawl.store.reading import RATE_PRIOR
from recrawl.store.rows import NewPage
from recrawl.store.sqlite import SqliteStore

DAY = 86_400_000_000
NO_BELIEF = math.nan
#: The change rates of the pages in `several` that were found.
SLOW, FAST = rates((1.0, 10.0), (5.0, 10.0)).typical.tolist()


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
        retry_at=np.where(np.isin(state, RESTING), 9 * DAY, NO_TIME),
        importance=np.full(len(rows), 2.0),
        shape=shape,
        time=np.full(len(rows), 3.0),
        hosts={0: "a.example"},
        rates=rates(*[(1.5, 3.0)] * len(rows)),
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
    assert_array_equal(found, [-math.inf, due, due, math.nan, 9 * DAY, 9 * DAY, math.nan])
    assert 5 * DAY < due < math.inf


def test_visits_wait_for_their_own_host_only() -> None:
    host, hosts = np.array([7, 2, 5, 2, 9, 5, 2]), {n: f"{n}.example" for n in (2, 5, 7, 9)}
    pages = replace(PAGES, host=host, hosts=hosts)
    due = np.array([1.0, 1.0, 1.0, 8.0, 1.0, math.nan, -math.inf])
    closed = {"2.example": 3, "5.example": 4, "gone.example": 6}
    found = after_pauses(due, pages, closed)
    assert_array_equal(found, [1.0, 3.0, 4.0, 8.0, 1.0, math.nan, -math.inf])
    assert_array_equal(after_pauses(due, pages, {}), due)


def test_without_a_price_only_pages_without_a_copy_and_at_rest_have_a_next_visit() -> None:
    found = next_visits(PAGES, None, Intervals())
    assert_array_equal(found, [-math.inf, *[math.nan] * 3, 9 * DAY, 9 * DAY, math.nan])


def test_pages_are_listed_as_they_were_added_or_by_url() -> None:
    urls = [f"https://a.example/{name}" for name in "cab"]
    with SqliteStore.open(":memory:") as store:
        store.add([NewPage(url, "a.example") for url in urls], at=0)
        listed = {
            order: [page.url for page in list_pages(store, Wanted(order=order), None, DAY).rows]
            for order in ("added", "url", "error")
        }
    # No page has an error.
    assert listed == {"added": urls, "url": sorted(urls), "error": urls}


@pytest.fixture(scope="module")
def several() -> Iterator[SqliteStore]:
    """Make a store with pages that differ in everything that can be asked for."""
    hosts = {"d": "b", "a": "a", "c": "c", "e": "b", "b": "a"}
    importance = {"d": 1.0, "a": 5.0, "c": 3.0, "e": 2.0, "b": 4.0}
    with SqliteStore.open(":memory:") as store:
        store.add([NewPage(f"https://{hosts[n]}/{n}", hosts[n], importance[n]) for n in hosts], 0)
        d, a, c, e, _ = store.pages(range(5)).values()
        slow = with_belief(found(d, b"one", 5 * DAY), 1.0, 10.0)
        fast = with_belief(found(a, b"two", 4 * DAY), 5.0, 10.0)
        store.set_meta(RATE_PRIOR, NO_PRIOR.text())
        store.record([slow, fast, gone(c, 6 * DAY)])
        store.record([failed(e, 6 * DAY)])
        yield store


def names(store: SqliteStore, wanted: Wanted) -> str:
    """Return the last letters of the pages that are listed."""
    listed = list_pages(store, wanted, Price(0.5, is_now=True), 7 * DAY)
    return "".join(page.url[-1] for page in listed.rows)


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("added", "daceb"),
        ("url", "abdec"),
        ("host", "abdec"),
        ("state", "daebc"),
        ("importance", "abced"),
        ("rate", "adceb"),
        ("last-visit", "adceb"),
        ("next-visit", "badce"),
        ("failures", "edacb"),
        ("error", "cedab"),
    ],
)
def test_every_order_puts_what_is_unknown_last_and_can_be_turned_round(
    several: SqliteStore, order: str, expected: str
) -> None:
    assert names(several, Wanted(order=order)) == expected
    assert names(several, Wanted(order=order, reverse=True)) == expected[::-1]
    for limit in range(6):
        assert names(several, Wanted(order=order, limit=limit)) == expected[:limit]
        turned = Wanted(order=order, limit=limit, reverse=True)
        assert names(several, turned) == expected[::-1][:limit]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Wanted(states=[State.GONE]), "c"),
        (Wanted(states=[State.ALIVE]), "daeb"),
        (Wanted(hosts=["b", "c"]), "dce"),
        (Wanted(failing=True), "e"),
        (Wanted(error="TIMED out"), "e"),
        (Wanted(error="404"), "c"),
        (Wanted(min_rate=SLOW), "da"),
        (Wanted(min_rate=1.01 * SLOW), "a"),
        (Wanted(max_rate=FAST), "da"),
        (Wanted(max_rate=0.99 * FAST), "d"),
        (Wanted(hosts=["b"], min_rate=SLOW), "d"),
        (Wanted(due_within=0.0), "ab"),
        (Wanted(due_within=1_000.0), "dab"),
    ],
)
def test_every_filter_lists_what_matches(
    several: SqliteStore, wanted: Wanted, expected: str
) -> None:
    assert names(several, wanted) == expected
    assert names(several, replace(wanted, limit=1)) == expected[:1]


@pytest.mark.parametrize(
    ("wanted", "read"),
    [
        (PageFilter(failing=True), [3]),
        (PageFilter(states=[State.GONE]), [2]),
        (PageFilter(states=[State.GONE], failing=True), []),
        (PageFilter(hosts=["b"]), [0, 3]),
        (PageFilter(), [0, 1, 2, 3, 4]),
    ],
)
def test_few_pages_are_read_where_few_are_wanted(
    several: SqliteStore, wanted: PageFilter, read: list[int]
) -> None:
    assert several.page_columns(wanted).number.tolist() == read


#: Importance, shape and time of the belief, and the days since the last visit as a share of those
#: after which the next one is due.
BELIEVED = st.tuples(
    st.sampled_from([0.0, 1e-3, 1.0, 50.0]),
    st.floats(1e-3, 50.0) | st.sampled_from([1.0, 1.0 + 1e-12, 1e5]),
    st.floats(1e-3, 1e3),
    st.sampled_from([-0.5, 0.5, 0.99, 1.001, 1.01, 2.0]),
)


@given(
    pages=st.lists(BELIEVED, min_size=1, max_size=8),
    price=st.none() | st.floats(1e-4, 1e3),
    max_interval=st.sampled_from([0.5, 30.0, math.inf]),
    due_within=st.sampled_from([0.0, 1 / 24, 7.0]),
)
def test_the_store_leaves_out_no_page_that_is_due(
    pages: list[tuple[float, float, float, float]],
    price: float | None,
    max_interval: float,
    due_within: float,
) -> None:
    asked = None if price is None else Price(price, is_now=True)
    now, limits = 500 * DAY, Intervals(0.0, max_interval)
    wanted = Wanted(due_within=due_within)
    with SqliteStore.open(":memory:") as store:
        new = [
            NewPage(f"https://a.example/{number}", "a.example", importance)
            for number, (importance, *_) in enumerate(pages)
        ]
        store.add([*new, NewPage("https://a.example/new", "a.example")], at=0)
        visits = []
        for page, (importance, shape, time, share) in zip(
            store.pages(range(len(pages))).values(), pages, strict=True
        ):
            needed = days_until_due(importance, shape, time, price or 1.0) - due_within
            last = round(now - share * min(needed, 400.0) * DAY)
            visits.append(replace(found(page, b"one", last), belief=(shape, time)))
        store.record(visits)
        listed = list_pages(store, wanted, asked, now, lambda _store, _numbers: limits)
        due = next_visits(every := store.page_columns(), asked, limits)
        expected = every.number[due <= now + due_within * MICROSECONDS_A_DAY]
        assert listed.found == expected.size
        assert [store.page(page.url).number for page in listed.rows] == expected.tolist()  # type: ignore[union-attr]


@pytest.mark.parametrize(("elapsed", "max_interval", "is_read"), [
    (1.49, math.inf, False),
    (1.51, math.inf, True),
    (1.49, 1.3, True),
    (-1.1, math.inf, False),
])  # fmt: skip
def test_pages_that_cannot_be_due_are_not_read(
    elapsed: float, max_interval: float, is_read: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Also by an SQLite without mathematics.
    nothing = {"has_power": "SELECT 1 WHERE 0"}
    monkeypatch.setattr(
        "recrawl.store.database.statement", lambda name: nothing.get(name) or statement(name)
    )
    with SqliteStore.open(":memory:") as store:
        store.add([NewPage("https://a.example/", "a.example", 2.0)], at=0)
        visit = found(store.pages([0])[0], b"one", round(9 * DAY - elapsed * DAY))
        store.record([replace(visit, belief=(1.5, 3.0))])
        due = DueBy(9 * DAY, 2.0 * value_of_belief(1.5, 3.0, 1.5), max_interval)
        assert store.page_columns(PageFilter(due=due)).number.size == is_read


def test_a_listed_page_has_all_that_is_known_of_it(several: SqliteStore) -> None:
    listed = list_pages(several, Wanted(), Price(0.5, is_now=True), 7 * DAY)
    assert listed.found == 5
    slow, _, away, broken, new = listed.rows
    assert (slow.url, slow.host, slow.state) == ("https://b/d", "b", State.ALIVE)
    assert (slow.importance, slow.change_rate, slow.visits, slow.changes) == (1.0, SLOW, 1, 1)
    assert (slow.last_visit, slow.status, slow.error) == (5 * DAY, 200, None)
    needed = days_until_due(1.0, 1.0, 10.0, 0.5)
    assert slow.next_visit == pytest.approx(5 * DAY + needed * DAY, abs=1)
    assert slow.is_guess
    assert not replace(slow, visits=2).is_guess
    assert (away.state, away.status, away.error) == (State.GONE, 404, "status 404")
    assert (broken.failures, broken.status, broken.next_visit) == (1, 0, None)
    assert broken.error == "timed out after 60 s"
    assert (new.last_visit, new.next_visit, new.change_rate, new.status) == (None,) * 4
    assert not new.is_guess


@pytest.mark.parametrize(
    ("state", "status", "error"),
    [
        (State.MISSING, 400, "status 400"),
        (State.MISSING, 399, "redirected to the front page"),
        (State.GONE, 0, None),
        (State.ALIVE, 500, None),
    ],
)
def test_a_page_that_is_not_there_has_an_error_and_one_that_is_has_none(
    state: State, status: int, error: str | None
) -> None:
    with SqliteStore.open(":memory:") as store:
        store.add([NewPage("https://a.example/", "a.example")], at=0)
        page = replace(store.pages([0])[0], state=state)
        outcome = Outcome.FIRST if state is State.ALIVE else Outcome.GONE
        store.record([Visit(page, outcome, Response(page.url, status, DAY))])
        (listed,) = list_pages(store, Wanted(), None, 7 * DAY).rows
    assert listed.error == error


def test_a_page_that_is_due_just_then_is_listed() -> None:
    with SqliteStore.open(":memory:") as store:
        store.add([NewPage("https://a.example/", "a.example")], at=0)
        visit = found(store.pages([0])[0], b"one", 5 * DAY)
        store.record([replace(visit, belief=(1.0, 3.0))])
        limits = Intervals(0.0, 2.0)

        def count(due_within: float) -> int:
            wanted, price = Wanted(due_within=due_within), Price(1e6, is_now=True)
            return list_pages(store, wanted, price, 6 * DAY, lambda _store, _pages: limits).found

        assert [count(days) for days in (0.99, 1.0, 1.01)] == [0, 1, 1]


def test_an_order_without_pages_is_empty() -> None:
    with SqliteStore.open(":memory:") as store:
        for order in ORDERS:
            for reverse in (False, True):
                wanted = Wanted(order=order, reverse=reverse)
                listed = list_pages(store, wanted, None, DAY)
                assert (listed.found, list(listed.rows)) == (0, [])


def test_by_default_all_pages_are_wanted_as_they_were_added() -> None:
    wanted = Wanted()
    assert is_unfiltered(wanted)
    assert (wanted.order, wanted.reverse, wanted.limit, wanted.failing) == (
        "added",
        False,
        None,
        False,
    )
    for one in ({"failing": True}, {"error": ""}, {"min_rate": 0.0}, {"due_within": 0.0}):
        assert not is_unfiltered(replace(wanted, **one))
