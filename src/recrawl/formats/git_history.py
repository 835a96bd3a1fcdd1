"""Make a trace from a git history: files are pages, which commits change.

One ``git log`` along the first parents of HEAD lists the files that each commit changed; its output
is parsed as it arrives.
"""

import os
import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import BinaryIO, Final

import numpy as np

from recrawl.errors import ArgumentError, InputError
from recrawl.formats.git_program import GitObjects
from recrawl.formats.times import YEAR_10000
from recrawl.formats.traces import ALIVE, Trace, in_order
from recrawl.kernels.jit import Ints
from recrawl.progress import Progress, no_progress
from recrawl.units import quoted

#: Bytes of git's output read at a time.
CHUNK = 2**20
#: Commits between two reports of progress.
COMMITS_PER_REPORT = 100

#: Compare with the first parent only, and run no program, whatever the defaults of git are.
_LOG = (
    *("log", "--first-parent", "-m", "--root", "--reverse", "--format=%ct", "--no-show-signature"),
    *("--no-mailmap", "--no-notes", "--no-ext-diff", "--no-textconv"),
    *("--raw", "-z", "--no-abbrev"),
)
#: How alike files are that count as one that moved, in percent; in partial clones, where content is
#: missing, they have to be identical. Empty files are all alike.
_LIKE, _IDENTICAL = 50, 100
_RENAMES = ("--find-renames={}%", "-l1000", "--no-rename-empty")
_HISTORY = ("HEAD", "--")
_COUNT = ("rev-list", "--first-parent", "--count", *_HISTORY)
#: The modes of a missing file and of a submodule.
_NO_FILE: Final = (b"000000", b"160000")
#: Stands for no page, or no commit.
_NONE: Final = -1
_EXAMPLE = "'docs/**/*.md'"


def trace_from_git(
    repository: str | os.PathLike[str],
    *,
    path: str | Sequence[str] = "**",
    progress: Progress | None = None,
) -> Trace:
    """Make a trace of the files in a git repository; their names are their paths.

    Each commit on the line of first parents from HEAD is one state of the published branch, at its
    committer's time (see `forward`): a merge counts when it was merged. The commit that adds a file
    is its birth, one that gives it other content is a change, and one that deletes it is its death.
    A file that moves stays the same page, under its new name, as git tells by the content; if the
    new name is not a page's, it dies. A file that is added again was never gone: it is the same
    page, and comes back with a change.

    Args:
        repository: The folder of a repository, which may be bare.
        path: Which files are pages: one glob, or several, any of which may match. ``*`` and ``?``
            stop at a ``/``; ``**`` is any number of folders; a folder's name matches all in it.
        progress: Called with the number of commits read, and their total.

    Raises:
        ArgumentError: A glob is empty, or there is none.
        InputError: The repository cannot be read, or no file in it matches.
    """
    globs = [path] if isinstance(path, str) else list(path)
    if not globs or not all(globs):
        raise ArgumentError(f"path: an empty pattern matches no file; write for example {_EXAMPLE}")
    report = progress or no_progress
    changes = _FileChanges(page_test(globs))
    with GitObjects(repository) as git:
        commits = int(git.answer(_COUNT))
        alike = _IDENTICAL if git.is_partial else _LIKE
        renames = (option.format(alike) for option in _RENAMES)
        with git.running((*_LOG, *renames, *_HISTORY)) as stream:
            for done in changes.follow(_tokens(stream)):
                if done % COMMITS_PER_REPORT == 0:
                    report(done, commits)
    report(commits, commits)
    if not changes.path:
        listed = " or ".join(map(quoted, globs))
        raise InputError(git.name, f"no file in its history matches {listed}")
    return changes.trace()


def page_test(globs: Sequence[str]) -> Callable[[str], bool]:
    """Return a function that tells whether a path matches any of the globs.

    >>> is_page = page_test(["docs/**/*.md", "blog"])
    >>> [is_page(path) for path in ("docs/a.md", "docs/x/y/b.md", "blog/2026/c.html", "a.md")]
    [True, True, True, False]
    """
    wanted = [_parts(glob) for glob in globs]

    def is_page(path: str) -> bool:
        parts = path.split("/")
        return any(_matches(parts, glob) for glob in wanted)

    return is_page


def _parts(glob: str) -> list[str]:
    parts = glob.strip("/").split("/")
    is_folder = glob.endswith("/") or not any(sign in glob for sign in "*?[")
    return [*parts, "**"] if is_folder else parts


def _matches(parts: Sequence[str], glob: Sequence[str]) -> bool:
    if not glob:
        return not parts
    if glob[0] == "**":
        return any(_matches(parts[skipped:], glob[1:]) for skipped in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], glob[0]) and _matches(parts[1:], glob[1:])


def page_name(path: bytes) -> str:
    r"""Return a path as text; bytes that are not UTF-8 are percent-encoded, as in URLs.

    >>> page_name("Käse.md".encode()), page_name(b"K\xe4se.md")
    ('Käse.md', 'K%E4se.md')
    """
    name = path.decode("utf-8", "surrogateescape")
    return re.sub("[\udc80-\udcff]", lambda byte: f"%{ord(byte[0]) - 0xDC00:02X}", name)


