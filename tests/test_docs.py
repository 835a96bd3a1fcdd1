"""Documentation that cannot rot: what it says is compared with what there is."""

import contextlib
import doctest
import itertools
import re
import shlex
import sqlite3
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import recrawl
from recrawl.cli.app import app
from recrawl.config.settings import FIELDS
from recrawl.config.site_tables import SITE_FIELDS
from recrawl.store.queries import migrations

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.md")])
TEXTS = {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in PAGES}
LIBRARY = "docs/reference/api.md"
PROGRAM: Any = typer.main.get_command(app)


def commands(group: Any) -> dict[str, Any]:  # noqa: ANN401 - typer keeps the type to itself
    """Return a group's commands; one that is in a group of its own goes by both names."""
    found = dict[str, Any]()
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            found |= {f"{name} {inner}": what for inner, what in commands(command).items()}
        else:
            found[name] = command
    return found


COMMANDS = commands(PROGRAM)

#: Lines that depend on the machine: it is busy, or a kernel was edited and not rebuilt.
MACHINE_NOTES = re.compile(
    r"^(?:recrawl: .* takes a while|the compiled kernels are out of date: .*)\n", re.MULTILINE
)
FENCE = re.compile(r"^```(\w*) ?(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPTIONS = re.compile(r"(<!-- options:([\w ]+) -->\n).*?(<!-- /options -->)", re.DOTALL)
SETTINGS = re.compile(r"(<!-- settings -->\n).*?(<!-- /settings -->)", re.DOTALL)
LINK = re.compile(r"\[[^]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
MACHINE = re.compile(r"(?<![\w.])/(?:work|home|root|Users|tmp|usr|opt|var|mnt)/|\b[A-Z]:\\|file://")
INDEX = re.compile(r"pypi\.org|index-url|pythonhosted", re.IGNORECASE)


def without_code(text: str) -> str:
    return FENCE.sub("", text)


def slug(heading: str) -> str:
    kept = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return kept.replace(" ", "-")


def cell(text: object) -> str:
    return str(text).replace("|", r"\|")


def options_table(command: Any) -> str:  # noqa: ANN401 - typer keeps the type to itself
    """Return the table that the reference must have for a command."""
    rows = ["| option | meaning | default |", "| --- | --- | --- |"]
    for option in command.params:
        if option.name == "help":
            continue
        is_argument = option.param_type_name == "argument"
        names = option.metavar if is_argument else ", ".join(option.opts + option.secondary_opts)
        value = "" if is_argument or getattr(option, "is_flag", False) else f" {option.metavar}"
        default = "" if option.default in (None, False) else f"`{option.default}`"
        default = "required" if option.required else default
        rows.append(f"| `{names}{value}` | {cell(option.help)} | {cell(default)} |")
    return "\n".join(rows)


def settings_table() -> str:
    """Return the table that the reference must have for the crawler's settings."""
    rows = ["| setting | default | value | meaning |"]
    rows.append("| --- | --- | --- | --- |")
    for name, described in FIELDS.items():
        typed, kind = described.metadata["typed"], described.metadata["kind"]
        default = f"`{typed}`" if typed else "nothing"
        meaning = cell(described.metadata["meaning"])
        rows.append(f"| `{name}` | {default} | {cell(kind.name)} | {meaning} |")
    return "\n".join(rows)


def renewed(text: str, folder: Path) -> str:
    """Return a page with its tables of options and settings and its shell sessions as of today.

    A fence such as "csv visits.csv" names a file, which sessions below it can read.
    """
    text = OPTIONS.sub(
        lambda found: f"{found[1]}{options_table(COMMANDS[found[2]])}\n{found[3]}", text
    )
    text = SETTINGS.sub(lambda found: f"{found[1]}{settings_table()}\n{found[2]}", text)
    return FENCE.sub(lambda fence: renewed_fence(fence, folder), text)


def renewed_fence(fence: re.Match[str], folder: Path) -> str:
    language, file, body = fence.groups()
    if file:
        (folder / file).write_text(body, encoding="utf-8")
    if language != "console":
        return fence[0]
    lines = []
    for command in re.findall(r"^\$ recrawl (.*)$", body, re.MULTILINE):
        with contextlib.chdir(folder):
            result = CliRunner().invoke(app, shlex.split(command))
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            # The output of a broken command would get into the documentation.
            raise result.exception
        printed = MACHINE_NOTES.sub("", result.output)
        lines.append(f"$ recrawl {command}\n{printed}")
    return f"```console\n{''.join(lines)}```"


def test_every_public_name_is_mentioned() -> None:
    pages = "\n".join(text for page, text in TEXTS.items() if page != LIBRARY)
    missing = [name for name in recrawl.__all__ if not re.search(rf"\b{name}\b", pages)]
    assert not missing, f"public, but nowhere in README.md or docs/: {missing}"


def test_every_public_name_is_in_the_reference() -> None:
    listed = re.findall(r"^::: recrawl\.(\w+)$", TEXTS[LIBRARY], re.MULTILINE)
    assert sorted(listed) == sorted(recrawl.__all__)


def test_every_page_is_on_the_site() -> None:
    site = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))
    assert sorted(pages_of(site["project"]["nav"])) == sorted(TEXTS)


