"""The picture of how policies compare."""

import itertools
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from recrawl.errors import ArgumentError, OutputError
from recrawl.figures import draw_replay, replay_figure
from recrawl.figures.replay import smooth, spread_out
from recrawl.simulation.calibration import Calibration
from recrawl.simulation.score import Score


def score(policy: str, staleness: float, wave: float = 0.2) -> Score:
    curve = staleness * (1.0 + wave * np.sin(np.arange(100) / 5.0))
    hosts = np.array([10])
    return Score(policy, staleness, 1.0, 10, 1.0, 0.5, 1.0, 1.0, hosts, curve)


SCORES = [
    score("uniform", 0.16),
    score("nutch", 0.35),
    score("index", 0.036),
    score("index-known", 0.047),
    score("paper-lln", 0.084),
    score("stormcrawler-scaled", 0.15),
]
NOTES = {"nutch": "33 % of budget", "index-known": "knows the true rates"}
START = datetime(2021, 10, 1, tzinfo=UTC)


def drawn(scores: list[Score], start: datetime | None = None) -> Figure:
    figure = replay_figure(scores, days=900.0, start=start, notes=NOTES, subtitle="six policies")
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    return figure


def bars(figure: Figure) -> list[float]:
    return [container.patches[0].get_width() for container in figure.axes[0].containers]  # type: ignore[attr-defined]


def names(figure: Figure) -> list[str]:
    return [label.get_text() for label in figure.axes[0].get_yticklabels()]


def test_bars_are_ranked_with_the_best_on_top_and_numbers_beside_them() -> None:
    figure = drawn(SCORES)
    assert names(figure) == [
        "index", "index-known", "paper-lln", "stormcrawler-scaled", "uniform", "nutch",
    ]  # fmt: skip
    left = figure.axes[0]
    assert left.yaxis_inverted()
    texts = [text.get_text() for text in left.texts if text.get_text()]
    assert texts == [
        "3.60 %", "4.70 %", "knows the true rates", "8.40 %", "15.0 %", "16.0 %", "35.0 %",
        "33 % of budget",
    ]  # fmt: skip
    assert "staleness" in left.get_xlabel()
    assert "six policies" in [text.get_text() for text in figure.texts]


def test_only_notable_policies_and_the_best_have_curves_and_names() -> None:
    right = drawn([*SCORES, score("age", 0.01)]).axes[1]
    assert [text.get_text() for text in right.texts] == [
        "age", "index", "index-known", "paper-lln", "uniform",
    ]  # fmt: skip
    assert len(right.lines) == 5
    assert len({line.get_color() for line in right.lines}) == 5
    # The paper's are dashes of its own, which matplotlib calls "--" too.
    assert sorted(line.get_linestyle() for line in right.lines) == ["-", "-", "--", "--", ":"]


def test_a_bar_is_as_long_as_its_number_however_long_that_is() -> None:
    figure = drawn([score("index", 0.02), score("uniform", 0.03), score("nutch", 0.9)])
    assert bars(figure) == pytest.approx([0.02, 0.03, 0.9])
    left, right = figure.axes
    assert left.get_xlim()[1] > 0.9
    assert "90.0 %" in [text.get_text() for text in left.texts]
    # A curve far above the others would press them flat, so it is left out.
    assert [text.get_text() for text in right.texts] == ["index", "uniform"]


def boxes(figure: Figure, side: int) -> list[Bbox]:
    return [text.get_window_extent() for text in figure.axes[side].texts if text.get_text()]


@pytest.mark.parametrize("count", [1, 3, 6, 22])
def test_no_text_runs_into_another_or_out_of_the_picture(count: int) -> None:
    scores = [*SCORES, *(score(f"policy-{number}", 0.04) for number in range(16))][:count]
    figure = drawn(scores)
    for side in (0, 1):
        found = boxes(figure, side)
        assert all(box.x0 >= 0 and box.x1 <= figure.bbox.x1 for box in found)
        for one, other in itertools.combinations(found, 2):
            assert not one.overlaps(other.shrunk(0.9, 0.9))
    right = figure.axes[1].yaxis.label.get_window_extent().x0
    assert max(box.x1 for box in boxes(figure, 0)) <= right


