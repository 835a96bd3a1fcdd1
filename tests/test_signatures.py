"""Kernels are compiled once, whatever library a column comes from."""

import itertools
from types import ModuleType
from typing import Any

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

from recrawl import allocate, estimate
from recrawl.allocation import hosts, one_budget
from recrawl.estimation import gamma

KERNELS = [
    (one_budget, "_add_up"),
    (one_budget, "_write"),
    (hosts, "_add_up"),
    (hosts, "_write"),
    (gamma, "_fold_slabs"),
]


def both_kinds(column: NDArray[np.generic]) -> list[NDArray[np.generic]]:
    frozen = column.copy()
    frozen.flags.writeable = False
    return [column, frozen]


def watched(module: ModuleType, name: str, patch: pytest.MonkeyPatch) -> set[tuple[Any, ...]]:
    """Return the types of arguments that a kernel will have been called with."""
    kernel, seen = getattr(module, name), set()

    def call(*arguments: Any) -> Any:  # noqa: ANN401
        seen.add(tuple(map(numba.typeof, arguments)))
        return kernel(*arguments)

    patch.setattr(module, name, call)
    return seen


def test_read_only_columns_need_no_kernel_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = [watched(module, name, monkeypatch) for module, name in KERNELS]
    rng = np.random.default_rng(0)
    rate = rng.gamma(1.0, 1.0, 50) + 0.1
    page, changed = np.arange(50) % 7, rate > 0.8
    for one, other in itertools.product(both_kinds(rate), both_kinds(rate + 1.0)):
        allocate(one, 5.0, importance=other)
        allocate(one, 5.0, importance=other, host=page, host_budget=1.0)
    for number, elapsed, bit in itertools.product(*map(both_kinds, (page, rate, changed))):
        estimate(number, elapsed, bit)
    assert [len(types) for types in seen] == [1] * len(KERNELS)
