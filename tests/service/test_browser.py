"""The demo in a real browser: what moves, what is asked for, and who can use it."""

import asyncio
import os
import re
import shutil
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import HTTPCookieProcessor, build_opener

import pytest
from acceptance import program

pytest.importorskip("fastapi", reason="the service needs recrawl[serve]")
pytest.importorskip("jinja2", reason="the service needs recrawl[serve]")

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

#: Set where a browser was installed for these tests: then they may not be skipped.
REQUIRED = "RECRAWL_TEST_BROWSER"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
ARGUMENTS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync"
).split()
#: Milliseconds after which something that should happen is taken not to: far more than it takes.
PATIENCE = 120_000.0
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}
PATHS = ("/", "/pages?order=rate", "/changes", "/hosts", "/budget", "/settings", "/docs")
CLIENTS = 100


@dataclass
class Demo:
    """A demo that is served.

    Attributes:
        url: Where.
        cookie: Of a session.
    """

    url: str
    cookie: str


@pytest.fixture(scope="module")
def demo() -> Iterator[Demo]:
    arguments = ("demo", "--serve", "--seconds", "3600", "--pages", "60")
    with program.start(*arguments) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"(http://\S+)/login\?code=\S+", process.stdout.readline())
            assert found is not None
            opener = build_opener(jar := HTTPCookieProcessor())
            with opener.open(found[0]) as answer:
                assert answer.status == 200
            (cookie,) = jar.cookiejar
            yield Demo(found[1], f"{cookie.name}={cookie.value}")
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=program.HANGS)


@dataclass
class Watched:
    """A page, and all that a browser complained about while it was shown."""

    page: "Page"
    problems: list[str] = field(default_factory=list)

    def watch(self, own: str) -> None:
        """Note errors, and requests to others."""

        def console(message: Any) -> None:  # noqa: ANN401 - of Playwright
            if message.type in {"error", "warning"}:
                self.problems.append(f"console: {message.text}")

        def asked(request: Any) -> None:  # noqa: ANN401 - of Playwright
            if not request.url.startswith((own, "data:")):
                self.problems.append(f"request to another host: {request.url}")

        def answered(response: Any) -> None:  # noqa: ANN401 - of Playwright
            if response.status >= 400:
                self.problems.append(f"{response.status}: {response.url}")

        self.page.on("console", console)
        self.page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        self.page.on("request", asked)
        self.page.on("response", answered)


def skip_unless(there: object, why: str) -> None:
    """Skip, or fail where a browser was installed for these tests."""
    if not there:
        if os.environ.get(REQUIRED):
            pytest.fail(f"{REQUIRED} is set, but {why}")
        pytest.skip(why)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    skip_unless(CHROMIUM, "there is no Chromium; install it: apt-get install chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        skip_unless(None, "playwright is not installed")
    with sync_playwright() as playwright:
        # It makes a folder of its own for its user's data.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@contextmanager
def opened(chromium: Any, demo: Demo, size: str, scheme: str) -> Iterator["BrowserContext"]:  # noqa: ANN401
    """Open a profile of its own, which is logged in."""
    width, height = SIZES[size]
    name, _, value = demo.cookie.partition("=")
    context: BrowserContext = chromium.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme
    )
    try:
        context.set_default_timeout(PATIENCE)
        host = urlsplit(demo.url).hostname or ""
        context.add_cookies([{"name": name, "value": value, "domain": host, "path": "/"}])
        yield context
    finally:
        context.close()


def watched(context: "BrowserContext", demo: Demo) -> Watched:
    """Return the first page of a browser, which is watched."""
    found = Watched(context.new_page())
    found.watch(demo.url)
    return found


def until(page: "Page", expression: str) -> None:
    """Wait until an expression holds; Playwright's own way is what the policy forbids."""
    end = time.monotonic() + PATIENCE / 1_000
    while not page.evaluate(expression):
        assert time.monotonic() < end, expression
        page.wait_for_timeout(100.0)


