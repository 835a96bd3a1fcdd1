"""A trace from a git history: files are pages, and the commits of the published branch change them.

One ``git log`` along the first parents of HEAD says, file by file, what each commit changed; its
output is read as it comes.
"""

import os
import re
import shutil
import subprocess
import tempfile
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import BinaryIO, Final, cast

import numpy as np

from recrawl.errors import ArgumentError, InputError
from recrawl.formats.cells import YEAR_10000
from recrawl.formats.traces import ALIVE, Trace, in_order
from recrawl.kernels.jit import Ints
from recrawl.progress import Progress, no_progress
from recrawl.units import quoted

#: Bytes of git's output taken at once.
CHUNK = 2**20
#: How many commits go by before anybody is told.
COMMITS_A_REPORT = 100

#: As the user's settings cannot change it: against the first parent only, the first commit too,
#: without renames, and without a program that checks signatures.
_LOG = (
    *("-c", "log.showRoot=true", "-c", "log.diffMerges=separate"),
    *("log", "--first-parent", "-m", "--reverse", "--format=%ct", "--no-show-signature"),
    *("--raw", "-z", "--no-abbrev", "--no-renames", "HEAD", "--"),
)
_COUNT = ("rev-list", "--first-parent", "--count", "HEAD", "--")
#: What points git to another repository than the one it is given.
_ELSEWHERE = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE"),
    *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"),
)
#: What git calls nothing, and another repository that stands in the place of a file.
_NO_FILE: Final = (b"000000", b"160000")
#: The number of no page and of no commit.
_NONE: Final = -1
_EXAMPLE = "'docs/**/*.md'"


def trace_from_git(
    repository: str | os.PathLike[str],
    *,
    path: str | Sequence[str] = "**",
    progress: Progress | None = None,
) -> Trace:
    """Make a trace of the files in a git repository; their names are their paths.

    Each commit on the line of first parents from HEAD is one moment of the published branch, at its
    committer's time (see `forward`): a merge counts when it was merged. The commit that adds a file
    is its birth, one that gives it another content a change, and one that deletes it its death. A
    file that moves dies and is born under another name, as an address that moves does. One that is
    added again was never gone: it is the same page, and comes back with a change.

    Args:
        repository: The folder of a repository, also a bare one.
        path: Which files are pages: one glob, or several of which any may fit. ``*`` and ``?`` stop
            at a ``/``; ``**`` is any number of folders; a folder's name stands for all in it.
        progress: Called now and then with how many commits are read, and how many there are.

    Raises:
        ArgumentError: A glob is empty, or there is none.
        InputError: The repository cannot be used, or no file in it fits.
    """
    globs = [path] if isinstance(path, str) else list(path)
    if not globs or not all(globs):
        raise ArgumentError(f"path: an empty pattern fits no file; write for example {_EXAMPLE}")
    report = progress or no_progress
    git = _Git(repository)
    commits = git.commits()
    history = _History(page_test(globs))
    with git.log() as stream:
        for done in history.follow(_tokens(stream)):
            if done % COMMITS_A_REPORT == 0:
                report(done, commits)
    report(commits, commits)
    if not history.name:
        listed = " or ".join(map(quoted, globs))
        raise InputError(git.name, f"no file in its history fits {listed}")
    return history.trace()


def page_test(globs: Sequence[str]) -> Callable[[str], bool]:
    """Give what says whether a path fits any of some globs.

    >>> is_page = page_test(["docs/**/*.md", "blog"])
    >>> [is_page(path) for path in ("docs/a.md", "docs/x/y/b.md", "blog/2026/c.html", "a.md")]
    [True, True, True, False]
    """
    wanted = [_parts(glob) for glob in globs]

    def is_page(path: str) -> bool:
        parts = path.split("/")
        return any(_fits(parts, glob) for glob in wanted)

    return is_page


def _parts(glob: str) -> list[str]:
    parts = glob.strip("/").split("/")
    is_folder = glob.endswith("/") or not any(sign in glob for sign in "*?[")
    return [*parts, "**"] if is_folder else parts


def _fits(parts: Sequence[str], glob: Sequence[str]) -> bool:
    if not glob:
        return not parts
    if glob[0] == "**":
        return any(_fits(parts[skipped:], glob[1:]) for skipped in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], glob[0]) and _fits(parts[1:], glob[1:])


def page_name(path: bytes) -> str:
    r"""Give a path as text; bytes that are no UTF-8 are written as addresses write them.

    >>> page_name("Käse.md".encode()), page_name(b"K\xe4se.md")
    ('Käse.md', 'K%E4se.md')
    """
    name = path.decode("utf-8", "surrogateescape")
    return re.sub("[\udc80-\udcff]", lambda byte: f"%{ord(byte[0]) - 0xDC00:02X}", name)


def forward(times: Sequence[int]) -> Ints:
    """Let commits' times run forward, changing as few of them as can be.

    Clocks are wrong now and then, and histories are rewritten. The most commits whose times never
    run backwards are believed; any other takes the time of the last believed one before it. Nobody
    believes a time of ages to come, or none, which is 0.

    >>> forward([900, 100, 200, 50, 300, 0, 400])
    array([100, 100, 200, 200, 300, 300, 400])
    """
    # Of all runs of the same length, the one that ends earliest can be continued by most: `ends`
    # has its last time, `last` its last commit, and `before` leads back through the run.
    ends: list[int] = []
    last: list[int] = []
    before: dict[int, int] = {}
    for commit, time in enumerate(times):
        if 0 < time < YEAR_10000:
            length = bisect_right(ends, time)
            before[commit] = last[length - 1] if length else _NONE
            ends[length : length + 1] = [time]
            last[length : length + 1] = [commit]
    believed = []
    commit = last[-1] if last else _NONE
    while commit != _NONE:
        believed.append(commit)
        commit = before[commit]
    if not believed:
        return np.zeros(len(times), np.int64)
    places = np.searchsorted(believed[::-1], np.arange(len(times)), side="right") - 1
    return np.array([times[commit] for commit in reversed(believed)])[np.maximum(places, 0)]


