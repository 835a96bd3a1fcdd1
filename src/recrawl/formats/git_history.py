"""Make a trace from a git history: files are pages, which commits change.

One ``git log`` along the first parents of HEAD lists the files that each commit changed; its output
is parsed as it arrives.

A repository may be untrusted, and its settings can name programs: for remotes, hooks, diffs,
signatures and more. So its settings are ignored: the objects are read through an empty repository
of our own, and git may neither fetch missing objects nor use the network.
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
from typing import BinaryIO, Final, Self, cast

import numpy as np

from recrawl.errors import ArgumentError, InputError
from recrawl.formats.times import YEAR_10000
from recrawl.formats.traces import ALIVE, Trace, in_order
from recrawl.kernels.jit import Ints
from recrawl.progress import Progress, no_progress
from recrawl.units import quoted

#: Bytes of git's output read at a time.
CHUNK = 2**20
#: Commits between two reports of progress.
COMMITS_PER_REPORT = 100

#: Independently of the user's settings: compare with the first parent only, include the first
#: commit, detect no renames, and run no program that checks signatures.
_LOG = (
    *("-c", "log.showRoot=true", "-c", "log.diffMerges=separate"),
    *("log", "--first-parent", "-m", "--reverse", "--format=%ct", "--no-show-signature"),
    *("--no-mailmap", "--no-notes", "--no-ext-diff", "--no-textconv"),
    *("--raw", "-z", "--no-abbrev", "--no-renames", "HEAD", "--"),
)
_COUNT = ("rev-list", "--first-parent", "--count", "HEAD", "--")
#: Variables that point git to a different repository, or to a different history in it.
_OVERRIDES = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_NAMESPACE"),
    *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_EXTERNAL_DIFF"),
    *("GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_REPLACE_REF_BASE"),
)
#: Overrides settings that can name a program, for commands that see the repository's settings.
_HARMLESS = (
    "--no-pager",
    *("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}"),
    *("-c", "protocol.allow=never", "-c", "core.alternateRefsCommand=", "-c", "diff.external="),
    *("-c", "core.sshCommand=false", "-c", "core.askPass=false", "-c", "credential.helper="),
)
#: The length of an identifier in a repository with SHA-256.
_SHA256_LENGTH: Final = 64
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
    A file that moves dies and is born under another name, as a URL that moves does. A file that is
    added again was never gone: it is the same page, and comes back with a change.

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
    with _Git(repository) as git:
        commits = git.commits()
        with git.log() as stream:
            for done in changes.follow(_tokens(stream)):
                if done % COMMITS_PER_REPORT == 0:
                    report(done, commits)
    report(commits, commits)
    if not changes.name:
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
        self.name: list[str] = []
        self._is_page = is_page
        self._page: dict[bytes, int] = {}
        self._times: list[int] = []
        # The numbers of the commits.
        self._born, self._died, self._changed = array("q"), array("q"), array("q")
        self._change_page = array("q")

    def follow(self, tokens: Iterator[bytes]) -> Iterator[int]:
        """Process commits; yield their number so far whenever a new one begins.

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
                self._add_page(commit, path)
        elif page == _NONE:
            return
        elif after in _NO_FILE:
            if self._died[page] == _NONE:
                self._died[page] = commit
        elif old != new:
            self._died[page] = _NONE
            self._change_page.append(page)
            self._changed.append(commit)

    def _add_page(self, commit: int, path: bytes) -> None:
        name = page_name(path)
        if not self._is_page(name):
            self._page[path] = _NONE
            return
        self._page[path] = len(self.name)
        self.name.append(name)
        self._born.append(commit)
        self._died.append(_NONE)

    def trace(self) -> Trace:
        """Return the trace, with pages in order of birth."""
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
    """Yield the tokens that git terminates with NULs."""
    rest = b""
    while part := stream.read(CHUNK):
        *whole, rest = (rest + part).split(b"\0")
        yield from whole