def forward(times: Sequence[int]) -> Ints:
    """Return the times of commits made monotonic, with as few of them changed as possible.

    Clocks are sometimes wrong, and histories are rewritten. The longest sequence of commits whose
    times never run backwards is trusted; any other commit takes the time of the last trusted one
    before it. Times outside the calendar are not trusted, nor is 0, which stands for none.

    >>> forward([900, 100, 200, 50, 300, 0, 400])
    array([100, 100, 200, 200, 300, 300, 400])
    """
    # Of all sequences of the same length, the one that ends earliest can be continued by the most
    # commits: `ends` has its last time, `last` its last commit, and `before` its links back.
    ends: list[int] = []
    last: list[int] = []
    before: dict[int, int] = {}
    for commit, time in enumerate(times):
        if 0 < time < YEAR_10000:
            length = bisect_right(ends, time)
            before[commit] = last[length - 1] if length else _NONE
            ends[length : length + 1] = [time]
            last[length : length + 1] = [commit]
    trusted = []
    commit = last[-1] if last else _NONE
    while commit != _NONE:
        trusted.append(commit)
        commit = before[commit]
    if not trusted:
        return np.zeros(len(times), np.int64)
    index = np.searchsorted(trusted[::-1], np.arange(len(times)), side="right") - 1
    return np.array([times[commit] for commit in reversed(trusted)])[np.maximum(index, 0)]


class _FileChanges:
    """The effects of the commits read so far on files."""

    def __init__(self, is_page: Callable[[str], bool]) -> None:
        self.path: list[bytes] = []
        self._is_page = is_page
        self._page: dict[bytes, int] = {}
        self._times: list[int] = []
        # The numbers of the commits.
        self._born, self._died, self._changed = array("q"), array("q"), array("q")
        self._change_page = array("q")

    def follow(self, tokens: Iterator[bytes]) -> Iterator[int]:
        """Process commits; yield their number so far whenever a new one begins.

        A commit is its time, then for each file a record such as ``:100644 100644 OLD NEW M`` and
        the file's path; both its paths if it moved.
        """
        for token in tokens:
            if token.startswith((b":", b"\n:")):
                self._take(token.split(b" "), tokens)
            else:
                self._times.append(int(token or 0))
                yield len(self._times)

    def _take(self, record: Sequence[bytes], paths: Iterator[bytes]) -> None:
        before, after, old, new, status = record
        path = next(paths, b"")
        is_other = old != new
        if status.startswith(b"R"):
            source, path = path, next(paths, b"")
            if not (before.endswith(_NO_FILE) or self._move(source, path)):
                self._change(source, _NO_FILE[0], is_other=True)
                is_other = True
        self._change(path, after, is_other=is_other)

    def _move(self, source: bytes, path: bytes) -> bool:
        """Let a page go on under another name, unless that is another's, or not a page's."""
        page = self._page[source]
        if page == _NONE or self._holder(path) is not None or not self._is_page(page_name(path)):
            return False
        self._page[path] = page
        self.path[page] = path
        return True

    def _holder(self, path: bytes) -> int | None:
        """Return the page that had a path last, unless it lives on under another.

        ``_NONE`` stands for a path that is not a page's.
        """
        page = self._page.get(path)
        if page is None or page == _NONE or self.path[page] == path:
            return page
        return None if self._died[page] == _NONE else page

    def _change(self, path: bytes, after: bytes, *, is_other: bool) -> None:
        commit = len(self._times) - 1
        page = self._holder(path)
        if page is None:
            if after not in _NO_FILE:
                self._add_page(commit, path)
        elif page == _NONE:
            return
        elif after in _NO_FILE:
            if self._died[page] == _NONE:
                self._died[page] = commit
        elif is_other:
            self._died[page] = _NONE
            self.path[page] = path
            self._change_page.append(page)
            self._changed.append(commit)

    def _add_page(self, commit: int, path: bytes) -> None:
        if not self._is_page(page_name(path)):
            self._page[path] = _NONE
            return
        self._page[path] = len(self.path)
        self.path.append(path)
        self._born.append(commit)
        self._died.append(_NONE)

    def trace(self) -> Trace:
        """Return the trace, with pages in order of birth."""
        time = forward(self._times)
        died = np.array(self._died)
        change_page, change_time = in_order(np.array(self._change_page), time[self._changed])
        return Trace(
            page=np.arange(died.size, dtype=np.int32),
            name=list(map(page_name, self.path)),
            importance=np.ones(died.size),
            born=time[self._born],
            died=np.where(died == _NONE, ALIVE, time[died]),
            change_page=change_page,
            change_time=change_time,
        )


def _tokens(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the tokens that git terminates with NULs."""
    rest = b""
    while part := stream.read(CHUNK):
        *whole, rest = (rest + part).split(b"\0")
        yield from whole