def pages_of(nav: Any) -> list[str]:  # noqa: ANN401 - a tree of lists and tables
    if isinstance(nav, str):
        return [nav]
    parts = nav.values() if isinstance(nav, dict) else nav
    return [page for part in parts for page in pages_of(part)]


@pytest.mark.parametrize("page", TEXTS)
def test_tables_of_options_and_shell_sessions_are_true(page: str, tmp_path: Path) -> None:
    today = renewed(TEXTS[page], tmp_path)
    assert today == TEXTS[page], f"{page} is out of date; python tests/test_docs.py renews it"


def typed_commands(text: str) -> list[list[str]]:
    """Return the arguments of each call of recrawl in the shell scripts of a page."""
    scripts = [body for language, _, body in FENCE.findall(text) if language == "sh"]
    calls = re.findall(
        r"(?:^|\| )recrawl (.*)", "".join(scripts).replace("\\\n", " "), re.MULTILINE
    )
    return [_arguments(call) for call in calls]


def _arguments(call: str) -> list[str]:
    """Return the arguments of a call, without what the shell does with it."""
    lexer = shlex.shlex(call, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    return list(itertools.takewhile(lambda word: not set(word) <= set("|&;<>"), lexer))


@pytest.mark.parametrize("page", TEXTS)
def test_commands_that_readers_are_to_type_are_understood(page: str) -> None:
    for typed in typed_commands(TEXTS[page]):
        name = next((one for one in (" ".join(typed[:2]), *typed[:1]) if one in COMMANDS), None)
        assert name is not None, typed
        arguments = typed[len(name.split()) :]
        # This parses the arguments, and runs nothing.
        COMMANDS[name].make_context(name, arguments)


def test_the_commands_of_the_quick_start_are_found() -> None:
    assert ["get", "http://127.0.0.1:8000/news.html"] in typed_commands(TEXTS["docs/quickstart.md"])


def test_every_command_is_in_the_reference() -> None:
    reference = TEXTS["docs/reference/command-line.md"]
    assert re.findall(r"^## `recrawl ([\w ]+)`$", reference, re.MULTILINE) == list(COMMANDS)
    assert re.findall(r"^<!-- options:([\w ]+) -->$", reference, re.MULTILINE) == list(COMMANDS)
    assert all(name in reference for option in PROGRAM.params for name in option.opts)


def test_every_setting_is_in_the_reference() -> None:
    reference = TEXTS["docs/reference/settings.md"]
    (table,) = SETTINGS.finditer(reference)
    assert re.findall(r"^\| `(\w+)` \|", table[0], re.MULTILINE) == list(FIELDS)
    # Besides its row, each is mentioned once: what to consider before changing it.
    prose = SETTINGS.sub("", reference)
    missing = [name for name in FIELDS if f"`{name}`" not in prose]
    assert not missing, f"settings without a note besides the table: {missing}"


def test_every_setting_that_is_called_dangerous_is_one() -> None:
    security = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert "## Report a vulnerability" in security
    table = security.partition("## Dangerous settings")[2].partition("## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`([a-z_]+)`", row)}
    assert {"allow_private", "follow", "host_delay", "on_change"} <= named <= set(FIELDS)


def test_every_setting_of_a_site_is_in_the_reference() -> None:
    reference = TEXTS["docs/reference/settings.md"]
    table = reference.partition("<!-- site settings -->")[2].partition("<!-- /site settings -->")[0]
    rows = re.findall(r"^\| `(\w+)` \| [\w, ]+ \| (.+) \| (.+) \|$", table, re.MULTILINE)
    described = [(name, one["kind"].name, one["meaning"]) for name, one in SITE_FIELDS.items()]
    assert rows == described
    example = TEXTS["docs/how-to/settings-per-site.md"]
    assert all(re.search(rf"^{name} = ", example, re.MULTILINE) for name in SITE_FIELDS)


def test_every_table_of_the_store_is_in_the_reference() -> None:
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for script in migrations():
            for command in script:
                connection.execute(command)
        listed = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        tables = [name for (name,) in connection.execute(listed)]
    assert "pages" in tables
    missing = [name for name in tables if f"`{name}`" not in TEXTS["docs/reference/store.md"]]
    assert not missing, f"tables of the store that docs/reference/store.md leaves out: {missing}"


