"""The pages that a plan is made for: read from a crawl log, with what is known of each."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recrawl.errors import InputError
from recrawl.formats.crawl_log import read_crawl_log
from recrawl.formats.importance import read_importance
from recrawl.formats.source import source_name
from recrawl.kernels.jit import Floats
from recrawl.planning.history import latest_importance
from recrawl.planning.learning import Learned, learn
from recrawl.records import Visits

#: Shows a stage of the work by name, and is called with what is done and what there is to do.
Stage = Callable[[str], AbstractContextManager[Callable[[int, int | None], object]]]


@dataclass(frozen=True, eq=False)
class Fleet:
    """A log's pages.

    Attributes:
        visits: The log.
        learned: What it taught.
        importance: How much each page counts.
    """

    visits: Visits
    learned: Learned
    importance: Floats

    @cached_property
    def change_rate(self) -> Floats:
        """Each page's estimated change rate."""
        return self.learned.rate

    @property
    def unknown(self) -> int:
        """Of how many pages nothing was learned."""
        return int((self.learned.state.visits == 0).sum())


def read_fleet(
    log: str,
    importance: str | None,
    *,
    method: str,
    prior: str,
    ignore_unknown: bool,
    stage: Stage,
) -> Fleet:
    """Read a log and how much its pages count, and estimate how often they change.

    Raises:
        InputError: A file cannot be used as it is.
    """
    with stage("Reading") as advance:
        visits = read_crawl_log(log, ignore_unknown=ignore_unknown, progress=advance)
        counts = _importance(log, visits, importance, ignore_unknown=ignore_unknown)
    with stage("Estimating"):
        return Fleet(visits, learn(log, visits, method, prior), counts)


def _importance(log: str, visits: Visits, file: str | None, *, ignore_unknown: bool) -> Floats:
    """Give how much each page counts: as the file says, or else the log; 1 where neither does."""
    if file is None:
        told = latest_importance(visits)
    else:
        told = read_importance(file, visits.names, ignore_unknown=ignore_unknown)
    counts = np.where(np.isnan(told), 1.0, told)
    if not counts.any():
        raise InputError(
            source_name(log if file is None else file),
            "no page has an importance above 0",
            column="importance",
        )
    return counts
