"""The evidence of visits about a page's change rate as it is stored: 34 bytes per page.

A likelihood is kept in half precision, which is more than any decision needs. What is shown to
people is computed from evidence in this form, whether it comes from a store or from a running
frontier, so that both show the same.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recrawl.estimation.octaves import OCTAVES, Octaves

#: Rows of `ROW`, one per page.
Evidence = NDArray[np.void]

#: The lowest rate's octave, and a half-precision likelihood per rate.
ROW = np.dtype([("first", "<i2"), ("likelihood", "<f2", (OCTAVES,))])
#: Half precision keeps nothing below this.
SMALLEST = 2.0**-24


def evidence_of(octaves: Octaves) -> Evidence:
    """Return likelihoods in the form in which they are stored."""
    rows = np.empty(octaves.likelihood.shape[0], ROW)
    rows["first"] = octaves.first
    share = octaves.likelihood / octaves.likelihood.max(1, keepdims=True)
    rows["likelihood"] = np.maximum(share, SMALLEST)
    return rows


def no_evidence(pages: int) -> Evidence:
    """Return the evidence about pages without visits that could be compared."""
    rows = np.zeros(pages, ROW)
    rows["likelihood"] = 1.0
    return rows


def read_evidence(packed: Sequence[bytes | None]) -> Evidence:
    """Return stored evidence; pages without any, or whose is damaged, get `no_evidence`.

    >>> kept = evidence_of(Octaves(-9, np.ones((1, OCTAVES)))).tobytes()
    >>> read_evidence([kept, None, b"damaged"])["first"].tolist()
    [-9, 0, 0]
    """
    nothing = no_evidence(1)
    blank = nothing.tobytes()
    whole = [blank if one is None or len(one) != ROW.itemsize else one for one in packed]
    rows = np.frombuffer(b"".join(whole), ROW).copy()
    likelihood = rows["likelihood"].astype(np.float32)
    rows[~(np.isfinite(likelihood) & (likelihood > 0.0)).all(1)] = nothing[0]
    return rows
