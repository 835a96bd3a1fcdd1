"""A repository from a stranger names programs wherever it can, and none of them runs."""

import os
import subprocess
from pathlib import Path

import pytest
from formats.repositories import Commit, git, make_repository, needs_git, nobodys

from recrawl.errors import InputError
from recrawl.formats.git_history import trace_from_git

pytestmark = needs_git

HOOKS = (
    *("post-checkout", "pre-auto-gc", "reference-transaction", "post-index-change"),
    *("fsmonitor-watchman", "post-rewrite", "pre-push", "update", "pre-receive"),
)

#: Remotes that a missing object would be fetched from: their settings, with {} for a program.
REMOTES = {
    "ext": {"url": "ext::{} %S"},
    "ext with a shell": {"url": "ext::sh -c {}"},
    "helper": {"url": "stranger::x", "vcs": "stranger"},
    "ssh": {"url": "ssh://127.0.0.1:9/x"},
    "ssh by another name": {"url": "git@127.0.0.1:x"},
    "uploadpack": {"url": "file:///", "uploadpack": "{}"},
    "git": {"url": "git://127.0.0.1:9/x"},
    "http": {"url": "http://127.0.0.1:9/x", "proxy": "http://127.0.0.1:9"},
}

#: Settings that name a program, all of them at once in every test.
PROGRAMS = {
    "core.fsmonitor": "{}",
    "core.sshCommand": "{}",
    "core.gitProxy": "{}",
    "core.askPass": "{}",
    "core.pager": "{}",
    "core.editor": "{}",
    "core.alternateRefsCommand": "{}",
    "credential.helper": "!{}",
    "pager.log": "{}",
    "pager.rev-list": "{}",
    "pager.rev-parse": "{}",
    "diff.external": "{}",
    "diff.evil.command": "{}",
    "diff.evil.textconv": "{}",
    "filter.evil.clean": "{}",
    "filter.evil.smudge": "{}",
    "filter.evil.process": "{}",
    "filter.evil.required": "true",
    "merge.evil.driver": "{}",
    "alias.log": "!{}",
    "alias.rev-list": "!{}",
    "alias.rev-parse": "!{}",
    "uploadpack.packObjectsHook": "{}",
    "gpg.program": "{}",
    "gpg.ssh.program": "{}",
    "log.showSignature": "true",
    "log.mailmap": "true",
    "trailer.evil.command": "{}",
    "protocol.allow": "always",
    "protocol.ext.allow": "always",
    "protocol.file.allow": "always",
    "extensions.worktreeConfig": "true",
}


@pytest.fixture(autouse=True)
def _nobodys_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in nobodys().items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """Return the file that any program of the stranger's makes."""
    return tmp_path / "ran"


@pytest.fixture
def program(tmp_path: Path, mark: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the stranger's program; also known as a helper of git for remotes."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in ("evil", "git-remote-stranger"):
        (folder / name).write_text(f'#!/bin/sh\necho "$0 $*" >> "{mark}"\nexit 1\n')
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}{os.pathsep}{folder}")
    return folder / "evil"


def trapped(folder: Path, program: Path) -> Path:
    """Make a repository with a working tree in which everything that can name a program does."""
    bare = make_repository(
        folder,
        [Commit(100, {"d/a.md": "1", ".gitattributes": "* diff=evil filter=evil merge=evil"}),
         Commit(200, {"d/a.md": "2"}), Commit(300, {"d/b.md": "1"})],
    )  # fmt: skip
    hooks = bare / "evil-hooks"
    for where in (hooks, bare / "hooks"):
        where.mkdir(exist_ok=True)
        for name in HOOKS:
            (where / name).unlink(missing_ok=True)
            (where / name).symlink_to(program)
    (bare / "info" / "attributes").write_text("* diff=evil filter=evil\n")
    git(bare, "config", "core.hooksPath", str(hooks))
    lines = []
    for name, value in PROGRAMS.items():
        section, _, key = name.rpartition(".")
        first, dot, rest = section.partition(".")
        head = f'[{first} "{rest}"]' if dot else f"[{first}]"
        lines.append(f'{head}\n{key} = "{value.format(program)}"\n')
    # It counts from `with_remote` on: until then, git is used to prepare the repository.
    (bare / "stranger").write_text("".join(lines))
    return bare


