"""Whatever comes from outside is printed escaped: it cannot act on a terminal or on a reader."""

import json
import re
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest
from cli.crawling_site import move_to
from cli.on_a_terminal import in_a_terminal
from rich.console import Console
from typer.testing import CliRunner

import recrawl.cli
from recrawl.cli.app import app
from recrawl.cli.output import json_text
from recrawl.cli.render.run import dashboard, log_line
from recrawl.engine.stats import Stats
from recrawl.errors import ArgumentError, InputError
from recrawl.records import Outcome, Page, Response, Visit
from recrawl.store.rows import NewPage
from recrawl.store.sqlite import SqliteStore

#: Clears the screen, sets the title, reverses the direction, hides, and ends the line.
EVIL = "a\x1b[2J\x1b]0;owned\x07\u202egnp.exe\u2066\u200b\x9b31m\x85\u2028b"
URL = f"https://evil.example/{EVIL}"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    move_to(tmp_path, monkeypatch)


def dangerous(text: str) -> list[str]:
    """Return the characters that could act on whoever reads a text."""
    return [c for c in text if c != "\n" and unicodedata.category(c) in {"Cc", "Cf", "Zl", "Zp"}]


def store_of_evil() -> None:
    """Make a store whose every text is hostile."""
    with SqliteStore.open("recrawl.db", create=True) as store:
        store.add([NewPage(URL, f"evil{EVIL}.example")], at=0)
        store.add([NewPage("https://evil.example/", f"evil{EVIL}.example")], at=0)
        page = store.page(URL)
        plain = store.page("https://evil.example/")
        assert page is not None
        assert plain is not None
        failed = Response(f"{URL}/to", 0, 10, error=f"the server said {EVIL}")
        store.record(
            [Visit(replace(one, failures=1), Outcome.FAILED, failed) for one in (page, plain)]
        )


@pytest.mark.parametrize("kind", ["table", "csv", "json", "jsonl"])
def test_pages_print_hostile_urls_and_errors_escaped(kind: str) -> None:
    store_of_evil()
    ended = CliRunner().invoke(app, ["pages", "--format", kind])
    assert ended.exit_code == 0, ended.output
    assert "owned" in ended.stdout
    if kind != "csv":
        assert not dangerous(ended.stdout)
    code, shown = in_a_terminal("pages", "--format", kind)
    assert code == 0
    assert "\x1b]0;" not in shown
    assert "\u202e" not in shown


