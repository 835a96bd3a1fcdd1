"""The crawler's settings as a table, as JSON, or as an example file."""

import json
import os
import re
from dataclasses import Field, asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rich.text import Text

from recrawl.cli.output import json_text
from recrawl.cli.render.terminal import Table, show
from recrawl.config.kinds import (
    BOOLEAN,
    COUNT,
    HOSTS,
    PATTERNS,
    PROXY,
    SELECTORS,
    SHARE,
    Kind,
)
from recrawl.config.secrets import COMMANDS, without_arguments
from recrawl.config.settings import FIELDS
from recrawl.config.site_tables import SITE_FIELDS, shown_headers, shown_proxy
from recrawl.config.sites import GLOBAL_NAMES
from recrawl.config.sources import FILE, load_settings, read_table, variable
from recrawl.escaping import printable
from recrawl.urls import canonical

DEFAULT = "default"
#: Defaults of settings that only sites have.
SITE_DEFAULTS = {"importance": "1"}
EMPTY, NO_LIMIT = "–", "no limit"
#: Settings of a site for which 0 means no limit, which nobody would guess.
UNLIMITED_AT_0 = ("budget", "max_interval")
_ZERO = re.compile(r"0+(\.0*)?(?![\d.])")
#: Kinds of settings that are lists in a file.
LISTS = (HOSTS, PATTERNS, SELECTORS)
EXAMPLE_TABLES = (
    "# Tables for hosts and URLs come last and override what is set above.",
    '# [host."example.org"]',
    '# delay = "5s"',
    '# auth = "env:EXAMPLE_LOGIN"',
    "#",
    '# [url."https://example.org/news/*"]',
    "# importance = 10",
)


@dataclass(frozen=True)
class Setting:
    """A setting and its current value.

    Attributes:
        name: Its name in a file; an option has - for _.
        value: The current value, as it was typed.
        set_by: Where that was set: a variable, a file, or ``default``.
        default: The default, as a user would type it.
        kind: The type of its values.
        meaning: What it does.
    """

    name: str
    value: str
    set_by: str
    default: str
    kind: str
    meaning: str


def current_settings(file: str | None) -> list[Setting]:
    """Return every setting as a run without options would see it."""
    load_settings(file=file)
    path = Path(FILE if file is None else file)
    table = read_table(path) if path.is_file() else {}
    return [_setting(name, field, path, table) for name, field in FIELDS.items()]


def _setting(name: str, field: "Field[Any]", path: Path, table: dict[str, Any]) -> Setting:
    described = field.metadata
    default = described["typed"]
    value, set_by = default, DEFAULT
    if variable(name) in os.environ:
        value, set_by = os.environ[variable(name)], variable(name)
    elif name in table:
        value, set_by = _typed(table[name]), str(path)
    if described["kind"] is PROXY:
        value = shown_proxy(PROXY.parse(value))
    elif name in COMMANDS:
        value = without_arguments(value)
    return Setting(name, value, set_by, default, described["kind"].name, described["meaning"])


def settings_for(url: str, file: str | None) -> list[Setting]:
    """Return what applies to a URL, and where that was set; secrets are masked."""
    known = load_settings(file=file)
    path = Path(FILE if file is None else file)
    address = canonical(url)
    tables = [known.sites.sections[number] for number in known.sites.sections_of(address)]
    site = known.site_of(address)
    for_all = {one.name: one for one in current_settings(file)}
    found = []
    for name, described in SITE_FIELDS.items():
        one = _usual(name, for_all.get(GLOBAL_NAMES.get(name, "")), path)
        table = next((table for table in tables if name in table.values), None)
        if table is not None and name in site.set_by:
            typed = table.typed.get(name, str(table.values[name]))
            value = shown_headers(site.headers) if name == "headers" else typed
            one = replace(one, value=value, set_by=f"{path}, {table.title}")
        found.append(replace(one, kind=described["kind"].name, meaning=described["meaning"]))
    return found


def _usual(name: str, for_all: Setting | None, path: Path) -> Setting:
    """Return a setting of a site that no table sets."""
    if for_all is None:
        default = SITE_DEFAULTS.get(name, "")
        return Setting(name, default, DEFAULT, default, "", "")
    is_renamed = for_all.name != name and for_all.set_by == str(path)
    set_by = f"{path}, {for_all.name}" if is_renamed else for_all.set_by
    return replace(for_all, name=name, set_by=set_by)


def _typed(value: object) -> str:
    """Write a TOML value as it would be typed elsewhere."""
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def print_for_url(settings: list[Setting]) -> None:
    """Print what applies to a URL as a table."""
    table = Table()
    for heading in ("setting", "value", "set by"):
        table.add_column(heading, no_wrap=True)
    for one in settings:
        is_unlimited = one.name in UNLIMITED_AT_0 and _ZERO.match(one.value)
        cells = (one.name, NO_LIMIT if is_unlimited else one.value or EMPTY, one.set_by)
        table.add_row(*(Text(printable(cell)) for cell in cells))
    show(table)


def print_settings(settings: list[Setting]) -> None:
    """Print settings as a table."""
    table = Table()
    for heading in ("setting", "value", "set by", "default"):
        table.add_column(heading, no_wrap=True)
    table.add_column("meaning")
    for one in settings:
        cells = (one.name, one.value or EMPTY, one.set_by, one.default or EMPTY, one.meaning)
        table.add_row(*(Text(printable(cell)) for cell in cells))
    show(table)


def tables_line(file: str | None) -> str:
    """Return a line that names the tables for sites; "" without any."""
    sections = sorted(load_settings(file=file).sites.sections, key=lambda section: section.order)
    titles = ", ".join(section.title for section in sections)
    line = f"Tables for sites, which `recrawl settings --for URL` applies: {titles}"
    return printable(line) if sections else ""


def as_json(settings: list[Setting]) -> str:
    """Return settings as a JSON list of objects."""
    return json_text([asdict(one) for one in settings])


def example_file() -> str:
    """Return a settings file with every default commented out."""
    lines = [
        "# Settings of recrawl, read from recrawl.toml in the current directory or from the file",
        "# given with --settings. Remove the # in front of a setting to change it.",
    ]
    for name, field in FIELDS.items():
        described = field.metadata
        written = _toml(described["typed"], described["kind"])
        lines += ["", f"# {described['meaning']}", f"# {name} = {written}"]
    lines += ["", *EXAMPLE_TABLES]
    return "\n".join([*lines, ""])


def _toml(typed: str, kind: Kind) -> str:
    if kind in (COUNT, SHARE, BOOLEAN):
        return typed
    return json.dumps(list(kind.parse(typed)) if kind in LISTS else typed)
