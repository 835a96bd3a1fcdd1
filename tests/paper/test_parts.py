"""Which parts an experiment has, and that they come back the same however they are run."""

import os
import sys
from importlib.util import find_spec
from types import SimpleNamespace

import pytest
from paper.made_up import made_up_section

from recrawl.errors import ArgumentError
from recrawl.paper import PARTS, part_names, reproduce
from recrawl.paper.parts import EXPERIMENTS, LONGEST
from recrawl.paper.section import Section


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, int]]:
    """Replace the parts with ones that record their calls, on one processor."""
    calls: list[tuple[str, int, int]] = []

    def part(name: str) -> SimpleNamespace:
        def run(runs: int, seed: int) -> Section:
            calls.append((name, runs, seed))
            return made_up_section(name)

        return SimpleNamespace(run=run)

    for name in PARTS:
        monkeypatch.setitem(sys.modules, f"made_up_{name}", part(name))
        monkeypatch.setitem(PARTS, name, f"made_up_{name}")
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    return calls


def test_every_part_is_there_and_asked_for() -> None:
    assert all(find_spec(module) for module in PARTS.values())
    asked = [name for what, names in EXPERIMENTS.items() if what != "all" for name in names]
    assert asked == list(PARTS) == list(part_names("all"))
    assert set(LONGEST) <= set(PARTS)


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_parts_are_run_once_each_and_given_in_order(
    made_up: list[tuple[str, int, int]], experiment: str
) -> None:
    reported: list[tuple[int, int | None]] = []
    found = reproduce(
        experiment, runs=7, seed=5, progress=lambda done, total: reported.append((done, total))
    )
    names = part_names(experiment)
    assert tuple(found) == names
    assert [found[name].title for name in names] == [made_up_section(name).title for name in names]
    assert sorted(made_up) == sorted((name, 7, 5) for name in names)
    assert reported == [(done, len(names)) for done in range(len(names) + 1)]


@pytest.mark.usefixtures("made_up")
def test_it_is_all_of_the_papers_size_unless_told(made_up: list[tuple[str, int, int]]) -> None:
    assert list(reproduce()) == list(PARTS)
    assert {call[1:] for call in made_up} == {(1_000, 0)}


@pytest.mark.parametrize("runs", [0, -3])
def test_no_runs_are_refused(made_up: list[tuple[str, int, int]], runs: int) -> None:
    with pytest.raises(ArgumentError, match=rf"^runs: {runs} is not a positive number of runs"):
        reproduce("1", runs=runs)
    assert made_up == []


def test_an_unknown_experiment_is_refused(made_up: list[tuple[str, int, int]]) -> None:
    with pytest.raises(ArgumentError, match=r"^experiment: '4' is not one of 1, 2, 3, theorems, "):
        reproduce("4")
    assert made_up == []


def test_on_several_processes_the_numbers_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXPERIMENTS, "two", ("experiment-3", "corners"))
    found = []
    for processors in (1, 2):
        monkeypatch.setattr(os, "cpu_count", lambda processors=processors: processors)
        found.append(reproduce("two", runs=2, seed=1))
    alone, side_by_side = found
    assert list(alone) == list(side_by_side) == ["experiment-3", "corners"]
    for ours, theirs in zip(alone.values(), side_by_side.values(), strict=True):
        assert ours.claims == theirs.claims
        for table, other in zip(ours.tables, theirs.tables, strict=True):
            for name, column in table.columns.items():
                assert column.tobytes() == other.columns[name].tobytes()
        for picture, other_picture in zip(ours.pictures, theirs.pictures, strict=True):
            assert picture == other_picture
