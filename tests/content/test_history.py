"""What a page was seen to do, in few bytes."""

from dataclasses import replace
from itertools import pairwise

import hypothesis.strategies as st
import pytest
from hypothesis import given

from recrawl.content.compare import MAX_IGNORED, compare
from recrawl.content.html.outline import Block, Element
from recrawl.content.noise.history import History
from recrawl.content.reader import Reader
from recrawl.records import Page, Response

keys = st.binary(min_size=8, max_size=8)
digests = st.binary(min_size=4, max_size=4)
histories = st.builds(
    History,
    st.lists(digests, max_size=20).map(tuple),
    st.lists(st.tuples(keys, st.integers(1, 400)), max_size=200).map(tuple),
)


@given(histories)
def test_a_page_with_any_number_of_suspects_takes_at_most_200_bytes(history: History) -> None:
    packed = history.to_bytes()
    assert len(packed) <= 200
    kept = History.from_bytes(packed)
    assert kept.digests == history.digests[-4:]
    newest = [(key, min(count, 255)) for key, count in history.suspects]
    assert list(kept.suspects) == newest[len(newest) - len(kept.suspects) :]
    assert kept.to_bytes() == packed


@pytest.mark.parametrize(("share", "is_learned"), [(0.0, True), (0.05, True), (0.051, False)])
def test_prose_that_comes_and_goes_is_noise_if_it_is_little(share: float, is_learned: bool) -> None:
    history, learned = History(), frozenset[bytes]()
    prose = Block("A line that is long enough to be prose, of which there is little.", Element())
    for visit in range(6):
        assert not learned
        new = [prose] if visit % 2 else []
        old = [] if visit % 2 or not visit else [prose]
        history, learned = history.after(bytes([visit % 2]) * 4, new, old, share=share)
    assert bool(learned) is is_learned


def test_the_newest_suspects_are_kept() -> None:
    suspects = tuple((bytes([number] * 8), 1) for number in range(100))
    kept = History(suspects=suspects).to_bytes()
    assert History.from_bytes(kept).suspects == suspects[-18:]


def learned_after_dates(ignored: int = 0, more: str = "") -> frozenset[bytes]:
    """Return what a page learns to ignore that tells a new date at every visit.

    Args:
        ignored: How many other things it ignores already.
        more: What else it says; ``DAY`` is another number at every visit.
    """
    reader = Reader("text")
    prose = "<p>What this page is about, in a sentence that is long enough to be prose, or two.</p>"
    bodies = [
        f"{prose}<h5>Read on 2026-03-{day:02}</h5>{more.replace('DAY', str(day))}".encode()
        for day in range(1, 6)
    ]
    keys = frozenset(number.to_bytes(8, "big") for number in range(ignored))
    page = Page(1, "https://example.org/", "example.org")
    page = compare(page, Response(page.url, 200, 1, body=bodies[0]), reader).page
    page = replace(page, ignored=keys)
    page = replace(page, fingerprint=reader.read(bodies[0]).fingerprint(keys))
    for at, (before, body) in enumerate(pairwise(bodies), 2):
        page = compare(page, Response(page.url, 200, at, body=body), reader, before).page
    return page.ignored - keys


@pytest.mark.parametrize(("ignored", "learned"), [(0, 1), (MAX_IGNORED - 1, 1), (MAX_IGNORED, 0)])
def test_a_page_that_ignores_as_much_as_it_may_learns_no_slow_noise(
    ignored: int, learned: int
) -> None:
    assert len(learned_after_dates(ignored)) == learned


def test_a_date_that_is_new_only_when_a_price_is_too_is_not_taken_for_noise() -> None:
    assert len(learned_after_dates(more="<h6>Price: 12</h6>")) == 1
    assert learned_after_dates(more="<h6>Price: DAY</h6>") == frozenset()
