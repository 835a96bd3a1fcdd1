"""What every store promises to a service: samples for charts, tokens, leases, lists."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from store.made_up import NOON, address, found, new_pages, unchanged
from store.stores import STORES

from recrawl.store.access import LeaseRow, Token
from recrawl.store.protocols import Store
from recrawl.store.rows import Retention
from recrawl.store.samples import KeptSample, Span
from recrawl.store.subscriptions import Subscription

SECOND = 1_000_000


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened = STORES[request.param](tmp_path, Retention())
    yield opened
    assert opened.check() == []
    opened.close()


def test_samples_are_added_up_by_minute_hour_and_day(store: Store) -> None:
    start = NOON - NOON % Span.DAY.microseconds
    for second, fresh in ((0, 0.2), (30, 0.4), (60, 0.9), (3_600, 0.5)):
        store.samples.add(KeptSample(start + second * SECOND, fresh, second, 1, 2, 3))
    minutes = store.samples.since(0, Span.MINUTE)
    assert [(one.at - start) // SECOND for one in minutes] == [30, 60, 3_600]
    assert minutes[0].freshness == pytest.approx(0.3)
    assert minutes[0] == KeptSample(start + 30 * SECOND, minutes[0].freshness, 30, 2, 4, 6)
    first, last = store.samples.since(0, Span.HOUR)
    assert first.freshness == pytest.approx(0.5)
    assert (first.changed, first.unchanged, first.failed, first.due) == (3, 6, 9, 60)
    assert last == KeptSample(start + 3_600 * SECOND, 0.5, 3_600, 1, 2, 3)
    (day,) = store.samples.since(0, Span.DAY)
    assert (day.at, day.changed) == (start + 3_600 * SECOND, 4)
    assert store.samples.since(start + 60 * SECOND, Span.MINUTE) == minutes[1:]


@pytest.mark.parametrize("unknown", [0, 1])
def test_a_freshness_that_is_not_known_does_not_count(store: Store, unknown: int) -> None:
    shares = [0.25, None] if unknown else [None, 0.25]
    for second, share in enumerate(shares):
        store.samples.add(KeptSample(second * SECOND, share, 0, 0, 0, 0))
    assert [one.freshness for one in store.samples.since(0, Span.DAY)] == [0.25]


def test_no_more_samples_are_kept_than_have_a_place(store: Store) -> None:
    step = 10 * 60 * SECOND
    for number in range(300):
        store.samples.add(KeptSample(NOON + number * step, 0.5, 0, 1, 0, 0))
    minutes = store.samples.since(0, Span.MINUTE)
    # Every tenth minute of a day; what was before has been overwritten.
    assert len(minutes) == Span.MINUTE.kept // 10
    assert minutes[0].at > NOON + 300 * step - Span.DAY.microseconds - step
    assert all(one.changed == 1 for one in minutes)
    assert sum(one.changed for one in store.samples.since(0, Span.HOUR)) == 300


@given(times=st.lists(st.integers(0, 10**13), min_size=1, max_size=30))
def test_whatever_the_clock_does_no_visit_counts_twice(times: list[int]) -> None:
    with closing(STORES["memory"](Path(), Retention())) as store:
        for at in times:
            store.samples.add(KeptSample(at, 0.5, 0, 1, 0, 0))
        for span in Span:
            kept = store.samples.since(0, span)
            assert 1 <= sum(one.changed for one in kept) <= len(times)
            assert all(one.freshness == pytest.approx(0.5) for one in kept)
            assert [one.at for one in kept] == sorted(one.at for one in kept)


def test_tokens_have_distinct_names_and_can_be_revoked(store: Store) -> None:
    one, other = Token("b", b"1", "read", NOON), Token("a", b"2", "admin", NOON)
    assert store.service.add_token(one)
    assert store.service.add_token(other)
    assert not store.service.add_token(Token("a", b"3", "read", NOON))
    assert store.service.tokens() == [other, one]
    assert store.service.revoke_token("a")
    assert not store.service.revoke_token("a")
    assert store.service.tokens() == [one]


def test_leases_are_kept_until_no_page_is_out(store: Store) -> None:
    leases = [LeaseRow("x", "key", NOON + 1, NOON + 9, (3, 1)), LeaseRow("y", None, NOON, 9, (7,))]
    store.service.keep_leases(leases)
    assert store.service.leases() == leases[::-1]
    fewer = LeaseRow("x", "key", NOON + 1, NOON + 9, (1,))
    store.service.keep_leases([fewer, LeaseRow("y", None, 0, 0, ())])
    assert store.service.leases() == [fewer]


def test_pages_are_known_that_were_visited_since(store: Store) -> None:
    store.add(new_pages(3), at=NOON)
    pages = store.pages(range(3))
    store.record([unchanged(pages[0], NOON + 1), unchanged(pages[1], NOON + 5)])
    assert store.service.visited_since([0, 1, 2], NOON + 5) == {1}
    assert store.service.visited_since([0, 2], NOON) == {0}


def test_urls_of_new_pages_are_read_in_order_of_number(store: Store) -> None:
    store.add(new_pages(5), at=NOON)
    store.remove([address(3)], at=NOON)
    read = [row for rows in store.urls_after(1) for row in rows]
    assert read == [(2, address(2)), (4, address(4))]
    assert list(store.urls_after(4)) == []


def test_beliefs_are_read_together(store: Store) -> None:
    store.add(new_pages(3), at=NOON)
    store.record([found(store.pages([1])[1], b"one", NOON)])
    assert store.beliefs(np.array([0, 1, 9])) == {1: (0.5, 2.0)}


def test_pages_are_counted_by_host(store: Store) -> None:
    store.add(new_pages(4), at=NOON)
    counts = store.host_counts()
    assert (counts[0].name, counts[0].pages) == ("host0.example", 2)
    assert sum(one.pages for one in counts) == 4


def test_a_host_is_there_as_long_as_it_has_pages(store: Store) -> None:
    store.add(new_pages(2), NOON)
    host = new_pages(1)[0].host
    assert store.has_host(host)
    assert not store.has_host("nobody.example")
    store.remove([address(0), address(1)])
    assert not store.has_host(host)


def test_subscriptions_last_as_long_as_their_feed_is_read(store: Store) -> None:
    feed, other = "https://a.example/feed", "https://b.example/feed"
    store.sitemaps.add(feed)
    store.sitemaps.add(other)
    one = Subscription(feed, "https://hub.example/", f"{feed}?self", "c1", "s1", NOON)
    two = Subscription(other, "https://hub.example/", other, "c2", "s2", NOON + 1)
    store.subscriptions.keep(two)
    store.subscriptions.keep(one)
    assert store.subscriptions.all() == [one, two]
    later = replace(one, lease_until=NOON + 9, received_at=NOON + 2, failures=3, error="refused")
    store.subscriptions.keep(later)
    assert store.subscriptions.all() == [later, two]
    store.sitemaps.remove([other])
    assert store.subscriptions.all() == [later]
    store.subscriptions.drop_unread()
    store.sitemaps.add(other)
    assert store.subscriptions.all() == [later]
