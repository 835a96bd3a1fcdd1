"""Values are numbered in order of first appearance, as Arrow's dictionaries do it."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.kernels import numbering
from recrawl.kernels.numbering import Numbering

TEXTS = st.lists(st.lists(st.text("ab\0é", max_size=12)), min_size=1)
WHOLES = st.lists(st.lists(st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1)), min_size=1)


def check(batches: list[pa.Array]) -> None:
    pages = Numbering()
    found = np.concatenate([pages.add(batch) for batch in batches])
    expected = pa.concat_arrays(batches).dictionary_encode()
    assert found.tolist() == expected.indices.to_pylist()
    assert pages.values().equals(expected.dictionary)
    assert len(pages) == len(expected.dictionary)


@given(TEXTS)
def test_texts_are_numbered_as_by_arrow(batches: list[list[str]]) -> None:
    check([pa.array(batch, pa.large_string()) for batch in batches])


@given(WHOLES)
def test_whole_numbers_are_numbered_as_by_arrow(batches: list[list[int]]) -> None:
    check([pa.array(batch, pa.int64()) for batch in batches])


def test_slices_and_other_types_of_whole_numbers() -> None:
    texts = pa.array(["x", "b", "a", "b", "y"], pa.large_string())
    check([texts.slice(1, 3), texts.slice(2)])
    for kind in (pa.int8(), pa.uint32(), pa.uint64()):
        check([pa.array([7, 9, 7], kind), pa.array([9, 1], kind)])


def test_room_is_made_for_many_values() -> None:
    rng = np.random.default_rng(5)
    numbers = [rng.integers(0, 20_000, 5_000) for _ in range(8)]
    check([pa.array(batch) for batch in numbers])
    check([pa.array(batch).cast(pa.large_string()) for batch in numbers])


def test_values_with_the_same_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbering, "hash_column", lambda column: np.zeros(len(column), np.uint64))
    check([pa.array(["a", "b", "a", "", "ab"], pa.large_string())])
    check([pa.array([3, 1, 3, 2])])


def test_values_stay_when_more_are_added() -> None:
    pages = Numbering()
    pages.add(pa.array(["a", "b"], pa.large_string()))
    first = pages.values()
    pages.add(pa.array([str(number) for number in range(3_000)], pa.large_string()))
    assert first.to_pylist() == ["a", "b"]
