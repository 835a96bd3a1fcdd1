"""Grouping against NumPy's stable sort."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.kernels import jit
from recrawl.kernels.grouping import group_rows, sort_groups, stable_order, starts_if_grouped
from recrawl.kernels.jit import Ints


def check_all(page: Ints, pages: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    value, flag = rng.exponential(1.0, page.size), rng.random(page.size) < 0.5
    value[rng.random(page.size) < 0.1] = np.nan
    order = np.argsort(page, kind="stable")
    starts = np.searchsorted(page[order], np.arange(pages + 1))
    found = group_rows(page, pages, value, flag)
    np.testing.assert_array_equal(found[0], starts)
    np.testing.assert_array_equal(found[1], value[order])
    np.testing.assert_array_equal(found[2], flag[order])
    for column, expected in zip(stable_order(page, pages), (starts, order), strict=True):
        np.testing.assert_array_equal(column, expected)
    np.testing.assert_array_equal(starts_if_grouped(page[order], pages), starts)


@given(st.lists(st.integers(0, 40), max_size=200), st.integers(0, 10))
def test_small(page: list[int], spare: int) -> None:
    check_all(np.array(page, np.int64), max(page, default=-1) + 1 + spare, seed=1)


@pytest.mark.parametrize(("pages", "rows"), [(1, 1_000_000), (3_000, 900_000), (300_000, 900_000)])
def test_large_enough_for_several_cores(
    pages: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jit, "cores", lambda: 3)
    rng = np.random.default_rng(pages)
    check_all((pages * rng.random(rows) ** 3).astype(np.int64), pages, seed=2)


def test_unsorted_rows_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert starts_if_grouped(np.array([0, 2, 1]), 3) is None
    monkeypatch.setattr(jit, "cores", lambda: 3)
    page = np.arange(900_000)
    page[450_000] = 0
    assert starts_if_grouped(page, page.size) is None


@given(st.integers(1, 30), st.integers(0, 3_000_000), st.integers(1, 8))
def test_spans_cover_every_item_once(items: int, rows: int, cores: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jit, "cores", lambda: cores)
        starts = np.linspace(0, rows, items + 1).astype(np.int64)
        for spans in (jit.cut(items, rows), jit.cut(items, rows, starts)):
            covered = [item for first, last in spans for item in range(first, last)]
            assert covered == list(range(items))


@given(st.lists(st.lists(st.integers(0, 9), max_size=150), max_size=6))
def test_rows_of_groups_are_sorted_as_by_a_stable_sort(groups: list[list[int]]) -> None:
    value = np.array([number for group in groups for number in group], np.int64)
    group = np.repeat(np.arange(len(groups)), [len(one) for one in groups])
    expected = np.lexsort((value, group))
    starts = np.cumsum([0, *map(len, groups)])
    found, order = value.copy(), np.arange(value.size)
    sort_groups(starts, found, order)
    np.testing.assert_array_equal(order, expected)
    np.testing.assert_array_equal(found, value[expected])
