"""Leases and reports: what other crawlers get, and what becomes of what they found."""

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest
from service.served import Served, served, settings_in
from virtual_time import run

from recrawl.engine.reports import Report
from recrawl.errors import RecrawlError, StoreError
from recrawl.records import Outcome, Page
from recrawl.store.access import ServiceTables
from recrawl.store.sqlite import SqliteStore

ONE = "https://a.example/1"


def pages(hosts: int, each: int) -> list[str]:
    return [f"https://h{host}.example/{page}" for host in range(hosts) for page in range(each)]


def found(page: dict[str, Any], **more: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"page": page["page"], "status": 200, "changed": True, **more}


async def report(on: Served, lease: Any, *reports: dict[str, Any]) -> list[str]:  # noqa: ANN401
    answers: list[str] = (
        await on.api("POST", "/reports", {"lease": lease["lease"], "reports": list(reports)})
    )["answers"]
    return answers


def test_a_host_is_leased_once_at_a_time_and_not_before_its_delay(tmp_path: Path) -> None:
    async def main() -> None:
        settings = settings_in(tmp_path, budget="100/s", host_delay="10s")
        async with served(settings, pages(2, 3)) as on:
            await asyncio.sleep(1.0)
            lease = await on.api("POST", "/leases", {"limit": 10})
            assert {page["host"] for page in lease["pages"]} == {"h0.example", "h1.example"}
            assert len(lease["pages"]) == 2
            assert all(page["delay"] == 10.0 for page in lease["pages"])
            await asyncio.sleep(60.0)
            assert (await on.api("POST", "/leases", {"limit": 10}))["pages"] == []
            first = lease["pages"][0]
            assert await report(on, lease, found(first)) == ["recorded"]
            await asyncio.sleep(9.0)
            assert (await on.api("POST", "/leases", {"limit": 10}))["pages"] == []
            await asyncio.sleep(1.5)
            again = await on.api("POST", "/leases", {"limit": 10})
            assert [page["host"] for page in again["pages"]] == [first["host"]]

    run(main())


def test_a_lease_that_ends_is_released_and_its_budget_returned(tmp_path: Path) -> None:
    async def main() -> None:
        settings = settings_in(tmp_path, budget="1/h", host_delay="0s", lease_time="60s")
        async with served(settings, [ONE]) as on:
            lease = await on.api("POST", "/leases", {})
            assert [page["url"] for page in lease["pages"]] == [ONE]
            await asyncio.sleep(59.0)
            assert (await on.api("POST", "/leases", {}))["pages"] == []
            await asyncio.sleep(1.0)
            # Within the hour there is budget for one visit alone: it was returned.
            again = await on.api("POST", "/leases", {})
            assert [page["url"] for page in again["pages"]] == [ONE]
            page = on.store.page(ONE)
            assert page is not None
            assert (page.failures, page.visits) == (0, 0)

    run(main())


def test_a_late_report_counts_unless_somebody_else_has_the_page(tmp_path: Path) -> None:
    async def main() -> None:
        settings = settings_in(tmp_path, budget="100/s", host_delay="0s", lease_time="60s")
        async with served(settings, [ONE]) as on:
            await asyncio.sleep(1.0)
            first = await on.api("POST", "/leases", {})
            await asyncio.sleep(61.0)
            second = await on.api("POST", "/leases", {})
            page = first["pages"][0]
            assert second["pages"][0]["page"] == page["page"]
            assert await report(on, first, found(page)) == ["superseded"]
            await asyncio.sleep(61.0)
            assert await report(on, second, found(page)) == ["recorded"]
            assert await report(on, first, found(page)) == ["duplicate"]
            assert await report(on, second, found(page)) == ["duplicate"]
            assert on.store.totals().visits == 1

    run(main())


