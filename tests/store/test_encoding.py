"""Bodies as they are stored."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.store.encoding import InflateError, deflate, inflate


@given(st.binary(max_size=2_000), st.integers(1, 40))
def test_deflated_bodies_are_in_zlibs_format(part: bytes, times: int) -> None:
    body = part * times
    assert inflate(deflate(body)) == zlib.decompress(deflate(body)) == body


@given(st.binary(max_size=2_000), st.integers(1, 40), st.integers(0, 9))
def test_bodies_that_zlib_deflated_are_inflated(part: bytes, times: int, level: int) -> None:
    assert inflate(zlib.compress(part * times, level)) == part * times


@given(st.binary(min_size=1, max_size=2_000), st.data())
def test_cut_bodies_are_damaged(body: bytes, data: st.DataObject) -> None:
    deflated = deflate(body)
    with pytest.raises(InflateError):
        inflate(deflated[: data.draw(st.integers(0, len(deflated) - 1))])
