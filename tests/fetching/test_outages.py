"""Hosts and folders that are down: many of their pages are suddenly not found."""

import pytest

from recrawl.fetching import outages as outages_module
from recrawl.fetching.outages import MIN_PAGES, RECENT, RECENT_PAGES, Outages
from recrawl.records import Page

A, X, Y = "a.example", "https://a.example/x/", "https://a.example/y/"
AT = 1_000 * RECENT


def page(number: int, folder: str = X) -> Page:
    return Page(number, f"{folder}{number}", folder.split("/")[2], last_visit=0)


def noted(missing: str, folder: str = X, at: int = AT) -> Outages:
    """Note visits to pages one after another: x for a missing one, o for one that was found."""
    outages = Outages()
    note(outages, missing, folder, at)
    return outages


def note(outages: Outages, missing: str, folder: str = X, at: int = AT, first: int = 0) -> None:
    for number, kind in enumerate(missing, first):
        outages.note(page(number, folder), at, missing=kind == "x")


@pytest.mark.parametrize(
    ("visits", "down"),
    [
        ("xx", {}),
        ("xxx", {A: 3}),
        # Half of the recent pages are enough, and less is not.
        ("xxxooo", {X: 3}),
        ("xxxoooo", {}),
        ("ooooxxxx", {X: 4}),
        ("oooooxxxx", {}),
    ],
)
def test_an_outage_is_three_pages_and_half_of_the_recent_ones(
    visits: str, down: dict[str, int]
) -> None:
    outages = noted(visits)
    assert outages.around(page(0), AT) == (X if down else None)
    assert outages.current(AT) == down


def test_a_page_counts_as_it_was_found_last() -> None:
    outages = noted("xxx")
    note(outages, "o")
    assert outages.around(page(1), AT) is None
    assert outages.current(AT) == {}
    note(outages, "x")
    assert outages.around(page(1), AT) == X


def test_an_outage_is_over_a_day_after_the_last_visits() -> None:
    outages = noted("xxx")
    assert outages.around(page(0), AT + RECENT - 1) == X
    assert outages.around(page(0), AT + RECENT) is None
    assert outages.current(AT + RECENT - 1) == {A: MIN_PAGES}
    assert outages.current(AT + RECENT) == {}


def test_only_the_pages_visited_last_count() -> None:
    """Ten missing pages are half of twenty; with each page that was found, the oldest drops out."""
    half = RECENT_PAGES // 2
    outages = noted("o" * half + "x" * half)
    assert outages.around(page(0), AT) == X
    # The first page was visited again, so that the second is now the one visited longest ago.
    note(outages, "x")
    assert outages.current(AT) == {X: half + 1}
    note(outages, "x", first=RECENT_PAGES)
    assert outages.current(AT) == {X: half + 2}
    note(outages, "o" * half, first=RECENT_PAGES + 1)
    # All that were found first have dropped out, and two of those that were missing.
    assert outages.current(AT) == {X: half}


def test_a_host_that_is_down_as_a_whole_stands_for_its_folders() -> None:
    outages = noted("xxx")
    note(outages, "xxx", Y, first=10)
    assert outages.current(AT) == {A: 6}


def test_folders_that_are_down_stand_for_a_host_that_is_not() -> None:
    outages = noted("xxx")
    note(outages, "xxx", Y, first=10)
    note(outages, "o", f"https://{A}/", first=20)
    assert outages.current(AT) == {X: 3, Y: 3}
    # A page that is missing elsewhere is not in any of them.
    note(outages, "x", f"https://{A}/z/", first=30)
    assert outages.current(AT) == {X: 3, Y: 3, A: 7}


def test_a_page_is_with_its_folder_and_then_with_its_host() -> None:
    outages = Outages()
    for number in range(3):
        note(outages, "x", f"https://{A}/{number}/", first=number)
    assert outages.around(page(9), AT) == A
    assert outages.around(page(9, "https://b.example/x/"), AT) is None


def test_the_hosts_and_folders_visited_longest_ago_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outages_module, "MAX_GROUPS", 6)
    outages = Outages()
    hosts = [f"https://{name}.example/" for name in "abcd"]
    for number, folder in enumerate(hosts[:3]):
        note(outages, "xxx", folder, first=10 * number)
    assert outages.current(AT) == dict.fromkeys(["a.example", "b.example", "c.example"], 3)
    # The first is visited once more, so that the second has to go.
    note(outages, "x", hosts[0])
    note(outages, "xxx", hosts[3], first=30)
    assert outages.current(AT) == dict.fromkeys(["a.example", "c.example", "d.example"], 3)
    assert outages.around(page(10, hosts[1]), AT) is None