def test_a_report_may_be_repeated(tmp_path: Path) -> None:
    async def main() -> None:
        settings = settings_in(tmp_path, budget="100/s", host_delay="0s")
        async with served(settings, pages(3, 1)) as on:
            await asyncio.sleep(1.0)
            lease = await on.api("POST", "/leases", {})
            reports = [found(page) for page in lease["pages"]]
            assert await report(on, lease, *reports, reports[0]) == [*3 * ["recorded"], "duplicate"]
            assert await report(on, lease, *reports) == 3 * ["duplicate"]
            assert on.store.totals().visits == 3
            unknown = {"page": 99, "status": 200, "changed": True}
            assert await report(on, lease, unknown) == ["unknown"]
            assert await report(on, {"lease": "nonsense"}, unknown) == ["unknown"]

    run(main())


def test_two_reports_of_the_same_at_once_are_recorded_once(tmp_path: Path) -> None:
    async def main() -> None:
        settings = settings_in(tmp_path, budget="100/s", host_delay="0s", lease_time="10s")
        async with served(settings, [ONE]) as on:
            await asyncio.sleep(1.0)
            lease = await on.api("POST", "/leases", {})
            for late in (0.0, 20.0):
                await asyncio.sleep(late)
                made = [report(on, lease, found(lease["pages"][0])) for _ in range(3)]
                answers = [answer for (answer,) in await asyncio.gather(*made)]
                assert answers.count("recorded") == (1 if late == 0.0 else 0)
                assert set(answers) <= {"recorded", "duplicate"}
            assert on.store.totals().visits == 1

    run(main())


def test_an_unanswered_request_is_repeated_with_its_key(tmp_path: Path) -> None:
    async def main() -> None:
        settings = settings_in(tmp_path, budget="100/s", host_delay="0s")
        async with served(settings, pages(4, 1)) as on:
            await asyncio.sleep(1.0)
            key = {"idempotency-key": "k1"}
            first = await on.api("POST", "/leases", {"limit": 2}, headers=key)
            again = await on.api("POST", "/leases", {"limit": 2}, headers=key)
            other = await on.api("POST", "/leases", {"limit": 2}, headers={"idempotency-key": "k2"})
            assert again["lease"] == first["lease"]
            assert sorted(page["page"] for page in again["pages"]) == sorted(
                page["page"] for page in first["pages"]
            )
            assert {page["page"] for page in other["pages"]}.isdisjoint(
                page["page"] for page in first["pages"]
            )

    run(main())


def test_a_request_that_is_repeated_before_it_is_answered_gets_the_same_lease(
    tmp_path: Path,
) -> None:
    async def main() -> None:
        settings = settings_in(tmp_path, budget="100/s", host_delay="0s")
        async with served(settings, pages(4, 1)) as on:
            await asyncio.sleep(1.0)
            ask = [
                on.api("POST", "/leases", {"limit": 2}, headers={"idempotency-key": "k1"})
                for _ in range(3)
            ]
            leases = await asyncio.gather(*ask)
            assert len({lease["lease"] for lease in leases}) == 1
            assert on.lending.leases.out == 2

    run(main())