class _Git:
    """The program git, run on the objects of one repository; a context manager."""

    def __init__(self, repository: str | os.PathLike[str]) -> None:
        self.name = os.fspath(repository)
        folder = Path(repository)
        try:
            if not folder.exists():
                raise InputError(self.name, _missing(self.name))
            if not folder.is_dir():
                raise InputError(self.name, "this is a file, not a git repository")
        except OSError as error:
            raise InputError(self.name, f"it cannot be read: {error.strerror}") from None
        program = shutil.which("git")
        if program is None:
            raise InputError(
                self.name, "the program git, which is needed to read it, is not installed"
            )
        self._folder = folder.resolve()
        self._command = (program, *_HARMLESS, "-C", str(self._folder))
        self._environment = {
            **{name: value for name, value in os.environ.items() if name not in _OVERRIDES},
            # A repository that contains the folder would have a different history.
            "GIT_CEILING_DIRECTORIES": str(self._folder.parent),
            "GIT_TERMINAL_PROMPT": "0",
            # No protocol at all, whatever the settings say; older versions know only the first
            # variable.
            "GIT_ALLOW_PROTOCOL": "",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "LC_ALL": "C",
        }
        self._own = tempfile.TemporaryDirectory(prefix="recrawl-git-")

    def __enter__(self) -> Self:
        try:
            self._adopt()
        except BaseException:
            self._own.cleanup()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._own.cleanup()

    def _adopt(self) -> None:
        """Create a repository with the same objects and HEAD, and with our own settings.

        Git checks here who owns the folder. Only names are queried, so no object can be missing.

        Raises:
            InputError: This is not a repository, or it has no commits.
        """
        store = self._folder / os.fsdecode(self._answer("rev-parse", "--git-common-dir"))
        head = self._answer("rev-parse", "--verify", "HEAD").decode("ascii", "replace")
        own = Path(self._own.name)
        (own / "refs").mkdir()
        (own / "HEAD").write_text(f"{head}\n", "ascii")
        (own / "config").write_text(_settings(head), "ascii")
        if (store / "shallow").is_file():
            shutil.copyfile(store / "shallow", own / "shallow")
        self._environment |= {
            "GIT_DIR": str(own),
            "GIT_OBJECT_DIRECTORY": str(store / "objects"),
        }

    def _answer(self, *arguments: str) -> bytes:
        with self._running(*arguments) as stream:
            return stream.read().removesuffix(b"\n")

    def commits(self) -> int:
        """Return the number of commits in the history.

        Raises:
            InputError: Git cannot read all of it.
        """
        return int(self._answer(*_COUNT))

    def log(self) -> AbstractContextManager[BinaryIO]:
        """Return the history as a stream.

        Raises:
            InputError: Git cannot read all of it.
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


def _settings(head: str) -> str:
    """Return the settings of a repository whose HEAD is this commit."""
    if len(head) == _SHA256_LENGTH:
        return "[core]\nrepositoryFormatVersion = 1\nbare\n[extensions]\nobjectFormat = sha256\n"
    return "[core]\nrepositoryFormatVersion = 0\nbare\n"


def _missing(name: str) -> str:
    if re.match(r"\w+://|[\w.-]+@[\w.-]+:", name):
        clone = f"git clone --bare --filter=blob:none {name}"
        return f"only a repository on this machine can be read; clone it with {clone}"
    return "there is no such folder"


def _explained(complaint: str) -> str:
    r"""Return a sentence for an error message of git.

    >>> _explained("fatal: dubious ownership in repository at 'x'\nTo add an exception ...")
    "git cannot read it: dubious ownership in repository at 'x'"
    """
    if "not a git repository" in complaint:
        return (
            "this is not a git repository; give the folder that contains .git, or a bare repository"
        )
    if "Needed a single revision" in complaint:
        return "it has no commits"
    fatal = re.search(r"^(?:fatal|error): (.+)$", complaint, re.MULTILINE)
    return (
        f"git cannot read it: {fatal[1] if fatal else complaint.strip() or 'it does not say why'}"
    )