class _History:
    """What commits did to files, as far as they were read."""

    def __init__(self, is_page: Callable[[str], bool]) -> None:
        self.name: list[str] = []
        self._is_page = is_page
        self._page: dict[bytes, int] = {}
        self._times: list[int] = []
        # The commits, by number, that did it.
        self._born, self._died, self._changed = array("q"), array("q"), array("q")
        self._change_page = array("q")

    def follow(self, tokens: Iterator[bytes]) -> Iterator[int]:
        """Take in commits; give how many there were, whenever a new one begins.

        A commit is its time, then for each file a record such as ``:100644 100644 OLD NEW M`` and
        the file's path.
        """
        for token in tokens:
            if token.startswith((b":", b"\n:")):
                self._take(token, next(tokens, b""))
            else:
                self._times.append(int(token or 0))
                yield len(self._times)

    def _take(self, record: bytes, path: bytes) -> None:
        commit = len(self._times) - 1
        _, after, old, new, _ = record.split(b" ")
        page = self._page.get(path)
        if page is None:
            if after not in _NO_FILE:
                self._enter(commit, path)
        elif page == _NONE:
            return
        elif after in _NO_FILE:
            if self._died[page] == _NONE:
                self._died[page] = commit
        elif old != new:
            self._died[page] = _NONE
            self._change_page.append(page)
            self._changed.append(commit)

    def _enter(self, commit: int, path: bytes) -> None:
        name = page_name(path)
        if not self._is_page(name):
            self._page[path] = _NONE
            return
        self._page[path] = len(self.name)
        self.name.append(name)
        self._born.append(commit)
        self._died.append(_NONE)

    def trace(self) -> Trace:
        """Give what happened as a trace, pages in order of birth."""
        time = forward(self._times)
        died = np.array(self._died)
        change_page, change_time = in_order(np.array(self._change_page), time[self._changed])
        return Trace(
            page=np.arange(died.size, dtype=np.int32),
            name=self.name,
            importance=np.ones(died.size),
            born=time[self._born],
            died=np.where(died == _NONE, ALIVE, time[died]),
            change_page=change_page,
            change_time=change_time,
        )


def _tokens(stream: BinaryIO) -> Iterator[bytes]:
    """Give what stands between NULs; git puts one after everything."""
    rest = b""
    while part := stream.read(CHUNK):
        *whole, rest = (rest + part).split(b"\0")
        yield from whole


class _Git:
    """The program git, at work in one repository."""

    def __init__(self, repository: str | os.PathLike[str]) -> None:
        self.name = os.fspath(repository)
        place = Path(repository)
        try:
            if not place.exists():
                raise InputError(self.name, _missing(self.name))
            if not place.is_dir():
                raise InputError(self.name, "this is a file, not a git repository")
        except OSError as error:
            raise InputError(self.name, f"it cannot be read: {error.strerror}") from None
        program = shutil.which("git")
        if program is None:
            raise InputError(self.name, "the program git, which reads it, is not installed")
        place = place.resolve()
        self._command = (program, "-C", str(place))
        self._environment = {
            **{name: value for name, value in os.environ.items() if name not in _ELSEWHERE},
            # Not a repository that the folder is in: its history is another one.
            "GIT_CEILING_DIRECTORIES": str(place.parent),
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
        }

    def commits(self) -> int:
        """Count the commits that are to be read.

        Raises:
            InputError: This is no repository, or nothing is in it.
        """
        with self._running(*_COUNT) as stream:
            counted = stream.read()
        return int(counted)

    def log(self) -> AbstractContextManager[BinaryIO]:
        """Give the history, while it is read.

        Raises:
            InputError: Git cannot read it to its end.
        """
        return self._running(*_LOG)

    @contextmanager
    def _running(self, *arguments: str) -> Iterator[BinaryIO]:
        with (
            tempfile.TemporaryFile() as complaint,
            subprocess.Popen(  # noqa: S603 - no shell, and nothing of the user's but a folder
                [*self._command, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=complaint,
                env=self._environment,
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


def _missing(name: str) -> str:
    if re.match(r"\w+://|[\w.-]+@[\w.-]+:", name):
        clone = f"git clone --bare --filter=blob:none {name}"
        return f"only a repository on this machine can be read; {clone} brings it here"
    return "there is no such folder"


def _explained(complaint: str) -> str:
    r"""Turn what git complains about to words.

    >>> _explained("fatal: dubious ownership in repository at 'x'\nTo add an exception ...")
    "git cannot read it: dubious ownership in repository at 'x'"
    """
    if "not a git repository" in complaint:
        return "this is not a git repository; give the folder that .git is in, or a bare one"
    if "bad revision 'HEAD'" in complaint:
        return "there are no commits in it"
    fatal = re.search(r"^(?:fatal|error): (.+)$", complaint, re.MULTILINE)
    return (
        f"git cannot read it: {fatal[1] if fatal else complaint.strip() or 'it does not say why'}"
    )
