"""A sitemap counts as much as it has proved right."""

import pytest

from recrawl.crawler.sitemap_trust import Trust


def test_nobody_is_believed_or_disbelieved_at_first() -> None:
    assert Trust().keep("a") == 0.5


@pytest.mark.parametrize(("right", "expected"), [(True, 1 / 12), (False, 11 / 12)])
def test_belief_follows_what_was_found(right: bool, expected: float) -> None:
    trust = Trust()
    for page in range(10):
        trust.expect(page, "a")
        trust.found(page, changed=right)
    assert trust.keep("a") == pytest.approx(expected)
    assert trust.keep("b") == 0.5


def test_only_the_first_visit_after_a_signal_counts() -> None:
    trust = Trust()
    trust.found(1, changed=True)
    assert trust.keep("a") == 0.5
    trust.expect(1, "a")
    for _ in range(5):
        trust.found(1, changed=True)
    assert trust.keep("a") == pytest.approx(1 / 3)


def test_the_same_news_is_news_once_until_a_visit_has_seen_to_it() -> None:
    trust = Trust()
    assert [trust.expect(1, "a") for _ in range(3)] == [True, False, False]
    trust.found(1, changed=True)
    assert trust.expect(1, "a")


def test_trust_goes_on_where_it_was() -> None:
    trust = Trust()
    for page in range(10):
        trust.expect(page, "a")
        trust.found(page, changed=False)
    again = Trust(trust.take_news())
    assert again.keep("a") == trust.keep("a")
    assert again.take_news() == {}