def with_remote(bare: Path, program: Path, settings: dict[str, str]) -> None:
    """Make objects of the remote missing, and let the stranger's settings count."""
    lines = [f'{key} = "{value.format(program)}"' for key, value in settings.items()]
    extensions = "[core]\nrepositoryFormatVersion = 1\n[extensions]\npartialClone = evil\n"
    with (bare / "config").open("a") as file:
        file.write("\n".join([extensions, '[remote "evil"]', "promisor = true", *lines]))
        file.write(f"\n[include]\npath = {bare / 'stranger'}\n")


def without_a_tree(bare: Path) -> str:
    tree = git(bare, "rev-parse", "HEAD~1:d").decode().strip()
    (bare / "objects" / tree[:2] / tree[2:]).unlink()
    return tree


@pytest.mark.parametrize("remote", REMOTES)
def test_what_is_missing_is_not_fetched(
    tmp_path: Path, program: Path, mark: Path, remote: str
) -> None:
    bare = trapped(tmp_path / "repo", program)
    tree = without_a_tree(bare)
    with_remote(bare, program, REMOTES[remote])
    with pytest.raises(InputError, match=f"git cannot read it: unable to read tree {tree}"):
        trace_from_git(bare)
    assert not mark.exists()


def test_a_missing_commit_is_not_fetched(tmp_path: Path, program: Path, mark: Path) -> None:
    bare = trapped(tmp_path / "repo", program)
    commit = git(bare, "rev-parse", "HEAD").decode().strip()
    (bare / "objects" / commit[:2] / commit[2:]).unlink()
    with_remote(bare, program, REMOTES["ext"])
    with pytest.raises(InputError, match="git cannot read it: bad object HEAD"):
        trace_from_git(bare)
    assert not mark.exists()


@pytest.mark.parametrize("kind", ["bare", "worktree", "git folder", "linked"])
def test_a_repository_full_of_traps_is_read_and_none_springs(
    tmp_path: Path, program: Path, mark: Path, kind: str
) -> None:
    bare = trapped(tmp_path / "repo", program)
    folder = bare
    if kind == "linked":
        folder = tmp_path / "linked"
        git(bare, "-c", f"core.hooksPath={os.devnull}", "worktree", "add", str(folder), "HEAD")
    elif kind != "bare":
        folder = tmp_path / "tree"
        folder.mkdir()
        bare = bare.rename(folder / ".git")
        git(bare, "config", "core.bare", "false")
        folder = bare if kind == "git folder" else folder
    with_remote(bare, program, REMOTES["ext"])
    mark.unlink(missing_ok=True)
    trace = trace_from_git(folder, path="**/*.md")
    assert trace.name == ["d/a.md", "d/b.md"]
    assert trace.change_time.tolist() == [200]
    assert not mark.exists()


def test_the_traps_would_spring(tmp_path: Path, program: Path, mark: Path) -> None:
    """Git itself, asked for the history of such a repository, runs the stranger's program."""
    bare = trapped(tmp_path / "repo", program)
    without_a_tree(bare)
    with_remote(bare, program, REMOTES["ext"])
    told = subprocess.run(["git", "-C", bare, "log", "--raw"], capture_output=True, check=False)  # noqa: S607
    assert told.returncode
    assert mark.exists()


