"""A host is asked no sooner, and no oftener at once, than is polite."""

import asyncio
import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from virtual_time import clock, now, run

from recrawl.http import host_pacing
from recrawl.http.gate import Gate, HostClosed
from recrawl.http.host_pacing import HostPacing

Spans = list[tuple[float, float]]


def gate_of(delay: float = 1.0, connections: int = 1, patience: float = 1e9) -> Gate:
    return Gate(HostPacing(delay, connections), patience=patience, clock=clock())


async def ask(gate: Gate, spans: Spans, seconds: float, host: str = "a") -> None:
    waiting = gate.start(host)
    if waiting is not None:
        await waiting
    try:
        begun = now()
        await asyncio.sleep(seconds)
        spans.append((begun, now()))
    finally:
        gate.end(host)


def test_a_pause_lies_between_the_end_and_the_next_start() -> None:
    async def main() -> Spans:
        gate, spans = gate_of(2.0), []  # type: ignore[var-annotated]
        await asyncio.gather(*(ask(gate, spans, 0.5) for _ in range(4)))
        return spans

    assert run(main()) == [(0.0, 0.5), (2.5, 3.0), (5.0, 5.5), (7.5, 8.0)]


def test_without_a_pause_several_go_at_once_and_no_more() -> None:
    async def main() -> Spans:
        gate, spans = gate_of(0.0, 3), []  # type: ignore[var-annotated]
        await asyncio.gather(*(ask(gate, spans, 1.0) for _ in range(7)))
        return spans

    assert [begun for begun, _ in run(main())] == [0, 0, 0, 1, 1, 1, 2]


@settings(max_examples=50)
@given(
    st.integers(0, 2**32),
    st.sampled_from([0.0, 0.5, 2.0]),
    st.integers(1, 3),
    st.integers(1, 3),
)
def test_no_order_of_things_breaks_politeness(
    seed: int, delay: float, connections: int, hosts: int
) -> None:
    rng = random.Random(seed)  # noqa: S311 - not for secrets

    async def visit(gate: Gate, spans: Spans, host: str) -> None:
        await asyncio.sleep(rng.random() * 10)
        task = asyncio.create_task(ask(gate, spans, rng.random() * 3, host))
        if rng.random() < 0.2:
            await asyncio.sleep(rng.random() * 5)
            task.cancel()
        await asyncio.wait({task})

    async def main() -> dict[str, Spans]:
        gate = gate_of(delay, connections)
        spans: dict[str, Spans] = {str(host): [] for host in range(hosts)}
        await asyncio.gather(
            *(visit(gate, spans[str(n % hosts)], str(n % hosts)) for n in range(20))
        )
        # Nobody who gave up is in the way of those who come after.
        for host, story in spans.items():
            await ask(gate, story, 0.0, host)
        return spans

    for spans in run(main()).values():
        spans.sort()
        if delay > 0.0:
            assert all(b[0] >= a[1] + delay for a, b in pairwise(spans))
        for begun, _ in spans:
            assert sum(a <= begun < b for a, b in spans) <= connections


def test_hosts_do_not_wait_for_one_another() -> None:
    async def main() -> float:
        gate, spans = gate_of(10.0), []  # type: ignore[var-annotated]
        await asyncio.gather(*(ask(gate, spans, 1.0, str(host)) for host in range(50)))
        return now()

    assert run(main()) == 1.0


def test_a_host_that_asks_for_it_is_asked_more_slowly() -> None:
    async def main() -> Spans:
        gate, spans = gate_of(1.0), []  # type: ignore[var-annotated]
        await ask(gate, spans, 0.0)
        gate.pacing.set_delay("a", 5.0)  # holds for the pause that has begun
        await ask(gate, spans, 0.0)
        gate.pacing.set_delay("a", 0.1)  # never below the usual
        await ask(gate, spans, 0.0)
        return spans

    assert [begun for begun, _ in run(main())] == [0.0, 5.0, 6.0]


