"""Write a reproduction's pictures, numbers, claims and report: all files or none."""

import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from recrawl.errors import OutputError
from recrawl.formats.tables import write_table
from recrawl.paper.report import CLAIMS, TIMINGS, Origin, report_html
from recrawl.paper.section import Section, Table, claims_of
from recrawl.paper.typesetting import plain

REPORT = "report.html"


def check_folder(folder: str | os.PathLike[str]) -> None:
    """Check that a report can be written to a folder, before a minute is spent computing it.

    Raises:
        OutputError: It is a file, or cannot be written to.
    """
    with _output_errors(Path(folder)), _staged(Path(folder)):
        pass


def write_report(
    folder: str | os.PathLike[str], sections: Mapping[str, Section], origin: Origin
) -> Path:
    """Write all results into a folder, which is created if it does not exist.

    A new folder appears complete or not at all. In an existing one, files of the same names are
    replaced, each as a whole and the report last; others are left alone.

    Args:
        folder: The folder.
        sections: The results by part.
        origin: The arguments of the reproduction.

    Returns:
        The path of the report.

    Raises:
        OutputError: The folder cannot be written to.
    """
    target = Path(folder)
    files = _files(sections, origin)
    with _output_errors(target), _staged(target) as staged:
        for name, content in files.items():
            if isinstance(content, bytes):
                (staged.new / name).write_bytes(content)
            else:
                _write_csv(content, staged.new / name, target / name)
        staged.put(list(files))
    return target / REPORT


def _files(sections: Mapping[str, Section], origin: Origin) -> dict[str, bytes | Table]:
    """Return the content of each file, the report last."""
    files: dict[str, bytes | Table] = {}
    for section in sections.values():
        for picture in section.pictures:
            _add(files, f"{picture.name}.png", picture.png)
            _add(files, f"{picture.name}.svg", picture.svg)
        for table in section.tables:
            _add(files, f"{table.name}.csv", table)
    _add(files, CLAIMS, _claims_table(sections))
    timings = {
        name: {what: seconds.tolist() for what, seconds in section.timings.items()}
        for name, section in sections.items()
        if section.timings
    }
    if timings:
        _add(files, TIMINGS, (json.dumps(timings) + "\n").encode())
    _add(files, REPORT, report_html(sections, origin).encode())
    return files


def _add(files: dict[str, bytes | Table], name: str, content: bytes | Table) -> None:
    if name in files:
        raise ValueError(f"two files of the report are called {name}")
    files[name] = content


def _claims_table(sections: Mapping[str, Section]) -> Table:
    claims = claims_of(sections.values())
    columns = {
        "place": [claim.section for claim in claims],
        "claim": [plain(claim.says) for claim in claims],
        "measured": [plain(claim.measured) for claim in claims],
        "verdict": [claim.verdict for claim in claims],
    }
    return Table(
        CLAIMS.removesuffix(".csv"),
        {name: np.array(column, np.str_) for name, column in columns.items()},
    )


def _write_csv(table: Table, new: Path, target: Path) -> None:
    try:
        write_table(table.columns, "csv", new)
    except OutputError as error:
        # The staging folder means nothing to the user.
        raise OutputError(str(error).replace(str(new), str(target))) from None


class _Staged:
    """A hidden folder in which files are staged before they are moved to the target.

    Attributes:
        new: Where to write new files.
    """

    def __init__(self, folder: Path) -> None:
        # Symbolic links are resolved once, so that what is checked is also what is written.
        self._folder = Path(os.path.realpath(folder))
        self._exists = self._folder.is_dir()
        hidden = f".recrawl-{secrets.token_hex(8)}"
        if self._exists:
            self._staging = self.new = self._folder / hidden
            return
        # All missing parents are created as one tree, which is moved as a whole.
        self._top = self._folder
        while not self._top.parent.exists():
            self._top = self._top.parent
        # What exists there and is not a folder is a file, or a link to itself.
        if os.path.lexists(self._top):
            raise OutputError(f"{folder}: this is a file, not a folder")
        self._staging = self._top.with_name(hidden)
        self.new = self._staging / self._folder.relative_to(self._top)

    def make(self) -> None:
        """Create the staging folder."""
        self.new.mkdir(parents=True)

    def put(self, names: list[str]) -> None:
        """Move the files to the target in this order."""
        if not self._exists:
            self._staging.rename(self._top)
            return
        for name in names:
            if (self._folder / name).is_dir():
                raise OutputError(f"{self._folder / name}: this is a directory, not a file")
        for name in names:
            (self.new / name).replace(self._folder / name)

    def remove(self) -> None:
        """Remove the staging folder and what is left in it."""
        shutil.rmtree(self._staging, ignore_errors=True)


@contextmanager
def _staged(folder: Path) -> Iterator[_Staged]:
    """Yield a staging folder, which is removed in the end whatever happens."""
    staged = _Staged(folder)
    try:
        staged.make()
        yield staged
    finally:
        staged.remove()


@contextmanager
def _output_errors(folder: Path) -> Iterator[None]:
    """Turn errors of the file system into `OutputError`."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"{folder}: it cannot be written: {error.strerror or error}") from None
