"""How ``recrawl simulate`` compares policies on synthetic pages."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli.refusing import refused
from typer.testing import CliRunner, Result

from recrawl.cli.app import app
from recrawl.simulation.policies import policy_named
from recrawl.simulation.replay import replay
from recrawl.simulation.synthetic import MIXED, add_signals, synthetic_world

SMALL = ("--pages", "50", "--days", "40", "--every", "5d", "--policies", "uniform,index-known")


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(app, ["simulate", *arguments])
    assert result.exit_code == 0, result.output
    return result


def found(*arguments: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(run(*arguments, "--format", "json").stdout)
    return rows


def test_nothing_must_be_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = run("--policies", "uniform").stdout.splitlines()
    assert lines[0].startswith("1,000 pages, ")
    assert lines[0].endswith(
        " changes in 365 days; 33.3 visits per day, each page every 30 days on average"
    )
    assert lines[1] == (
        "Simulated: poisson; change rates log-normal around every 30 days, spread 5; "
        "importance pareto; seed 0"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("world", ["poisson", "bursty", "drifting"])
def test_scores_are_those_of_the_library(world: str) -> None:
    drawn = synthetic_world(world, 50, 40.0, 0.2, 5.0, "pareto", 7)
    rows = found(*SMALL, "--world", world, "--seed", "7")
    assert len(rows) == 2
    for row in rows:
        assert row == replay(drawn, policy_named(row["policy"]), 10.0, seed=7).as_dict()


def test_a_budget_is_what_so_many_visits_to_each_page_are() -> None:
    without = [option for option in SMALL if option not in ("--every", "5d")]
    assert found(*without, "--budget", "10/day") == found(*SMALL)


def test_the_seed_decides_about_the_world() -> None:
    once, again, other = (found(*SMALL, "--seed", seed) for seed in ("1", "1", "2"))
    assert once == again
    assert once != other


def test_rates_are_log_normal_around_the_median_and_alike_in_a_section() -> None:
    world = synthetic_world("poisson", 40_000, 1.0, 0.25, 4.0, "pareto", 0)
    away = np.log(world.change_rate / 0.25) / np.log(4.0)
    # 4,000 sections: the standard error of the mean is √(½/4,000 + ½/40,000) = 0.012.
    assert abs(away.mean()) < 4 * 0.012
    assert np.std(away) == pytest.approx(1.0, abs=0.03)
    assert np.mean(np.abs(away) < 1.0) == pytest.approx(0.683, abs=0.02)
    sections = away.reshape(-1, 10).mean(axis=1)
    assert np.var(sections) == pytest.approx(0.5 + 0.05, abs=0.06)
    assert np.bincount(world.section).tolist() == [10] * 4_000
    assert np.bincount(world.host).tolist() == [100] * 400


def test_a_fifth_of_the_pages_has_three_quarters_of_the_importance() -> None:
    for seed in (0, 1):
        importance = np.sort(
            synthetic_world("poisson", 10_000, 1.0, 1.0, 5.0, "pareto", seed).importance
        )
        assert importance[-2_000:].sum() / importance.sum() == pytest.approx(0.75, abs=0.01)
    rates = synthetic_world("poisson", 10_000, 1.0, 1.0, 5.0, "pareto", 0)
    together = np.corrcoef(np.log(rates.change_rate), np.log(rates.importance))[0, 1]
    assert abs(together) < 0.05
    equal = synthetic_world("poisson", 10, 1.0, 1.0, 5.0, "equal", 0)
    assert equal.importance.tolist() == [1.0] * 10


def test_options_reach_the_world() -> None:
    alike = run(*SMALL, "--median-rate", "2/day", "--spread", "1", "--importance", "equal")
    assert "around 2 per day, spread 1; importance equal; seed 0" in alike.stdout
    (changes,) = [int(word.replace(",", "")) for word in alike.stdout.split()[2:3]]
    # A Poisson number around 50 pages · 40 days · 2 a day.
    assert abs(changes - 4_000) < 4 * 4_000**0.5


def test_the_comparison_is_drawn_too(tmp_path: Path) -> None:
    path = tmp_path / "world.svg"
    run(*SMALL, "--plot", str(path))
    assert path.read_bytes().startswith(b"<?xml")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("--world flat", "--world: 'flat' is none of poisson, bursty, drifting"),
        ("--importance zipf", "--importance: 'zipf' is none of pareto, equal"),
        ("--spread 0.5", "--spread: 0.5 is not a factor of 1 or more; the default is 5"),
        ("--spread nan", "--spread: nan is not a factor of 1 or more; the default is 5"),
        ("--days 0", "--days: 0.0 is not a positive number of days"),
        ("--days inf", "--days: inf is not a positive number of days"),
        ("--median-rate 5", "--median-rate: '5' has no unit; write for example"),
        ("--every 30", "--every: '30' has no unit; write for example"),
        ("--every 3d --budget 1/day", "--budget: --every already sets the number of visits"),
        ("--policies best", "--policies: 'best' is none of index, "),
        ("--days 1 --tick 2d", "--tick: 2.0 days is not above 0 and within 1 days"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(arguments: str, sentence: str) -> None:
    assert refused("simulate", *arguments.split()).startswith(sentence)


def test_help_shows_examples_and_every_option() -> None:
    shown = CliRunner().invoke(app, ["simulate", "--help"], env={"COLUMNS": "100"}).stdout
    assert "recrawl simulate --world bursty" in shown
    for option in ("--pages", "--days", "--world", "--median-rate", "--spread", "--importance"):
        assert option in shown


def test_signals_are_drawn_as_asked() -> None:
    drawn = synthetic_world("poisson", 50, 40.0, 0.2, 5.0, "pareto", 7)
    names = ("--policies", "ncis,index", "--seed", "7", "--signals")
    for text, quality in (("0.8,0.5", ((0.8, 0.5),)), ("mixed", MIXED)):
        world = add_signals(drawn, quality, 7)
        for row in found(*SMALL[:-2], *names, text):
            assert row == replay(world, policy_named(row["policy"]), 10.0, seed=7).as_dict()
    assert run(*SMALL, "--signals", "0.8,0.5").stdout.splitlines()[1].endswith("; signals 0.8,0.5")


@pytest.mark.parametrize("text", ["0.8", "0,0.5", "2,0.5", "0.5,1.5", "nan,1", "a,b", "1,1,1"])
def test_signals_that_are_none_are_refused(text: str) -> None:
    message = refused("simulate", "--signals", text)
    assert f"--signals: '{text}' is not a precision and a recall" in message


def test_several_seeds_show_means_and_their_errors() -> None:
    rows = found(*SMALL, "--seeds", "3")
    assert all(row["staleness_error"] >= 0.0 for row in rows)
    lines = run(*SMALL, "--seeds", "3").stdout.splitlines()
    assert " ± " in lines[4]
    assert lines[-1].startswith("± is the standard error of the mean over replays")


def test_calibration_is_shown_for_policies_that_expect_changes() -> None:
    options = [*SMALL[:-1], "index-octaves,uniform"]
    lines = run(*options).stdout.splitlines()
    first = next(n for n, line in enumerate(lines) if line.startswith("Share of visits"))
    assert lines[first + 1].split() == ["expected", "index-octaves"]
    visits = [
        int(line.rsplit("(", 1)[1].rstrip(")").replace(",", "")) for line in lines[first + 2 :]
    ]
    assert sum(visits) == 400
    assert not any("Share of visits" in line for line in run(*SMALL).stdout.splitlines())