@pytest.mark.parametrize("page", TEXTS)
def test_links_resolve(page: str) -> None:
    for target in LINK.findall(without_code(TEXTS[page])):
        if re.match(r"https?://", target):
            continue
        path, _, anchor = target.partition("#")
        there = (ROOT / page).parent / path if path else ROOT / page
        assert there.exists(), f"{page}: nothing is at {target}"
        if anchor:
            text = without_code(there.read_text(encoding="utf-8"))
            assert anchor in map(slug, HEADING.findall(text)), f"{page}: no heading is at {target}"


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, waiting = set[Path](), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop().resolve()
        if page in reached or page.suffix != ".md" or not page.exists():
            continue
        reached.add(page)
        text = without_code(page.read_text(encoding="utf-8"))
        waiting += [page.parent / target.partition("#")[0] for target in LINK.findall(text)]
    assert {page.resolve() for page in PAGES} - reached == set()


@pytest.mark.parametrize("page", TEXTS)
def test_pages_hold_nothing_of_one_machine(page: str) -> None:
    assert not MACHINE.findall(TEXTS[page])
    assert not INDEX.findall(TEXTS[page])


@pytest.mark.parametrize("page", TEXTS)
def test_marks_for_measured_tables_come_in_pairs(page: str) -> None:
    marks = re.findall(r"^<!-- (/?bench)(?::[a-z-]+)? -->$", TEXTS[page], re.MULTILINE)
    assert marks == ["bench", "/bench"] * (len(marks) // 2)


#: Installing recrawl by its name, which only works from a package index.
FROM_AN_INDEX = re.compile(
    r"(?:pip|pipx|uv|uvx|conda|poetry)\s[^\n`]*?(?<![\w./\"'-])['\"]?recrawl(?:\[[\w,]+\])?['\"]?(?=[\s`.,;)]|$)"
    r"|pypi\.org",
    re.IGNORECASE | re.MULTILINE,
)
SHIPPED = [
    path
    for pattern in (
        "*.md",
        "docs/**/*.md",
        "examples/*",
        "deploy/*",
        "src/**/*.py",
        "src/**/*.html",
    )
    for path in sorted(ROOT.glob(pattern))
    if path.is_file() and path.suffix != ".png"
]


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("pip install recrawl", True),
        ("run `pip install 'recrawl[serve]'`.", True),
        ("sudo recrawl/bin/pip install recrawl\n", True),
        ("uv tool install recrawl", True),
        ("Documentation=https://pypi.org/project/recrawl/", True),
        ("pip install '.[serve]'", False),
        ("pip install recrawl-*.whl", False),
        ('sudo recrawl/bin/pip install "$OLDPWD"', False),
    ],
)
def test_installing_from_an_index_is_recognised(text: str, *, is_found: bool) -> None:
    assert (FROM_AN_INDEX.search(text) is not None) is is_found


@pytest.mark.parametrize("path", [*SHIPPED, ROOT / "pyproject.toml"], ids=lambda path: path.name)
def test_nothing_tells_people_to_install_from_an_index(path: Path) -> None:
    """There is no release yet: whatever is under that name is not recrawl."""
    found = FROM_AN_INDEX.search(path.read_text(encoding="utf-8"))
    assert found is None, f"{path.name}: {found[0]}"


def test_the_layers_are_those_that_are_checked() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = settings["tool"]["importlinter"]["contracts"]
    assert " → ".join(contract["layers"]) in TEXTS["CONTRIBUTING.md"]


def test_make_has_the_targets_that_are_named() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    there = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = set(re.findall(r"`make ([a-z-]+)", "\n".join(TEXTS.values())))
    listed = set(re.findall(r"^\| `make ([a-z-]+)`", TEXTS["CONTRIBUTING.md"], re.MULTILINE))
    assert named <= there
    assert listed == there


def test_the_examples_for_contributors_run() -> None:
    path = str(ROOT / "CONTRIBUTING.md")
    assert doctest.testfile(path, module_relative=False).failed == 0


def test_every_file_on_the_walks_through_the_code_is_there() -> None:
    text = TEXTS["docs/explanation/how-it-works.md"]
    walks = text.partition("## Four walks through the code")[2].partition("\n## ")[0]
    files = re.findall(r"`(\w+/[\w/]+\.py)`", walks)
    assert walks.count("\n1. ") == 4
    assert len(files) > 30
    assert [file for file in files if not (ROOT / "src/recrawl" / file).is_file()] == []


if __name__ == "__main__":
    for renewable in PAGES:
        with tempfile.TemporaryDirectory() as empty:
            now = renewed(renewable.read_text(encoding="utf-8"), Path(empty))
        renewable.write_text(now, encoding="utf-8")
