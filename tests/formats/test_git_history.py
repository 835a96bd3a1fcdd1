"""Traces from git histories: real repositories, read by the real git."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from formats.repositories import (
    LINK,
    PROGRAM,
    SUBMODULE,
    Commit,
    git,
    make_repository,
    needs_git,
    nobodys,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from recrawl.errors import InputError
from recrawl.formats import git_history
from recrawl.formats.git_history import forward, page_test, trace_from_git
from recrawl.formats.traces import ALIVE, Trace, read_trace, write_trace

pytestmark = needs_git

Life = tuple[int, int | None, list[int]]
#: Enough lines for git to see that another text has most of them.
LONG = "".join(f"line {number}\n" for number in range(20))


@pytest.fixture(autouse=True)
def _nobodys_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in nobodys().items():
        monkeypatch.setenv(name, value)


def lives(trace: Trace) -> dict[str, Life]:
    """Give each page's birth, death and changes by name."""
    assert len(set(trace.name)) == len(trace.name)
    return {
        name: (
            int(trace.born[page]),
            None if trace.died[page] == ALIVE else int(trace.died[page]),
            trace.change_time[trace.change_page == page].tolist(),
        )
        for page, name in enumerate(trace.name)
    }


def lives_in(folder: Path, *commits: Commit, **settings: Any) -> dict[str, Life]:  # noqa: ANN401
    return lives(trace_from_git(make_repository(folder / "repo", commits), **settings))


def test_files_are_born_change_and_die(tmp_path: Path) -> None:
    trace = trace_from_git(
        make_repository(
            tmp_path / "repo",
            [
                Commit(100, {"b": "1", "a": "1"}),
                Commit(200, {"a": "2", "docs/c": "1"}),
                Commit(300),
                Commit(400, {"a": "3", "b": None}),
            ],
        )
    )
    assert lives(trace) == {
        "a": (100, None, [200, 400]),
        "b": (100, 400, []),
        "docs/c": (200, None, []),
    }
    assert trace.page.tolist() == [0, 1, 2]
    assert trace.page.dtype == np.int32
    assert trace.importance.tolist() == [1.0, 1.0, 1.0]
    assert trace.change_page.dtype == trace.change_time.dtype == trace.born.dtype == np.int64


def test_a_file_that_moves_is_the_same_page_by_another_name(tmp_path: Path) -> None:
    found = lives_in(
        tmp_path,
        Commit(100, {"old": "text", "stays": "other"}),
        Commit(200, {"old": "new text"}),
        Commit(300, {"old": None, "d/new": "new text"}),
        Commit(400, {"d/new": "newest text"}),
    )
    assert found == {"d/new": (100, None, [200, 400]), "stays": (100, None, [])}


def test_a_file_that_is_edited_as_it_moves_has_changed(tmp_path: Path) -> None:
    found = lives_in(
        tmp_path,
        Commit(100, {"old": LONG}),
        Commit(200, {"old": None, "new": f"{LONG}and more\n"}),
        Commit(300, {"new": None, "newer": "something else"}),
    )
    assert found == {"new": (100, 300, [200]), "newer": (300, None, [])}


def test_a_file_is_a_page_while_its_name_is_one(tmp_path: Path) -> None:
    """A draft is published, another withdrawn."""
    found = lives_in(
        tmp_path,
        Commit(100, {"drafts/a": "a", "posts/b": "b"}),
        Commit(200, {"drafts/a": "a2"}),
        Commit(300, {"drafts/a": None, "posts/a": "a2", "posts/b": None, "drafts/b": "b"}),
        path="posts",
    )
    assert found == {"posts/a": (300, None, []), "posts/b": (100, 300, [])}


def test_a_name_is_its_last_pages_unless_that_lives_on_elsewhere(tmp_path: Path) -> None:
    found = lives_in(
        tmp_path,
        Commit(100, {"a": "a", "b": "b", "c": "c"}),
        # The page a moves on, and its name is given to another; b moves away, dies, and is back.
        Commit(200, {"a": None, "a2": "a", "b": None, "b2": "b"}),
        Commit(300, {"a": "other", "b2": None}),
        Commit(400, {"b": "again"}),
        # The name of a page that died is back with the content of another.
        Commit(500, {"c": None}),
        Commit(600, {"a2": None, "c": "a"}),
    )
    assert found == {
        "a": (300, None, []),
        "a2": (100, 600, []),
        "b": (100, None, [400]),
        "c": (100, None, [600]),
    }


def test_a_file_that_moves_there_and_back_is_one_page(tmp_path: Path) -> None:
    found = lives_in(
        tmp_path,
        Commit(100, {"a": "a"}),
        Commit(200, {"a": None, "b": "a"}),
        Commit(300, {"b": None, "a": "a"}),
        Commit(400, {"b": (SUBMODULE, "1" * 40)}),
    )
    assert found == {"a": (100, None, [])}


