"""Upgrade frontier files of earlier versions.

Version 7 had no queues of first visits. Version 6 did not learn the shape of change rates. Version
5 had evidence as a share, and no signals. Version 4 had Gamma beliefs: what visits added to their
priors becomes likelihoods of the octaves. Nothing that was learned is lost.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recrawl.estimation.belief import Prior
from recrawl.estimation.octaves import Octaves, lowest_octave, make_curves
from recrawl.kernels.jit import Floats
from recrawl.scheduling.budget import NEW_HOST_SHARE, NEW_SHARE
from recrawl.scheduling.pooling import learn_shape_of_all, weigh_pages
from recrawl.scheduling.signals import state_evidence
from recrawl.scheduling.state import (
    ABSENT,
    ASKED,
    HOST,
    PAGE,
    SECTION,
    SHARED,
    FrontierSettings,
    Rows,
    Tables,
    empty_tables,
    forget_signals,
    set_no_queues,
)

#: The first version whose files can be read, and the first ones with octaves, with signals and
#: with shapes of rates.
OLDEST, OCTAVES_SINCE, SIGNALS_SINCE, SHAPES_SINCE = 4, 5, 6, 7
#: The shape of the prior that all pages without one of their own had before octaves.
USUAL_SHAPE = 1.0
#: Settings that earlier versions did not have.
NEW_SETTINGS = {"pooling": True, "rhythm": True, "slack": 3.0, "spend": "worth"}
NEW_SETTINGS |= {"new_share": NEW_SHARE, "new_host_share": NEW_HOST_SHARE, "first_fill": 0.0}


def upgraded_settings(settings: Mapping[str, Any]) -> FrontierSettings:
    """Return the settings of a file; missing ones have their defaults."""
    return FrontierSettings(**{**NEW_SETTINGS, **settings})


def upgraded_counters(counters: Floats, version: int) -> Floats:
    """Return a file's counters; before version 5 it did not say when the frontier began."""
    if version >= OCTAVES_SINCE or counters.shape != (5,):
        return counters
    known, now, taken_at, credit, _ = counters
    # As many visits since all pages were scheduled as there are pages, so they will be again.
    return np.array([known, now, taken_at, credit, now, known])


def upgraded_tables(
    columns: Mapping[str, NDArray[Any]], version: int, settings: FrontierSettings, counters: Floats
) -> Tables:
    """Convert the tables of an earlier version's file, with its lists unchanged.

    They have to be checked before `upgrade_beliefs` uses them.
    """
    tables = Tables(
        pages=_copied(columns["pages"], PAGE),
        hosts=_copied(columns["hosts"], HOST),
        sections=_copied(columns["sections"], SECTION),
        shared=_copied(columns["shared"], SHARED, empty_tables(settings).shared),
        heads=columns["heads"],
        curves=make_curves(),
    )
    set_no_queues(tables.hosts, tables.shared)
    there = tables.pages["last_visit"] == -np.inf
    tables.pages["needed"][there] = ASKED
    if version < SIGNALS_SINCE:
        forget_signals(tables.hosts)
        there = np.flatnonzero(tables.pages["status"] != ABSENT)
        keep = np.clip(columns["pages"]["keep"][there].astype(np.float64), 0.0, 1.0)
        state_evidence(tables.pages, there, keep)
    if version < OCTAVES_SINCE and counters[0] > 0.0:
        tables.shared["rate"] = 2.0 ** lowest_octave(counters[0] / settings.budget)
        # All pages are scheduled again at the next take, as if the price had fallen.
        tables.shared["highest_price"] = np.inf
    return tables


def upgrade_beliefs(
    tables: Tables, old: Rows, version: int, prior: Prior | None, settings: FrontierSettings
) -> None:
    """Fill in what tables of an earlier version did not have, once they have been checked.

    Args:
        tables: The tables, as `upgraded_tables` returned them.
        old: The pages in the file.
        version: Its version.
        prior: The frontier's own prior, if it has one.
        settings: Its settings.
    """
    there = np.flatnonzero(tables.pages["status"] != ABSENT)
    if version < SIGNALS_SINCE:
        np.add.at(tables.hosts["pages"], tables.pages["host"][there], 1)
    tables.shared["pooling"], tables.shared["half_life"] = settings.pooling, settings.half_life
    if OCTAVES_SINCE <= version < SHAPES_SINCE:
        learn_shape_of_all(tables)
    if version >= OCTAVES_SINCE or not there.size:
        return
    first = round(float(np.log2(tables.shared["rate"][0])))
    rows = old[there]
    before = Prior(rows["prior_shape"], rows["prior_time"])
    learned = Octaves.of_gamma(first, Prior(rows["shape"], rows["time"]), before, there.size)
    tables.pages["likelihood"][there] = learned.likelihood
    differs = learned.likelihood != learned.likelihood[:, :1]
    tables.pages["counts"][there] = differs.any(1)
    if prior is None:
        # The default prior of pages without their own is now learned from other pages.
        tables.pages["prior_shape"][tables.pages["prior_shape"] == USUAL_SHAPE] = 0.0
    weigh_pages(tables, there)


def _copied(old: Rows, kind: np.dtype[np.void], usual: Rows | None = None) -> Rows:
    """Convert rows to another kind, keeping the columns that both have."""
    new = np.zeros(old.size, kind) if usual is None else np.resize(usual, old.shape)
    if old.ndim != 1:
        raise ValueError(old.shape)
    for name in kind.names or ():
        if name in (old.dtype.names or ()):
            new[name] = old[name]
    return new
