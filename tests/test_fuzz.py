"""A sample of the fuzzer's inputs: no exception but our own, no NaN, nothing slow."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CASES = 3_000


@pytest.fixture(autouse=True)
def _benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))


def test_no_input_of_a_sample_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks import fuzz
    from benchmarks.fuzz_targets import TARGETS

    # Ten times the bar of the benchmark: what else the machine does makes no input fail.
    monkeypatch.setattr(fuzz, "MAX_SECONDS", 10 * fuzz.MAX_SECONDS)
    results = fuzz.sample(range(CASES), seed=12)
    assert results.failures == []
    assert results.inputs == CASES
    assert set(results.tallies) == set(TARGETS)


def test_a_case_is_the_same_each_time() -> None:
    from benchmarks import fuzz_inputs
    from benchmarks.fuzz import target_of

    for case in range(50):
        made = [
            (name, fuzz_inputs.mutated(rng, [b"a,1\nb,2\n", b"other"]))
            for name, rng in (target_of(case, 3) for _ in range(2))
        ]
        assert made[0] == made[1]
    assert target_of(1, 3)[1].random() != target_of(1, 4)[1].random()


def test_every_kind_of_failure_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks import fuzz
    from benchmarks.fuzz_targets import TARGETS

    def divide(_: object) -> list[float]:
        return [1 / 0]

    def nan(_: object) -> list[float]:
        return [float("nan")]

    for target, problem in ((divide, "ZeroDivisionError"), (nan, "NaN")):
        monkeypatch.setattr(fuzz, "TARGETS", dict.fromkeys(TARGETS, (target, 1)))
        results = fuzz.sample(range(3), seed=0)
        assert [case for case, _, _ in results.failures] == [0, 1, 2]
        assert all(problem in found for _, _, found in results.failures)
    assert "benchmarks.fuzz" in sys.modules
