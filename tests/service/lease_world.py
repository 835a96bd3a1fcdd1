"""Eight crawlers that die, dawdle and repeat themselves, and the log of what they did."""

import asyncio
import random
from dataclasses import dataclass, field
from typing import Any

from service.served import Served
from virtual_time import now


@dataclass
class Granted:
    """A page on a lease, as the crawler that asked for it was told."""

    page: int
    host: str
    at: float
    deadline: float
    reported: float | None = None


@dataclass
class World:
    """What was asked for and granted.

    Attributes:
        asked: When each host was asked, by which crawler.
        granted: Pages that were leased.
        answers: What reports were answered.
        recorded: Pages whose report was answered "recorded".
        delays: Seconds between two requests that the robots.txt of hosts asks for.
        known: When the service was first told that.
        deaths: How often a crawler stopped without a word.
    """

    delays: dict[str, float]
    asked: dict[str, list[float]] = field(default_factory=dict)
    granted: list[Granted] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    known: dict[str, float] = field(default_factory=dict)
    recorded: int = 0
    deaths: int = 0


async def crawl(world: World, on: Served, seed: int, until: float) -> None:
    """Lease, visit and report until a time; die, dawdle and repeat now and then."""
    chance = random.Random(seed)  # noqa: S311 - to be repeated
    while now() < until:
        wish = {"limit": chance.randint(1, 12), "pages_per_host": chance.randint(1, 3)}
        lease = await on.api("POST", "/leases", wish, token="crawl")  # noqa: S106 - the name of one
        began = now()
        deadline = began + on.service.settings.lease_time
        granted = [Granted(page["page"], page["host"], began, deadline) for page in lease["pages"]]
        world.granted += granted
        if not granted:
            await asyncio.sleep(chance.uniform(0.1, 2.0))
            continue
        if chance.random() < 0.05:
            # Dead before it began; another takes its place some time later.
            world.deaths += 1
            await asyncio.sleep(chance.uniform(0.0, 40.0))
            continue
        await _visit_all(world, on, chance, lease, granted)


async def _visit_all(
    world: World,
    on: Served,
    chance: random.Random,
    lease: Any,  # noqa: ANN401
    granted: list[Granted],
) -> None:
    last_asked: dict[str, float] = {}
    reports: list[dict[str, Any]] = []
    for page, one in zip(lease["pages"], granted, strict=True):
        # It has read robots.txt, which the service may not know yet.
        opens = last_asked.get(one.host, -1e9) + max(page["delay"], world.delays[one.host])
        await asyncio.sleep(max(opens - now(), 0.0) + chance.uniform(0.0, 0.2))
        if now() >= one.deadline:
            break
        last_asked[one.host] = now()
        world.asked.setdefault(one.host, []).append(now())
        reports.append(
            {
                "page": page["page"],
                "status": 200,
                "changed": chance.random() < 0.3,
                "crawl_delay": world.delays[one.host],
            }
        )
        if chance.random() < 0.03:
            world.deaths += 1
            return
        if chance.random() < 0.03:
            # So long that the lease may have ended.
            await asyncio.sleep(chance.uniform(10.0, 60.0))
        if chance.random() < 0.3:
            await _report(world, on, lease, granted, reports)
            if chance.random() < 0.7:
                reports = []
    if reports:
        await asyncio.gather(
            *(_report(world, on, lease, granted, reports) for _ in range(chance.randint(1, 2)))
        )


async def _report(
    world: World,
    on: Served,
    lease: Any,  # noqa: ANN401
    granted: list[Granted],
    reports: list[dict[str, Any]],
) -> None:
    if not reports:
        return
    sent = {"lease": lease["lease"], "reports": reports}
    answered = await on.api("POST", "/reports", sent, token="crawl")  # noqa: S106
    by_page = {one.page: one for one in granted}
    for one, answer in zip(reports, answered["answers"], strict=True):
        world.answers.append(answer)
        if answer == "recorded":
            world.recorded += 1
            page = by_page[one["page"]]
            page.reported = now()
            world.known.setdefault(page.host, now())
