"""What ``recrawl run`` does on a real web server, and how it ends."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from cli.crawling_site import has_copies, move_to, run, run_until
from cli.on_a_terminal import HANGS, PATIENT, in_a_terminal
from cli.refusing import left_alone, refused
from rich.console import Console
from site_server import Site, page_about, serving
from typer.testing import CliRunner

from recrawl.cli.app import app
from recrawl.cli.render.run import dashboard
from recrawl.engine.stats import Stats
from recrawl.hosts import host_of
from recrawl.records import Outcome, State
from recrawl.store.sqlite import SqliteStore

QUICKLY = ["--budget", "50/s", "--allow-private", "--host-delay", "0s"]
#: What is said where there is no terminal, so that nobody waits in silence.
LOADING = "recrawl: loading recrawl.db\n"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    move_to(tmp_path, monkeypatch)


def a_site() -> Site:
    return Site({f"/{name}": page_about(f"This is {name}.") for name in "abc"}, etags=True)


def test_pages_are_crawled_and_a_summary_ends_it() -> None:
    with serving(a_site()) as site:
        run("add", *(f"{site.url}/{name}" for name in "abc"))
        ended = run_until(has_copies(3), *QUICKLY, "--contact", "me@a.example")
        assert site.asked("/a")[0].headers["User-Agent"].endswith("(+me@a.example)")
    assert ended.stderr == LOADING
    assert "3 first, 0 changed" in ended.stdout
    assert "Expected freshness at the end: " in ended.stdout
    assert run("get", f"{site.url}/a").stdout == site.pages["/a"]


def test_without_a_contact_one_line_says_how_to_set_it() -> None:
    with serving(a_site()) as site:
        run("add", f"{site.url}/a", f"{site.url}/b")
        ended = run("run", *QUICKLY, "--for", "0.3s")
    assert ended.stderr.startswith(
        "recrawl: site owners cannot see who is crawling; set --contact URL"
    )
    assert ended.stderr.endswith(f"recrawl.toml\n{LOADING}")
    assert ended.stderr.count("\n") == 2


def test_a_run_that_has_one_page_says_how_to_find_more() -> None:
    one = "recrawl: there was one page to keep fresh. For more pages of a site, `recrawl run --fol"
    options = (*QUICKLY, "--for", "0.3s", "--contact", "x")
    with serving(a_site()) as site:
        run("add", f"{site.url}/a")
        assert one in run("run", *options).stderr
        assert one not in run("run", *options, "--quiet").stderr
        assert one not in run("run", *options, "--follow").stderr
        run("add", f"{site.url}/b", "--store", "two.db")
        run("add", f"{site.url}/c", "--store", "two.db")
        assert one not in run("run", *options, "--store", "two.db").stderr


def test_a_json_log_has_one_object_per_line() -> None:
    with serving(a_site()) as site:
        run("add", *(f"{site.url}/{name}" for name in "abc"))
        ended = run_until(has_copies(3), *QUICKLY, "--format", "json", "--contact", "x")
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [line.get("end", False) for line in lines] == [False] * (len(lines) - 1) + [True]
    assert lines[-1]["first"] == 3
    assert lines[-1]["visits"] == lines[-1]["requests"]
    assert lines[-1]["robots"] == 1


def test_private_addresses_are_left_alone_unless_asked_for() -> None:
    with serving(a_site()) as site:
        run("add", f"{site.url}/a")
        run_until(is_refused, "--budget", "50/s", "--host-delay", "0s", "--contact", "x")
        assert site.requests == []


def test_a_sitemap_that_cannot_be_read_is_said_at_once_and_tried_again_by_the_next_run() -> None:
    with serving(a_site()) as site:
        sitemap = f"{site.url}/sitemap.xml"
        run("add", "--sitemap", sitemap)
        first = run_until(has_sitemap_problem, *QUICKLY, "--contact", "x").stdout
        assert f"Problem with the sitemap {sitemap}: the server answered 404" in first
        assert "the server answered 404" in run("status", "--format", "json").stdout
        site.pages["/sitemap.xml"] = f"<urlset><url><loc>{site.url}/a</loc></url></urlset>"
        second = run_until(has_copies(1), *QUICKLY, "--contact", "x").stdout
    assert "Problem with" not in second
    assert "1 first" in second


def test_an_index_does_not_make_us_attack_others() -> None:
    with serving(a_site(), hosts=2) as site:
        own, other = site.urls
        rows = "".join(f"<sitemap><loc>{other}/{n}.xml</loc></sitemap>" for n in range(30))
        site.pages["/index.xml"] = f"<sitemapindex>{rows}</sitemapindex>"
        run("add", "--sitemap", f"{own}/index.xml")
        ended = run_until(has_sitemap_problem, *QUICKLY, "--contact", "x").stdout
        victim = [request.path for request in site.requests if request.host in other]
    assert victim == ["/robots.txt"]
    assert "30 of its URLs are on other hosts, which do not name it" in ended


def test_links_are_followed_if_wanted() -> None:
    site = Site({"/": page_about("Home.", links=("/one",)), "/one": page_about("One.")})
    with serving(site):
        run("add", f"{site.url}/")
        run_until(
            lambda store: store.page(f"{site.url}/one") is not None,
            *[*QUICKLY, "--follow", "--contact", "x"],
        )
    with SqliteStore.open("recrawl.db") as store:
        found = store.page(f"{site.url}/one")
    assert found is not None
    assert found.depth == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--budget", "many"], "--budget: 'many' is not a rate"),
        (["--for", "ever"], "--for: 'ever' is not a duration"),
        (["--fingerprint", "magic"], "fingerprint: 'magic' is not one of"),
        (["--connections", "0"], "--connections: '0' is too small"),
        (["--most-depth", "2"], "--most-depth is now --max-depth"),
        (["--most-depth=2"], "--most-depth is now --max-depth"),
        (["--format", "xml"], "--format: 'xml' is none of text, json"),
        (["--log-format", "xml"], "--log-format: 'xml' is none of text, json"),
        (["--log-level", "all"], "--log-level: 'all' is none of debug, info, warning, error"),
        ([], "recrawl.db: there is no store here; `recrawl add URL` creates one"),
    ],
)
def test_refusals(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    assert left_alone(tmp_path, "run", *arguments).startswith(sentence)


def test_a_store_without_pages_is_refused() -> None:
    run("add", "https://a.example/")
    run("remove", "https://a.example/")
    assert refused("run") == ("recrawl.db: it has no pages; `recrawl add URL` adds one")


def test_a_second_run_is_refused() -> None:
    run("add", "https://a.example/")
    with SqliteStore.open("recrawl.db") as store, store.lock():
        ended = CliRunner().invoke(app, ["run", "--contact", "x"])
    assert ended.exit_code == 2
    assert "another recrawl" in ended.stderr


#: Runs a program on a terminal of its own, which its output does not go to.
ON_A_TERMINAL = """
import fcntl, os, pty, sys, termios
os.setsid()
_, end = pty.openpty()
fcntl.ioctl(end, termios.TIOCSCTTY, 0)
os.set_inheritable(_, True)
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_one_signal_ends_it_cleanly(number: signal.Signals) -> None:
    with serving(a_site()) as site:
        run("add", *(f"{site.url}/{name}" for name in "abc"))
        on_a_terminal = [sys.executable, "-c", ON_A_TERMINAL]
        command = [*on_a_terminal, *PATIENT, "run", *QUICKLY, "--contact", "x"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            wait_for_copies(3)
            process.send_signal(number)
            printed, complaints = process.communicate(timeout=HANGS)
    assert process.returncode == 0, complaints
    assert b"Ran for " in printed
    assert complaints.decode() == LOADING
    with SqliteStore.open("recrawl.db") as store:
        assert store.check() == []


def test_sigterm_while_it_loads_ends_it_cleanly() -> None:
    run("add", "https://example.org/")
    command = [*PATIENT, "run", "--contact", "x"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert process.stderr.readline().decode() == LOADING
        process.send_signal(signal.SIGTERM)
        _, complaints = process.communicate(timeout=HANGS)
    assert (process.returncode, complaints) == (0, b"")


def test_budget_that_min_interval_leaves_is_explained() -> None:
    with serving(a_site()) as site:
        run("add", *(f"{site.url}/{name}" for name in "abc"))
        ended = run_until(has_copies(3), *QUICKLY, "--contact", "x", "--min-interval", "1h")
    assert "Budget is left: 3 pages, each visited at most every 1 h" in ended.stdout


def test_budget_is_not_said_to_be_left_by_an_interval_that_sites_do_not_have() -> None:
    with serving(a_site()) as site:
        run("add", f"{site.url}/a")
        table = f'[host."{host_of(site.url)}"]\nmin_interval = "1d"\n'
        Path("recrawl.toml").write_text(table, encoding="utf-8")
        ended = run_until(has_copies(1), *QUICKLY, "--contact", "x")
    assert "Budget is left" not in ended.stdout


def test_without_a_terminal_a_hangup_reads_the_settings_again() -> None:
    with serving(a_site()) as site:
        run("add", *(f"{site.url}/{name}" for name in "abc"))
        # Pages are to be visited again at once after the restart.
        often = "min_interval = '0s'\nspend = 'all'\n"
        Path("recrawl.toml").write_text(f"{often}contact = 'before'")
        command = [*PATIENT, "run", *QUICKLY, "--log-format", "json", "--quiet"]
        with subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            assert process.stderr is not None
            assert _started(process) == 3
            wait_for_copies(3)
            Path("recrawl.toml").write_text(f"{often}contact = 'after")
            process.send_signal(signal.SIGHUP)
            line = json.loads(process.stderr.readline())
            assert "the settings stay as they are: recrawl.toml: invalid TOML" in line["message"]
            assert line["level"] == "warning"
            Path("recrawl.toml").write_text(f"{often}contact = 'after'")
            process.send_signal(signal.SIGHUP)
            assert json.loads(process.stderr.readline())["event"] == "stopped"
            known = len(site.requests)
            assert _started(process) == 3
            while len(site.requests) < known + 3:
                assert process.poll() is None
                time.sleep(0.05)
            process.send_signal(signal.SIGTERM)
            printed, logged = process.communicate(timeout=HANGS)
    assert process.returncode == 0, logged
    assert printed == ""
    assert site.requests[0].headers["User-Agent"].endswith("(+before)")
    assert site.requests[-1].headers["User-Agent"].endswith("(+after)")


def _started(process: "subprocess.Popen[str]") -> int:
    """Read the line that a crawl has started; return how many pages it has."""
    assert process.stderr is not None
    line = json.loads(process.stderr.readline())
    assert line["event"] == "started", line
    assert line["level"] == "info"
    return int(line["pages"])


@pytest.mark.parametrize("options", [[], ["--format", "json"]])
def test_quiet_is_quiet(options: list[str]) -> None:
    with serving(a_site()) as site:
        run("add", f"{site.url}/a")
        ended = run_until(has_copies(1), *QUICKLY, "--contact", "x", "--quiet", *options)
    assert ended.output == ""


def test_messages_may_be_more_or_json() -> None:
    with serving(a_site()) as site:
        run("add", f"{site.url}/a")
        detailed = run_until(has_copies(1), *QUICKLY, "--log-level", "info").stderr
        as_json = run_until(has_copies(1), *QUICKLY, "--log-format", "json").stderr
    assert re.search(r"^20\S+ \S+ info: started: 1 pages, ", detailed, re.MULTILINE)
    lines = [json.loads(line) for line in as_json.splitlines()]
    assert [line["level"] for line in lines] == ["warning", *["info"] * (len(lines) - 1)]
    assert "site owners cannot see" in lines[0]["message"]
    assert lines[1]["message"] == "loading recrawl.db"
    assert [line["event"] for line in lines[2:] if "event" in line] == ["started", "stopped"]


def wait_for_copies(copies: int) -> None:
    deadline = time.monotonic() + HANGS
    while time.monotonic() < deadline:
        with SqliteStore.open("recrawl.db") as store:
            if has_copies(copies)(store):
                return
        time.sleep(0.1)
    pytest.fail("no copies were made")


def is_refused(store: SqliteStore) -> bool:
    return store.trouble().refused == 1


def has_sitemap_problem(store: SqliteStore) -> bool:
    return any(sitemap.error for sitemap in store.sitemaps.all())


def test_a_terminal_shows_it_live() -> None:
    with serving(a_site()) as site:
        run("add", *(f"{site.url}/{name}" for name in "abc"))
        words = ("fetched", "not modified", "expected fresh", "budget used", "slowest hosts")
        code, shown = in_a_terminal("run", *QUICKLY, "--contact", "x", until=words)
    assert code == 0
    assert re.search(r"Ran for [0-9.]+ s", shown)


def test_a_page_that_was_never_found_is_told_at_the_end_and_is_no_freshness() -> None:
    with serving(Site()) as site:
        run("add", f"{site.url}/nothing")
        ended = run_until(
            lambda store: store.trouble().missing == 1, *QUICKLY, "--contact", "x"
        ).stdout
    with SqliteStore.open("recrawl.db") as store:
        page = store.page(f"{site.url}/nothing")
    assert page is not None
    assert page.state is State.MISSING
    assert "Expected freshness at the end: no copies yet" in ended
    assert "problems: 1 page not found" in ended


def test_a_second_signal_ends_it_at_once() -> None:
    with serving(a_site()) as site:
        run("add", f"{site.url}/a")
        # Until the end, which the first signal would wait for.
        site.delay = HANGS
        script = PATIENT[-1].replace(
            "from recrawl.cli.app",
            "from recrawl.engine import engine\n"
            "stop = engine.Engine.stop\n"
            "engine.Engine.stop = lambda one: (stop(one), print('stopping', flush=True))\n"
            "from recrawl.cli.app",
        )
        command = [*PATIENT[:-1], script, "run", *QUICKLY, "--contact", "x"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout is not None
            while not site.asked("/a"):
                assert process.poll() is None
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            while process.stdout.readline() != b"stopping\n":
                assert process.poll() is None
            process.send_signal(signal.SIGINT)
            _, complaints = process.communicate(timeout=HANGS)
    assert process.returncode == 130
    assert complaints.decode() == LOADING


def logged_to(file: int, *options: str) -> tuple[int, str]:
    """Crawl three pages, and log each of them to a file; return exit code and error output."""
    script = f"import recrawl.cli.render.run as screen; screen.LOG_EVERY = 0\n{PATIENT[-1]}"
    command = [*PATIENT[:-1], script, "run", *QUICKLY, "--contact", "x", *options]
    with subprocess.Popen(command, stdout=file, stderr=subprocess.PIPE, text=True) as process:
        wait_for_copies(3)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=HANGS)
    return process.returncode, complaints


def test_a_run_goes_on_when_nobody_reads_its_log() -> None:
    """As with ``| head -1``, or a log reader that dies: one line says so, and no visit is lost."""
    with serving(a_site()) as site:
        run("add", *(f"{site.url}/{name}" for name in "abc"))
        reading, writing = os.pipe()
        os.close(reading)
        code, complaints = logged_to(writing)
        os.close(writing)
    assert code == 0, complaints
    gone = "recrawl: standard output: nobody is reading it any more; the run continues without it\n"
    assert complaints == LOADING + gone
    with SqliteStore.open("recrawl.db") as store:
        assert store.totals().with_copy == 3


@pytest.mark.parametrize("kind", ["text", "json"])
def test_a_run_goes_on_when_the_disk_of_its_log_is_full(kind: str) -> None:
    with serving(a_site()) as site, Path("/dev/full").open("w", encoding="utf-8") as full:
        run("add", *(f"{site.url}/{name}" for name in "abc"))
        _, complaints = logged_to(full.fileno(), "--format", kind)
    assert "Traceback" not in complaints
    said = complaints.removeprefix(LOADING)
    assert said.startswith(
        "recrawl: standard output: No space left on device; the run continues without it\n"
    )
    with SqliteStore.open("recrawl.db") as store:
        assert store.totals().with_copy == 3


def test_a_closed_terminal_is_ignored_under_nohup() -> None:
    with serving(a_site()) as site:
        run("add", *(f"{site.url}/{name}" for name in "abc"))
        command = ["/bin/sh", "-c", 'trap "" HUP; exec "$@"', "sh", *PATIENT, "run", *QUICKLY]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            wait_for_copies(3)
            process.send_signal(signal.SIGHUP)
            time.sleep(0.5)
            assert process.poll() is None
            process.send_signal(signal.SIGTERM)
            printed, _ = process.communicate(timeout=HANGS)
    assert process.returncode == 0
    assert b"Ran for " in printed


@pytest.mark.parametrize(
    ("options", "missing"),
    [
        (["--fingerprint", "selector"], "selector is missing"),
        (["--selector", "main"], "add --fingerprint selector"),
    ],
)
def test_what_is_missing_for_a_selector_is_named(options: list[str], missing: str) -> None:
    run("add", "https://a.example/")
    assert missing in refused("run", *options)


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_number_of_the_live_view_is_cut_off(width: int) -> None:
    found = Counter({Outcome.UNCHANGED: 1_234_567, Outcome.FAILED: 7_654_321})
    stats = Stats(0, 480.0, now=86_400_000_000, pages=2_345_678, outcomes=found, requests=3_456_789)
    console = Console(width=width, force_terminal=False)
    with console.capture() as captured:
        console.print(dashboard(stats, "recrawl.db", console.width))
    shown = captured.get()
    assert "…" not in shown.partition("\n\n")[2]
    for number in ("1,234,567", "7,654,321", "2,345,678", "3,456,789", "20/h"):
        assert number in shown
