"""Lists from columns that are kept for a while."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from service.served import fill
from store.made_up import failed, found

from recrawl.config.intervals import Intervals
from recrawl.inspect.explain import Price
from recrawl.inspect.pages import ORDERS, Wanted, list_pages
from recrawl.kernels.jit import Ints
from recrawl.records import State
from recrawl.service.pages.index import MIN_AGE, PageIndex
from recrawl.service.pages.url_text import UrlText
from recrawl.store.rows import NewPage
from recrawl.store.sqlite import SqliteStore

PRICE = Price(0.5, is_now=True)
HOUR = 3_600_000_000


def _intervals(_store: SqliteStore, numbers: Ints) -> Intervals:
    return Intervals(np.where(numbers % 4, 0.0, 50.0), np.where(numbers % 4, 3.0, np.inf))


def test_lists_are_those_of_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "recrawl.db"
    with SqliteStore.open(path, create=True) as store:
        fill(store, [f"https://h{n % 3}.example/{(7 * n) % 10}" for n in range(10)])
        pages = store.pages(range(0, 10, 2)).values()
        store.record([found(page, b"one", HOUR * (9 - page.number)) for page in pages])
        index = PageIndex(str(path), _intervals, now=lambda: 0.0)
        for order in ORDERS:
            for reverse in (False, True):
                for offset, limit in ((0, 4), (3, 4), (0, 99), (8, 9), (99, 9)):
                    wanted = Wanted(order=order, reverse=reverse, limit=limit)
                    whole = Wanted(order=order, reverse=reverse)
                    expected = list(list_pages(store, whole, PRICE, 99 * HOUR, _intervals).rows)
                    listed = index.list(store, wanted, PRICE, 99 * HOUR, offset=offset)
                    assert listed.found == 10
                    assert listed.rows == expected[offset : offset + limit], order


FILTERS: tuple[dict[str, Any], ...] = (
    {"states": (State.ALIVE,)},
    {"states": (State.GONE, State.MISSING)},
    {"hosts": ("h1.example", "nowhere.example")},
    {"failing": True},
    {"error": "TIMED"},
    {"min_rate": 0.2},
    {"max_rate": 0.3},
    {"due_within": 2.0},
    {"hosts": ("h0.example",), "min_rate": 0.1, "failing": False},
)


@pytest.mark.parametrize("text", ["", "/2", "h1", "nowhere", "%", "."])
def test_filters_are_those_of_the_command_line(tmp_path: Path, text: str) -> None:
    path, now = tmp_path / "recrawl.db", [0.0]
    with SqliteStore.open(path, create=True) as store:
        fill(store, [f"https://h{n % 3}.example/{n}" for n in range(30)])
        pages = list(store.pages(range(30)).values())
        store.record([found(page, b"one", HOUR * (1 + page.number)) for page in pages[:20]])
        store.record([failed(page, HOUR * 40) for page in pages[5:9]])
        index = PageIndex(str(path), now=lambda: now[0])
        for asked in ({}, *FILTERS):
            for order in ("added", "url", "rate", "error", "next-visit"):
                _compare(store, index, Wanted(order=order, **asked), text)
        # Pages come and go.
        store.remove([pages[3].url, pages[29].url])
        fill(store, ["https://h1.example/222", "https://h0.example/1"])
        now[0] += 1e6
        _compare(store, PageIndex(str(path), now=lambda: now[0]), Wanted(order="url"), text)
        index._read(store, PRICE)  # noqa: SLF001 - as it does in the background
        _compare(store, index, Wanted(order="url"), text)


def _compare(store: SqliteStore, index: PageIndex, wanted: Wanted, text: str) -> None:
    rows = [row for row in list_pages(store, wanted, PRICE, 99 * HOUR).rows if text in row.url]
    listed = index.list(store, wanted, PRICE, 99 * HOUR, text=text)
    assert listed.rows == rows, wanted
    assert listed.found == len(rows)


def test_what_is_shown_is_current_though_the_order_may_be_old(tmp_path: Path) -> None:
    path, now = tmp_path / "recrawl.db", [0.0]
    with SqliteStore.open(path, create=True) as store:
        fill(store, [f"https://a.example/{n}" for n in range(5)])
        index = PageIndex(str(path), now=lambda: now[0])
        wanted = Wanted(limit=9)
        assert [page.visits for page in index.list(store, wanted, PRICE, 0).rows] == [0] * 5
        store.remove(["https://a.example/3"])
        store.record([found(page, b"one", HOUR) for page in store.pages([1]).values()])
        fill(store, ["https://a.example/new"])
        listed = index.list(store, wanted, PRICE, 0)
        assert [page.url[-1] for page in listed.rows] == ["0", "1", "2", "4"]
        assert [page.visits for page in listed.rows] == [0, 1, 0, 0]
        now[0] += MIN_AGE + 1.0
        index.list(store, wanted, PRICE, 0)
        reading = index._reading  # noqa: SLF001 - it is read in the background
        if reading is not None:
            reading.join()
        assert index.list(store, wanted, PRICE, 0).found == 5


@given(
    urls=st.lists(st.text("ab/é.", min_size=1, max_size=12), max_size=12),
    wanted=st.text("ab/é.", min_size=1, max_size=4),
    removed=st.sets(st.integers(0, 11)),
)
def test_a_part_of_a_url_is_found(urls: list[str], wanted: str, removed: set[int]) -> None:
    with SqliteStore.open(":memory:") as store:
        distinct = list(dict.fromkeys(f"https://a.example/{url}" for url in urls))
        store.add((NewPage(url, "a.example") for url in distinct), at=0)
        numbers = np.arange(len(distinct))
        text = UrlText().of(store, numbers)
        assert text.contain(wanted, numbers).tolist() == [wanted in url for url in distinct]
        store.remove([distinct[number] for number in removed if number < len(distinct)])
        store.add([NewPage("https://b.example/ab", "b.example")], at=0)
        left = store.page_columns().number
        found = text.of(store, left).contain(wanted, left)
        pages = store.pages(left.tolist())
        assert found.tolist() == [wanted in pages[number].url for number in left.tolist()]
