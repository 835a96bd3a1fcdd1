"""What the API answers: pages, changes, plans, budget, settings and metrics."""

import asyncio
from pathlib import Path
from typing import Any, get_args

from service.served import Served, served, settings_in
from virtual_time import run

from recrawl.inspect.pages import ORDERS, STATES
from recrawl.service.api.pages import OrderName, StateName
from recrawl.service.models.bodies import utc

URLS = [f"https://h{host}.example/{page}" for host in range(3) for page in range(4)]


async def crawl_all(on: Served, rounds: int, **found: Any) -> None:  # noqa: ANN401
    """Visit every page, some days apart."""
    for _ in range(rounds):
        await asyncio.sleep(86_400.0)
        seen = set[int]()
        while len(seen) < len(on.frontier):
            lease = await on.api("POST", "/leases", {"pages_per_host": 99})
            reports = [{"page": page["page"], "status": 200, **found} for page in lease["pages"]]
            seen.update(page["page"] for page in lease["pages"])
            if reports:
                await on.api("POST", "/reports", {"lease": lease["lease"], "reports": reports})
            await asyncio.sleep(1.0)


def test_pages_are_listed_as_the_command_line_lists_them(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(settings_in(tmp_path, host_delay="0s", budget="100/s"), URLS) as on:
            await crawl_all(on, 2, changed=True)
            found = await on.api("GET", "/pages", order="url", limit=5)
            assert found["found"] == len(URLS)
            assert [page["url"] for page in found["pages"]] == sorted(URLS)[:5]
            rest = await on.api("GET", "/pages", order="url", limit=5, offset=5)
            assert [page["url"] for page in rest["pages"]] == sorted(URLS)[5:10]
            back = await on.api("GET", "/pages", order="url", reverse="true", limit=3)
            assert [page["url"] for page in back["pages"]] == sorted(URLS)[:-4:-1]
            some = await on.api("GET", "/pages", text="h1.example/", host="h1.example")
            assert {page["host"] for page in some["pages"]} == {"h1.example"}
            assert some["found"] == 4
            assert all(page["change_rate"] > 0.0 for page in some["pages"])
            none = await on.api("GET", "/pages", state="gone")
            assert none["found"] == 0

    run(main())


def test_counts_agree_with_one_another(tmp_path: Path) -> None:
    """Status, hosts and lists mean the same by a page, and by one that fails."""

    async def main() -> None:
        async with served(settings_in(tmp_path, host_delay="0s", budget="100/s"), URLS) as on:
            await crawl_all(on, 1, changed=True)
            await asyncio.sleep(86_400.0)
            lease = await on.api("POST", "/leases", {"pages_per_host": 99})
            ends = [{"status": 0, "disallowed": True}, {"status": 404}, {"status": 503}]
            reports = [
                {"page": page["page"], **end}
                for page, end in zip(lease["pages"], ends, strict=False)
            ]
            await on.api("POST", "/reports", {"lease": lease["lease"], "reports": reports})
            await asyncio.sleep(1.0)
            status = await on.api("GET", "/status")
            hosts = (await on.api("GET", "/hosts"))["hosts"]
            counted = {
                key: sum(host[key] for host in hosts)
                for key in ("pages", "missing", "gone", "refused", "failing")
            }
            assert counted == {key: status[key] for key in counted}
            assert status["pages"] == len(URLS) == status["kept_fresh"] + 1
            assert (await on.api("GET", "/pages"))["found"] == len(URLS)
            assert (status["refused"], status["missing"], status["failing"]) == (1, 1, 1)
            failing = await on.api("GET", "/pages", failing="true", state="alive")
            assert failing["found"] == status["failing"]

    run(main())


def test_what_the_description_lists_is_what_there_is() -> None:
    assert get_args(OrderName) == ORDERS
    assert get_args(StateName) == tuple(STATES)


def test_a_page_is_explained(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(settings_in(tmp_path, host_delay="0s", budget="100/s"), URLS) as on:
            await crawl_all(on, 3, changed=True)
            page = await on.api("GET", "/page", url=URLS[0])
            assert page["change_rate_low"] < page["change_rate"] < page["change_rate_high"]
            assert 0.0 <= page["stale"] <= 1.0
            assert "The copy is" in page["why"]
            assert [visit["outcome"] for visit in page["visits"]] == ["changed", "changed", "first"]
            missing = await on.ask("GET", "/api/v1/page", url="https://nowhere.example/")
            assert missing.status == 404
            assert missing.headers["content-type"] == "application/problem+json"

    run(main())


def test_pages_are_added_changed_and_removed(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(settings_in(tmp_path)) as on:
            working = asyncio.create_task(on.run())
            pages = [{"url": "HTTP://A.example"}, {"url": "https://a.example/2", "importance": 3}]
            added = await on.api("POST", "/pages", {"pages": [*pages, {"url": "ftp://a.example/"}]})
            assert (added["new"], len(added["problems"])) == (2, 1)
            await asyncio.sleep(2.0)
            assert (await on.api("GET", "/status"))["pages"] == 2
            changed = await on.api("PATCH", "/page", {"importance": 7}, url="http://a.example/")
            assert changed["importance"] == 7.0
            removed = await on.api("POST", "/pages/remove", {"urls": ["https://a.example/2", "?"]})
            assert removed == {"removed": 1}
            await asyncio.sleep(2.0)
            assert (await on.api("GET", "/status"))["pages"] == 1
            on.engine.stop()
            await working

    run(main())


def test_a_page_to_recheck_is_leased_next(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(settings_in(tmp_path, host_delay="0s", budget="100/s"), URLS) as on:
            await crawl_all(on, 2, changed=False)
            await on.api("PUT", "/budget", {"budget": 1000})
            for url in (URLS[7], URLS[2]):
                told = await on.api("POST", "/page/recheck", url=url)
                assert told["next_visit"] == utc(on.service.clock.now()).isoformat().replace(
                    "+00:00", "Z"
                )
                assert "Somebody asked for a visit" in told["why"]
                await asyncio.sleep(100.0)
                lease = await on.api("POST", "/leases", {"limit": 1})
                assert [page["url"] for page in lease["pages"]] == [url]
                sent = [{"page": lease["pages"][0]["page"], "status": 200, "changed": False}]
                await on.api("POST", "/reports", {"lease": lease["lease"], "reports": sent})
                told = await on.api("GET", "/page", url=url)
                assert "Somebody" not in told["why"]
            # Once it was visited it is in no hurry any more.
            await asyncio.sleep(100.0)
            lease = await on.api("POST", "/leases", {"limit": 1})
            assert lease["pages"][0]["url"] not in {URLS[7], URLS[2]}

    run(main())


def test_a_signal_brings_a_visit_forward(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(settings_in(tmp_path, host_delay="0s", budget="1000/day"), URLS) as on:
            await crawl_all(on, 2, changed=False)
            frontier = on.frontier.frontier
            page = on.store.page(URLS[5])
            assert page is not None
            before = frontier.due([page.number])[0]
            signals = [{"url": URLS[5], "probability": 0.99}, {"url": "https://no.example/"}]
            assert await on.api("POST", "/signals", {"signals": signals}) == {"known": 1}
            assert frontier.due([page.number])[0] < before
            certain = [{"url": URLS[5], "probability": 1}]
            assert await on.api("POST", "/signals", {"signals": certain}) == {"known": 1}

    run(main())


def test_changes_are_read_waited_for_and_streamed(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(settings_in(tmp_path, host_delay="0s", budget="100/s"), URLS[:2]) as on:
            assert await on.api("GET", "/changes") == {"cursor": "0", "changes": []}
            waiting = asyncio.create_task(on.api("GET", "/changes", since="0", wait=30))
            await asyncio.sleep(5.0)
            assert not waiting.done()
            await crawl_all(on, 1, digest="a")
            found = (await waiting)["changes"]
            assert [change["kind"] for change in found] == ["new"] * len(found)
            cursor = (await on.api("GET", "/changes", since="0"))["cursor"]
            assert (await on.api("GET", "/changes", since=cursor, wait=2))["changes"] == []
            far = await on.ask("GET", "/api/v1/changes", since="999")
            assert (far.status, "not from this store" in far.json["detail"]) == (409, True)
            on.service.stopping.set()
            headers = {"last-event-id": "0"}
            stream = await on.ask("GET", "/api/v1/changes/stream", headers=headers)
            assert stream.headers["content-type"].startswith("text/event-stream")

    run(main())


def test_a_plan_rises_with_the_budget(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(settings_in(tmp_path, host_delay="0s", budget="10/day"), URLS) as on:
            plan = await on.api("GET", "/plan", budget=[5, 10, 20])
            points = [point["freshness"] for point in plan["plan"]]
            assert plan["now"] == plan["plan"][1]
            assert 0.0 < points[0] < points[1] < points[2] <= 1.0
            assert len((await on.api("GET", "/plan"))["plan"]) == 5

    run(main())


def test_the_budget_can_be_changed_while_it_runs(tmp_path: Path) -> None:
    async def main() -> None:
        slow = settings_in(tmp_path, host_delay="0s", budget="24/day", first_fill="budget")
        async with served(slow, URLS) as on:
            for _ in range(2):
                lease = await on.api("POST", "/leases", {"limit": 9})
                assert len(lease["pages"]) == 1
                sent = [{"page": lease["pages"][0]["page"], "status": 200, "changed": False}]
                await on.api("POST", "/reports", {"lease": lease["lease"], "reports": sent})
                await asyncio.sleep(3_600.0)
            assert len((await on.api("POST", "/leases", {"limit": 9}))["pages"]) == 1
            assert await on.api("PUT", "/budget", {"budget": 240.0}) == {"budget": 240.0}
            await asyncio.sleep(3_600.0)
            # One of them is the page whose lease has ended.
            lease = await on.api("POST", "/leases", {"limit": 99, "pages_per_host": 9})
            assert len(lease["pages"]) == 11
            assert on.store.meta("budget") == "240.0"

    run(main())


def test_settings_are_shown_without_secrets(tmp_path: Path) -> None:
    async def main() -> None:
        settings = settings_in(
            tmp_path,
            proxy="http://me:secret-word@proxy.example:3128",
            on_change="notify --key secret-word",
        )
        async with served(settings) as on:
            answered = await on.ask("GET", "/api/v1/settings")
            assert b"secret-word" not in answered.body
            assert b"notify" in answered.body
            names = {one["name"]: one["value"] for one in answered.json["settings"]}
            assert names["host_delay"] == 1.0

    run(main())


def test_a_visit_that_no_calendar_has_a_date_for_never_comes(tmp_path: Path) -> None:
    async def main() -> None:
        url = "https://a.example/"
        settings = settings_in(tmp_path, budget="100/s", min_interval="10000y")
        async with served(settings, [url]) as on:
            await asyncio.sleep(1.0)
            lease = await on.api("POST", "/leases", {})
            found = {"page": lease["pages"][0]["page"], "status": 200, "changed": True}
            await on.api("POST", "/reports", {"lease": lease["lease"], "reports": [found]})
            await asyncio.sleep(5.0)
            (listed,) = (await on.api("GET", "/pages"))["pages"]
            assert listed["next_visit"] is None
            shown = await on.api("GET", "/page", url=url)
            assert shown["next_visit"] is None
            assert shown["why"]

    run(main())


def test_a_repeated_request_is_answered_as_before(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(settings_in(tmp_path)) as on:
            key = {"idempotency-key": "once"}
            body = {"pages": [{"url": "https://a.example/"}]}
            first = await on.ask("POST", "/api/v1/pages", body, headers=key)
            again = await on.ask("POST", "/api/v1/pages", body, headers=key)
            assert first.json["new"] == again.json["new"] == 1
            without = await on.ask("POST", "/api/v1/pages", body)
            assert without.json["new"] == 0
            other = {"pages": [{"url": "https://b.example/"}]}
            reused = await on.ask("POST", "/api/v1/pages", other, headers=key)
            assert reused.status == 422
            # The key of somebody else is another key.
            theirs = await on.ask("POST", "/api/v1/pages", other, headers=key, token="crawl")  # noqa: S106
            assert theirs.json["new"] == 1

    run(main())
