"""What every store promises."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from store.made_up import (
    HEADERS,
    HOUR,
    NOON,
    address,
    failed,
    found,
    gone,
    new_pages,
    refused,
    unchanged,
)
from store.stores import STORES

from recrawl.content.absence import without_copy
from recrawl.errors import ArgumentError, StoreError
from recrawl.records import (
    NO_TIME,
    PRIVATE,
    Change,
    ChangeKind,
    Fingerprint,
    Outcome,
    Page,
    RobotsText,
    State,
    Validators,
    digest_of,
)
from recrawl.store.changes import Cursor, FeedKind, PageChange
from recrawl.store.protocols import Store
from recrawl.store.rows import (
    Added,
    Edits,
    LoggedVisit,
    NewPage,
    Retention,
    SitemapFile,
    Spending,
    Spent,
)
from recrawl.store.webhooks import Message, MessageState, Progress, Undelivered

Make = Callable[[Retention], Store]


@pytest.fixture(params=STORES)
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Make an empty store, which is in order when the test is over."""
    opened: list[Store] = []

    def open_one(retention: Retention) -> Store:
        folder = tmp_path / str(len(opened))
        folder.mkdir()
        opened.append(STORES[request.param](folder, retention))
        return opened[-1]

    yield open_one
    for one in opened:
        assert one.check() == []
        one.close()


@pytest.fixture
def store(make: Make) -> Store:
    return make(Retention())


def known(store: Store, number: int) -> Page:
    return store.pages([number])[number]


def test_pages_are_numbered_from_0_in_the_order_in_which_they_are_named(
    store: Store,
) -> None:
    assert store.add(new_pages(5), at=NOON) == Added(new=5, known=0, revived=0)
    assert [known(store, i).url for i in range(5)] == [address(i) for i in range(5)]
    assert store.page(address(4)) == Page(4, address(4), "host1.example")
    assert store.page("https://nowhere.example/") is None
    assert store.pages([3, 99]) == {3: Page(3, address(3), "host0.example")}


def test_a_known_page_takes_the_new_importance_and_the_smaller_depth(store: Store) -> None:
    store.add([NewPage(address(0), "host0.example", 3.0, depth=2, source="link")], at=NOON)
    again = [NewPage(address(0), "host0.example"), NewPage(address(1), "host1.example", 2.0)]
    assert store.add(again, at=NOON) == Added(new=1, known=1, revived=0)
    assert known(store, 0).importance == 3.0
    assert known(store, 0).depth == 0
    twice = [NewPage(address(2), "host2.example", w) for w in (5.0, 7.0, None)]
    assert store.add(twice, at=NOON) == Added(new=1, known=2, revived=0)
    assert known(store, 2).importance == 7.0


@pytest.mark.parametrize("importance", [-1.0, float("nan"), float("inf")])
def test_an_invalid_importance_adds_nothing(store: Store, importance: float) -> None:
    pages = [*new_pages(2), NewPage(address(9), "host0.example", importance)]
    with pytest.raises(ArgumentError, match=r"importance of https://host0\.example/page/9 is"):
        store.add(pages, at=NOON)
    assert store.totals().pages == 0
    assert store.add(new_pages(1), at=NOON).new == 1


def test_numbers_are_never_reused(store: Store) -> None:
    store.add(new_pages(3), at=NOON)
    store.record([found(known(store, 2), b"two", NOON, Outcome.FIRST)])
    assert store.remove([address(2), address(1), "https://nowhere.example/"]) == [1, 2]
    assert store.add(new_pages(3), at=NOON).new == 2
    assert sorted(store.pages(range(10))) == [0, 3, 4]
    assert known(store, 4).url == address(2)
    assert known(store, 4).fingerprint is None


def test_a_visit_is_written_with_all_that_it_changes(store: Store) -> None:
    store.add(new_pages(2), at=NOON)
    visit = found(known(store, 1), b"odd", NOON, Outcome.FIRST)
    store.record([visit], Spent(NOON, robots=3, sitemaps=1, lost=4))
    assert known(store, 1) == visit.page
    assert store.body(visit.page.body or b"") == b"odd"
    copy = store.copy(address(1))
    assert copy is not None
    assert copy.page == visit.page
    assert copy.response.headers == HEADERS
    assert (copy.response.body, copy.response.at) == (b"odd", NOON)
    assert store.history(1, 10) == [
        LoggedVisit(
            at=NOON,
            outcome=Outcome.FIRST,
            previous=None,
            status=200,
            signal=None,
            last_modified=NOON - HOUR,
            bytes=3,
            ms=250,
            requests=2,
            truncated=False,
            mime="text/html",
            redirect=None,
            error=None,
        )
    ]
    outcomes = dict.fromkeys(Outcome, 0) | {Outcome.FIRST: 1}
    assert store.spent(NOON) == Spending(6, 3, 1, outcomes)
    assert store.spent(NOON + HOUR) == Spending(0, 0, 0, dict.fromkeys(Outcome, 0))


def test_how_large_a_change_is_and_what_it_taught_are_written(store: Store) -> None:
    store.add(new_pages(2), at=NOON)
    first = found(known(store, 1), b"one", NOON, Outcome.FIRST)
    store.record([first], templates={first.page.host: b"menu"})
    changes = [*(Change(kind, 0.5) for kind in ChangeKind), None]
    for hours, change in enumerate(changes, 1):
        visit = found(known(store, 1), b"two", NOON + hours * HOUR)
        store.record([replace(visit, change=change)])
    assert known(store, 1).suspects == b"t"
    assert [visit.change for visit in store.history(1, 9)] == [*reversed(changes), None]
    assert store.template(first.page.host) == b"menu"
    assert store.template("nobody.example") is None


