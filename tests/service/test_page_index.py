"""Lists from columns that are kept for a while."""

from pathlib import Path

from service.served import fill
from store.made_up import found

from recrawl.crawler.explain import Price
from recrawl.crawler.page_list import ORDERS, Wanted, list_pages
from recrawl.service.page_index import MIN_AGE, PageIndex
from recrawl.store.sqlite import SqliteStore

PRICE = Price(0.5, is_now=True)
HOUR = 3_600_000_000


def test_lists_are_those_of_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "recrawl.db"
    with SqliteStore.open(path, create=True) as store:
        fill(store, [f"https://h{n % 3}.example/{(7 * n) % 10}" for n in range(10)])
        pages = store.pages(range(0, 10, 2)).values()
        store.record([found(page, b"one", HOUR * (9 - page.number)) for page in pages])
        index = PageIndex(str(path), now=lambda: 0.0)
        for order in ORDERS:
            for reverse in (False, True):
                for offset, limit in ((0, 4), (3, 4), (0, 99), (8, 9), (99, 9)):
                    wanted = Wanted(order=order, reverse=reverse, limit=limit)
                    whole = Wanted(order=order, reverse=reverse)
                    expected = list(list_pages(store, whole, PRICE, 99 * HOUR).rows)
                    listed = index.list(store, wanted, PRICE, 99 * HOUR, offset=offset)
                    assert listed.found == 10
                    assert listed.rows == expected[offset : offset + limit], order


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
