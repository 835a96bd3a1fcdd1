"""The picture of what a budget buys."""

import itertools
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

from recrawl import freshness_curve
from recrawl.errors import ArgumentError, OutputError
from recrawl.figures import draw_freshness, freshness_figure

BUDGETS = np.geomspace(0.1, 100.0, 16)
SHARES = freshness_curve([1.0, 4.0, 0.1], BUDGETS)


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_the_same_data_gives_the_same_file(tmp_path: Path, suffix: str) -> None:
    paths = [tmp_path / f"{name}.{suffix}" for name in ("one", "other")]
    for path in paths:
        draw_freshness(path, BUDGETS, SHARES, asked=(10.0, 0.8), now=(3.0, 0.4))
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert paths[0].stat().st_size < 120_000


def texts(**marks: tuple[float, float]) -> list[str]:
    axes = freshness_figure(BUDGETS, SHARES, **marks).axes[0]
    return [text.get_text() for text in axes.texts]


def test_axes_say_what_they_show_and_marks_what_they_cost() -> None:
    axes = freshness_figure(BUDGETS, SHARES).axes[0]
    assert axes.get_xscale() == "log"
    assert "visits per day" in axes.get_xlabel()
    assert "freshness" in axes.get_ylabel()
    assert texts() == []
    assert texts(asked=(12.345, 0.95)) == ["95 % fresh:\n12.3 visits per day"]
    assert texts(asked=(12_345.6, 0.999)) == ["99.9 % fresh:\n12,346 visits per day"]
    assert texts(now=(3.0, 0.4)) == ["as in the log"]
    assert texts(now=(1e6, 0.4)) == []


@pytest.mark.parametrize("largest", [1.0, 1e4, 1e9])
def test_numbers_on_the_axis_do_not_run_into_one_another(largest: float) -> None:
    figure = freshness_figure(np.geomspace(largest / 1000, largest, 16), SHARES)
    figure.canvas.draw()
    labels = [
        label.get_window_extent()
        for label in figure.axes[0].get_xticklabels()
        if label.get_text() and label.get_window_extent().x0 >= 0
    ]
    inside = [box for box in labels if box.x1 <= figure.bbox.x1]
    assert len(inside) >= 3
    assert all(one.x1 < other.x0 for one, other in itertools.pairwise(inside))


def test_what_cannot_be_saved_is_said_and_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"curve\.gif"):
        draw_freshness(tmp_path / "curve.gif", BUDGETS, SHARES)
    with pytest.raises(OutputError, match="nowhere"):
        draw_freshness(tmp_path / "nowhere" / "curve.png", BUDGETS, SHARES)
    with pytest.raises(OutputError, match="No space left"):
        draw_freshness_on_a_full_disk(tmp_path)
    assert list(tmp_path.iterdir()) == [tmp_path / "full.png"]


def draw_freshness_on_a_full_disk(folder: Path) -> None:
    (folder / "full.png").symlink_to("/dev/full")
    draw_freshness(folder / "full.png", BUDGETS, SHARES)


def test_the_readers_own_settings_are_neither_used_nor_changed() -> None:
    with mpl.rc_context({"font.size": 30}):
        figure = freshness_figure(BUDGETS, SHARES)
        assert mpl.rcParams["font.size"] == 30
    assert figure.axes[0].xaxis.label.get_fontsize() == 11


def test_no_box_hides_the_curve() -> None:
    budgets = np.geomspace(1.0, 1000.0, 20)
    figure = freshness_figure(budgets, budgets / (budgets + 30.0), now=(40.0, 0.57))
    (label,) = [one for one in figure.axes[0].texts if one.get_text() == "as in the log"]
    assert label.get_bbox_patch() is None
    figure.draw_without_rendering()
    axes = figure.axes[0]
    box = label.get_window_extent()
    curve = axes.transData.transform(axes.lines[0].get_xydata())
    inside = [box.contains(x, y) for x, y in curve]
    assert not any(inside)