def test_a_copy_is_renewed_though_only_the_furniture_changed(store: Store) -> None:
    store.add(new_pages(1), at=NOON)
    store.record([found(known(store, 0), b"one", NOON, Outcome.FIRST)])
    visit = found(known(store, 0), b"two", NOON + HOUR, Outcome.UNCHANGED)
    store.record([replace(visit, change=Change(ChangeKind.FURNITURE))])
    copy = store.copy(address(0))
    assert copy is not None
    assert (copy.response.body, copy.response.at) == (b"two", NOON + HOUR)
    assert (copy.page.visits, copy.page.changes) == (2, 0)
    assert store.history(0, 1)[0].outcome is Outcome.UNCHANGED
    assert store.totals().bodies == 1


def test_visits_that_cannot_be_written_teach_nothing(store: Store) -> None:
    store.add(new_pages(1), at=NOON)
    visit = found(known(store, 0), b"one", NOON, Outcome.FIRST)
    with pytest.raises(StoreError):
        store.record([replace(visit, content=None)], templates={"host0.example": b"menu"})
    assert store.template("host0.example") is None


def test_how_an_outcome_was_determined_is_logged(store: Store) -> None:
    store.add(new_pages(2), at=NOON)
    store.record([found(known(store, i), b"a", NOON, Outcome.FIRST) for i in range(2)])
    dated = replace(known(store, 1), validators=Validators(None, "a date"))
    store.record([unchanged(known(store, 0), NOON + 1), unchanged(dated, NOON + 1)])
    store.record([found(known(store, 0), b"b", NOON + 2)])
    store.record([failed(known(store, 0), NOON + 3), gone(known(store, 1), NOON + 3)])
    assert [v.signal for v in store.history(0, 9)] == [None, "digest", "etag", None]
    assert [v.signal for v in store.history(1, 9)] == [None, "lastmod", None]
    assert [v.at for v in store.history(0, 2)] == [NOON + 3, NOON + 2]
    assert [v.previous for v in store.history(0, 9)] == [NOON + 2, NOON + 1, NOON, None]


def test_a_visit_that_is_recorded_twice_counts_once(store: Store) -> None:
    store.add(new_pages(1), at=NOON)
    visit = found(known(store, 0), b"a", NOON, Outcome.FIRST)
    store.record([visit, visit])
    store.record([found(known(store, 0), b"b", NOON)])
    assert known(store, 0) == visit.page
    assert store.totals().visits == 1
    assert store.spent(0).requests == 2


def test_a_page_removed_during_its_visit_stays_removed_but_its_cost_counts(
    store: Store,
) -> None:
    store.add(new_pages(2), at=NOON)
    visits = [found(known(store, i), b"a", NOON, Outcome.FIRST) for i in range(2)]
    store.remove([address(0)])
    store.record(visits)
    assert list(store.pages([0, 1])) == [1]
    assert store.spent(0).requests == 4
    assert store.totals().visits == 1


def test_what_others_edit_during_a_visit_stays(store: Store) -> None:
    store.add([NewPage(address(0), "host0.example", depth=3)], at=NOON)
    visit = found(known(store, 0), b"a", NOON, Outcome.FIRST)
    store.add([NewPage(address(0), "host0.example", 9.0)], at=NOON)
    store.record([visit])
    assert (known(store, 0).importance, known(store, 0).depth) == (9.0, 0)


def test_a_body_is_stored_once_and_only_while_it_is_used(store: Store) -> None:
    store.add(new_pages(3), at=NOON)
    store.record([found(known(store, i), b"same" * 99, NOON, Outcome.FIRST) for i in range(3)])
    totals = store.totals()
    assert (totals.with_copy, totals.bodies, totals.content_bytes) == (3, 1, 396)
    assert 0 < totals.stored_bytes < 396 / 2
    store.record([found(known(store, 0), b"other", NOON + 1)])
    assert store.totals().bodies == 2
    store.record([found(known(store, i), b"other", NOON + 1) for i in (1, 2)])
    assert store.totals().bodies == 2
    store.record([found(known(store, i), b"%d" % n, NOON + n) for n in (2, 3) for i in range(3)])
    assert store.totals().bodies == 3
    with pytest.raises(StoreError, match="the store has no body"):
        store.body(b"nowhere")
    store.remove([address(i) for i in range(3)])
    assert store.totals().bodies == 0
    assert store.totals().visits == 0
    assert store.spent(0).requests == 24


def test_the_same_content_with_new_headers_renews_the_copy(store: Store) -> None:
    store.add(new_pages(1), at=NOON)
    store.record([found(known(store, 0), b"a", NOON, Outcome.FIRST)])
    visit = found(known(store, 0), b"a", NOON + 1, Outcome.UNCHANGED)
    moved = replace(visit.response, url="https://moved.example/", truncated=True)
    store.record([replace(visit, response=moved)])
    copy = store.copy(address(0))
    assert copy is not None
    assert (copy.response.at, copy.response.url) == (NOON + 1, "https://moved.example/")
    assert copy.response.truncated
    assert store.history(0, 1)[0].redirect == "https://moved.example/"
    assert store.history(0, 1)[0].truncated


