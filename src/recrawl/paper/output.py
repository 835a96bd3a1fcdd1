"""A reproduction as files: pictures, numbers, claims and the report, all of them or none."""

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
from recrawl.paper.claims import claims_of
from recrawl.paper.report import CLAIMS, TIMINGS, Origin, report_html
from recrawl.paper.section import Section, Table

REPORT = "report.html"


def check_folder(folder: str | os.PathLike[str]) -> None:
    """Refuse a place where no report can be, so that nobody computes for a minute to find out.

    Raises:
        OutputError: There is a file in its place, or the disk refuses to write there.
    """
    with _told(Path(folder)), _staged(Path(folder)):
        pass


def write_report(
    folder: str | os.PathLike[str], sections: Mapping[str, Section], origin: Origin
) -> Path:
    """Write everything that was found into a folder, which is made if it is not there.

    A new folder is there complete or not at all. In one that is there already, files of the same
    names are replaced, each as a whole and the report last; others are left alone.

    Args:
        folder: Where to.
        sections: What was found, by the parts' names.
        origin: What was asked for.

    Returns:
        Where the report is.

    Raises:
        OutputError: It cannot be written there.
    """
    place = Path(folder)
    files = _files(sections, origin)
    with _told(place), _staged(place) as staged:
        for name, content in files.items():
            if isinstance(content, bytes):
                (staged.new / name).write_bytes(content)
            else:
                _write_csv(content, staged.new / name, place / name)
        staged.put(list(files))
    return place / REPORT


def _files(sections: Mapping[str, Section], origin: Origin) -> dict[str, bytes | Table]:
    """Give what each file is to hold, the report last."""
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
        "place": [claim.place for claim in claims],
        "claim": [claim.says for claim in claims],
        "measured": [claim.measured for claim in claims],
        "verdict": [claim.verdict for claim in claims],
    }
    return Table(
        CLAIMS.removesuffix(".csv"),
        {name: np.array(column, np.str_) for name, column in columns.items()},
    )


def _write_csv(table: Table, new: Path, told: Path) -> None:
    try:
        write_table(table.columns, "csv", new)
    except OutputError as error:
        # Nobody knows the place where files are put together.
        raise OutputError(str(error).replace(str(new), str(told))) from None


class _Staged:
    """A hidden place where files are put together, and how they get from there to the folder.

    Attributes:
        new: Where to write.
    """

    def __init__(self, folder: Path) -> None:
        # Links are followed once, so that what is checked is also what is written.
        self._folder = Path(os.path.realpath(folder))
        self._there = self._folder.is_dir()
        hidden = f".recrawl-{secrets.token_hex(8)}"
        if self._there:
            self._old = self.new = self._folder / hidden
            return
        # All that is missing of the path is made as one tree, and moved to its place as one.
        self._top = self._folder
        while not self._top.parent.exists():
            self._top = self._top.parent
        # What is there now and is no folder is a file, or a link that leads to itself.
        if os.path.lexists(self._top):
            raise OutputError(f"{folder}: this is a file, not a folder")
        self._old = self._top.with_name(hidden)
        self.new = self._old / self._folder.relative_to(self._top)

    def make(self) -> None:
        """Make the place."""
        self.new.mkdir(parents=True)

    def put(self, names: list[str]) -> None:
        """Put files where they belong, the last of them last."""
        if not self._there:
            self._old.rename(self._top)
            return
        for name in names:
            if (self._folder / name).is_dir():
                raise OutputError(f"{self._folder / name}: this is a directory, not a file")
        for name in names:
            (self.new / name).replace(self._folder / name)

    def remove(self) -> None:
        """Remove the place, with what is still in it."""
        shutil.rmtree(self._old, ignore_errors=True)


@contextmanager
def _staged(folder: Path) -> Iterator[_Staged]:
    """Give a place to put files together, removed in the end whatever happens."""
    staged = _Staged(folder)
    try:
        staged.make()
        yield staged
    finally:
        staged.remove()


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    """Turn what the disk refuses to words."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"{folder}: it cannot be written: {error.strerror or error}") from None
