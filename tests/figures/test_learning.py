"""The picture of how estimators learn."""

import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

from recrawl.errors import ArgumentError, OutputError
from recrawl.figures import draw_learning, learning_curves, learning_figure


def test_bands_close_in_on_the_truth_except_the_naive_one() -> None:
    found = learning_curves(runs=200, seed=3)
    naive, lln, gamma = found.curves
    for curve in (lln, gamma):
        assert ((curve.low <= curve.middle) & (curve.middle <= curve.high)).all()
        assert curve.low[-1] < found.change_rate < curve.high[-1]
    limit = found.crawl_rate * found.change_rate / (found.crawl_rate + found.change_rate)
    assert naive.middle[-1] == pytest.approx(limit, rel=0.02)
    assert np.mean(gamma.high - gamma.low) < np.mean(lln.high - lln.low)


def test_the_same_seed_gives_the_same_curves() -> None:
    one, other = (learning_curves(runs=20, seed=5, last_visits=50) for _ in range(2))
    for ours, theirs in zip(one.curves, other.curves, strict=True):
        assert np.array_equal(ours.middle, theirs.middle)


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_the_same_data_gives_the_same_file(tmp_path: Path, suffix: str) -> None:
    paths = [tmp_path / f"{name}.{suffix}" for name in ("one", "other")]
    for path in paths:
        draw_learning(path, runs=20, seed=1)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert paths[0].stat().st_size < 120_000


def test_what_cannot_be_drawn_or_saved_is_said(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="runs"):
        learning_curves(runs=0)
    with pytest.raises(ArgumentError, match=r"learning\.gif"):
        draw_learning(tmp_path / "learning.gif", runs=2)
    with pytest.raises(OutputError, match="nowhere"):
        draw_learning(tmp_path / "nowhere" / "learning.png", runs=2)


def test_the_readers_own_settings_are_neither_used_nor_changed() -> None:
    curves = learning_curves(runs=5, last_visits=50)
    with mpl.rc_context({"font.size": 30}):
        figure = learning_figure(curves)
        assert mpl.rcParams["font.size"] == 30
    assert figure.axes[0].xaxis.label.get_fontsize() == 11


def test_drawing_does_not_load_pyplot() -> None:
    code = (
        "import sys; from recrawl.figures import learning_curves, learning_figure;"
        "learning_figure(learning_curves(runs=2, last_visits=30));"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
