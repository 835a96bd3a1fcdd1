"""Sections, the pages that may change together: those in one folder of one host."""

from collections.abc import Sequence

import numpy as np

from recrawl.kernels.jit import Ints


def sections(names: Sequence[str]) -> Ints:
    """Number the sections of pages: a page's section is the folder in its name.

    >>> sections(["a/x", "a/y", "b/x", "z"])
    array([0, 0, 1, 2])
    """
    folders = [name.rpartition("/")[0] for name in names]
    number = {folder: i for i, folder in enumerate(dict.fromkeys(folders))}
    return np.array([number[folder] for folder in folders], np.int64)
