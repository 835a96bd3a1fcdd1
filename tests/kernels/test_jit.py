"""How kernels are compiled."""

from typing import Any

import numba
import pytest

from recrawl.kernels import jit


def test_a_kernel_works_where_machine_code_cannot_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    njit = numba.njit

    def nowhere_to_keep_it(*given: Any, cache: bool = False, **flags: Any) -> Any:  # noqa: ANN401
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return njit(*given, **flags)

    monkeypatch.setattr(numba, "njit", nowhere_to_keep_it)

    @jit.compiled
    def doubled(number: float) -> float:
        return 2.0 * number

    assert doubled(1.5) == 3.0


def test_work_is_done_on_every_span() -> None:
    spans = [(0, 3), (3, 3), (3, 10)]
    assert jit.in_parallel(lambda first, last: last - first, spans) == [3, 0, 7]
