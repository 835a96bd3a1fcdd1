"""Bodies as they are stored."""

import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from isal import isal_zlib

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


def test_only_long_bodies_are_worth_the_buffers_of_a_better_level() -> None:
    rng = random.Random(1)  # noqa: S311 - a made-up page
    words = b" ".join(b"<b>%d</b>" % rng.randrange(1_000) for _ in range(5_000))
    for size, level in ((20_000, 0), (20_001, 1)):
        sizes = [len(isal_zlib.compress(words[:size], level)) for level in (0, 1)]
        assert sizes[0] != sizes[1]
        assert len(deflate(words[:size])) == sizes[level]
