"""The demo: quiet and quick in a pipe, alive on a terminal, and true to the library."""

import io
import time
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from recrawl import GammaFilter
from recrawl.cli import demo as command
from recrawl.cli.app import app
from recrawl.cli.demo_pages import LAST_DAY, PAGES, draw_lives, learn
from recrawl.cli.demo_screen import every, picture
from recrawl.estimation import observe
from recrawl.formats.crawl_log import read_crawl_log

SHOW_CURSOR = "\x1b[?25h"


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["demo", *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def refuse_to_sleep(_seconds: float) -> None:
    raise AssertionError("a pipe waits for nobody")


def test_a_pipe_gets_plain_lines_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", refuse_to_sleep)
    output = run()
    assert "\x1b" not in output
    assert all(name in output for name in PAGES)
    assert all(word in output for word in ("truth", "GammaFilter", "LLN", "MLE", "visits"))
    assert "recrawl estimate LOG" in output
    assert max(map(len, output.splitlines())) <= 80


def test_the_seed_decides() -> None:
    assert run("--seed", "3") == run("--seed", "3") != run("--seed", "4")


def test_a_terminal_sees_it_move_and_gets_its_cursor_back() -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=80, height=24)
    start = time.monotonic()
    _, end = command.play(console, seconds=0.5, seed=1)
    assert time.monotonic() - start >= 0.5
    assert end.day == pytest.approx(LAST_DAY)
    assert screen.getvalue().count("football scores") > 3
    assert screen.getvalue().rstrip().endswith(SHOW_CURSOR)


@pytest.mark.parametrize("width", [66, 80, 130])
def test_the_picture_fits_the_terminal(width: int) -> None:
    file = io.StringIO()
    Console(file=file, width=width).print(picture(list(learn(draw_lives(1), 5)), width))
    lines = file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    if width >= 80:
        assert len(lines) + command.closing(next(learn(draw_lives(1), 1)), None).count("\n") < 24


def test_errors_fall_and_intervals_hold() -> None:
    frames = list(learn(draw_lives(2), 20))
    for name, error in frames[-1].errors.items():
        assert error < 0.1 < frames[3].errors[name]
    assert frames[-1].held >= 10


def test_the_log_it_writes_tells_the_same_story(tmp_path: Path) -> None:
    for ending in ("csv", "parquet"):
        log = tmp_path / f"visits.{ending}"
        assert f"recrawl estimate {log}" in run("--log", str(log))
        visits = read_crawl_log(log)
        assert visits.names.to_pylist() == list(PAGES)
        method = GammaFilter()
        found = method.rate(method.update(method.start(len(PAGES)), observe(visits)))
        (end,) = learn(draw_lives(1), 1)
        assert np.allclose(found, end.rates["GammaFilter"], rtol=1e-3)


def test_a_log_that_cannot_be_written_is_refused_before_anything_is_shown(tmp_path: Path) -> None:
    for log, problem in (
        (tmp_path / "visits.txt", ".csv or .parquet"),
        (tmp_path / "no" / "v.csv", "no"),
    ):
        result = CliRunner().invoke(app, ["demo", "--log", str(log)])
        assert result.exit_code == 2
        assert problem in result.output
        assert "football" not in result.output


def test_times_are_short() -> None:
    rates = np.geomspace(1e-4, 5e4, 500)
    assert max(len(every(float(rate))) for rate in rates) <= 6
