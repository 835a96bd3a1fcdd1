"""The first screen: help that leaves the text room, and completion."""

import os
import pkgutil
import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from cli.on_a_terminal import PROGRAM
from typer.testing import CliRunner

from recrawl.cli import commands
from recrawl.cli.app import NAMES, app
from recrawl.cli.output import wrapped
from recrawl.config.settings import Settings


def _commands(command: Any, words: list[str]) -> Iterator[list[str]]:  # noqa: ANN401
    """Yield the words of a command, and those of its subcommands."""
    yield words
    for name, found in getattr(command, "commands", {}).items():
        yield from _commands(found, [*words, name])


ALL = list(_commands(typer.main.get_command(app), []))


def test_every_module_of_a_command_is_a_command() -> None:
    modules = {module.name for module in pkgutil.iter_modules(commands.__path__)}
    assert sorted(NAMES) == sorted(modules)


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("command", ALL, ids=" ".join)
def test_help_fits_the_width_and_shows_flags_as_flags(command: list[str], columns: int) -> None:
    ended = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": str(columns)})
    assert ended.exit_code == 0
    assert "<bool>" not in ended.stdout
    assert "<str>" not in ended.stdout
    # Examples, which are indented by four, are to be copied: they stay on one line.
    lines = [line for line in ended.stdout.splitlines() if not line.startswith("    recrawl ")]
    assert max(map(len, lines)) <= columns


def test_the_text_of_options_gets_most_of_the_width() -> None:
    shown = CliRunner().invoke(app, ["run", "--help"], env={"COLUMNS": "80"}).stdout
    assert "--follow / --no-follow  Add the pages that crawled pages link to.\n" in shown
    assert "--for TIME              Stop after this time, such as 1h.\n" in shown


def test_examples_keep_their_lines() -> None:
    shown = CliRunner().invoke(app, ["export", "log", "--help"]).stdout
    assert "\n    recrawl export log visits.parquet\n    recrawl export log crawl.csv" in shown


@pytest.mark.parametrize("command", ALL, ids=" ".join)
def test_examples_stand_apart_and_are_indented(command: list[str]) -> None:
    shown = CliRunner().invoke(app, [*command, "--help"]).stdout
    assert not re.search(r"\S +Examples?:", shown)
    assert not re.search(r"^recrawl (?!visits)", shown, re.MULTILINE)
    for title, first in re.findall(r"^(Examples?:)\n(.*)$", shown, re.MULTILINE):
        assert re.match(r"    (RECRAWL_|zcat|recrawl )", first), title


@pytest.mark.parametrize(
    ("typed", "word", "found"),
    [
        ("recrawl s", 1, {"serve", "status", "show", "settings", "simulate"}),
        ("recrawl export ", 2, {"log", "copies"}),
        ("recrawl run --fo", 2, {"--for", "--follow", "--follow-hosts", "--format"}),
    ],
)
def test_the_shell_completes_commands_and_options(typed: str, word: int, found: set[str]) -> None:
    asked = {"_RECRAWL_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(word)}
    ended = subprocess.run(
        PROGRAM, env={**os.environ, **asked}, capture_output=True, text=True, check=False
    )
    assert set(ended.stdout.split()) == found


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["settings"], ["run", "-h"], []])
def test_output_that_fails_is_one_sentence_for_every_command(arguments: list[str]) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:  # noqa: PTH123
        ended = subprocess.run(
            [*PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert ended.returncode == 2
    assert ended.stderr == "recrawl: standard output: No space left on device\n"


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["settings"], ["run", "-h"]])
def test_a_reader_that_leaves_ends_every_command_quietly(arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run(
        [*PROGRAM, *arguments], stdout=writing, stderr=subprocess.PIPE, check=False
    )
    os.close(writing)
    assert ended.returncode == 1
    assert ended.stderr == b""


def test_lines_wrap_between_words() -> None:
    line = "changes  every 5 days (95 % sure: every 14 days – every 2.6 days)"
    assert wrapped(line, 40, indent=9).split("\n") == [
        "changes  every 5 days (95 % sure: every",
        "         14 days – every 2.6 days)",
    ]
    assert wrapped("see https://example.org/a-very-long-address now", 20).split("\n") == [
        "see",
        "https://example.org/a-very-long-address",
        "now",
    ]


#: Options of commands, and the settings whose defaults they have.
SET = [
    *(("run", name) for name in ("budget", "host_delay", "connections", "processes")),
    *(("run", name) for name in ("max_depth", "fingerprint", "listen")),
    *(("serve", name) for name in ("budget", "listen")),
]


@pytest.mark.parametrize(("command", "setting"), SET)
def test_options_that_are_settings_say_their_default(command: str, setting: str) -> None:
    default = Settings.__dataclass_fields__[setting].metadata["typed"]
    shown = " ".join(CliRunner().invoke(app, [command, "--help"]).stdout.split())
    options = shown.partition(" Options: ")[2]
    meaning = options.partition(f"--{setting.replace('_', '-')} ")[2].partition("Default: ")[2]
    assert meaning.startswith(f"as set, or {default}.")


@pytest.mark.parametrize("command", ALL, ids=" ".join)
def test_every_format_has_a_default_and_usage_has_no_marks_twice(command: list[str]) -> None:
    shown = " ".join(CliRunner().invoke(app, [*command, "--help"]).stdout.split())
    if "--format NAME" in shown:
        assert "Default: " in shown.partition("--format NAME")[2].partition(" --")[0]
    assert "…" not in shown.partition("Arguments:")[0].partition("Options:")[0]
    assert "[[" not in shown
    assert not re.search(r"Default: \d+\.0\.", shown)
    assert "several times" not in shown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["estimate"], "Missing argument 'LOG'; `recrawl estimate --help`"),
        (["rnu"], "Did you mean 'run'? `recrawl --help`"),
        (["token", "add", "x", "--access", "foo"], "--access: 'foo' is not an access level"),
        (["serve", "--log-format", "xml"], "--log-format: 'xml' is none of text, json"),
        (["run", "--settings", "none.toml"], "none.toml: there is no such file"),
        (["budget", "x.csv", "--freshness", "most"], "--freshness: 'most' is not a share"),
        (["estimate", "x.csv", "--level", "100%"], "--level: 100% is not between 0 and 1"),
    ],
)
def test_what_is_wrong_with_an_option_is_one_sentence(arguments: list[str], said: str) -> None:
    ended = CliRunner().invoke(app, arguments)
    assert ended.exit_code == 2
    assert said in ended.stderr
    assert "?;" not in ended.stderr
