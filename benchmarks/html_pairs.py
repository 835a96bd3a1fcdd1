"""How well each comparison detects real changes, on labelled pairs of real pages."""

import gc
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

from pyarrow import parquet
from rich.console import Console

from benchmarks.report import Figure, markdown, write_section
from benchmarks.sizes import AbsentError, sized
from recrawl.content.page_content import is_same
from recrawl.content.reader import Reader
from recrawl.parsing.worker import GARBAGE_AFTER
from recrawl.records import ChangeKind

PAGE = "explanation/what-counts-as-a-change.md"
BESIDE = Path(__file__).parents[2] / "shared" / "html-pairs"
READERS = {
    "`bytes`": Reader("bytes"),
    "`text`, the default": Reader("text"),
    "`main`": Reader("main"),
}
DEFAULT = "`text`, the default"
#: What others reach on the same pairs: recall, false alarms, milliseconds per page.
PEERS = {
    "visible text without script and style (selectolax)": (0.80, 0.10, 3.2),
    "main text (resiliparse)": (0.62, 0.05, 7.0),
    "main text (trafilatura)": (0.48, 0.00, 48.0),
}


class Score(NamedTuple):
    """The shares of real changes and of other pairs reported as changes; milliseconds per page."""

    recall: float
    false_alarms: float
    milliseconds: float

    def cells(self) -> list[str]:
        """Return the cells of a table."""
        return [f"{self.recall:.2f}", f"{self.false_alarms:.2f}", f"{self.milliseconds:.1f}"]


def folder() -> Path:
    """Return the folder of the pairs: ``RECRAWL_HTML_PAIRS``, or next to the project."""
    return Path(os.environ.get("RECRAWL_HTML_PAIRS", BESIDE))


def _differ(reader: Reader, before: bytes, after: bytes) -> bool:
    """Read and compare two bodies, as a visit does; return whether the page has changed."""
    copy, found = (reader.read(body, "text/html") for body in (before, after))
    if found.has_markup(copy.markup):
        return False
    if is_same(copy.fingerprint(), found.fingerprint()):
        return False
    change = found.difference(copy)
    return change is not None and change.kind is not ChangeKind.FURNITURE


def score(reader: Reader, pairs: list[dict[str, Any]]) -> Score:
    """Compare all pairs."""
    begin = time.process_time()
    differ = [_differ(reader, pair["before"], pair["after"]) for pair in pairs]
    milliseconds = (time.process_time() - begin) / (2 * len(pairs)) * 1e3
    changed = [pair["content_changed"] for pair in pairs]
    found = [
        sum(seen for seen, real in zip(differ, changed, strict=True) if real is wanted)
        / changed.count(wanted)
        for wanted in (True, False)
    ]
    return Score(found[0], found[1], milliseconds)


def run() -> list[Figure]:
    """Measure every reader, and write the table."""
    path = folder() / "pairs.parquet"
    if not path.is_file():
        raise AbsentError(f"no pairs.parquet in {folder()}; set RECRAWL_HTML_PAIRS to its folder")
    pairs = parquet.read_table(path).to_pylist()
    # Some of them are changes, and others are not.
    pairs = sorted(pairs, key=lambda pair: pair["content_changed"])[:: sized(1, len(pairs) // 4)]
    # As the processes do that read pages.
    gc.freeze()
    gc.set_threshold(GARBAGE_AFTER)
    with Console(stderr=True).status("comparing pages"):
        scores = {name: score(reader, pairs) for name, reader in READERS.items()}
    rows = [[name, *one.cells()] for name, one in scores.items()]
    rows += [[name, *Score(*peer).cells()] for name, peer in PEERS.items()]
    write_section(
        PAGE, "html-pairs", markdown(["comparison", "recall", "false alarms", "ms per page"], rows)
    )
    ours = scores[DEFAULT]
    return [
        Figure("real changes of pages that are seen", ours.recall, 0.82, at_least=True),
        Figure("false alarms", ours.false_alarms, 0.08),
        Figure("to read and compare a page", ours.milliseconds, 6.0, unit=" ms"),
    ]
