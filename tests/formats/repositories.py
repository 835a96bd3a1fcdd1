"""Real git repositories with made-up histories, and settings of git that are nobody's."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

GIT = shutil.which("git")
needs_git = pytest.mark.skipif(GIT is None, reason="git is not installed")

FILE, PROGRAM, LINK, SUBMODULE = b"100644", b"100755", b"120000", b"160000"


@dataclass
class Commit:
    """A commit: its time, and the content of files it adds or changes; None deletes one.

    Attributes:
        time: The committer's, in Unix seconds.
        files: By path; a content is a text, or a mode and a text.
        branch: Where it is made; a branch that is new begins at main.
        merges: The branch that it merges, if it does.
    """

    time: int
    files: Mapping[str | bytes, str | tuple[bytes, str] | None] = field(default_factory=dict)
    branch: str = "main"
    merges: str | None = None


def git(folder: Path, *arguments: str, given: bytes | None = None) -> bytes:
    """Run git in a folder, with settings that are nobody's, and give what it prints."""
    assert GIT is not None
    command = [GIT, "-C", str(folder), *arguments]
    return subprocess.run(
        command, input=given, capture_output=True, check=True, env={**os.environ, **nobodys()}
    ).stdout


def nobodys() -> dict[str, str]:
    """Give an environment in which no user's and no machine's settings of git count."""
    return {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "A",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "A",
        "GIT_COMMITTER_EMAIL": "a@example.org",
    }


def make_repository(folder: Path, commits: Sequence[Commit]) -> Path:
    """Make a bare repository whose HEAD is main."""
    folder.mkdir()
    git(folder, "init", "--quiet", "--bare")
    git(folder, "symbolic-ref", "HEAD", "refs/heads/main")
    begun = set[str]()
    story = b""
    for commit in commits:
        story += _written(commit, begins=commit.branch not in begun and bool(begun))
        begun.add(commit.branch)
    git(folder, "fast-import", "--quiet", "--date-format=raw", given=story)
    return folder


def _written(commit: Commit, *, begins: bool) -> bytes:
    lines = [
        b"commit refs/heads/%s" % commit.branch.encode(),
        b"author A <a@example.org> 1 +0000",
        b"committer A <a@example.org> %d +0000" % commit.time,
        b"data 0",
    ]
    if begins:
        lines.append(b"from refs/heads/main")
    if commit.merges:
        lines.append(b"merge refs/heads/%s" % commit.merges.encode())
    for path, content in commit.files.items():
        name = path if isinstance(path, bytes) else path.encode()
        quoted = b'"%s"' % b"".join(b"\\%03o" % byte for byte in name)
        if content is None:
            lines.append(b"D " + quoted)
            continue
        mode, text = (FILE, content) if isinstance(content, str) else content
        if mode == SUBMODULE:
            lines.append(b"M %s %s %s" % (mode, text.encode(), quoted))
        else:
            lines += [b"M %s inline %s" % (mode, quoted), b"data %d" % len(text.encode())]
            lines.append(text.encode())
    return b"\n".join(lines) + b"\n"
