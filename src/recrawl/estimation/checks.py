"""The properties every estimator guarantees, as checks to run on estimators of your own."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np

from recrawl.errors import ConformanceError
from recrawl.estimation.estimator import Estimator
from recrawl.estimation.observations import Observations
from recrawl.estimation.saving import load_state, save_state
from recrawl.kernels.jit import Bools, Floats

VISITS = 12
PAGES = 7
CHANGED = 0.5


def check_estimator(
    estimator: Estimator[Any],
    *,
    consistent: bool = True,
    visits: Literal["random", "regular"] = "random",
    state_grows: bool = False,
    sees_batches: bool = False,
    seed: int = 0,
) -> None:
    """Raise `ConformanceError` for the first check that an estimator fails.

    Args:
        estimator: The estimator to check.
        consistent: Whether it claims to converge to the true rate.
        visits: The spacing of visits for which it claims so.
        state_grows: Whether it keeps every observation by design.
        sees_batches: Whether an update may depend on all its observations at once; if not, folding
            them one by one must give the same state.
        seed: Seed of the random observations.

    >>> from recrawl import LLN
    >>> check_estimator(LLN())
    """
    rng = np.random.default_rng(seed)
    _check_settings_are_frozen(estimator)
    _check_no_data(estimator)
    _check_corners(estimator)
    _check_inputs_are_left_alone(estimator, rng)
    _check_one_page_is_like_many(estimator, rng)
    _check_order_of_pages(estimator, rng)
    _check_saving(estimator, rng)
    if not sees_batches:
        _check_one_batch_is_like_many(estimator, rng)
    if not state_grows:
        _check_state_size(estimator, rng)
    if consistent:
        _check_consistency(estimator, rng, visits)


def _promise(kept: object, estimator: object, promise: str) -> None:
    if not kept:
        raise ConformanceError(f"{type(estimator).__name__}: {promise}")


def _rows(rng: np.random.Generator) -> list[tuple[Floats, Bools]]:
    return [(rng.exponential(1.0, PAGES), rng.random(PAGES) < CHANGED) for _ in range(VISITS)]


def _fold(estimator: Estimator[Any], rows: list[tuple[Floats, Bools]]) -> Any:  # noqa: ANN401
    state = estimator.start(rows[0][0].size)
    for elapsed, changed in rows:
        state = estimator.update(state, Observations.of(elapsed, changed))
    return state


def _numbers(estimator: Estimator[Any], state: Any) -> Floats:  # noqa: ANN401
    return np.array([estimator.rate(state), *estimator.interval(state, 0.9)])


def _same(one: Floats, other: Floats) -> bool:
    return bool(np.allclose(one, other, rtol=1e-9, atol=0.0))


def _check_settings_are_frozen(estimator: Estimator[Any]) -> None:
    try:
        estimator.state_version = estimator.state_version  # type: ignore[misc]
    except AttributeError:
        return
    _promise(False, estimator, "its settings can be changed; make it a frozen dataclass")  # noqa: FBT003


def _check_no_data(estimator: Estimator[Any]) -> None:
    numbers = _numbers(estimator, estimator.start(2))
    _check_sane(estimator, numbers, "without visits")
    _promise(numbers.shape == (3, 2), estimator, "rate and interval have one element per page")
    _promise(
        (estimator.start(2).visits == 0).all(), estimator, "a state starts with visits of zero"
    )


def _check_sane(estimator: Estimator[Any], numbers: Floats, when: str) -> None:
    _promise(np.isfinite(numbers).all(), estimator, f"a number is not finite {when}")
    _promise((numbers >= 0).all(), estimator, f"a rate is negative {when}")
    _promise(
        (numbers[1] <= numbers[2]).all(),
        estimator,
        f"an interval's low end is above its high end {when}",
    )


def _check_corners(estimator: Estimator[Any]) -> None:
    for changed, name in ((False, "all unchanged"), (True, "all changed")):
        for count in (1, 2, 50):
            for elapsed in (1e-6, 1.0, 1e6):
                state = _fold(estimator, [(np.full(2, elapsed), np.full(2, changed))] * count)
                when = f"after {count} visits {elapsed:g} days apart, {name}"
                _check_sane(estimator, _numbers(estimator, state), when)
                _promise((state.visits == count).all(), estimator, f"visits are miscounted {when}")


def _columns(state: Any) -> Iterator[Floats]:  # noqa: ANN401
    return (np.asarray(column) for column in state)


def _check_inputs_are_left_alone(estimator: Estimator[Any], rng: np.random.Generator) -> None:
    rows = _rows(rng)
    state = _fold(estimator, rows)
    before = [column.copy() for column in _columns(state)]
    elapsed, changed = rows[0]
    seen = Observations.of(elapsed.copy(), changed.copy())
    estimator.update(state, seen)
    estimator.rate(state)
    estimator.interval(state)
    kept = all(map(np.array_equal, before, _columns(state)))
    _promise(kept, estimator, "update modifies the state passed to it")
    kept = np.array_equal(seen.elapsed, elapsed) and np.array_equal(seen.changed, changed)
    _promise(kept, estimator, "update modifies the observations passed to it")


def _check_one_page_is_like_many(estimator: Estimator[Any], rng: np.random.Generator) -> None:
    rows = _rows(rng)
    together = _numbers(estimator, _fold(estimator, rows))
    for page in range(PAGES):
        alone = _fold(estimator, [(e[page : page + 1], c[page : page + 1]) for e, c in rows])
        _promise(
            _same(_numbers(estimator, alone)[:, 0], together[:, page]),
            estimator,
            "a page on its own gets another estimate than among other pages",
        )


def _interleaved(rows: list[tuple[Floats, Bools]], order: Any) -> Observations:  # noqa: ANN401
    page = np.tile(np.arange(PAGES), len(rows))[order]
    elapsed = np.concatenate([e for e, _ in rows])[order]
    changed = np.concatenate([c for _, c in rows])[order]
    return Observations.of(elapsed, changed, page=page, pages=PAGES)


def _check_one_batch_is_like_many(estimator: Estimator[Any], rng: np.random.Generator) -> None:
    rows = _rows(rng)
    batch = _interleaved(rows, slice(None))
    at_once = estimator.update(estimator.start(PAGES), batch)
    _promise(
        _same(_numbers(estimator, at_once), _numbers(estimator, _fold(estimator, rows))),
        estimator,
        "visits folded in one batch give other rates than folded one by one",
    )


def _check_order_of_pages(estimator: Estimator[Any], rng: np.random.Generator) -> None:
    rows = _rows(rng)
    sorted_rows = np.argsort(np.tile(np.arange(PAGES), VISITS), kind="stable")
    by_time = estimator.update(estimator.start(PAGES), _interleaved(rows, slice(None)))
    by_page = estimator.update(estimator.start(PAGES), _interleaved(rows, sorted_rows))
    _promise(
        _same(_numbers(estimator, by_time), _numbers(estimator, by_page)),
        estimator,
        "rows sorted by page give other rates than rows sorted by time",
    )


def _check_saving(estimator: Estimator[Any], rng: np.random.Generator) -> None:
    rows = _rows(rng)
    state = _fold(estimator, rows[:-1])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.npz"
        save_state(path, estimator, state)
        loaded = load_state(path, estimator)
    last = Observations.of(*rows[-1])
    _promise(
        np.array_equal(
            _numbers(estimator, estimator.update(loaded, last)),
            _numbers(estimator, estimator.update(state, last)),
        ),
        estimator,
        "a state that was saved and loaded continues differently from the original",
    )


def _check_state_size(estimator: Estimator[Any], rng: np.random.Generator) -> None:
    rows = _rows(rng)
    short, long = _fold(estimator, rows[:2]), _fold(estimator, rows)
    _promise(
        sum(c.nbytes for c in _columns(short)) == sum(c.nbytes for c in _columns(long)),
        estimator,
        "the state grows with the visits",
    )


def _check_consistency(
    estimator: Estimator[Any], rng: np.random.Generator, visits: Literal["random", "regular"]
) -> None:
    rate, pages, count = 0.8, 200, 2_000
    elapsed = rng.exponential(1.0, pages * count) if visits == "random" else np.ones(pages * count)
    changed = rng.random(elapsed.size) < -np.expm1(-rate * elapsed)
    page = np.repeat(np.arange(pages), count)
    seen = Observations.of(elapsed, changed, page=page)
    found = estimator.rate(estimator.update(estimator.start(pages), seen))
    # The slowest estimators have an error of about k^(−3/8); the median page is closer than that.
    _promise(
        abs(np.median(found) / rate - 1.0) < 0.05,  # noqa: PLR2004
        estimator,
        f"the median estimate of a rate of {rate} is {np.median(found):.3f} after {count} visits",
    )
