"""Kernels are compiled once, whatever library a column comes from."""

import itertools

import numpy as np
from numpy.typing import NDArray

from recrawl import allocate, estimate
from recrawl.allocation import hosts, one_budget
from recrawl.estimation import gamma


def both_kinds(column: NDArray[np.generic]) -> list[NDArray[np.generic]]:
    frozen = column.copy()
    frozen.flags.writeable = False
    return [column, frozen]


def test_read_only_columns_need_no_kernel_of_their_own() -> None:
    rng = np.random.default_rng(0)
    rate = rng.gamma(1.0, 1.0, 50) + 0.1
    page, changed = np.arange(50) % 7, rate > 0.8
    for one, other in itertools.product(both_kinds(rate), both_kinds(rate + 1.0)):
        allocate(one, 5.0, importance=other)
        allocate(one, 5.0, importance=other, host=page, host_budget=1.0)
    for number, elapsed, bit in itertools.product(*map(both_kinds, (page, rate, changed))):
        estimate(number, elapsed, bit)
    kernels = [one_budget._add_up, one_budget._write, hosts._add_up, hosts._write]  # noqa: SLF001
    kernels.append(gamma._fold_slabs)  # noqa: SLF001
    assert [len(kernel.signatures) for kernel in kernels] == [1] * len(kernels)  # type: ignore[attr-defined]
