"""Runs of which only the numbers are looked at."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from recrawl.figures import style


@contextmanager
def undrawn() -> Iterator[None]:
    """Leave the files of pictures empty: making them is most of what a short run does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(style, "rendered", lambda _figure, _kind: b"")
        yield
