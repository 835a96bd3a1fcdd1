"""Eight crawlers, with deaths and with late and repeated reports: the promises of leases."""

import asyncio
import itertools
from collections import Counter
from pathlib import Path

from service.lease_world import World, crawl
from service.served import Served, served, settings_in
from virtual_time import now, run

HOSTS, EACH, CRAWLERS = 20, 8, 8
SECONDS, LEASE_SECONDS, BUDGET = 240.0, 20.0, 6.0


def test_the_promises_of_leases(tmp_path: Path) -> None:
    world = World({f"h{host}.example": 1.0 + host % 4 for host in range(HOSTS)})
    urls = [f"https://{host}/{page}" for host in world.delays for page in range(EACH)]
    settings = settings_in(
        tmp_path, budget=f"{BUDGET:g}/s", host_delay="1s", lease_time=f"{LEASE_SECONDS:g}s"
    )

    async def main() -> None:
        async with served(settings, urls) as on:
            working = asyncio.create_task(on.run())
            await asyncio.gather(*(crawl(world, on, seed, SECONDS) for seed in range(CRAWLERS)))
            await asyncio.sleep(LEASE_SECONDS + 2.0)
            ended = now()
            assert on.lending.leases.out == 0
            # Everything is in the store, once, and nothing else.
            assert on.store.totals().visits == world.recorded
            assert on.store.check() == []
            assert world.recorded <= BUDGET * ended + 1
            await _check_none_lost(on, len(urls))
            on.engine.stop()
            await working

    run(main())
    assert world.deaths > 10
    counts = Counter(world.answers)
    assert counts["recorded"] > 300
    assert min(counts["duplicate"], counts["superseded"]) > 0
    _check_one_lease_per_page(world)
    _check_delays(world)


async def _check_none_lost(on: Served, pages: int) -> None:
    """Check that every page can be leased again."""
    leased = set[int]()
    for _ in range(1_000):
        lease = await on.api("POST", "/leases", {"limit": 500, "pages_per_host": 9})
        leased.update(page["page"] for page in lease["pages"])
        if len(leased) == pages:
            return
        sent = [{"page": page["page"], "status": 200, "changed": True} for page in lease["pages"]]
        if sent:
            await on.api("POST", "/reports", {"lease": lease["lease"], "reports": sent})
        await asyncio.sleep(5.0)
    raise AssertionError(f"{pages - len(leased)} pages are lost")


def _check_one_lease_per_page(world: World) -> None:
    by_page: dict[int, list[tuple[float, float]]] = {}
    for one in world.granted:
        end = one.deadline if one.reported is None else min(one.reported, one.deadline)
        by_page.setdefault(one.page, []).append((one.at, end))
    for spans in by_page.values():
        for (_, end), (start, _) in itertools.pairwise(sorted(spans)):
            assert start >= end


def _check_delays(world: World) -> None:
    gaps = []
    for host, times in world.asked.items():
        # Before its first report the delay of a host is as set, which is a second.
        known = [at for at in sorted(times) if at >= world.known.get(host, at + 1.0)]
        for earlier, later in itertools.pairwise(known):
            gaps.append((later - earlier) / world.delays[host])
    assert len(gaps) > 300
    assert min(gaps) >= 1.0 - 1e-6
