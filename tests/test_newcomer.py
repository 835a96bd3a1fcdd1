"""The benchmark of the newcomer, at its smallest size; at full size it has bars to clear."""

import math
import sys

import pytest

from benchmarks import newcomer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="hosts are 127.0.0.x")


def test_a_newcomer_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newcomer, "BEFORE", 2)
    figures = newcomer.run(new=30, days=1, demo_seconds=2.0, site=5)
    assert [figure.bar for figure in figures] == [0.9, 0.9, 1.2]
    assert all(0.0 < figure.measured < math.inf for figure in figures)
