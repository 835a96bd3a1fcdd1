"""Which bodies are read without a process that can be killed."""

import pytest

from recrawl.content.reading import (
    HARMLESS_BYTES,
    HARMLESS_ENDS,
    HARMLESS_STARTS,
    is_harmless,
)


def test_the_limits_are_those_that_were_measured() -> None:
    assert (HARMLESS_BYTES, HARMLESS_STARTS, HARMLESS_ENDS) == (12_000, 100, 200)


@pytest.mark.parametrize(
    ("piece", "most"), [(b"x", HARMLESS_BYTES), (b"<b>", HARMLESS_STARTS), (b"</b>", HARMLESS_ENDS)]
)
def test_all_bodies_together_are_harmless_up_to_each_limit(piece: bytes, most: int) -> None:
    half = most // 2
    assert is_harmless(piece * half, None, piece * (most - half))
    assert not is_harmless(piece * half, None, piece * (most - half + 1))