def test_empty_files_and_submodules_do_not_move(tmp_path: Path) -> None:
    found = lives_in(
        tmp_path,
        Commit(100, {"a": "", "sub": "file"}),
        Commit(200, {"a": None, "b": "", "sub": (SUBMODULE, "1" * 40)}),
        Commit(300, {"sub": None, "dub": (SUBMODULE, "1" * 40)}),
        Commit(400, {"dub": "other"}),
    )
    assert found == {
        "a": (100, 200, []),
        "b": (200, None, []),
        "sub": (100, 200, []),
        "dub": (400, None, []),
    }


def test_a_site_that_moves_as_a_whole_keeps_its_pages(tmp_path: Path) -> None:
    """More files than git compares with one another, all with the same few names."""
    names = [f"{number}/index.md" for number in range(1_200)]
    old: dict[str | bytes, Any] = {f"old/{name}": f"{LONG}{name}" for name in names}
    new: dict[str | bytes, Any] = {f"new/{name}": f"{LONG}{name}" for name in names}
    commits = [Commit(100, old), Commit(200, {**dict.fromkeys(old), **new})]
    trace = trace_from_git(make_repository(tmp_path / "repo", commits))
    assert sorted(trace.name) == sorted(f"new/{name}" for name in names)
    assert set(trace.born.tolist()) == {100}
    assert set(trace.died.tolist()) == {ALIVE}


def test_a_file_that_is_added_again_comes_back_with_a_change(tmp_path: Path) -> None:
    found = lives_in(
        tmp_path,
        Commit(100, {"a": "1", "b": "1"}),
        Commit(200, {"a": None, "b": None}),
        Commit(300, {"a": "1"}),
        Commit(400, {"a": None}),
        Commit(500, {"a": "2"}),
    )
    assert found == {"a": (100, None, [300, 500]), "b": (100, 200, [])}


def test_a_merge_counts_when_it_is_merged(tmp_path: Path) -> None:
    """What was done aside is published by the merge; its own commits are not on the line."""
    found = lives_in(
        tmp_path,
        Commit(100, {"a": "1", "b": "b", "c": "1"}),
        Commit(150, {"a": "2", "b": None, "d": "d"}, branch="side"),
        Commit(160, {"a": "3"}, branch="side"),
        Commit(200, {"c": "2"}),
        Commit(300, {"a": "3", "b": None, "d": "d"}, merges="side"),
    )
    assert found == {
        "a": (100, None, [300]),
        "b": (100, 300, []),
        "c": (100, None, [200]),
        "d": (300, None, []),
    }


def test_another_mode_is_no_change_but_a_link_is(tmp_path: Path) -> None:
    found = lives_in(
        tmp_path,
        Commit(100, {"a": "1"}),
        Commit(200, {"a": (PROGRAM, "1")}),
        Commit(300, {"a": (LINK, "elsewhere")}),
    )
    assert found == {"a": (100, None, [300])}


def test_other_repositories_are_no_files(tmp_path: Path) -> None:
    """A file that gives way to a submodule dies, and is back when it is a file again."""
    found = lives_in(
        tmp_path,
        Commit(100, {"a": "1", "sub": (SUBMODULE, "1" * 40), "was": (SUBMODULE, "1" * 40)}),
        Commit(200, {"a": (SUBMODULE, "1" * 40), "sub": (SUBMODULE, "2" * 40), "was": "1"}),
        Commit(300, {"a": None, "sub": None}),
        Commit(400, {"a": "2"}),
        Commit(500, {"a": (SUBMODULE, "1" * 40)}),
        Commit(600, {"a": None}),
    )
    assert found == {"a": (100, 500, [400]), "was": (200, None, [])}


def test_names_may_be_anything_a_path_may_be(tmp_path: Path) -> None:
    odd = ["with space", "line\nbreak", ":100644 100644 a b M", "1234567890", "käse", '"q"', "t\t"]
    files: dict[str | bytes, Any] = dict.fromkeys(odd, "1")
    found = lives_in(
        tmp_path,
        Commit(100, {**files, b"k\xe4se": "1"}),
        Commit(200, {**dict.fromkeys(odd, "2"), b"k\xe4se": "2"}),
    )
    assert found == dict.fromkeys([*odd, "k%E4se"], (100, None, [200]))


def test_what_is_found_can_be_written(tmp_path: Path) -> None:
    repository = make_repository(
        tmp_path / "repo", [Commit(100, {b"\xff\n": "1", "b": "1"}), Commit(200, {"b": None})]
    )
    trace = trace_from_git(repository)
    write_trace(tmp_path / "trace", trace)
    assert lives(read_trace(tmp_path / "trace")) == lives(trace)


