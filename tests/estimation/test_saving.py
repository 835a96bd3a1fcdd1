"""States in files."""

from pathlib import Path

import numpy as np
import pytest

from recrawl import LLN, SA, GammaFilter, Observations, load_state, save_state
from recrawl.errors import StateError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.npz"


def test_saved_and_loaded_is_the_same(path: Path) -> None:
    method = GammaFilter()
    state = method.update(method.start(3), Observations.of([1.0, 2.0, 3.0], [1, 0, 1]))
    save_state(path, method, state)
    for column, loaded in zip(state, load_state(path, method), strict=True):
        np.testing.assert_array_equal(column, loaded)
        assert column.dtype == loaded.dtype
    assert [file.name for file in path.parent.iterdir()] == ["state.npz"]


def test_another_estimators_state_is_refused(path: Path) -> None:
    save_state(path, LLN(), LLN().start(3))
    with pytest.raises(StateError, match="the state of LLN, not of SA"):
        load_state(path, SA())


def test_another_version_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_state(path, LLN(), LLN().start(3))
    monkeypatch.setattr(LLN, "state_version", 2)
    with pytest.raises(StateError, match="state version 1; this recrawl reads version 2"):
        load_state(path, LLN())


@pytest.mark.parametrize("content", [b"", b"not a state", b"PK\x03\x04 broken"])
def test_damaged_files_are_refused_and_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(StateError, match="damaged"):
        load_state(path, LLN())
    assert path.read_bytes() == content


def test_a_truncated_file_is_refused(path: Path) -> None:
    save_state(path, LLN(), LLN().start(1_000))
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(StateError, match="damaged"):
        load_state(path, LLN())


def test_columns_of_another_kind_are_refused(path: Path) -> None:
    np.savez(path, header=np.array('{"estimator": "LLN", "version": 1}'), visits=np.zeros(2))
    with pytest.raises(StateError, match="damaged"):
        load_state(path, LLN())


def test_no_file_is_one_sentence(path: Path) -> None:
    with pytest.raises(StateError, match="no such file"):
        load_state(path, LLN())


def test_a_folder_that_is_not_there_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="cannot be written"):
        save_state(tmp_path / "none" / "state.npz", LLN(), LLN().start(3))
    assert list(tmp_path.iterdir()) == []
