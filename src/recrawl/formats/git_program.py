"""Run the program git on the objects of a repository, and on nothing else of it.

A repository may be untrusted, and its settings can name programs: for remotes, hooks, diffs,
signatures and more; they can also include files that never end. So git never sees them, nor those
of the user, nor the environment's: HEAD is resolved here, from plain files, and git reads the
objects through an empty repository of our own, which knows no remote to fetch missing objects from.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, Self, cast

from recrawl.errors import InputError

#: The length of an identifier in a repository with SHA-256.
_SHA256_LENGTH: Final = 64
_IDENTIFIER = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REFERENCE = re.compile(r"ref: *(refs/\S+)")
#: How often a reference may name another one; as in git.
_MAX_HOPS = 5
#: The longest line in the files that name a commit or a folder, and the most lines of references.
_MAX_LINE, _MAX_LINES = 10_000, 10_000_000
_NO_REPOSITORY = (
    "this is not a git repository; give the folder that contains .git, or a bare repository"
)


class _Found(NamedTuple):
    """Where a repository has its HEAD, and where the rest; they differ in a linked worktree."""

    head: Path
    common: Path


class GitObjects:
    """The program git, run on the objects of one repository; a context manager.

    Attributes:
        name: What messages call the repository.
        is_partial: Whether it is a partial clone, which may lack the content of files.
    """

    def __init__(self, repository: str | os.PathLike[str]) -> None:
        self.name = os.fspath(repository)
        folder = Path(repository)
        program = shutil.which("git")
        try:
            if not folder.exists():
                raise InputError(self.name, _missing(self.name))
            if not folder.is_dir():
                raise InputError(self.name, "this is a file, not a git repository")
            if program is None:
                raise InputError(
                    self.name, "the program git, which is needed to read it, is not installed"
                )
            found = _found(folder.resolve())
            if found is None:
                raise InputError(self.name, _NO_REPOSITORY)
            self._commit = self._head(found)
            self._objects = found.common / "objects"
            self._shallow = found.common / "shallow"
            self.is_partial = any(self._objects.glob("pack/*.promisor"))
        except OSError as error:
            raise InputError(self.name, f"it cannot be read: {error.strerror}") from None
        self._program = program
        self._own = tempfile.TemporaryDirectory(prefix="recrawl-git-")

    def _head(self, found: _Found) -> str:
        """Return the commit that HEAD names.

        Raises:
            InputError: There is none, or it cannot be found.
        """
        text = _first_line(found.head / "HEAD")
        for _ in range(_MAX_HOPS):
            if _IDENTIFIER.fullmatch(text):
                return text
            named = _REFERENCE.fullmatch(text)
            if named is None or ".." in named[1].split("/"):
                break
            if (found.common / "reftable").is_dir():
                raise InputError(
                    self.name,
                    "it has its references in a reftable, which cannot be read; clone it with "
                    "git clone --bare --ref-format=files",
                )
            text = _first_line(found.common / named[1]) or _packed(found.common, named[1])
            if not text:
                raise InputError(self.name, "it has no commits")
        raise InputError(self.name, "its HEAD names no commit")

    def __enter__(self) -> Self:
        try:
            own = Path(self._own.name)
            (own / "refs").mkdir()
            (own / "HEAD").write_text(f"{self._commit}\n", "ascii")
            (own / "config").write_text(_settings(self._commit), "ascii")
            if self._shallow.is_file():
                shutil.copyfile(self._shallow, own / "shallow")
        except BaseException:
            self._own.cleanup()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._own.cleanup()

    def answer(self, arguments: Sequence[str]) -> bytes:
        """Run a command of git, and return what it prints.

        Raises:
            InputError: Git cannot read what it needs.
        """
        with self.running(arguments) as stream:
            return stream.read().removesuffix(b"\n")

    @contextmanager
    def running(self, arguments: Sequence[str]) -> Iterator[BinaryIO]:
        """Run a command of git, and yield its output as a stream.

        Raises:
            InputError: Git cannot read what it needs; known at the end.
        """
        with (
            tempfile.TemporaryFile() as complaint,
            subprocess.Popen(  # noqa: S603 - no shell, and nothing of the user's
                [str(self._program), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=complaint,
                cwd=self._own.name,
                env=self._environment(),
            ) as process,
        ):
            try:
                yield cast("BinaryIO", process.stdout)
            except BaseException:
                process.kill()
                raise
            if process.wait():
                complaint.seek(0)
                raise InputError(self.name, _explained(complaint.read().decode(errors="replace")))

    def _environment(self) -> dict[str, str]:
        """Return the environment, without anything of it that is meant for git."""
        own = self._own.name
        kept = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
        return kept | {
            "GIT_DIR": own,
            "GIT_OBJECT_DIRECTORY": str(self._objects),
            # Neither the user's settings nor the machine's; versions before 2.32 know only the
            # folders and the last one.
            "GIT_CONFIG_GLOBAL": os.devnull,
            "HOME": own,
            "XDG_CONFIG_HOME": own,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_ATTR_NOSYSTEM": "1",
            # No protocol at all.
            "GIT_ALLOW_PROTOCOL": "",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
        }


def _found(folder: Path) -> _Found | None:
    """Return where the parts of a repository are, given the folder that it is for, or in."""
    head = folder / ".git"
    if head.is_file():
        linked = re.fullmatch(r"gitdir: *(.+)", _first_line(head))
        head = folder / linked[1] if linked else folder
    elif not head.is_dir():
        head = folder
    common = head / (_first_line(head / "commondir") or ".")
    if (head / "HEAD").is_file() and (common / "objects").is_dir():
        return _Found(head, common)
    return None


def _first_line(file: Path) -> str:
    """Return the first line of a small file; nothing if it is no file, such as a pipe."""
    if not file.is_file():
        return ""
    with file.open("rb") as opened:
        return os.fsdecode(opened.readline(_MAX_LINE)).rstrip()


def _packed(common: Path, name: str) -> str:
    """Return what a reference names according to the list of all, or nothing."""
    file = common / "packed-refs"
    if not file.is_file():
        return ""
    wanted = os.fsencode(f" {name}")
    with file.open("rb") as opened:
        lines = iter(lambda: opened.readline(_MAX_LINE), b"")
        found = (line for line in islice(lines, _MAX_LINES) if line.rstrip().endswith(wanted))
        return os.fsdecode(next(found, b"")).partition(" ")[0]


def _settings(head: str) -> str:
    """Return the settings of a repository whose HEAD is this commit."""
    if len(head) == _SHA256_LENGTH:
        return "[core]\nrepositoryFormatVersion = 1\nbare\n[extensions]\nobjectFormat = sha256\n"
    return "[core]\nrepositoryFormatVersion = 0\nbare\n"


def _missing(name: str) -> str:
    if re.match(r"\w+://|[\w.-]+@[\w.-]+:", name):
        return (
            f"only a repository on this machine can be read; clone it with git clone --bare {name}"
        )
    return "there is no such folder"


def _explained(complaint: str) -> str:
    r"""Return a sentence for an error message of git.

    >>> _explained("error: bad tree\nfatal: unable to read tree 1")
    'git cannot read it: bad tree'
    """
    fatal = re.search(r"^(?:fatal|error): (.+)$", complaint, re.MULTILINE)
    return (
        f"git cannot read it: {fatal[1] if fatal else complaint.strip() or 'it does not say why'}"
    )
