"""Reports of pages that are not on the lease any more, or never were."""

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest
from service.served import Served, served, settings_in
from virtual_time import run

from recrawl.engine import lease_rows
from recrawl.errors import RecrawlError

URLS = [f"https://h{host}.example/" for host in range(4)]
LEASE_TIME = 60.0


def settings(folder: Path) -> Any:  # noqa: ANN401
    return settings_in(folder, budget="100/s", host_delay="0s", lease_time=f"{LEASE_TIME:g}s")


async def lease(on: Served, limit: int, **query: Any) -> tuple[str, list[int]]:  # noqa: ANN401
    """Lease pages; return the id of the lease, and their numbers."""
    await asyncio.sleep(1.0)
    granted = await on.api("POST", "/leases", {"limit": limit}, **query)
    return granted["lease"], [page["page"] for page in granted["pages"]]


async def report(on: Served, name: str, *pages: int) -> list[str]:
    reports = [{"page": page, "status": 200, "changed": True} for page in pages]
    answered = await on.api("POST", "/reports", {"lease": name, "reports": reports})
    answers: list[str] = answered["answers"]
    return answers


def others(pages: list[int]) -> list[int]:
    return [page for page in range(len(URLS)) if page not in pages]


def test_a_page_that_is_not_on_the_lease_is_refused_by_name(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(settings(tmp_path), URLS) as on:
            name, pages = await lease(on, 1)
            foreign = others(pages)
            assert await report(on, name, *foreign) == 3 * ["not_leased"]
            # Neither does it help to report it together with one that is.
            answers = await report(on, name, foreign[0], *pages, 99)
            assert answers == ["not_leased", "recorded", "unknown"]
            assert on.store.totals().visits == 1
            # The others are as due as before.
            assert set(foreign) <= set((await lease(on, 4))[1])
            assert on.engine.stats.reports == {"not_leased": 4, "recorded": 1, "unknown": 1}

    run(main())


def test_a_late_report_counts_for_the_pages_of_its_lease_alone(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(settings(tmp_path), URLS) as on:
            name, pages = await lease(on, 2)
            await asyncio.sleep(LEASE_TIME + 1.0)
            foreign = others(pages)[0]
            assert await report(on, name, pages[0], foreign) == ["recorded", "not_leased"]
            assert await report(on, name, *pages) == ["duplicate", "recorded"]
            released, pages = await lease(on, 1)
            await on.api("DELETE", f"/leases/{released}")
            assert await report(on, released, *pages, *others(pages)[:1]) == [
                "recorded",
                "not_leased",
            ]

    run(main())


def test_a_late_report_counts_after_a_restart(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(settings(tmp_path), URLS) as on:
            first, pages = await lease(on, 1)
            await asyncio.sleep(LEASE_TIME + 1.0)
            await on.lending.upkeep(on.service.clock.now())
            second, more = await lease(on, 2)
        # As if it had been killed; the second lease ends while nothing runs.
        await asyncio.sleep(LEASE_TIME + 1.0)
        async with served(settings(tmp_path)) as on:
            page = next(page for page in more if page not in pages)
            foreign = others([*pages, *more])[0]
            assert await report(on, first, *pages, foreign) == ["recorded", "not_leased"]
            assert await report(on, second, page, foreign) == ["recorded", "not_leased"]

    run(main())


def test_a_lease_is_forgotten_after_a_day(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(settings(tmp_path), URLS) as on:
            name, pages = await lease(on, 1)
            for seconds, known in ((LEASE_TIME + 1.0, [name]), (lease_rows.LATE_WITHIN / 1e6, [])):
                await asyncio.sleep(seconds)
                # As it does every second.
                await on.lending.upkeep(on.service.clock.now())
                assert [row.id for row in on.store.service.leases()] == known
            assert await report(on, name, *pages) == ["unknown"]

    run(main())


def test_a_report_that_could_not_be_read_may_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def failing(*_: object) -> None:
        raise RecrawlError("cannot start a process to parse pages")

    async def main() -> None:
        async with served(settings(tmp_path), URLS) as on:
            name, pages = await lease(on, 3)
            sent = {"page": pages[0], "status": 200, "changed": True}
            for reported in (pages[:1], pages[1:]):
                reports = [sent | {"page": page} for page in reported]
                with monkeypatch.context() as broken:
                    broken.setattr("recrawl.engine.lending.read_report", failing)
                    body = {"lease": name, "reports": reports}
                    assert (await on.ask("POST", "/api/v1/reports", body)).status == 400
                assert await report(on, name, *reported) == ["recorded"] * len(reported)

    run(main())


def test_the_key_of_a_lease_that_ended_may_be_used_again(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(settings(tmp_path), URLS) as on:
            key = {"idempotency-key": "k1"}
            first, pages = await lease(on, 2, headers=key)
            await asyncio.sleep(LEASE_TIME + 1.0)
            second, _ = await lease(on, 2, headers=key)
            assert second != first
            await asyncio.sleep(LEASE_TIME + 1.0)
            assert (await report(on, first, pages[0]))[0] == "recorded"

    run(main())


def test_a_lease_that_nobody_granted_brings_nothing_in(tmp_path: Path) -> None:
    chance = random.Random(0)  # noqa: S311 - to be repeated

    async def main() -> None:
        async with served(settings(tmp_path), URLS) as on:
            await asyncio.sleep(1.0)
            for _ in range(20):
                forged = f"{chance.randrange(10**6):x}-{chance.randrange(2**64):016x}"
                assert await report(on, forged, 0, 1) == ["unknown", "unknown"]
            assert on.store.totals().visits == 0

    run(main())