def test_a_report_that_cannot_be_read_leaves_its_pages_due(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        settings = settings_in(tmp_path, budget="100/s", host_delay="0s")
        async with served(settings, pages(2, 2)) as on:
            await asyncio.sleep(1.0)
            lease = await on.api("POST", "/leases", {"limit": 4, "pages_per_host": 2})
            with monkeypatch.context() as broken:
                broken.setattr("recrawl.engine.lending.read_report", failing)
                with pytest.raises(RecrawlError):
                    await on.lending.report(
                        lease["lease"], [Report(p["page"], 200, body=b"") for p in lease["pages"]]
                    )
            assert on.lending.leases.out == 0
            await asyncio.sleep(1.0)
            again = await on.api("POST", "/leases", {"limit": 4, "pages_per_host": 2})
            assert sorted(p["page"] for p in again["pages"]) == sorted(
                p["page"] for p in lease["pages"]
            )

    async def failing(*_: object) -> None:
        raise RecrawlError("cannot start a process to parse pages")

    run(main())


def test_a_report_that_the_store_cannot_check_leaves_its_pages_due(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> set[int]:
        raise StoreError("the disk is full")

    async def main() -> None:
        settings = settings_in(tmp_path, budget="100/s", host_delay="0s")
        async with served(settings, pages(2, 2)) as on:
            await asyncio.sleep(1.0)
            lease = await on.api("POST", "/leases", {"limit": 3, "pages_per_host": 2})
            numbers = [page["page"] for page in lease["pages"]]
            other = next(number for number in range(4) if number not in numbers)
            reports = [found({"page": number}) for number in (*numbers, other)]
            with monkeypatch.context() as broken:
                broken.setattr(ServiceTables, "visited_since", failing)
                sent = {"lease": lease["lease"], "reports": reports}
                assert (await on.ask("POST", "/api/v1/reports", sent)).status == 503
            await asyncio.sleep(1.0)
            again = await on.api("POST", "/leases", {"limit": 4, "pages_per_host": 2})
            assert {page["page"] for page in again["pages"]} >= set(numbers)

    run(main())


def test_a_lease_that_cannot_be_filled_leaves_its_pages_due(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = list[int]()

    def failing_later(store: SqliteStore, numbers: list[int]) -> dict[int, Page]:
        calls.append(len(numbers))
        if len(calls) > 1:
            raise StoreError("the disk is full")
        return real(store, numbers)

    real = SqliteStore.pages

    async def main() -> None:
        settings = settings_in(tmp_path, budget="100/s", host_delay="0s")
        async with served(settings, pages(2, 6)) as on:
            await asyncio.sleep(1.0)
            with monkeypatch.context() as broken:
                broken.setattr(SqliteStore, "pages", failing_later)
                assert (await on.ask("POST", "/api/v1/leases", {"limit": 6})).status == 503
            assert len(calls) > 1
            await asyncio.sleep(1.0)
            again = await on.api("POST", "/leases", {"limit": 6})
            assert {page["host"] for page in again["pages"]} == {"h0.example", "h1.example"}

    run(main())


@pytest.mark.parametrize("lease", ["0x1f-0123456789abcdef", "1_0-0123456789abcdef", "1f-a"])
def test_a_lease_that_was_never_granted_is_unknown(tmp_path: Path, lease: str) -> None:
    async def main() -> None:
        async with served(settings_in(tmp_path), [ONE]) as on:
            assert await report(on, {"lease": lease}, found({"page": 1})) == ["unknown"]

    run(main())


def test_leases_outlive_the_service(tmp_path: Path) -> None:
    async def main() -> None:
        settings = settings_in(tmp_path, budget="100/s", host_delay="0s", lease_time="60s")
        async with served(settings, pages(4, 1)) as on:
            await asyncio.sleep(1.0)
            lease = await on.api("POST", "/leases", {"limit": 2})
            await report(on, lease, found(lease["pages"][0]))
        # As if it had been killed: nothing is done at its end.
        async with served(settings) as on:
            await asyncio.sleep(1.0)
            others = await on.api("POST", "/leases", {"limit": 9})
            leased = {page["page"] for page in lease["pages"]}
            unreported = lease["pages"][1]
            assert unreported["page"] not in {page["page"] for page in others["pages"]}
            assert len({page["page"] for page in others["pages"]} - leased) == 2
            answers = await report(on, lease, *map(found, lease["pages"]))
            assert answers == ["duplicate", "recorded"]
            assert on.store.totals().visits == 2

    run(main())


@pytest.mark.parametrize(
    ("first", "then", "outcome"),
    [
        ({"changed": True}, {"changed": False}, Outcome.UNCHANGED),
        ({"changed": True}, {"changed": True}, Outcome.CHANGED),
        ({"digest": "a"}, {"digest": "a"}, Outcome.UNCHANGED),
        ({"digest": "a"}, {"digest": "b"}, Outcome.CHANGED),
        ({"digest": "a"}, {"status": 304}, Outcome.UNCHANGED),
        ({"digest": "a"}, {"status": 404}, Outcome.GONE),
        ({"digest": "a"}, {"status": 0, "error": "timed out"}, Outcome.FAILED),
        ({"digest": "a"}, {"status": 503}, Outcome.FAILED),
        ({"body": "<p>One"}, {"body": "<p>One"}, Outcome.UNCHANGED),
        ({"body": "<p>One"}, {"body": "<p>Two"}, Outcome.CHANGED),
        ({"body": "<p>One"}, {"body": "<p>One<!-- -->"}, Outcome.UNCHANGED),
    ],
)
def test_what_a_report_means(
    tmp_path: Path, first: dict[str, Any], then: dict[str, Any], outcome: Outcome
) -> None:
    def as_report(page: int, given: dict[str, Any]) -> dict[str, Any]:
        body = given.get("body")
        encoded = {} if body is None else {"body": base64.b64encode(body.encode()).decode()}
        html = {} if body is None else {"content_type": "text/html"}
        return {"page": page, "status": 200, **given, **encoded, **html}

    async def main() -> None:
        settings = settings_in(tmp_path, budget="100/s", host_delay="0s")
        async with served(settings, [ONE]) as on:
            for given in (first, then):
                await asyncio.sleep(86_400.0)
                lease = await on.api("POST", "/leases", {})
                (page,) = lease["pages"]
                assert await report(on, lease, as_report(page["page"], given)) == ["recorded"]
            visits = on.store.history(page["page"], 9)
            assert [visit.outcome for visit in visits] == [outcome, Outcome.FIRST]
            changes = await on.api("GET", "/changes", since="0")
            kinds = [change["kind"] for change in changes["changes"]]
            assert kinds == (["new", "changed"] if outcome is Outcome.CHANGED else ["new"])
            assert on.store.check() == []

    run(main())


@pytest.mark.parametrize(
    "url", ["http://[", "HTTPS://A.example:443/1", "no URL", "https://b.example/"]
)
def test_where_redirects_ended_may_be_anything(tmp_path: Path, url: str) -> None:
    async def main() -> None:
        async with served(settings_in(tmp_path, budget="100/s"), [ONE]) as on:
            await asyncio.sleep(1.0)
            lease = await on.api("POST", "/leases", {})
            body = base64.b64encode(b"<p>A page.").decode()
            reported = {"page": lease["pages"][0]["page"], "status": 200, "body": body, "url": url}
            assert await report(on, lease, reported) == ["recorded"]
            (visit,) = (await on.api("GET", "/page", url=ONE))["visits"]
            assert visit["redirect"] == (url if url == "https://b.example/" else None)

    run(main())


def test_a_page_that_was_found_needs_to_be_told_apart(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(settings_in(tmp_path, budget="100/s"), [ONE]) as on:
            await asyncio.sleep(1.0)
            lease = await on.api("POST", "/leases", {})
            assert await report(on, lease, {"page": 0, "status": 200}) == ["unclear"]
            assert await report(on, lease, found(lease["pages"][0])) == ["recorded"]

    run(main())


def test_robots_delays_are_kept_as_reported(tmp_path: Path) -> None:
    async def main() -> None:
        settings = settings_in(tmp_path, budget="100/s", host_delay="1s", max_crawl_delay="20s")
        async with served(settings, pages(1, 5)) as on:
            await asyncio.sleep(1.0)
            lease = await on.api("POST", "/leases", {})
            await report(on, lease, found(lease["pages"][0], crawl_delay=600.0))
            await asyncio.sleep(19.0)
            assert (await on.api("POST", "/leases", {}))["pages"] == []
            await asyncio.sleep(2.0)
            lease = await on.api("POST", "/leases", {})
            assert [page["delay"] for page in lease["pages"]] == [20.0]
        async with served(settings) as on:
            (host,) = (await on.api("GET", "/hosts"))["hosts"]
            assert host["delay"] == 20.0

    run(main())


def test_a_host_that_asks_to_wait_is_left_alone_also_after_a_restart(tmp_path: Path) -> None:
    async def main() -> None:
        settings = settings_in(tmp_path, budget="100/s", host_delay="1s")
        async with served(settings, pages(1, 5)) as on:
            working = asyncio.create_task(on.run())
            await asyncio.sleep(1.0)
            lease = await on.api("POST", "/leases", {})
            refused = {"page": lease["pages"][0]["page"], "status": 429, "retry_after": 30_000.0}
            assert await report(on, lease, refused) == ["recorded"]
            await asyncio.sleep(140.0)
            assert (await on.api("POST", "/leases", {}))["pages"] == []
            (before,) = (await on.api("GET", "/hosts"))["hosts"]
            on.engine.stop()
            await working
        async with served(settings) as on:
            (after,) = (await on.api("GET", "/hosts"))["hosts"]
            assert after["closed_until"] == before["closed_until"] is not None
            await asyncio.sleep(15_000.0)
            assert (await on.api("POST", "/leases", {}))["pages"] == []
            await asyncio.sleep(20_000.0)
            assert len((await on.api("POST", "/leases", {}))["pages"]) == 1
            (reopened,) = (await on.api("GET", "/hosts"))["hosts"]
            assert reopened["closed_until"] is None

    run(main())


def test_limits_on_hosts_and_pages(tmp_path: Path) -> None:
    async def main() -> None:
        settings = settings_in(tmp_path, budget="1000/s", host_delay="0s")
        async with served(settings, pages(6, 10)) as on:
            await asyncio.sleep(1.0)
            wish: dict[str, Any] = {"limit": 50, "max_hosts": 2, "pages_per_host": 3}
            lease = await on.api("POST", "/leases", wish)
            hosts = [page["host"] for page in lease["pages"]]
            assert len(set(hosts)) == 2
            assert all(hosts.count(host) <= 3 for host in hosts)
            others = sorted({f"h{number}.example" for number in range(6)} - set(hosts))[:2]
            wish = {"limit": 50, "hosts": others, "pages_per_host": 50}
            lease = await on.api("POST", "/leases", wish)
            assert {page["host"] for page in lease["pages"]} <= set(others)
            assert lease["pages"]
            unknown = await on.api("POST", "/leases", {"hosts": ["nowhere.example"]})
            assert unknown["pages"] == []

    run(main())


def test_a_page_removed_while_it_is_out_is_not_recorded(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(settings_in(tmp_path, budget="100/s"), pages(2, 1)) as on:
            await asyncio.sleep(1.0)
            lease = await on.api("POST", "/leases", {})
            gone = lease["pages"][0]
            removed = await on.api("POST", "/pages/remove", {"urls": [gone["url"]]})
            assert removed == {"removed": 1}
            await on.engine._discovery.apply_edits(0)  # noqa: SLF001
            answers = await report(on, lease, *map(found, lease["pages"]))
            assert answers == ["recorded", "recorded"]
            assert on.store.totals().visits == 1
            assert on.store.check() == []

    run(main())


def test_a_page_that_is_out_is_not_leased_again_when_it_is_time_to_check_it(tmp_path: Path) -> None:
    day = 86_400_000_000

    async def main() -> None:
        gone = {"gone_after": "1", "gone_after_time": "0s"}
        settings = settings_in(tmp_path, budget="100/s", host_delay="0s", **gone)
        async with served(settings, [ONE]) as on:
            await asyncio.sleep(1.0)
            missing = {"page": 0, "status": 404}
            lease = await on.api("POST", "/leases", {})
            assert await report(on, lease, missing) == ["recorded"]
            assert 0 not in on.frontier
            waking = on.engine._waking  # noqa: SLF001
            await waking.wake(100 * day)
            lease = await on.api("POST", "/leases", {})
            assert [page["page"] for page in lease["pages"]] == [0]
            await waking.wake(102 * day)
            assert (await on.api("POST", "/leases", {}))["pages"] == []
            await asyncio.sleep(1.0)
            assert await report(on, lease, found(missing)) == ["recorded"]
            assert on.store.totals().visits == 2
            # It did not wait for its host meanwhile.
            await asyncio.sleep(1.0)
            assert (await on.api("POST", "/leases", {}))["pages"] == []

    run(main())