def test_a_page_may_lose_its_copy(store: Store) -> None:
    store.add(new_pages(1), at=NOON)
    store.record([found(known(store, 0), b"a", NOON, Outcome.FIRST)])
    lost = failed(replace(known(store, 0), body=None), NOON + 1)
    store.record([lost])
    assert store.copy(address(0)) is None
    assert store.copy_url(0) is None
    assert store.totals().bodies == 0


def test_a_page_without_its_content_is_refused(store: Store) -> None:
    store.add(new_pages(2), at=NOON)
    right, other = (found(known(store, i), b"%d" % i, NOON, Outcome.FIRST) for i in range(2))
    with pytest.raises(StoreError):
        store.record([right, replace(other, content=None)])
    assert store.totals().visits == 0


def test_a_page_that_is_gone_is_revived_when_it_is_added_again(store: Store) -> None:
    store.add(new_pages(2), at=NOON)
    store.record([found(known(store, 0), b"a", NOON, Outcome.FIRST)])
    store.record([gone(known(store, 0), NOON + 1)])
    assert store.fleet().number.tolist() == [1]
    assert store.add(new_pages(1), at=NOON) == Added(new=0, known=0, revived=1)
    page = known(store, 0)
    # Not found at its last visit: if it responds, it has come back.
    assert page.state is State.MISSING
    assert page.fingerprint is not None
    assert store.fleet().number.tolist() == [0, 1]


def test_both_digests_of_a_fingerprint_are_kept(store: Store) -> None:
    store.add(new_pages(1), at=NOON)
    visit = found(known(store, 0), b"a", NOON, Outcome.FIRST)
    read = Fingerprint("text/7", bytes(range(24)), bytes(range(8)))
    store.record([replace(visit, page=replace(visit.page, fingerprint=read))])
    kept = known(store, 0).fingerprint
    assert kept is not None
    assert (kept.kind, kept.digest, kept.markup) == (read.kind, read.digest, read.markup)


