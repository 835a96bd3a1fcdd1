"""Frontiers in files: the same afterwards, and refused in one sentence when damaged."""

import itertools
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from recrawl import LLN, save_state
from recrawl.errors import StateError
from recrawl.estimation.belief import Prior
from recrawl.scheduling.frontier import Frontier


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "frontier"


def crawl(frontier: Frontier, begin: float, end: float) -> list[list[int]]:
    story = []
    for now in np.arange(begin, end, 0.1).tolist():
        page = frontier.take(now, 50)
        frontier.report(page, now, page % 3 == 0)
        story.append(page.tolist())
    return story


def used(**settings: object) -> Frontier:
    frontier = Frontier(30.0, **settings)  # type: ignore[arg-type]
    frontier.add(range(60), now=0.0, host=np.arange(60) % 3, last_visit=0.0)
    crawl(frontier, 0.1, 4.0)
    return frontier


PRIORS = [
    None,
    Prior(0.5, 3.0),
    Prior(np.full(60, 0.5), np.linspace(1.0, 5.0, 60)),
    Prior(0.5, np.linspace(1.0, 5.0, 60)),
    Prior(np.full(60, 0.5), 3.0),
]


@pytest.mark.parametrize("prior", PRIORS)
def test_settings_and_prior_come_back(path: Path, prior: Prior | None) -> None:
    frontier = used(prior=prior, half_life=50.0, host_delay=0.01, host_budget=11.0, catch_up=0.7)
    frontier.save(path)
    loaded = Frontier.load(path)
    assert loaded.price == frontier.price
    assert crawl(loaded, 4.0, 8.0) == crawl(frontier, 4.0, 8.0)
    if prior is None:
        for one in (loaded, frontier):
            one.add(range(60, 90), now=8.0, host=7)
        assert crawl(loaded, 8.0, 10.0) == crawl(frontier, 8.0, 10.0)


def test_saving_changes_nothing(path: Path) -> None:
    saved, other = used(), used()
    for one in (saved, other):
        one.add(range(60, 70), now=4.0)
    saved.save(path)
    assert crawl(saved, 4.0, 6.0) == crawl(other, 4.0, 6.0)


def test_a_new_and_an_empty_frontier_can_be_kept(path: Path) -> None:
    frontier = Frontier(30.0)
    frontier.save(path)
    loaded = Frontier.load(path)
    for one in (frontier, loaded):
        one.add(range(9), now=1.0, last_visit=1.0)
    loaded.save(path)
    again = Frontier.load(path)
    assert crawl(again, 1.0, 3.0) == crawl(loaded, 1.0, 3.0) == crawl(frontier, 1.0, 3.0)


def test_what_was_there_stays_until_the_new_file_is_whole(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frontier = used()
    frontier.save(path)
    before = path.read_bytes()

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(StateError, match="cannot be written: No space left on device"):
        frontier.save(path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def refused(path: Path, words: str) -> None:
    """Expect a sentence that names the file, which stays as it is."""
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(StateError, match=f"^{path}: .*{words}") as caught:
        Frontier.load(path)
    assert "\n" not in str(caught.value)
    assert before is None or path.read_bytes() == before


def test_damage_is_noticed_wherever_it_is(path: Path) -> None:
    used().save(path)
    whole = path.read_bytes()
    for length in [0, 1, 100, *range(1_000, len(whole), len(whole) // 17), len(whole) - 1]:
        path.write_bytes(whole[:length])
        refused(path, "not a frontier's state, or damaged")


@pytest.mark.parametrize("flip", [0xFF, 0x01])
def test_flipped_bytes_are_noticed_or_harmless(path: Path, flip: int) -> None:
    frontier = used()
    frontier.save(path)
    whole, due = path.read_bytes(), frontier.due(range(60)).tolist()
    with zipfile.ZipFile(path) as file:
        entries = [entry.header_offset for entry in file.infolist()]
        directory = range(file.start_dir, len(whole))
    # Heads of entries and the directory at the end are read before sums are checked.
    heads = itertools.chain.from_iterable(range(entry, entry + 200, 2) for entry in entries)
    rng = np.random.default_rng(3)
    for at in {*heads, *directory, *rng.integers(0, len(whole), 100).tolist()}:
        path.write_bytes(whole[:at] + bytes([whole[at] ^ flip]) + whole[at + 1 :])
        try:
            loaded = Frontier.load(path)
        except StateError as error:
            assert str(error).startswith(f"{path}: ")  # noqa: PT017
        else:
            # Only what says nothing, as the date of an entry, may differ unnoticed.
            assert loaded.due(range(60)).tolist() == due


@pytest.mark.parametrize("content", [b"", b"not a state", b"PK\x03\x04 broken", b"\x93NUMPY\x01"])
def test_other_files_are_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    refused(path, "not a frontier's state, or damaged")


def test_missing_files_and_folders_are_refused(tmp_path: Path) -> None:
    refused(tmp_path / "none", "there is no such file")
    refused(tmp_path, "not a frontier's state, or damaged")
    with pytest.raises(StateError, match="cannot be written"):
        Frontier(1.0).save(tmp_path / "none" / "frontier")
    assert list(tmp_path.iterdir()) == []


def test_an_estimators_state_and_a_pile_of_arrays_are_refused(path: Path) -> None:
    save_state(path, LLN(), LLN().start(3))
    refused(path, "not a frontier's state, or damaged")
    with path.open("wb") as file:
        np.savez(file, pages=np.zeros(3))
    refused(path, "not a frontier's state, or damaged")


def rewritten(path: Path, **parts: object) -> None:
    """Write a file again with some of its parts replaced; None leaves a part out."""
    with np.load(path) as file:
        columns = {name: file[name] for name in file.files} | parts
    with path.open("wb") as target:
        np.savez(target, **{name: part for name, part in columns.items() if part is not None})


def header_of(path: Path) -> dict[str, object]:
    with np.load(path) as file:
        return dict(json.loads(str(file["header"])))


def test_a_newer_version_is_refused_and_says_what_to_do(path: Path) -> None:
    used().save(path)
    rewritten(path, header=np.array(json.dumps(header_of(path) | {"version": 99})))
    refused(path, "frontier version 99; this recrawl reads versions 4 to 8; load it with")


def test_parts_that_are_missing_or_do_not_fit_are_refused(path: Path) -> None:
    used().save(path)
    whole = path.read_bytes()
    with np.load(path) as file:
        parts = {name: file[name] for name in file.files}
    for name, part in parts.items():
        if name == "header":
            continue
        for wrong in (None, np.zeros(3), part[:-1], np.stack([part, part])):
            path.write_bytes(whole)
            rewritten(path, **{name: wrong})
            refused(path, "not a frontier's state, or damaged")
    path.write_bytes(whole)
    rewritten(path, header=np.array(json.dumps(header_of(path) | {"settings": {"budget": 1.0}})))
    refused(path, "not a frontier's state, or damaged")


def test_rows_that_point_nowhere_are_refused(path: Path) -> None:
    used().save(path)
    whole = path.read_bytes()
    columns = [
        *itertools.product(["pages"], ["host", "section", "next", "before", "sibling"]),
        *itertools.product(["sections"], ["host", "next_section", "first_page"]),
        ("hosts", "first_section"),
    ]
    with np.load(path) as file:
        parts = {name: file[name] for name in file.files}
    for (name, column), number in itertools.product(columns, [10**6, -(10**6)]):
        part = parts[name].copy()
        part[column][1] = number
        path.write_bytes(whole)
        rewritten(path, **{name: part})
        refused(path, "not a frontier's state, or damaged")
