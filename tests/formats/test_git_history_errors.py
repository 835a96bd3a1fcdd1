"""Every way in which a git repository cannot be made a trace of."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from formats.repositories import Commit, git, make_repository, needs_git, nobodys

from recrawl.errors import ArgumentError, InputError
from recrawl.formats.git_history import trace_from_git

pytestmark = needs_git


@pytest.fixture(autouse=True)
def _nobodys_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in nobodys().items():
        monkeypatch.setenv(name, value)


def refused(repository: Path | str, **settings: Any) -> str:  # noqa: ANN401
    with pytest.raises(InputError) as told:
        trace_from_git(repository, **settings)
    sentence = str(told.value)
    assert sentence.startswith(f"{repository}: ")
    assert "\n" not in sentence
    return sentence.removeprefix(f"{repository}: ")


NO_REPOSITORY = (
    "this is not a git repository; give the folder that contains .git, or a bare repository"
)


def test_what_is_no_repository_is_told(tmp_path: Path) -> None:
    assert refused(tmp_path / "none") == "there is no such folder"
    assert refused(tmp_path / ("x" * 300)) == "it cannot be read: File name too long"
    file = tmp_path / "file"
    file.touch()
    assert refused(file) == "this is a file, not a git repository"
    assert refused(tmp_path) == NO_REPOSITORY


@pytest.mark.parametrize("address", ["https://example.org/site.git", "git@example.org:site.git"])
def test_a_repository_elsewhere_is_to_be_cloned(address: str) -> None:
    assert refused(address) == (
        f"only a repository on this machine can be read; clone it with git clone --bare {address}"
    )


def test_a_folder_inside_a_repository_is_none(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    inside = tmp_path / "inside"
    inside.mkdir()
    assert refused(inside) == NO_REPOSITORY


def test_a_repository_without_commits_is_told(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    assert refused(tmp_path) == "it has no commits"


@pytest.mark.parametrize("head", ["", "main", "ref: refs/../../x", "ref: x", "ref: refs/heads/a"])
def test_a_head_that_names_no_commit_is_told(tmp_path: Path, head: str) -> None:
    repository = make_repository(tmp_path / "repo", [Commit(100, {"a": "1"})])
    (repository / "refs" / "heads" / "a").write_text("ref: refs/heads/a\n", encoding="utf-8")
    (repository / "HEAD").write_text(head, encoding="utf-8")
    assert refused(repository) == "its HEAD names no commit"


def test_a_reftable_is_told(tmp_path: Path) -> None:
    """As git from 2.45 on can make one; its HEAD names nothing."""
    repository = make_repository(tmp_path / "repo", [Commit(100, {"a": "1"})])
    (repository / "reftable").mkdir()
    (repository / "HEAD").write_text("ref: refs/heads/.invalid\n", encoding="utf-8")
    assert refused(repository).endswith("clone it with git clone --bare --ref-format=files")


def test_files_that_none_fits_are_told(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo", [Commit(100, {"a": "1"}), Commit(200)])
    assert refused(repository, path=["*.md", "docs"]) == (
        "no file in its history matches '*.md' or 'docs'"
    )
    for path in ("", [], ["a", ""]):
        with pytest.raises(ArgumentError, match=r"^path: an empty pattern matches no file; write"):
            trace_from_git(repository, path=path)


def test_a_machine_without_git_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refused(tmp_path) == "the program git, which is needed to read it, is not installed"


def test_a_damaged_repository_is_told(tmp_path: Path) -> None:
    """Git finds out only on its way, when part of the history was given already."""
    commits = [Commit(100 + number, {f"d/{number}": "1"}) for number in range(5)]
    repository = make_repository(tmp_path / "repo", commits)
    tree = git(repository, "rev-parse", "HEAD~1:d").decode().strip()
    (repository / "objects" / tree[:2] / tree[2:]).unlink()
    assert refused(repository) == f"git cannot read it: unable to read tree {tree}"


def test_git_ends_when_nobody_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = list[subprocess.Popen[bytes]]()

    class Watched(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **settings: Any) -> None:  # noqa: ANN401
            super().__init__(*arguments, **settings)
            started.append(self)

    def stop(_done: int, _total: int | None) -> None:
        raise KeyboardInterrupt

    commits = [Commit(time, {f"{time}-{n}": "1" for n in range(50)}) for time in range(200)]
    repository = make_repository(tmp_path / "repo", commits)
    monkeypatch.setattr(subprocess, "Popen", Watched)
    with pytest.raises(KeyboardInterrupt):
        trace_from_git(repository, progress=stop)
    assert len(started) == 2
    assert all(process.returncode is not None for process in started)
    with pytest.raises(ProcessLookupError):
        os.kill(started[-1].pid, 0)
