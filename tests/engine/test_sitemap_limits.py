"""How much of sitemaps is read in a day, and when they are read again."""

import pytest

from recrawl.engine.discovery.sitemap_limits import SitemapLimits, next_read
from recrawl.records import MICROSECONDS_A_DAY
from recrawl.store.rows import SitemapFile

DAY = round(MICROSECONDS_A_DAY)
SECOND = 1_000_000


def sitemap(host: str, root: str | None = None) -> SitemapFile:
    return SitemapFile(f"https://{host}/{root}.xml", root=root, host=host)


def test_no_more_of_a_sitemap_is_read_than_the_protocol_allows() -> None:
    assert SitemapLimits(100.0).max_bytes(sitemap("a.example"), 0) == 50_000_000


def test_a_host_and_an_index_have_a_gigabyte_a_day() -> None:
    limits = SitemapLimits(100.0)
    first = sitemap("a.example", "index")
    limits.spend(first, 0, 1, 999_999_990)
    of_the_host, of_the_index = sitemap("a.example"), sitemap("b.example", "index")
    assert [limits.max_bytes(one, 1) for one in (first, of_the_host, of_the_index)] == [10] * 3
    assert limits.max_bytes(sitemap("b.example", "other"), 1) == 50_000_000
    # More may have come than there was room for.
    limits.spend(first, 1, 1, 1_000)
    assert limits.max_bytes(of_the_host, 1) == 0
    # The first of them was a day ago.
    assert limits.max_bytes(of_the_host, DAY) == 50_000_000


def test_requests_are_paid_for_with_what_is_left_of_the_last_day() -> None:
    limits = SitemapLimits(2.5, [(0, 1)])
    assert limits.may_request(1)
    limits.spend(sitemap("a.example"), 1, 1, 0)
    assert not limits.may_request(DAY - 1)
    assert limits.may_request(DAY)
    limits.spend(sitemap("a.example"), DAY, 1, 0)
    assert not limits.may_request(DAY)


def test_a_whole_request_that_is_left_may_be_made() -> None:
    assert SitemapLimits(1.0).may_request(0)
    assert not SitemapLimits(0.99).may_request(0)


@pytest.mark.parametrize(
    ("failures", "retry_after", "seconds"),
    [(0, 9_000.0, 1_000), (1, None, 120), (1, 60.0, 120), (1, 600.0, 600), (4, None, 960)],
)
def test_failures_are_tried_again_later_and_later(
    failures: int, retry_after: float | None, seconds: int
) -> None:
    at = next_read(5 * SECOND, 1_000 * SECOND, failures, retry_after)
    assert at == (5 + seconds) * SECOND


def test_what_fails_for_ever_is_tried_as_often_as_it_would_be_read() -> None:
    month = 30 * DAY
    assert [next_read(0, month, failures) for failures in (16, 10_000)] == [month, month]
