"""What a crawl log teaches."""

from collections.abc import Sequence

import numpy as np
import pytest

from recrawl.estimation import observe
from recrawl.records import NO_TIME, CrawlLog, Outcome

DAY = 86_400_000_000
FIRST, CHANGED, UNCHANGED, FAILED, GONE = Outcome


def log(rows: Sequence[tuple[int, float, Outcome]], **columns: list[float]) -> CrawlLog:
    page, time, outcome = zip(*rows, strict=True)
    return CrawlLog(
        np.array(page),
        (np.array(time) * DAY).astype(np.int64),
        np.array(outcome, np.int8),
        names=[str(number) for number in range(max(page) + 1)],
        **{name: np.array(values) for name, values in columns.items()},  # type: ignore[arg-type]
    )


def taught(visits: CrawlLog) -> list[tuple[int, float, bool]]:
    seen = observe(visits)
    return list(zip(seen.page.tolist(), seen.elapsed.tolist(), seen.changed.tolist(), strict=True))


def test_gaps_between_visits() -> None:
    rows = [(0, 0, FIRST), (0, 1, CHANGED), (0, 3, UNCHANGED), (1, 0, FIRST), (1, 0.5, CHANGED)]
    assert taught(log(rows)) == [(0, 1.0, True), (0, 2.0, False), (1, 0.5, True)]


@pytest.mark.parametrize("nothing", [FAILED, GONE])
def test_a_visit_that_failed_teaches_nothing_and_the_gap_spans_it(nothing: Outcome) -> None:
    rows = [(0, 0, FIRST), (0, 1, nothing), (0, 3, CHANGED)]
    assert taught(log(rows)) == [(0, 3.0, True)]


def test_a_failed_visit_before_the_first_starts_no_gap() -> None:
    assert taught(log([(0, 0, FAILED), (0, 1, CHANGED), (0, 2, UNCHANGED)])) == [(0, 1.0, False)]


def test_a_pages_first_row_starts_a_gap_whatever_it_says() -> None:
    assert taught(log([(0, 0, CHANGED), (0, 1, CHANGED)])) == [(0, 1.0, True)]


def test_a_first_visit_in_between_starts_anew() -> None:
    rows = [(0, 0, FIRST), (0, 1, FIRST), (0, 3, CHANGED)]
    assert taught(log(rows)) == [(0, 2.0, True)]


def test_optional_columns_come_along() -> None:
    rows = [(0, 0, FIRST), (0, 2, FAILED), (0, 3, CHANGED), (0, 4, UNCHANGED)]
    visits = log(
        rows, crawl_rate=[np.nan, 1.0, 2.0, np.nan], last_modified=[0, 0, 2 * DAY, NO_TIME]
    )
    seen = observe(visits)
    np.testing.assert_array_equal(seen.crawl_rate, [2.0, np.nan])
    np.testing.assert_array_equal(seen.age, [1.0, np.nan])


def test_pages_without_a_gap_are_counted() -> None:
    seen = observe(log([(0, 0, FIRST), (2, 0, FIRST), (2, 1, CHANGED)]))
    assert (seen.pages, seen.rows) == (3, 1)