def test_two_changes_in_one_second_are_one(tmp_path: Path) -> None:
    found = lives_in(
        tmp_path, Commit(100, {"a": "1"}), Commit(200, {"a": "2"}), Commit(200, {"a": "3"})
    )
    assert found == {"a": (100, None, [200])}


def test_wrong_clocks_spoil_only_their_own_commits(tmp_path: Path) -> None:
    """One commit of the far future, one of no time, one of the past."""
    found = lives_in(
        tmp_path,
        Commit(4_000_000_000, {"a": "1"}),
        Commit(100, {"a": "2"}),
        Commit(200, {"a": "3"}),
        Commit(253_402_300_800, {"a": "4"}),
        Commit(300, {"a": "5"}),
        Commit(0, {"a": "6"}),
        Commit(400, {"a": "7"}),
    )
    assert found == {"a": (100, None, [100, 200, 300, 400])}


@given(st.lists(st.integers(1, 12), max_size=9))
def test_times_run_forward_with_the_fewest_changed(times: list[int]) -> None:
    mended = forward(times).tolist()
    assert mended == sorted(mended)
    assert set(mended) <= set(times)
    believable = max(
        size
        for size in range(len(times) + 1)
        if any(list(some) == sorted(some) for some in itertools.combinations(times, size))
    )
    assert sum(map(int.__eq__, mended, times)) >= believable


def test_times_that_are_none_are_not_believed() -> None:
    assert forward([0, 5, 0, 10**12, 7]).tolist() == [5, 5, 5, 5, 7]
    assert forward([5, 10**12]).tolist() == [5, 5]
    assert forward([0, 0]).tolist() == [0, 0]
    assert forward([]).tolist() == []


PATHS = st.sampled_from(["a", "b", "d/a", "d/b", "d/e/a"])
CONTENTS = st.one_of(
    st.none(), st.sampled_from("123"), st.just((PROGRAM, "1")), st.just((SUBMODULE, "1" * 40))
)