def test_the_fleet_is_every_page_that_is_not_gone(store: Store) -> None:
    pages = [NewPage(address(i), f"host{i % 3}.example", 1.0 + i) for i in range(6)]
    store.add(pages, at=NOON)
    store.record([found(known(store, 1), b"a", NOON, Outcome.FIRST), failed(known(store, 2), NOON)])
    store.record([gone(known(store, 3), NOON)])
    store.remove([address(0)])
    fleet = store.fleet()
    assert fleet.number.tolist() == [1, 2, 4, 5]
    assert fleet.url == [address(i) for i in (1, 2, 4, 5)]
    assert fleet.hosts == ["host1.example", "host2.example"]
    assert fleet.host.tolist() == [0, 1, 0, 1]
    assert fleet.importance.tolist() == [2.0, 3.0, 5.0, 6.0]
    np.testing.assert_array_equal(fleet.shape, [0.5, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(fleet.time, [2.0, np.nan, np.nan, np.nan])
    assert fleet.last_visit.tolist() == [NOON, NO_TIME, NO_TIME, NO_TIME]
    assert fleet.failures.tolist() == [0, 1, 0, 0]
    assert {fleet.number.dtype, fleet.host.dtype, fleet.last_visit.dtype} == {np.dtype(np.int64)}


def test_an_empty_store_has_an_empty_fleet(store: Store) -> None:
    fleet = store.fleet()
    assert (fleet.number.size, fleet.hosts, fleet.url, fleet.serial) == (0, [], [], 0)
    assert list(store.visits()) == []
    assert list(store.copies()) == []


def test_a_failed_visit_keeps_the_belief(store: Store) -> None:
    store.add(new_pages(1), at=NOON)
    store.record([found(known(store, 0), b"a", NOON, Outcome.FIRST)])
    store.record([failed(known(store, 0), NOON + 1)])
    assert (store.fleet().shape[0], store.fleet().time[0]) == (0.5, 2.0)
    store.record([unchanged(known(store, 0), NOON + 2)])
    assert (store.fleet().shape[0], store.fleet().time[0]) == (0.5, 3.0)


def test_a_run_sees_the_edits_of_others(store: Store) -> None:
    store.add(new_pages(4), at=NOON)
    store.record([gone(known(store, 3), NOON)])
    serial = store.fleet().serial
    assert store.changes_since(serial) == Edits(serial, [], [], [], [])
    store.add([*new_pages(1), NewPage(address(1), "host1.example", 4.0)], at=NOON)
    store.add([NewPage(address(i), "host.example") for i in (3, 7, 8)], at=NOON)
    store.add([NewPage(address(7), "host.example", 2.0)], at=NOON)
    store.remove([address(2), address(8)])
    edits = store.changes_since(serial)
    assert [(page.url, page.importance) for page in edits.added] == [(address(7), 2.0)]
    assert [page.number for page in edits.revived] == [3]
    assert edits.removed == [2]
    assert edits.importance == [(1, 4.0)]
    assert store.changes_since(edits.serial) == Edits(edits.serial, [], [], [], [])
    with store.lock():
        store.add([NewPage(address(9), "host.example")], at=NOON)
        assert [page.url for page in store.changes_since(edits.serial).added] == [address(9)]


def test_many_edits_come_in_batches(store: Store) -> None:
    store.add(new_pages(25_000), at=NOON)
    serial, batches = 0, []
    while (edits := store.changes_since(serial)).serial != serial:
        serial = edits.serial
        batches.append(len(edits.added))
    assert batches == [10_000, 10_000, 5_000]


def test_the_log_comes_in_batches_by_page_and_time(store: Store) -> None:
    store.add(new_pages(4), at=NOON)
    for time in (2, 1, 3):
        store.record([found(known(store, i), b"%d" % time, NOON + time) for i in (3, 0, 2)])
    batches = list(store.visits(batch=2))
    assert [batch.num_rows for batch in batches] == [2, 2, 2, 2, 1]
    rows = [row for batch in batches for row in batch.to_pylist()]
    expected = [(page, NOON + time) for page in (0, 2, 3) for time in (1, 2, 3)]
    assert [(row["page"], row["at"]) for row in rows] == expected
    assert [row["url"] for row in rows[::3]] == [address(i) for i in (0, 2, 3)]
    assert {row["truncated"] for row in rows} == {False}


def test_copies_come_in_order_of_number(store: Store) -> None:
    store.add(new_pages(4), at=NOON)
    store.record([found(known(store, i), b"%d" % i, NOON, Outcome.FIRST) for i in (3, 1)])
    assert [(copy.page.number, copy.response.body) for copy in store.copies()] == [
        (1, b"1"),
        (3, b"3"),
    ]
    assert store.copy(address(0)) is None
    assert store.copy("https://nowhere.example/") is None


@pytest.mark.parametrize("is_removed", [True, False])
def test_copies_are_what_pages_have_when_they_are_read(store: Store, is_removed: bool) -> None:
    store.add(new_pages(2), at=NOON)
    store.record([found(known(store, i), b"%d" % i, NOON, Outcome.FIRST) for i in (0, 1)])
    copies = store.copies()
    assert next(copies).response.body == b"0"
    before = known(store, 1)
    for hours in range(1, 6):
        store.record([found(known(store, 1), b"after %d" % hours, NOON + hours * HOUR)])
    assert store.versions(before)[0].response.body == b"after 5"
    if is_removed:
        store.remove([address(1)])
    assert [copy.response.body for copy in copies] == ([] if is_removed else [b"after 5"])


def test_robots_txt_is_remembered(store: Store) -> None:
    origin = "https://example.org"
    assert store.robots(origin) is None
    for robots in (
        RobotsText(origin, 200, "User-agent: *\nDisallow: /é\udcff", NOON),
        RobotsText(origin, 0, "", NOON + 1, NOON, "it timed out", permanent=True),
    ):
        store.remember_robots(robots)
        assert store.robots(origin) == robots


S = "https://s.example"


def read(url: str, **changed: Any) -> SitemapFile:  # noqa: ANN401
    """Return a sitemap that was read."""
    usual = SitemapFile(f"{S}/{url}", NOON, Validators('"\udcff"', None), 12, NOON, NOON + HOUR)
    return replace(usual, host="s.example", kind="sitemap", **changed)


def test_sitemaps_are_due_until_they_are_read(store: Store) -> None:
    for name in "bab":
        store.sitemaps.add(f"{S}/{name}")
    new = [SitemapFile(f"{S}/{name}", host="s.example") for name in "ab"]
    assert store.sitemaps.all() == store.sitemaps.due(NOON, 9) == new
    store.sitemaps.note(read("a"))
    assert store.sitemaps.due(NOON, 9) == new[1:]
    assert store.sitemaps.due(NOON + HOUR, 9) == [new[1], read("a")]
    assert store.sitemaps.due(NOON + HOUR, 1) == new[1:]


def test_a_sitemap_that_was_read_while_the_clock_was_ahead_is_read_again(store: Store) -> None:
    store.sitemaps.add(f"{S}/a")
    ahead = NOON + 365 * 24 * HOUR
    found = replace(read("a"), read_at=ahead, tried_at=ahead, next_at=ahead + 24 * HOUR)
    store.sitemaps.note(found)
    assert store.sitemaps.due(NOON, 9) == [found]
    assert store.sitemaps.due(ahead, 9) == []


def test_a_sitemap_that_fails_is_listed_first_and_tried_again_on_demand(
    store: Store,
) -> None:
    for name in "ab":
        store.sitemaps.add(f"{S}/{name}")
    failing = read("b", failures=3, error="the server answered 404", skipped=2)
    store.sitemaps.note(read("a"))
    store.sitemaps.note(failing)
    assert store.sitemaps.all() == [failing, read("a")]
    store.sitemaps.retry("")
    assert store.sitemaps.due(NOON, 9) == [replace(failing, next_at=None)]
    store.sitemaps.retry("other pages")
    assert {(one.next_at, one.validators) for one in store.sitemaps.all()} == {(None, Validators())}


def test_an_index_brings_in_sitemaps_up_to_a_limit_and_drops_those_it_no_longer_names(
    store: Store,
) -> None:
    store.sitemaps.add(f"{S}/a")
    index = read("a")
    urls = [f"{S}/{n}" for n in range(5)]
    assert store.sitemaps.name(index, urls, 4) == 2
    assert [one.url for one in store.sitemaps.all()] == [f"{S}/a", *urls[:3]]
    assert store.sitemaps.all()[1] == SitemapFile(urls[0], root=f"{S}/a", host="s.example", depth=1)
    assert store.sitemaps.name(index, urls[1:2], 4, is_all=True) == 0
    assert [one.url for one in store.sitemaps.all()] == [f"{S}/a", urls[1]]


def test_an_index_that_is_no_longer_named_takes_with_it_what_it_named(store: Store) -> None:
    store.sitemaps.add(f"{S}/a")
    store.sitemaps.name(read("a"), [f"{S}/b", f"{S}/c"], 9)
    b, c = (replace(read(name), root=f"{S}/a", depth=1) for name in "bc")
    store.sitemaps.name(b, [f"{S}/d"], 9)
    store.sitemaps.name(c, [f"{S}/e"], 9)
    store.sitemaps.name(read("a"), [f"{S}/c"], 9, is_all=True)
    assert [one.url for one in store.sitemaps.all()] == [f"{S}/{name}" for name in "ace"]


def test_a_removed_sitemap_comes_back_only_when_a_user_adds_it(store: Store) -> None:
    store.sitemaps.add(f"{S}/a")
    store.sitemaps.name(read("a"), [f"{S}/b", f"{S}/c"], 9)
    assert store.sitemaps.remove([f"{S}/b", f"{S}/b", f"{S}/x"]) == 1
    store.sitemaps.name(read("a"), [f"{S}/b", f"{S}/c"], 9, is_all=True)
    store.sitemaps.note(read("b"))
    assert [one.url for one in store.sitemaps.all()] == [f"{S}/a", f"{S}/c"]
    assert store.sitemaps.remove([f"{S}/a"]) == 1
    store.sitemaps.name(read("a"), [f"{S}/d"], 9)
    assert store.sitemaps.all() == []
    store.sitemaps.add(f"{S}/b")
    assert [(one.url, one.depth) for one in store.sitemaps.all()] == [(f"{S}/b", 0)]


def test_requests_for_sitemaps_are_known_by_hour(store: Store) -> None:
    for at in (NOON - HOUR, NOON, NOON + 1):
        store.record([], Spent(at, sitemaps=2))
    store.record([], Spent(NOON + HOUR, robots=1))
    assert store.sitemaps.requests(NOON) == [(NOON, 4)]


def test_a_removed_page_comes_back_only_when_a_user_adds_it(store: Store) -> None:
    store.add(new_pages(3), at=NOON)
    store.remove([address(1)])
    for source, new in (("sitemap", 1), ("link", 0)):
        pages = [page._replace(source=source) for page in new_pages(4)]
        assert store.add(pages, at=NOON) == Added(new=new, known=3 - new, revived=0)
        assert store.page(address(1)) is None
    assert store.page(address(3)) is not None
    assert store.add(new_pages(4), at=NOON) == Added(1, 3, 0)
    store.add([page._replace(source="link") for page in new_pages(4)], at=NOON)
    assert store.page(address(1)) is not None


def test_pages_are_found_by_pattern(store: Store) -> None:
    store.add(new_pages(12), at=NOON)
    assert store.matching("https://host1.example/page/*") == [
        address(n) for n in (1, 10, 4, 7) if address(n).startswith("https://host1")
    ]
    assert store.matching("*/page/1") == [address(1)]
    assert len(store.matching("*")) == 12
    assert store.matching("https://host1.example/page/?") == []


def test_small_values_are_remembered(store: Store) -> None:
    assert store.meta("prior") is None
    for value in ("1", "2"):
        store.set_meta("prior", value)
        assert store.meta("prior") == value


def test_only_one_run_at_a_time(store: Store) -> None:
    for _ in range(2):
        with store.lock(), pytest.raises(StoreError, match="another recrawl"), store.lock():
            pass


def test_pages_are_found_by_url(store: Store) -> None:
    store.add(new_pages(4), at=NOON)
    wanted = [address(2), "https://nowhere.example/", address(0)]
    assert store.pages_at(wanted) == {address(i): known(store, i) for i in (0, 2)}
    assert store.pages_at([]) == {}


def test_seed_hosts_leave_out_those_found_through_links(
    store: Store,
) -> None:
    assert store.seed_hosts() == []
    store.add([*new_pages(2), NewPage("https://far.example/", "far.example", depth=1)], at=NOON)
    assert store.seed_hosts() == ["host0.example", "host1.example"]


def test_the_newest_visit_is_one_that_found_a_page(store: Store) -> None:
    store.add(new_pages(2), at=NOON)
    assert store.newest_visit() is None
    store.record([found(known(store, 0), b"a", NOON, Outcome.FIRST)])
    store.record([failed(known(store, 1), NOON + HOUR)])
    assert store.newest_visit() == NOON


def test_last_visits_are_the_latest_of_each_page_that_was_visited(store: Store) -> None:
    store.add(new_pages(3), at=NOON)
    store.record([found(known(store, 0), b"a", NOON, Outcome.FIRST)])
    store.record([failed(known(store, 0), NOON + HOUR)])
    store.record([found(known(store, 1), b"b", NOON, Outcome.FIRST)])
    last = dict(store.last_visits(np.array([0, 1, 2, 99])))
    assert {number: visit[:2] for number, visit in last.items()} == {
        0: (NOON + HOUR, Outcome.FAILED),
        1: (NOON, Outcome.FIRST),
    }
    (newest,) = store.history(0, 1)
    assert last[0].status == newest.status


def test_the_belief_is_that_of_the_last_visit(store: Store) -> None:
    store.add(new_pages(1), at=NOON)
    assert store.belief(0) is None
    store.record([found(known(store, 0), b"a", NOON, Outcome.FIRST)])
    store.record([unchanged(known(store, 0), NOON + HOUR)])
    believed = store.belief(0)
    assert believed is not None
    assert believed[:2] == (0.5, 3.0)
    assert believed.rates.typical.size == 1
    assert store.belief(99) is None


def test_observations_are_visits_that_compared_something(store: Store) -> None:
    store.add(new_pages(6), at=NOON)
    for page in range(6):
        store.record([found(known(store, page), b"a", NOON, Outcome.FIRST)])
        store.record([unchanged(known(store, page), NOON + HOUR)])
        store.record([failed(known(store, page), NOON + 2 * HOUR)])
        store.record([found(known(store, page), bytes([page]), NOON + 3 * HOUR)])
    seen = store.observations(1_000)
    assert seen.page.tolist() == [page for page in range(6) for _ in range(2)]
    assert seen.elapsed.tolist() == [HOUR, 2 * HOUR] * 6
    assert seen.changed.tolist() == [False, True] * 6
    part = store.observations(12)
    assert part.page.tolist() == [0, 0, 2, 2, 4, 4]
    # 24 visits are more than twice 10: every third page.
    assert store.observations(10).page.tolist() == [0, 0, 3, 3]


def test_two_visits_at_the_same_time_are_no_observation(store: Store) -> None:
    store.add(new_pages(1), at=NOON)
    visit = found(known(store, 0), b"a", NOON)
    store.record([replace(visit, previous=NOON)])
    assert store.observations(10).page.tolist() == []


def test_a_run_forgets_the_edits_before_it(store: Store) -> None:
    store.add(new_pages(2), at=NOON)
    serial = store.fleet().serial
    with store.lock():
        assert store.changes_since(0).added == []
        assert store.fleet().serial == serial


def kinds(store: Store, after: int = 0) -> list[tuple[str, FeedKind]]:
    return [(change.url, change.kind) for change in store.feed.read(Cursor(after), 1_000)]


def test_the_feed_has_what_became_of_a_page(store: Store) -> None:
    store.add(new_pages(2), at=NOON)
    hours = iter(range(1, 99))

    def record(make: Any, *given: Any) -> None:  # noqa: ANN401
        store.record([make(known(store, 0), *given, NOON + next(hours) * HOUR)])

    record(found, b"one")
    record(unchanged)
    record(found, b"two")
    record(failed)
    record(gone)
    record(gone)
    record(failed)
    record(found, b"two")
    record(found, b"two")
    store.remove([address(0), address(1)], at=NOON)
    url, one, two = address(0), *(digest_of(text) for text in (b"one", b"two"))
    assert store.feed.read(Cursor(0), 9) == [
        PageChange(Cursor(1), 0, url, FeedKind.NEW, NOON + HOUR, None, None, one, 0.25),
        PageChange(
            Cursor(2), 0, url, FeedKind.CHANGED, NOON + 3 * HOUR, NOON + 2 * HOUR, one, two, 0.25
        ),
        PageChange(Cursor(3), 0, url, FeedKind.GONE, NOON + 5 * HOUR, None, two),
        PageChange(
            Cursor(4), 0, url, FeedKind.BACK, NOON + 8 * HOUR, NOON + 3 * HOUR, two, two, 0.25
        ),
        PageChange(Cursor(5), 0, url, FeedKind.REMOVED, NOON, NOON + 9 * HOUR, two),
    ]


def test_a_page_that_is_refused_is_in_the_feed_with_the_reason_and_is_back_later(
    store: Store,
) -> None:
    store.add(new_pages(2), at=NOON)
    hours = iter(range(1, 99))

    def record(make: Any, *given: Any) -> None:  # noqa: ANN401
        store.record([make(known(store, 0), *given)])

    def then() -> int:
        return NOON + next(hours) * HOUR

    record(found, b"one", then())
    record(refused, then(), "the server answered 403", 1)
    record(refused, then(), "disallowed by robots.txt")
    assert [one.url for one in store.feed.read(store.feed.start(), 9)] == []
    store.wake(NOON + 99 * HOUR, NOON + 100 * HOUR, 9)
    record(failed, then())
    record(unchanged, then())
    record(refused, then(), "disallowed by robots.txt")
    record(gone, then())
    record(refused, then(), "disallowed by robots.txt")
    url, one = address(0), digest_of(b"one")
    first = NOON + HOUR
    last = NOON + 5 * HOUR
    assert store.feed.read(Cursor(1), 9) == [
        PageChange(
            Cursor(2), 0, url, FeedKind.REFUSED, NOON + 2 * HOUR, first, one,
            reason="the server answered 403",
        ),
        PageChange(Cursor(3), 0, url, FeedKind.BACK, last, first, one, one),
        PageChange(
            Cursor(4), 0, url, FeedKind.REFUSED, NOON + 6 * HOUR, last, one,
            reason="disallowed by robots.txt",
        ),
        PageChange(Cursor(5), 0, url, FeedKind.GONE, NOON + 7 * HOUR, None, one),
    ]  # fmt: skip


def test_a_page_that_was_never_found_or_that_a_run_may_not_connect_to_is_not_in_the_feed(
    store: Store,
) -> None:
    store.add(new_pages(2), at=NOON)
    store.record([found(known(store, 0), b"one", NOON)])
    private = f"the address 127.0.0.1 {PRIVATE} to crawl it"
    store.record([refused(known(store, 0), NOON + HOUR, private)])
    store.record([refused(known(store, 1), NOON + HOUR, "the server answered 401")])
    assert kinds(store) == [(address(0), FeedKind.NEW)]


def test_the_copy_of_a_refused_page_is_dropped_with_its_versions(store: Store) -> None:
    store.add(new_pages(2), at=NOON)
    store.record([found(known(store, 1), b"one", NOON)])
    for hours, text in enumerate([b"one", b"two", b"three"]):
        store.record([found(known(store, 0), text, NOON + hours * HOUR)])
    visit = refused(known(store, 0), NOON + 3 * HOUR, "the server answered 403")
    store.record([replace(visit, page=without_copy(visit.page))])
    assert store.copy(address(0)) is None
    assert store.totals().bodies == store.totals().with_copy == 1
    assert store.body(digest_of(b"one")) == b"one"
    change = store.feed.read(Cursor(0), 9)[-1]
    assert (change.kind, change.before, change.after) == (
        FeedKind.REFUSED,
        digest_of(b"three"),
        None,
    )
    store.wake(NOON + 99 * HOUR, NOON + 100 * HOUR, 9)
    store.record([found(known(store, 0), b"three", NOON + 99 * HOUR, Outcome.FIRST)])
    assert kinds(store, change.cursor.serial) == [(address(0), FeedKind.BACK)]
    assert store.check() == []


def test_a_gone_page_that_is_revived_is_back_only_when_it_is_found(store: Store) -> None:
    store.add(new_pages(1), at=NOON)
    store.record([found(known(store, 0), b"one", NOON)])
    store.record([gone(known(store, 0), NOON + HOUR)])
    store.add(new_pages(1), at=NOON)
    store.record([failed(known(store, 0), NOON + 2 * HOUR)])
    assert [kind for _, kind in kinds(store)] == [FeedKind.NEW, FeedKind.GONE]
    store.record([found(known(store, 0), b"one", NOON + 3 * HOUR)])
    assert kinds(store, 2) == [(address(0), FeedKind.BACK)]


def test_a_page_that_was_never_found_is_not_in_the_feed(store: Store) -> None:
    store.add(new_pages(2), at=NOON)
    store.record([failed(known(store, 0), NOON), gone(known(store, 1), NOON)])
    store.remove([address(0), address(1)], at=NOON)
    assert kinds(store) == []
    assert store.feed.end() == Cursor(0)


def test_a_visit_that_is_recorded_twice_is_in_the_feed_once(store: Store) -> None:
    store.add(new_pages(1), at=NOON)
    visit = found(known(store, 0), b"one", NOON)
    store.record([visit])
    store.record([visit])
    assert kinds(store) == [(address(0), FeedKind.NEW)]


def test_a_reader_that_knows_nothing_gets_the_pages_and_then_the_changes(
    store: Store,
) -> None:
    store.add(new_pages(4), at=NOON)
    store.record([found(known(store, n), b"one", NOON) for n in (0, 2, 3)])
    store.record([gone(known(store, 2), NOON + HOUR)])
    start = store.feed.start()
    store.record([found(known(store, 0), b"two", NOON + 2 * HOUR)])
    (first,) = store.feed.read(start, 1)
    assert (first.url, first.kind, first.cursor) == (address(0), FeedKind.NEW, Cursor(4, 1))
    rest = store.feed.read(first.cursor, 9)
    assert [(one.url, one.kind) for one in rest] == [
        (address(3), FeedKind.NEW),
        (address(0), FeedKind.CHANGED),
    ]
    assert store.feed.read(rest[-1].cursor, 9) == []


@pytest.mark.parametrize("retention", [Retention(changes=3), Retention(time=3 * HOUR)])
def test_old_changes_are_dropped(make: Make, retention: Retention) -> None:
    store = make(retention)
    store.add(new_pages(1), at=NOON)
    for hours in range(9):
        store.record([found(known(store, 0), b"%d" % hours, NOON + hours * HOUR)])
    kept = 3 if retention.changes == 3 else 4
    assert store.feed.oldest() == Cursor(9 - kept)
    assert len(store.feed.read(store.feed.oldest(), 99)) == kept
    with pytest.raises(StoreError, match="older than the changes that are kept"):
        store.feed.read(Cursor(8 - kept), 1)
    assert store.feed.since(0) == store.feed.oldest()
    # The feed may be empty; serials go on.
    store.record([failed(known(store, 0), NOON + 99 * HOUR)])
    if retention.time == 3 * HOUR:
        assert store.feed.oldest() == store.feed.end() == Cursor(9)


def test_a_cursor_of_another_store_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="is not from this store"):
        store.feed.read(Cursor(1), 1)


def bodies(store: Store, number: int = 0) -> list[bytes | None]:
    return [copy.response.body for copy in store.versions(known(store, number))]


def test_copies_that_a_change_replaced_are_kept(store: Store) -> None:
    store.add(new_pages(2), at=NOON)
    assert store.versions(known(store, 0)) == []
    for hours, text in enumerate([b"one", b"two", b"three", b"four"]):
        store.record([found(known(store, 0), text, NOON + hours * HOUR)])
    current, second, third = store.versions(known(store, 0))
    assert bodies(store) == [b"four", b"three", b"two"]
    assert current == store.copy(address(0))
    assert (second.response.at, third.response.at) == (NOON + 2 * HOUR, NOON + HOUR)
    assert third.response.headers == HEADERS
    store.record([unchanged(known(store, 0), NOON + 5 * HOUR)])
    store.record([found(known(store, 0), b"4", NOON + 6 * HOUR, Outcome.UNCHANGED)])
    assert bodies(store) == [b"4", b"three", b"two"]
    store.record([gone(known(store, 0), NOON + 7 * HOUR)])
    store.record([found(known(store, 0), b"five", NOON + 8 * HOUR)])
    assert bodies(store) == [b"five", b"4", b"three"]
    store.remove([address(0)])
    assert store.totals().bodies == 0


@pytest.mark.parametrize(
    ("retention", "kept"), [(Retention(versions=0), 0), (Retention(time=2 * HOUR, versions=9), 3)]
)
def test_versions_are_dropped(make: Make, retention: Retention, kept: int) -> None:
    store = make(retention)
    store.add(new_pages(1), at=NOON)
    for hours in range(9):
        store.record([found(known(store, 0), b"%d" % hours, NOON + hours * HOUR)])
    assert bodies(store) == [b"%d" % hours for hours in range(8, 7 - kept, -1)]
    assert store.totals().bodies == kept + 1
    assert store.check() == []


def a_message(serial: int, url: str = "https://a.example/") -> Message:
    return Message(Cursor(serial), serial, url, f"msg_{serial}", b"{}")


def a_webhook(store: Store) -> int:
    url = "https://example.org/hook"
    return store.webhooks.add(url, "whsec_AAAA", Cursor(0), NOON, allow_private=False)


def test_a_webhook_has_a_place_in_the_feed(store: Store) -> None:
    number = a_webhook(store)
    with pytest.raises(StoreError, match="is already a webhook"):
        a_webhook(store)
    store.webhooks.note(number, Progress(Cursor(7), [a_message(7)], NOON, (), None, None))
    (hook,) = store.webhooks.all()
    assert hook == store.webhooks.find(number)
    assert (hook.cursor, hook.received, hook.received_at) == (Cursor(7), 1, NOON)
    store.webhooks.disable(number, "enough")
    assert store.webhooks.all()[0].disabled == "enough"
    store.webhooks.enable(number)
    assert store.webhooks.all()[0].disabled is None
    store.webhooks.remove(number)
    assert store.webhooks.all() == []
    assert a_webhook(store) > number


def test_a_message_that_failed_while_the_clock_was_ahead_is_due(store: Store) -> None:
    number, ahead = a_webhook(store), NOON + 365 * 24 * HOUR
    failed = replace(a_message(1), attempts=1, tried_at=ahead, error="refused")
    store.webhooks.note(
        number, Progress(Cursor(1), undelivered=[Undelivered(failed, ahead + HOUR)])
    )
    assert store.webhooks.due(number, NOON, 9) == [failed]
    assert store.webhooks.due(number, ahead, 9) == []


def test_messages_about_a_page_are_due_one_after_the_other(store: Store) -> None:
    number, other = a_webhook(store), "https://b.example/"
    first, second, third = a_message(1), a_message(2), a_message(3, other)
    waiting = [Undelivered(first, NOON), Undelivered(second, 0), Undelivered(third, NOON + HOUR)]
    store.webhooks.note(number, Progress(Cursor(3), undelivered=waiting))
    assert store.webhooks.due(number, NOON - 1, 9) == []
    assert store.webhooks.due(number, NOON, 9) == [first]
    assert store.webhooks.due(number, NOON + HOUR, 9) == [first, third]
    store.webhooks.note(number, Progress(Cursor(3), [first]))
    assert store.webhooks.due(number, NOON + HOUR, 9) == [second, third]
    urls = ["https://a.example/", other, "https://c.example/"]
    assert store.webhooks.waiting(number, urls) == dict.fromkeys(urls[:2], MessageState.WAITING)


def test_a_message_that_is_given_up_takes_those_about_its_page_with_it(store: Store) -> None:
    number, other = a_webhook(store), "https://b.example/"
    waiting = [Undelivered(a_message(2), 0), Undelivered(a_message(3, other), 0)]
    waiting.append(Undelivered(a_message(1), 0, MessageState.FAILED))
    store.webhooks.note(number, Progress(Cursor(3), undelivered=waiting))
    assert [one.id for one in store.webhooks.failed(number, 9)] == ["msg_1", "msg_2"]
    assert [one.id for one in store.webhooks.due(number, NOON, 9)] == ["msg_3"]
    assert store.webhooks.resend(number, other) == 0
    assert store.webhooks.resend(number) == 2
    assert [one.id for one in store.webhooks.due(number, NOON, 9)] == ["msg_1", "msg_3"]


def test_changes_that_were_dropped_before_they_were_sent_are_counted(make: Make) -> None:
    store = make(Retention(changes=3))
    number = a_webhook(store)
    store.add(new_pages(8), at=NOON)
    store.record([found(page, b"one", NOON) for page in store.pages(range(8)).values()])
    (hook,) = store.webhooks.all()
    passed = store.webhooks.pass_over_dropped(hook)
    assert (passed.cursor, passed.missed) == (Cursor(5), 5)
    assert store.webhooks.pass_over_dropped(passed) == passed
    store.webhooks.clear_missed(passed)
    assert store.webhooks.all()[0].missed == 0
    tried = replace(a_message(1), tried_at=NOON)
    given_up = [Undelivered(tried, 0, MessageState.FAILED)]
    store.webhooks.note(number, Progress(Cursor(5), undelivered=given_up))
    store.webhooks.drop_failed(passed, Retention(time=HOUR), NOON + HOUR)
    assert store.webhooks.all()[0].failed == 1
    store.webhooks.drop_failed(passed, Retention(time=HOUR), NOON + HOUR + 1)
    (hook,) = store.webhooks.all()
    assert (hook.failed, hook.missed) == (0, 1)


def test_pages_are_columns_in_the_order_in_which_they_were_added(store: Store) -> None:
    store.add([NewPage(f"https://{name}.example/", f"{name}.example", 2.0) for name in "ba"], NOON)
    pages = store.page_columns()
    assert pages.number.tolist() == [0, 1]
    assert [pages.hosts[host] for host in pages.host.tolist()] == ["b.example", "a.example"]
    assert pages.importance.tolist() == [2.0, 2.0]
    assert pages.visits.tolist() == [0, 0]