@pytest.mark.parametrize(
    "arguments",
    [
        ["status"],
        ["status", "--format", "json"],
        ["show", "https://evil.example/"],
        ["show", "https://evil.example/", "--format", "json"],
        ["settings"],
        ["settings", "--format", "json"],
        ["export", "log", "log.csv"],
        ["add", "https://evil.example/b", "--store", f"{EVIL}.db"],
    ],
)
def test_commands_print_what_a_store_holds_escaped(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECRAWL_ON_CHANGE", EVIL)
    store_of_evil()
    ended = CliRunner().invoke(app, arguments)
    assert ended.exit_code == 0, ended.output
    assert not dangerous(ended.stdout + ended.stderr)
    if arguments[0] == "settings":
        assert "owned" in ended.stdout


def test_a_setting_that_is_refused_is_printed_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECRAWL_CONTACT", EVIL)
    ended = CliRunner().invoke(app, ["settings"])
    assert ended.exit_code == 2
    assert "owned" in ended.stderr
    assert not dangerous(ended.stdout + ended.stderr)


@pytest.mark.parametrize(
    "arguments",
    [
        [EVIL],
        [f"--{EVIL}"],
        ["add", f"ftp://{EVIL}"],
        ["add", "--file", EVIL],
        ["add", "https://a.example/", "--importance", EVIL],
        ["run", "--store", EVIL],
        ["run", "--settings", EVIL],
        ["run", f"--{EVIL}"],
        ["run", "--budget", EVIL],
        ["run", "--format", EVIL],
        ["status", "--store", EVIL],
        ["pages", "--store", EVIL],
        ["pages", "--state", EVIL],
        ["pages", "--sort", EVIL],
        ["pages", "--due", EVIL],
        ["show", f"https://x.example/{EVIL}", "--store", EVIL],
        ["get", f"https://x.example/{EVIL}", "--store", EVIL],
        ["remove", EVIL],
        ["remove", "--file", EVIL],
        ["settings", "--settings", EVIL],
        ["estimate", EVIL],
        ["estimate", "log.csv", "--method", EVIL],
        ["estimate", "log.csv", "-o", f"{EVIL}/rates.csv"],
        ["plan", EVIL, "--budget", "1/day"],
        ["plan", "log.csv", "--budget", EVIL],
        ["plan", "log.csv", "--budget", "1/day", "--importance", EVIL],
        ["budget", EVIL, "--freshness", "0.9"],
        ["budget", "log.csv", "--freshness", "0.9", "--plot", EVIL],
        ["replay", EVIL, "--budget", "1/day"],
        ["simulate", "--budget", EVIL],
        ["paper", EVIL],
        ["demo", "--keep", f"log.csv/{EVIL}"],
        ["export", "log", EVIL],
        ["export", "copies", EVIL],
        ["export", "log", f"{EVIL}/log.csv"],
        ["trace", "git", EVIL, "-o", EVIL],
    ],
    ids=lambda arguments: re.sub(r"\W+", "-", " ".join(arguments).replace(EVIL, "EVIL")),
)
def test_a_refusal_prints_hostile_arguments_escaped_on_one_line(arguments: list[str]) -> None:
    Path("log.csv").write_text(f"page,time,{EVIL}\na,1,2\n".replace("\x85", ""), "utf-8")
    ended = CliRunner().invoke(app, arguments)
    assert ended.exit_code == 2, ended.output
    assert not dangerous(ended.stdout + ended.stderr)
    assert ended.stderr.startswith("recrawl: ")
    assert ended.stderr.count("\n") == 1, ended.stderr


def test_the_columns_and_cells_of_a_hostile_log_are_escaped() -> None:
    for header, row in [
        (f'page,time,"{EVIL}"', "a,1,1"),
        ("page,time,changed", f'"{EVIL}",soon,1'),
        ("page,time,changed", f'a,"{EVIL}",1'),
        ("page,time,changed", f'a,1,"{EVIL}"'),
    ]:
        Path("log.csv").write_text(f"{header}\n{row}\n", "utf-8")
        ended = CliRunner().invoke(app, ["estimate", "log.csv"])
        assert ended.exit_code == 2
        assert not dangerous(ended.stderr)
        assert ended.stderr.count("\n") == 1


def test_estimates_as_a_table_and_as_json_are_escaped() -> None:
    name = EVIL.replace("\x85", "").replace("\u2028", "")
    Path("log.csv").write_text(f'page,time,changed\n"{name}",1,\n"{name}",86401,1\n', "utf-8")
    for options in ([], ["--format", "json"]):
        ended = CliRunner().invoke(app, ["estimate", "log.csv", *options])
        assert ended.exit_code == 0, ended.output
        assert "owned" in ended.stdout
        assert not dangerous(ended.stdout)


def test_the_live_view_and_log_lines_are_escaped() -> None:
    page = Page(0, URL, f"evil{EVIL}")
    stats = Stats(0, 1.0)
    stats.newest = Visit(page, Outcome.FAILED, Response(URL, 0, 10, error=EVIL))
    stats.closed = {f"evil{EVIL}": 10}
    assert not dangerous(log_line(stats))
    console = Console(width=200, file=None, record=True, force_terminal=False)
    with console.capture() as captured:
        console.print(dashboard(stats, EVIL))
    assert "owned" in captured.get()
    assert not dangerous(captured.get())


def test_errors_escape_their_text_wherever_they_are_shown() -> None:
    for error in (ArgumentError(EVIL), InputError(EVIL, EVIL, row=1, column=EVIL)):
        assert not dangerous(str(error))
        assert "\n" not in str(ArgumentError("a\nb"))


def test_json_is_escaped_and_means_the_same() -> None:
    found = {EVIL: [EVIL, "ü", "\U000e0041"]}
    written = json_text(found)
    assert not dangerous(written)
    assert "ü" in written
    assert json.loads(written) == found


def test_only_one_module_of_the_program_prints() -> None:
    """So that nothing is printed without being escaped, and no output fails unheeded."""
    for file in Path(recrawl.cli.__file__).parent.rglob("*.py"):
        source = file.read_text("utf-8")
        if file.name != "output.py":
            assert not re.search(r"typer\.echo|\bprint\(\"|sys\.stderr\.write", source), file
        if file.name != "terminal.py":
            assert "from rich.table import" not in source, file