def test_time_is_told_in_dates_where_the_start_is_known() -> None:
    days = drawn(SCORES).axes[1]
    assert days.get_xlabel() == "days since the start"
    assert days.get_xlim() == (0.0, 900.0)
    dates = drawn(SCORES, start=START).axes[1]
    assert dates.get_xlabel() == ""
    years = [label.get_text() for label in dates.get_xticklabels()]
    assert {"2022", "2023", "2024"} <= set(years)


def test_policies_without_any_staleness_can_be_drawn() -> None:
    assert bars(drawn([score("index", 0.0), score("uniform", 0.0)])) == [0.0, 0.0]
    assert bars(drawn([score("a", 0.0), score("b", 0.0), score("c", 0.5)])) == [0.0, 0.0, 0.5]
    with pytest.raises(ArgumentError, match="scores"):
        replay_figure([], days=1.0)


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8), st.floats(0.01, 0.3))
def test_positions_are_spread_out_in_order(positions: list[float], apart: float) -> None:
    moved = spread_out(positions, apart)
    order = sorted(range(len(positions)), key=lambda number: positions[number])
    for below, above in itertools.pairwise(order):
        assert moved[above] - moved[below] >= apart - 1e-9
    assert max(moved) <= max(1.0, apart * (len(positions) - 1)) + 1e-9
    far = all(abs(one - other) >= apart for one, other in itertools.combinations(positions, 2))
    if far:
        assert moved == pytest.approx(positions)


@given(st.lists(st.floats(0.0, 1.0), min_size=5, max_size=30))
def test_curves_are_averaged_over_five_slices(values: list[float]) -> None:
    expected = [np.mean(values[max(0, index - 2) : index + 3]) for index in range(len(values))]
    np.testing.assert_allclose(smooth(np.array(values)), expected, atol=1e-12)


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_the_same_data_gives_the_same_file(tmp_path: Path, suffix: str) -> None:
    paths = [tmp_path / f"{name}.{suffix}" for name in ("one", "other")]
    for path in paths:
        draw_replay(path, SCORES, days=900.0, start=START, subtitle="x", notes=NOTES)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert paths[0].stat().st_size < 200_000


def test_what_cannot_be_saved_is_said_and_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"replay\.gif"):
        draw_replay(tmp_path / "replay.gif", SCORES, days=9.0)
    with pytest.raises(OutputError, match="nowhere"):
        draw_replay(tmp_path / "nowhere" / "replay.png", SCORES, days=9.0)
    assert list(tmp_path.iterdir()) == []


def test_the_readers_own_settings_are_neither_used_nor_changed() -> None:
    with mpl.rc_context({"font.size": 30}):
        figure = replay_figure(SCORES, days=9.0)
        assert mpl.rcParams["font.size"] == 30
    assert figure.axes[0].xaxis.label.get_fontsize() == 11


def test_calibrations_have_a_panel_of_their_own() -> None:
    calibration = Calibration()
    calibration.add(np.repeat([0.05, 0.35, 0.35], 10), np.repeat([False, True, False], 10))
    # Of two visits, one found a change: that may be chance.
    calibration.add(np.array([0.75, 0.75]), np.array([True, False]))
    figure = replay_figure(SCORES, days=10.0, calibrations={"index": calibration})
    _, _, panel = figure.axes
    line = next(line for line in panel.get_lines() if line.get_label() == "index")
    assert np.asarray(line.get_xydata()) == pytest.approx(np.array([[0.05, 0.0], [0.35, 0.5]]))
    figure.draw_without_rendering()
    label = panel.xaxis.label.get_window_extent()
    assert label.x1 < figure.bbox.x1
    assert len(replay_figure(SCORES, days=10.0).axes) == 2