@settings(max_examples=40)
@given(
    steps=st.lists(
        st.tuples(st.integers(0, 3), st.booleans(), st.dictionaries(PATHS, CONTENTS, max_size=4)),
        min_size=1,
        max_size=12,
    )
)
def test_any_history_is_read_as_a_plain_walk_over_its_states_tells(
    steps: list[tuple[int, bool, dict[str | bytes, Any]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Steps on main, some of them after another on a side branch, which a merge throws away.

    No two files ever have the same content, so that none is taken for one that moved.
    """
    time, state = 100, dict[str | bytes, str]()
    commits, walk = list[Commit](), dict[str | bytes, Life]()
    for number, (later, merges, drawn) in enumerate(steps):
        files = {path: own(path, what) for path, what in drawn.items()}
        time += later
        side = f"side{number}" if merges and commits else None
        if side:
            commits.append(Commit(50, {"a": "aside", "d/b": None}, branch=side))
        commits.append(Commit(time, files, merges=side))
        before, state = state, {**state, **{path: plain(what) for path, what in files.items()}}
        for path in {**before, **state}:
            step(walk, path, before.get(path, ""), state.get(path, ""), time)
    repository = make_repository(tmp_path_factory.mktemp("history") / "repo", commits)
    if not walk:
        with pytest.raises(InputError, match="no file in its history matches"):
            trace_from_git(repository)
    else:
        assert lives(trace_from_git(repository)) == walk


def own(path: str | bytes, content: Any) -> Any:  # noqa: ANN401 - as in `Commit`
    """Make the content of a file one that no other file has."""
    if isinstance(content, str):
        return f"{path!r}: {content}"
    is_text = content is not None and content[0] == PROGRAM
    return (PROGRAM, own(path, content[1])) if is_text else content


def plain(content: str | tuple[bytes, str] | None) -> str:
    """Give a file's text, nothing where there is no file."""
    if isinstance(content, tuple):
        return content[1] if content[0] == PROGRAM else ""
    return content or ""


def step(
    walk: dict[str | bytes, Life], path: str | bytes, before: str, now: str, time: int
) -> None:
    """Tell what became of a path in one step."""
    if now and path not in walk:
        walk[path] = (time, None, [])
    elif now != before:
        born, _, changes = walk[path]
        if now and time not in changes:
            changes.append(time)
        walk[path] = (born, None if now else time, changes)


TREE = {"a.md", "docs/b.md", "docs/x/c.md", "docs/x/d.txt", "blog/[1].md", "xdocs/b.md"}
GLOBS = {
    "**": TREE,
    "*.md": {"a.md"},
    "**/*.md": {"a.md", "docs/b.md", "docs/x/c.md", "blog/[1].md", "xdocs/b.md"},
    "docs/**": {"docs/b.md", "docs/x/c.md", "docs/x/d.txt"},
    "docs": {"docs/b.md", "docs/x/c.md", "docs/x/d.txt"},
    "docs/": {"docs/b.md", "docs/x/c.md", "docs/x/d.txt"},
    "docs/*": {"docs/b.md"},
    "docs/**/*.md": {"docs/b.md", "docs/x/c.md"},
    "docs/?.md": {"docs/b.md"},
    "**/x/**": {"docs/x/c.md", "docs/x/d.txt"},
    "*/[!c-z].md": {"docs/b.md", "xdocs/b.md"},
    "blog/[[]1[]].md": {"blog/[1].md"},
    "b": set[str](),
}


@pytest.mark.parametrize("glob", GLOBS)
def test_globs_mean_what_git_takes_them_to_mean(glob: str, tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo", [Commit(100, dict.fromkeys(TREE, "1"))])
    # In a bare repository only a difference can be asked about paths.
    empty = git(repository, "hash-object", "-t", "tree", "-w", "--stdin", given=b"").decode()
    asked = (f"{empty.strip()}..HEAD", "--name-only", "-z", "--", f":(glob){glob}")
    theirs = set(git(repository, "diff", *asked).decode().split("\0")) - {""}
    assert set(filter(page_test([glob]), TREE)) == theirs == GLOBS[glob]


def test_only_files_that_fit_are_pages(tmp_path: Path) -> None:
    commits = [Commit(100, {"a.md": "1", "b.txt": "1"}), Commit(200, {"b.txt": "2", "d/c": "1"})]
    repository = make_repository(tmp_path / "repo", commits)
    assert trace_from_git(repository, path="*.md").name == ["a.md"]
    assert trace_from_git(repository, path=["*.txt", "d"]).name == ["b.txt", "d/c"]


def test_progress_is_told(tmp_path: Path) -> None:
    commits = [Commit(time, {"a": str(time)}) for time in range(250)]
    told = list[tuple[int, int | None]]()
    repository = make_repository(tmp_path / "repo", commits)
    trace_from_git(repository, progress=lambda done, total: told.append((done, total)))
    assert told == [(100, 250), (200, 250), (250, 250)]


def test_output_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = make_repository(
        tmp_path / "repo", [Commit(100, {"a": "1", "b": "1"}), Commit(200, {"b": "2"})]
    )
    whole = lives(trace_from_git(repository))
    for size in (1, 7, 64):
        monkeypatch.setattr(git_history, "CHUNK", size)
        assert lives(trace_from_git(repository)) == whole


def test_a_repository_with_files_checked_out_is_read_too(tmp_path: Path) -> None:
    bare = make_repository(tmp_path / "repo", [Commit(100, {"a": "1"}), Commit(200, {"a": "2"})])
    clone = tmp_path / "my site"
    git(tmp_path, "clone", "--quiet", str(bare), str(clone))
    expected = {"a": (100, None, [200])}
    assert lives(trace_from_git(clone)) == lives(trace_from_git(clone / ".git")) == expected


def test_nobodys_settings_change_what_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = [
        Commit(100, {"a": "1\n" * 50, "b": "1"}),
        Commit(150, {"b": "2"}, branch="side"),
        Commit(200, {"a": None, "c": "1\n" * 50}),
        Commit(300, {"b": "3"}, merges="side"),
    ]
    repository = make_repository(tmp_path / "repo", commits)
    expected = lives(trace_from_git(repository))
    assert expected["b"] == (100, None, [300])
    config = tmp_path / "config"
    config.write_text(
        "[log]\nshowRoot = false\ndiffMerges = combined\nshowSignature = true\ndecorate = full\n"
        "[diff]\nrenames = copies\nnoprefix = true\n[color]\nui = always\n[core]\nabbrev = 4\n"
        "[format]\npretty = fuller\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("GIT_DIR", str(tmp_path))
    assert lives(trace_from_git(repository)) == expected


def test_no_program_of_a_repositorys_choice_is_run(tmp_path: Path) -> None:
    """Its settings may name one that is to check signatures."""
    repository = make_repository(tmp_path / "repo", [Commit(100, {"a": "1"})])
    program, ran = tmp_path / "program", tmp_path / "ran"
    program.write_text(f"#!/bin/sh\ntouch '{ran}'\n", encoding="utf-8")
    program.chmod(0o755)
    git(repository, "config", "log.showSignature", "true")
    git(repository, "config", "gpg.program", str(program))
    plain = git(repository, "cat-file", "commit", "HEAD")
    signature = b"gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n"
    signed = plain.replace(b"\n\n", b"\n" + signature, 1)
    commit = git(repository, "hash-object", "-t", "commit", "-w", "--stdin", given=signed)
    git(repository, "update-ref", "refs/heads/main", commit.decode().strip())
    assert lives(trace_from_git(repository)) == {"a": (100, None, [])}
    assert not ran.exists()
    git(repository, "log")
    assert ran.exists()
