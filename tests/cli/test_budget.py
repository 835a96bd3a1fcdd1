"""What ``recrawl budget`` says a freshness costs."""

import csv
import io
import json
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from pyarrow import parquet
from typer.testing import CliRunner, Result

from recrawl import GammaFilter, Observations, allocate, budget_for, fit_prior, freshness
from recrawl.cli.app import app
from recrawl.cli.render.budget import drawing
from recrawl.planning.cost import budgets_around

LOG = "page,time,changed,importance\n" + "".join(
    f"{page},2026-01-{day:02},{day % every == 0:d},{importance}\n"
    for page, every, importance in (("news", 2, 1), ("blog", 7, 5), ("about", 19, 2))
    for day in range(1, 29)
)
IMPORTANCE = [1.0, 5.0, 2.0]


def rates() -> Any:  # noqa: ANN401
    """Give the change rates that the log above teaches."""
    changed = [day % every == 0 for every in (2, 7, 19) for day in range(2, 29)]
    seen = Observations.of(np.ones(81), changed, page=np.repeat([0, 1, 2], 27))
    method = GammaFilter(prior=fit_prior(seen))
    return method.rate(method.update(method.start(3), seen))


def run(*arguments: str, given: str = LOG) -> Result:
    result = CliRunner().invoke(app, ["budget", "-", *arguments], input=given)
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.parametrize("visits", ["periodic", "poisson"])
def test_the_curve_is_what_the_library_gives(visits: Literal["periodic", "poisson"]) -> None:
    least = budget_for(0.9, rates(), importance=IMPORTANCE, visits=visits)
    shown = run("--freshness", "0.9", "--visits", visits, "--format", "json")
    found = json.loads(shown.stdout)
    assert len(found) == 16
    assert found[10]["budget"] == pytest.approx(least)
    assert found[10]["freshness"] == pytest.approx(0.9)
    assert found[0]["budget"] == pytest.approx(least / 100)
    assert found[-1]["budget"] == pytest.approx(10 * least)
    for row in found:
        best = allocate(rates(), row["budget"], importance=IMPORTANCE, visits=visits)
        assert row["freshness"] == pytest.approx(best.freshness)
    assert shown.stderr.startswith(f"90 % fresh costs {least:.3g} visits per day")


def test_words_say_what_it_costs_and_what_the_logs_own_visits_bring() -> None:
    least = budget_for(0.9, rates(), importance=IMPORTANCE, visits="periodic")
    now = freshness(np.ones(3), rates(), importance=IMPORTANCE, visits="periodic")
    planned = allocate(rates(), 3.0, importance=IMPORTANCE, visits="periodic").freshness
    result = run("--freshness", "0.9")
    assert result.stderr == ""
    costs, compared, log = result.stdout.splitlines()[-3:]
    assert costs == (
        f"90 % fresh costs {least:.3g} visits per day; "
        f"each page is visited every {3 / least:.2g} days on average"
    )
    assert compared == (
        f"the log has 3 visits per day: {100 * now:.1f} % fresh, "
        f"or {100 * planned:.1f} % if they were planned"
    )
    assert log == "3 pages, 84 visits from 2026-01-01 to 2026-01-28"


def test_a_large_cost_is_also_told_as_people_say_it() -> None:
    costs = run("--freshness", "0.9999").stdout.splitlines()[-3]
    assert costs.startswith("99.99 % fresh costs ")
    assert " visits per day, " in costs
    assert " per minute; each page is visited every " in costs


def test_the_drawing_fits_eighty_columns_and_marks_the_budget() -> None:
    for share in ("0.001", "0.5", "0.95", "0.999999999999"):
        lines = run("--freshness", share).stdout.splitlines()[:14]
        assert max(map(len, lines)) <= 80
        assert lines[0] == " freshness"
        assert lines[1].startswith(" 100 % ┤")
        assert lines[11].startswith("   0 % └")
        assert lines[11].index("▲") == 48
        assert "visits per day, ▲ " in lines[13]


def test_the_drawing_is_as_high_as_the_curve() -> None:
    budgets = budgets_around(1.0)
    lines = drawing(budgets, np.linspace(0.0, 1.0, 16), 1.0).plain.splitlines()
    bars = [line[8:].ljust(61) for line in lines[1:11]]
    for cell in range(61):
        column = [bars[row][cell] for row in range(10)]
        eighths = sum(" ▁▂▃▄▅▆▇█".index(sign) for sign in column)
        assert eighths == pytest.approx(80 * cell / 60, abs=0.51)
        assert column == sorted(column)
    assert [at for at, sign in enumerate(lines[11][8:]) if sign in "┬▲"] == [0, 20, 40, 60]
    assert lines[12].split() == ["0.01", "0.1", "1", "10"]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_curve_goes_to_a_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"curve.{kind}"
    result = run("--freshness", "0.9", "-o", str(path))
    assert result.stdout == ""
    if kind == "csv":
        found: list[Any] = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
    else:
        found = parquet.read_table(path).to_pylist()
    assert list(found[0]) == ["budget", "freshness"]
    assert float(found[10]["freshness"]) == pytest.approx(0.9)


@pytest.mark.parametrize(("kind", "magic"), [("png", b"\x89PNG"), ("SVG", b"<?xml")])
def test_the_curve_is_drawn_to_a_file_too(tmp_path: Path, kind: str, magic: bytes) -> None:
    path = tmp_path / f"curve.{kind}"
    result = run("--freshness", "0.9", "--plot", str(path))
    assert "90 % fresh costs" in result.stdout
    assert path.read_bytes().startswith(magic)
    assert list(tmp_path.iterdir()) == [path]


def test_importance_from_a_file_changes_the_cost(tmp_path: Path) -> None:
    file = tmp_path / "views.csv"
    file.write_text("page,importance\nnews,9\nblog,0\n", encoding="utf-8")
    least = budget_for(0.9, rates(), importance=[9, 0, 1], visits="periodic")
    told = run("--freshness", "0.9", "--importance", str(file), "--format", "csv").stderr
    assert told.startswith(f"90 % fresh costs {least:.3g} visits per day")


def test_what_was_never_seen_to_change_costs_nothing(tmp_path: Path) -> None:
    log = "page,time,changed\na,1,\na,86401,0\nb,1,\nb,2,1\nb,86401,0\n"
    picture = str(tmp_path / "curve.svg")
    options = ("--freshness", "0.4", "--method", "mle", "--plot", picture)
    result = run(*options, given=log)
    assert "40 % fresh costs no visits: that share was never seen to change\n" in result.stdout
    assert "▲" not in result.stdout
    still = run("--freshness", "0.9", "--method", "mle", given="page,time,changed\na,1,\na,2,0\n")
    assert "90 % fresh costs no visits" in still.stdout