def test_the_chart_moves_while_the_demo_runs(chromium: Any, demo: Demo) -> None:  # noqa: ANN401
    with opened(chromium, demo, "desktop", "light") as context:
        seen = watched(context, demo)
        page = seen.page
        page.goto(demo.url)
        page.wait_for_selector("[data-chart=freshness] canvas")
        points = (
            "[...Charts.drawn].find(([e]) => e.dataset.chart === 'freshness')[1].data[0].length"
        )
        pixels = "document.querySelector('[data-chart=freshness] canvas').toDataURL()"
        before, drawn = page.evaluate(points), page.evaluate(pixels)
        until(page, f"{points} >= {before + 2}")
        assert page.evaluate(pixels) != drawn
        shown = page.text_content("[data-live=visits]")
        until(page, f"document.querySelector('[data-live=visits]').textContent !== '{shown}'")
        # What was drawn once is not drawn from anew, and what comes is drawn in the other theme.
        page.click("#theme")
        assert page.get_attribute("html", "data-theme") == "dark"
        assert page.evaluate(pixels) != drawn
        page.reload()
        assert page.get_attribute("html", "data-theme") == "dark"
        assert seen.problems == []


def test_changes_stream_pause_and_show_what_changed(chromium: Any, demo: Demo) -> None:  # noqa: ANN401
    with opened(chromium, demo, "desktop", "light") as context:
        seen = watched(context, demo)
        page = seen.page
        page.goto(f"{demo.url}/changes")
        page.wait_for_selector(".fresh-change")
        page.click("#pause")
        first = page.text_content(".change .url")
        until(page, "waiting.length > 0")
        assert page.text_content(".change .url") == first
        until(page, "document.querySelector('.changes').textContent.includes(' s ago')")
        details = page.locator("details.more").first
        details.locator("summary").press("Enter")
        details.locator(".diff").wait_for()
        page.click("#pause")
        until(page, "waiting.length === 0")
        assert seen.problems == []


@pytest.mark.parametrize(("size", "scheme"), [("desktop", "light"), ("phone", "dark")])
def test_every_page_is_quiet_fits_and_is_accessible(
    chromium: Any,  # noqa: ANN401
    demo: Demo,
    size: str,
    scheme: str,
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    with opened(chromium, demo, size, scheme) as context:
        seen = watched(context, demo)
        page = seen.page
        page.goto(f"{demo.url}/pages?order=rate")
        link = page.get_attribute("tbody th a", "href")
        for path in (*PATHS, link, "/login"):
            page.goto(f"{demo.url}{path}")
            page.wait_for_load_state("load")
            for chart in page.query_selector_all("[data-chart]"):
                chart.wait_for_selector("canvas")
            width = page.evaluate("document.documentElement.scrollWidth")
            assert width <= SIZES[size][0], f"{path} is {width} pixels wide"
            found = axe.run(page).response["violations"]
            bad = [one["help"] for one in found if one["impact"] != "minor"]
            assert bad == [], path
        assert seen.problems == []


@pytest.mark.parametrize("width", [SIZES["desktop"][0], 700])
def test_no_column_is_out_of_reach_beside_a_long_error(
    chromium: Any,  # noqa: ANN401
    demo: Demo,
    width: int,
) -> None:
    with opened(chromium, demo, "desktop", "light") as context:
        seen = watched(context, demo)
        page = seen.page
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"{demo.url}/pages")
        page.evaluate("""for (const row of document.querySelectorAll('tbody th')) {
            row.insertAdjacentHTML('beforeend', '<span class="badge kind-failed"></span>');
            row.lastChild.textContent = 'the body is compressed with a method nobody requested';
        }""")
        last = page.locator("thead th").last
        card = page.locator(".card.flush")
        if width == SIZES["desktop"][0]:
            hidden = card.evaluate("card => card.scrollWidth - card.clientWidth")
            assert hidden == 0
        # As a user would: what is hidden could be scrolled by a script all the same.
        card.hover()
        page.mouse.wheel(2_000, 0)
        page.wait_for_function("""() => {
            const card = document.querySelector('.flush');
            return card.scrollLeft >= card.scrollWidth - card.clientWidth - 1;
        }""")
        of_column, of_card = last.bounding_box(), card.bounding_box()
        assert of_column is not None
        assert of_card is not None
        assert of_column["x"] + of_column["width"] <= of_card["x"] + of_card["width"] + 1.0
        assert seen.problems == []


