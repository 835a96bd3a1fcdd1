"""Pages that rest, because they are gone or refused, and how they are woken."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from store.made_up import HOUR, NOON, address, failed, found, gone, new_pages, refused

from recrawl.records import DISALLOWED, Outcome, RobotsText, State
from recrawl.store.listing import HostCounts
from recrawl.store.rows import Added, Trouble
from recrawl.store.sqlite import SqliteStore

FORBIDDEN = "the server answered 403"


@pytest.fixture
def store() -> Iterator[SqliteStore]:
    with SqliteStore.open(":memory:", create=True) as opened:
        opened.add(new_pages(7), at=NOON)
        yield opened
        assert opened.check() == []


def test_a_refusal_is_not_logged_but_its_requests_count(store: SqliteStore) -> None:
    page = store.pages([0])[0]
    store.record([found(page, b"a", NOON, Outcome.FIRST)])
    store.record([refused(store.pages([0])[0], NOON + 1, FORBIDDEN, requests=1)])
    page = store.pages([0])[0]
    assert (page.state, page.reason, page.retry_at) == (State.REFUSED, FORBIDDEN, NOON + 1 + HOUR)
    assert store.totals().refused == 1
    assert [visit.at for visit in store.history(0, 9)] == [NOON]
    assert store.spent(0).requests == 3
    assert store.spent(0).outcomes[Outcome.FAILED] == 0
    assert store.copy(address(0)) is not None
    assert 0 not in store.fleet().number


def test_pages_that_are_not_well_are_counted(store: SqliteStore) -> None:
    assert store.trouble() == Trouble()
    pages = store.pages(range(7))
    store.record([refused(pages[0], NOON, DISALLOWED), refused(pages[3], NOON, DISALLOWED)])
    store.record([refused(pages[1], NOON, FORBIDDEN), gone(pages[2], NOON), failed(pages[4], NOON)])
    assert store.trouble() == Trouble(missing=0, gone=1, refused=3, failing=1)
    assert store.reasons(5) == [(DISALLOWED, 2), (FORBIDDEN, 1)]
    assert store.host_counts() == [
        HostCounts("host0.example", 3, missing=0, gone=0, refused=2, failing=0, unvisited=1),
        HostCounts("host1.example", 2, missing=0, gone=0, refused=1, failing=1, unvisited=1),
        HostCounts("host2.example", 2, missing=0, gone=1, refused=0, failing=0, unvisited=1),
    ]
    # Each has one page to visit; the one with more pages at all comes first, and then names decide.
    assert store.largest_hosts(9) == store.host_counts()
    assert store.count_hosts() == 3


def test_hosts_with_the_most_pages_to_visit_come_first(store: SqliteStore) -> None:
    pages = store.pages(range(7))
    store.record([refused(pages[number], NOON, DISALLOWED) for number in (0, 3, 6, 4)])
    counts = store.host_counts()
    assert [(one.name, one.pages, one.refused) for one in counts] == [
        ("host0.example", 3, 3),
        ("host1.example", 2, 1),
        ("host2.example", 2, 0),
    ]
    assert store.largest_hosts(9) == counts[::-1]
    assert store.largest_hosts(2) == counts[:0:-1]
    assert store.count_hosts() == 2


def test_pages_are_woken_when_their_time_has_come(store: SqliteStore) -> None:
    pages = store.pages(range(7))
    late = replace(gone(pages[2], NOON), page=replace(pages[2], state=State.GONE, retry_at=NOON))
    store.record([refused(pages[1], NOON, FORBIDDEN), late])
    assert store.wake(NOON - 1, NOON, 9) == []
    (woken,) = store.wake(NOON + HOUR, NOON + 2 * HOUR, 1)
    assert (woken.number, woken.state, woken.retry_at) == (2, State.MISSING, NOON + 2 * HOUR)
    (other,) = store.wake(NOON + HOUR, NOON + 2 * HOUR, 9)
    assert (other.number, other.state, other.reason) == (1, State.ALIVE, None)
    assert store.fleet().number.tolist() == list(range(7))
    # Nothing came of it: the run may have ended.
    assert len(store.wake(NOON + 2 * HOUR, NOON + 3 * HOUR, 9)) == 2


def test_a_new_robots_txt_has_what_the_old_one_refused_visited_again(store: SqliteStore) -> None:
    pages = store.pages(range(7))
    origin = "https://host0.example"
    old = RobotsText(origin, 200, "User-agent: *\nDisallow: /\n", NOON)
    store.remember_robots(old)
    store.record([refused(pages[n], NOON, DISALLOWED) for n in (0, 1, 3)])
    store.record([refused(pages[6], NOON, FORBIDDEN)])
    serial = store.fleet().serial
    store.remember_robots(replace(old, fetched_at=NOON + 1))
    store.remember_robots(replace(old, text="", fetched_at=NOON + 2, failing_since=NOON + 2))
    assert store.changes_since(serial).revived == []
    store.remember_robots(replace(old, text="User-agent: *\nDisallow:\n", fetched_at=NOON + 3))
    revived = store.changes_since(serial).revived
    assert [(page.number, page.state) for page in revived] == [
        (0, State.ALIVE),
        (3, State.ALIVE),
    ]
    assert store.totals().refused == 2


def test_a_refused_page_that_is_added_again_is_visited_again(store: SqliteStore) -> None:
    store.record([refused(store.pages([0])[0], NOON, FORBIDDEN)])
    assert store.add(new_pages(1), at=NOON) == Added(new=0, known=0, revived=1)
    page = store.pages([0])[0]
    assert (page.state, page.reason, page.retry_at) == (State.ALIVE, None, None)
