"""Names and their numbers, compared with what Arrow's own dictionaries give."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.formats.names import Names

WHOLE = [pa.int8(), pa.int32(), pa.int64(), pa.uint8(), pa.uint32(), pa.uint64()]
BATCHES = st.lists(st.lists(st.text("ab/é\0", max_size=20), max_size=30), min_size=1, max_size=5)


def numbered(batches: Sequence[pa.Array]) -> tuple[list[int], pa.Array]:
    names = Names()
    numbers = [names.number(batch) for batch in batches]
    return np.concatenate(numbers).tolist(), names.array()


def expected(batches: Sequence[pa.Array]) -> tuple[list[int], pa.Array]:
    encoded = pa.concat_arrays(batches).dictionary_encode()
    return encoded.indices.to_pylist(), encoded.dictionary


@given(BATCHES)
def test_text_is_numbered_in_order_of_first_appearance(batches: list[list[str]]) -> None:
    arrays = [pa.array(batch, pa.large_string()) for batch in batches]
    numbers, names = numbered(arrays)
    assert (numbers, names.to_pylist()) == (expected(arrays)[0], expected(arrays)[1].to_pylist())
    names.validate(full=True)


@pytest.mark.parametrize("kind", WHOLE)
def test_whole_numbers_keep_their_type(kind: pa.DataType) -> None:
    ends = np.iinfo(kind.to_pandas_dtype())
    batches = [pa.array([ends.max, 7, ends.min, 7], kind), pa.array([8, ends.min], kind)]
    numbers, names = numbered(batches)
    assert numbers == [0, 1, 2, 1, 3, 2]
    assert names.equals(expected(batches)[1])


def test_a_slice_of_a_column_is_what_it_shows() -> None:
    column = pa.array(["x", "a", "b", "a", "y"], pa.large_string()).slice(1, 3)
    assert numbered([column])[0] == [0, 1, 0]
    assert numbered([column])[1].to_pylist() == ["a", "b"]
    assert numbered([pa.array(["", ""], pa.large_string())])[1].to_pylist() == [""]


def test_the_table_grows_with_its_names() -> None:
    rng = np.random.default_rng(1)
    batches = [
        pa.array([f"https://example.org/{page}" for page in rng.integers(0, 30_000, 9_000)])
        for _ in range(12)
    ]
    numbers, names = numbered(batches)
    assert numbers == expected(batches)[0]
    assert names.to_pylist() == expected(batches)[1].to_pylist()


def test_names_that_the_table_cannot_tell_apart_are_compared() -> None:
    """The hash of eight bytes can be undone, so that names of almost the same hash can be made."""
    undo = pow(0x9E3779B97F4A7C15, -1, 2**64)
    hashes = [(0xABCD << 48) + (number << 20) + 5 for number in range(1_000)]
    products = [found ^ (found >> 32) for found in hashes]
    alike = pa.array([8 ^ (product * undo % 2**64) for product in products], pa.uint64())
    numbers, names = numbered([alike, alike])
    assert numbers == [*range(1_000)] * 2
    assert names.equals(alike)