def test_a_date_under_the_last_mark_of_a_chart_is_not_cut(chromium: Any, demo: Demo) -> None:  # noqa: ANN401
    with opened(chromium, demo, "phone", "light") as context:
        seen = watched(context, demo)
        page = seen.page
        page.goto(demo.url)
        page.wait_for_selector("[data-chart=freshness] canvas")
        space = """(() => {
            const [, chart] = [...Charts.drawn].find(([e]) => e.dataset.chart === 'freshness');
            const right = chart.bbox.left + chart.bbox.width;
            return chart.ctx.canvas.width - right - chart.ctx.measureText('2026-11-17').width / 2;
        })()"""
        assert page.evaluate(space) >= 0.0
        assert seen.problems == []


def test_it_can_be_used_by_keyboard(chromium: Any, demo: Demo) -> None:  # noqa: ANN401
    with opened(chromium, demo, "desktop", "dark") as context:
        seen = watched(context, demo)
        page = seen.page
        page.goto(demo.url)
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "content"
        page.goto(f"{demo.url}/pages")
        page.focus("#text")
        page.keyboard.type("sport")
        page.keyboard.press("Enter")
        page.wait_for_url("**/pages?text=sport*")
        listed = page.locator("tbody th a").all_text_contents()
        assert all("sport" in url for url in listed)
        page.goto(f"{demo.url}/pages")
        page.locator("tbody th a").first.press("Enter")
        page.wait_for_url("**/page?url=*")
        page.get_by_role("button", name="Recheck now").press("Enter")
        page.wait_for_url("**done=recheck")
        assert page.get_by_role("status").first.text_content()
        assert seen.problems == []


def test_logging_out_and_in_are_forms_of_ours(chromium: Any, demo: Demo) -> None:  # noqa: ANN401
    with opened(chromium, demo, "phone", "light") as context:
        page = context.new_page()
        page.goto(f"{demo.url}/login")
        page.get_by_label("Token").fill("rcrl_wrong")
        page.get_by_label("Token").press("Enter")
        page.get_by_role("alert").wait_for()
        assert "a link works once" in (page.get_by_role("alert").text_content() or "")
        context.clear_cookies()
        page.goto(f"{demo.url}/pages?text=sport")
        page.wait_for_url("**/login?next=*")
        assert page.input_value("[name=next]") == "/pages?text=sport"


def test_a_hundred_clients_listen_at_once(demo: Demo) -> None:
    async def listen() -> str:
        at = urlsplit(demo.url)
        reader, writer = await asyncio.open_connection(at.hostname, at.port)
        try:
            head = f"GET /live HTTP/1.1\r\nHost: {at.netloc}\r\nCookie: {demo.cookie}\r\n\r\n"
            writer.write(head.encode())
            text = ""
            # Two samples each: all of them are connected when the second comes.
            while text.count("event: sample") < 2:
                received = await reader.read(65_536)
                assert received, text
                text += received.decode()
            return text
        finally:
            writer.close()

    async def main() -> list[str]:
        async with asyncio.timeout(PATIENCE / 1_000):
            return await asyncio.gather(*(listen() for _ in range(CLIENTS)))

    # In a thread of its own: this one may have the event loop of Playwright.
    with ThreadPoolExecutor(1) as threads:
        heard = threads.submit(asyncio.run, main()).result()
    assert len(heard) == CLIENTS
    assert all(text.startswith("HTTP/1.1 200") for text in heard)
