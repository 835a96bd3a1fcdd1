"""Files that earlier versions saved: what they knew is known, and damage is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scheduling.plain import tables_of

from recrawl.errors import StateError
from recrawl.estimation.belief import Prior
from recrawl.scheduling.frontier import Frontier
from recrawl.scheduling.state import HOST, PAGE, SECTION, SHARED, TRUST

PAGES, BUDGET = 40, 10.0
#: What versions 7, 6 and 5 brought.
SHAPES = {"flat", "chances", "base"}
NEW = {str(name) for name, *_ in TRUST} | {"pages", "heard", "heard_since", "heard_until"}
NEW |= SHAPES | {"evidence", "signals", "counted", "likely", "drawn", "parked", "revaluing"}
OCTAVES = {"counts", "weight", "likelihood", "members", "pool", "rate", "pooling", "prior"}
RHYTHM = {name for name in SHARED.names or () if name.startswith(("week_", "saving_"))}


def without(kind: np.dtype[Any], names: set[str], *more: tuple[str, type]) -> np.dtype[Any]:
    fields = [(name, kind[name]) for name in kind.names or () if name not in names]
    return np.dtype([*fields, *more], align=True)


KEEP = ("keep", np.float32)
GAMMA = [("shape", np.float64), ("time", np.float64), ("forgotten_until", np.float64), KEEP]
LAYOUTS = {
    6: {"pages": PAGE, "hosts": HOST, "sections": SECTION, "shared": without(SHARED, SHAPES)},
    5: {
        "pages": without(PAGE, NEW, KEEP),
        "hosts": without(HOST, NEW),
        "sections": SECTION,
        "shared": without(SHARED, NEW),
    },
    4: {
        "pages": without(PAGE, NEW | OCTAVES, *GAMMA),
        "hosts": without(HOST, NEW | OCTAVES),
        "sections": without(SECTION, OCTAVES),
        "shared": without(SHARED, NEW | OCTAVES | RHYTHM),
    },
}


def used(prior: Prior | None = None) -> Frontier:
    frontier = Frontier(BUDGET, prior=prior)
    frontier.add(np.arange(PAGES), now=0.0, host=np.arange(PAGES) % 2, last_visit=0.0)
    for now in np.arange(0.5, 60.0, 0.5).tolist():
        page = frontier.take(now, 20)
        frontier.report(page, now, page < PAGES // 4)
    frontier.remove([5])
    frontier.evidence([7], 60.0, 0.25)
    return frontier


def save_as(frontier: Frontier, version: int, path: Path) -> None:
    """Write a frontier as an earlier version would have."""
    frontier.save(path)
    with np.load(path) as file:
        columns = {name: file[name] for name in file.files}
    header = json.loads(str(columns["header"])) | {"version": version}
    for name, layout in LAYOUTS[version].items():
        rows = np.zeros(columns[name].size, layout)
        for column in set(layout.names or ()) & set(columns[name].dtype.names):
            rows[column] = columns[name][column]
        columns[name] = rows
    if version < 6:
        columns["pages"]["keep"] = 1.0
        columns["pages"]["keep"][7] = 0.25
    if version == 4:
        there = frontier.all_pages()
        # Sixty days with a change on every second of them, or with none.
        columns["pages"]["shape"][there] = np.where(there < PAGES // 4, 31.0, 1.0)
        columns["pages"]["time"][there] = PAGES / BUDGET + 60.0
        columns["pages"]["prior_shape"][there] = 1.0
        columns["pages"]["prior_time"][there] = PAGES / BUDGET
        columns["counters"] = np.delete(columns["counters"], 4)
        for new in ("pooling", "rhythm", "slack", "spend"):
            del header["settings"][new]
    with path.open("wb") as target:
        np.savez(target, **{**columns, "header": np.array(json.dumps(header))})


@pytest.mark.parametrize("version", [5, 6])
def test_versions_with_octaves_go_on_as_if_nothing_had_happened(
    tmp_path: Path, version: int
) -> None:
    frontier = used()
    save_as(frontier, version, tmp_path / "old")
    loaded = Frontier.load(tmp_path / "old")
    there = frontier.all_pages()
    assert loaded.octaves(there).likelihood.tolist() == frontier.octaves(there).likelihood.tolist()
    assert tables_of(loaded).hosts["pages"].tolist() == [20, 19]
    visits = []
    for one in (frontier, loaded):
        visited = np.zeros(PAGES)
        for now in np.arange(60.5, 80.0, 0.5).tolist():
            page = one.take(now, 20)
            one.signal([1, 2], now)
            one.report(page, now, page < PAGES // 4)
            visited[page] += 1
        visits.append(visited)
    # The shape of the rates is counted from all visits at once, so ties may be broken otherwise.
    assert visits[0] == pytest.approx(visits[1], abs=3)


def test_gammas_of_version_4_become_octaves(tmp_path: Path) -> None:
    frontier = used()
    save_as(frontier, 4, tmp_path / "old")
    loaded = Frontier.load(tmp_path / "old")
    there = frontier.all_pages()
    learned = np.asarray(loaded.belief(there).rate)
    lively = there < PAGES // 4
    assert learned[lively] == pytest.approx(0.5, rel=0.3)
    assert learned[~lively].max() < 0.05
    assert len(loaded) == PAGES - 1
    evidence = tables_of(loaded).pages["evidence"]
    assert evidence[7] == 2 * 2_048
    assert evidence.sum() == evidence[7]
    visited = np.zeros(PAGES)
    for now in np.arange(60.5, 90.0, 0.5).tolist():
        page = loaded.take(now, 20)
        loaded.report(page, now, page < PAGES // 4)
        visited[page] += 1
    assert visited[: PAGES // 4].sum() > visited[PAGES // 4 :].sum()


def test_priors_that_were_given_stay(tmp_path: Path) -> None:
    prior = Prior(1.0, 3.0)
    frontier = used(prior)
    save_as(frontier, 4, tmp_path / "old")
    loaded = Frontier.load(tmp_path / "old")
    assert (tables_of(loaded).pages["prior_shape"][loaded.all_pages()] == 1.0).all()


@pytest.mark.parametrize("version", [4, 5, 6])
def test_damage_is_refused(tmp_path: Path, version: int) -> None:
    path = tmp_path / "old"
    save_as(used(), version, path)
    with np.load(path) as file:
        columns = {name: file[name] for name in file.files}
    for name, column in (("pages", "host"), ("sections", "first_page")):
        rows = columns[name].copy()
        rows[column] = 10**6
        with path.open("wb") as target:
            np.savez(target, **{**columns, name: rows})
        with pytest.raises(StateError, match="damaged"):
            Frontier.load(path)
    for name in ("pages", "hosts", "shared", "counters"):
        with path.open("wb") as target:
            np.savez(target, **{**columns, name: np.zeros((3, 2))})
        with pytest.raises(StateError, match="damaged"):
            Frontier.load(path)


def test_versions_before_that_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "old"
    save_as(used(), 5, path)
    with np.load(path) as file:
        columns = {name: file[name] for name in file.files}
    columns["header"] = np.array(json.dumps(json.loads(str(columns["header"])) | {"version": 3}))
    with path.open("wb") as target:
        np.savez(target, **columns)
    with pytest.raises(StateError, match="version 3; this recrawl reads versions 4 to 8"):
        Frontier.load(path)