def test_a_partial_clone_is_read_without_its_blobs(tmp_path: Path) -> None:
    """As our own advice makes one: git clone --bare --filter=blob:none."""
    origin = make_repository(
        tmp_path / "origin", [Commit(100, {"a": "1", ".mailmap": "A"}), Commit(200, {"a": "2"})]
    )
    git(origin, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--bare", "--filter=blob:none", f"file://{origin}", "clone")
    git(origin, "config", "uploadpack.allowFilter", "false")
    trace = trace_from_git(tmp_path / "clone", path="a")
    assert (trace.born.tolist(), trace.change_time.tolist()) == ([100], [200])


def test_a_shallow_clone_begins_where_it_begins(tmp_path: Path) -> None:
    commits = [Commit(100, {"a": "1"}), Commit(200, {"a": "2"}), Commit(300, {"b": "1"})]
    origin = make_repository(tmp_path / "origin", commits)
    git(tmp_path, "clone", "-q", "--bare", "--depth=2", f"file://{origin}", "clone")
    trace = trace_from_git(tmp_path / "clone")
    assert (trace.name, trace.born.tolist()) == (["a", "b"], [200, 300])


def test_a_repository_with_sha_256_is_read(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--object-format=sha256")
    (tmp_path / "a").write_text("1")
    git(tmp_path, "add", "a")
    git(tmp_path, "commit", "-q", "-m", "x")
    assert trace_from_git(tmp_path).name == ["a"]


def test_a_folder_that_belongs_to_another_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git refuses it for the sake of its settings, which nobody reads."""
    repository = make_repository(tmp_path / "repo", [Commit(100, {"a": "1"})])
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    with pytest.raises(subprocess.CalledProcessError):
        git(repository, "log")
    assert trace_from_git(repository).name == ["a"]


@pytest.mark.parametrize("settings", ["broken [", "endless", "of a later version"])
def test_the_settings_of_a_repository_are_not_even_read(tmp_path: Path, settings: str) -> None:
    repository = make_repository(tmp_path / "repo", [Commit(100, {"a": "1"})])
    config = repository / "config"
    config.write_text(settings, encoding="utf-8")
    if settings == "endless":
        # Whoever opens a pipe waits for the one who writes to it.
        os.mkfifo(tmp_path / "pipe")
        config.write_text(f"[include]\npath = {tmp_path / 'pipe'}\n", encoding="utf-8")
    elif settings == "of a later version":
        config.write_text("[core]\nrepositoryFormatVersion = 99\n", encoding="utf-8")
    assert trace_from_git(repository).name == ["a"]


def test_the_environment_is_not_read_either(
    tmp_path: Path, program: Path, mark: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = make_repository(
        tmp_path / "repo", [Commit(100, {"a": "1"}), Commit(200, {"a": "2"})]
    )
    config = f"[core]\nfsmonitor = {program}\nalternateRefsCommand = {program}\n[diff]\n"
    (tmp_path / ".gitconfig").write_text(f"{config}external = {program}\n", encoding="utf-8")
    for name, value in {
        "HOME": str(tmp_path),
        "GIT_CONFIG_GLOBAL": str(tmp_path / ".gitconfig"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "log.follow",
        "GIT_CONFIG_VALUE_0": "nonsense",
        "GIT_EXTERNAL_DIFF": str(program),
        "GIT_PAGER": str(program),
        "GIT_DIFF_OPTS": "--nonsense",
        "GIT_OBJECT_DIRECTORY": str(tmp_path),
        "GIT_GRAFT_FILE": str(tmp_path / ".gitconfig"),
        "GIT_TRACE": str(mark),
        "GIT_EXEC_PATH": str(program.parent),
    }.items():
        monkeypatch.setenv(name, value)
    assert trace_from_git(repository).change_time.tolist() == [200]
    assert not mark.exists()


def test_references_are_found_wherever_git_keeps_them(tmp_path: Path) -> None:
    """Loose, packed, named by another one, or none at all: a HEAD that is a commit."""
    commits = [Commit(100, {"a": "1"}), Commit(200, {"b": "1"}, branch="other/main")]
    repository = make_repository(tmp_path / "repo", commits)
    assert trace_from_git(repository).name == ["a"]
    git(repository, "pack-refs", "--all", "--prune")
    assert not (repository / "refs" / "heads" / "main").exists()
    assert trace_from_git(repository).name == ["a"]
    git(repository, "symbolic-ref", "refs/heads/alias", "refs/heads/other/main")
    git(repository, "symbolic-ref", "HEAD", "refs/heads/alias")
    assert trace_from_git(repository).name == ["a", "b"]
    git(repository, "update-ref", "--no-deref", "HEAD", "refs/heads/main")
    assert trace_from_git(repository).name == ["a"]


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "temporary"
    own.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(own))
    repository = make_repository(tmp_path / "repo", [Commit(100, {"a": "1"})])
    trace_from_git(repository)
    with pytest.raises(InputError):
        trace_from_git(tmp_path)
    assert list(own.iterdir()) == []