def test_slowing_reaches_those_who_wait_already() -> None:
    async def main() -> Spans:
        gate, spans = gate_of(1.0), []  # type: ignore[var-annotated]
        await ask(gate, spans, 0.0)
        waiting = asyncio.create_task(ask(gate, spans, 0.0))
        await asyncio.sleep(0.5)
        gate.pacing.set_delay("a", 4.0)
        await waiting
        return spans

    assert [begun for begun, _ in run(main())] == [0.0, 4.0]


def test_a_turn_that_comes_too_late_is_refused_at_once_and_says_when() -> None:
    async def main() -> None:
        gate, spans = gate_of(4.0, patience=5.0), []  # type: ignore[var-annotated]
        await ask(gate, spans, 0.0)
        first = asyncio.create_task(ask(gate, spans, 0.0))
        await asyncio.sleep(0)
        with pytest.raises(HostClosed) as caught:  # two pauses: 8 s
            await ask(gate, spans, 0.0)
        assert caught.value.seconds == 8.0
        assert now() == 0.0
        await first
        gate.close_host("a", 503, 100.0)
        with pytest.raises(HostClosed, match=r"a cannot be asked for another 100\.0 s"):
            await ask(gate, spans, 0.0)
        assert len(spans) == 2

    run(main())


def test_a_request_that_takes_long_does_not_hold_the_line() -> None:
    async def main() -> float:
        gate, spans = gate_of(1.0, patience=5.0), []  # type: ignore[var-annotated]
        slow = asyncio.create_task(ask(gate, spans, 60.0))
        await asyncio.sleep(0)
        with pytest.raises(HostClosed):
            await ask(gate, spans, 0.0)
        waited = now()
        await slow
        return waited

    assert run(main()) == 5.0


def test_closing_reaches_those_who_wait_already() -> None:
    async def main() -> None:
        gate, spans = gate_of(3.0, patience=5.0), []  # type: ignore[var-annotated]
        await ask(gate, spans, 0.0)
        waiting = asyncio.create_task(ask(gate, spans, 0.0))
        await asyncio.sleep(1.0)
        gate.close_host("a", 503, 60.0)
        gate.close_host("a", 503, 1.0)  # the longer time stands
        with pytest.raises(HostClosed) as caught:
            await waiting
        assert 56.0 < caught.value.seconds <= 60.0
        assert len(spans) == 1

    run(main())


def test_a_closed_host_opens_again_and_is_as_fast_as_before() -> None:
    async def main() -> Spans:
        gate, spans = gate_of(0.0, 2), []  # type: ignore[var-annotated]
        gate.close_host("a", 503, 10.0)
        await asyncio.gather(*(ask(gate, spans, 1.0) for _ in range(4)))
        return spans

    assert [begun for begun, _ in run(main())] == [10.0, 10.0, 11.0, 11.0]


def test_hosts_that_may_have_been_asked_are_not_asked_at_once() -> None:
    async def main() -> Spans:
        gate, spans = Gate(HostPacing(1.0, asked_at=now()), clock=clock()), []  # type: ignore[var-annotated]
        gate.pacing.set_delay("b", 3.0)
        await asyncio.gather(ask(gate, spans, 0.0), ask(gate, spans, 0.0, "b"))
        return spans

    assert [begun for begun, _ in run(main())] == [1.0, 3.0]


def test_hosts_with_nothing_to_remember_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_pacing, "MAX_HOSTS", 100)

    async def main() -> None:
        gate, spans = gate_of(1.0), []  # type: ignore[var-annotated]
        gate.close_host("closed", 503, 1e6)
        busy = asyncio.create_task(ask(gate, spans, 1e6, "busy"))
        for number in range(1000):
            await ask(gate, spans, 0.1, str(number))
            assert len(gate.pacing) <= 250
        gate.patience = 1.0
        for host in ("closed", "busy"):
            with pytest.raises(HostClosed):
                await ask(gate, spans, 0.0, host)
        busy.cancel()

    run(main())
