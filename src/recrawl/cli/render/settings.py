"""The crawler's settings as a table, as JSON, and as an example file."""

import json
import os
import tomllib
from dataclasses import Field, asdict, dataclass
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from recrawl.cli.render.terminal import printable, show
from recrawl.crawler.settings import (
    BOOLEAN,
    COUNT,
    FIELDS,
    FILE,
    NAMES,
    PATTERNS,
    SHARE,
    Kind,
    load_settings,
    variable,
)

DEFAULT = "default"
EMPTY = "–"


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
    """Return every setting as a run without options would have it."""
    load_settings(file=file)
    path = Path(FILE if file is None else file)
    table = tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}
    return [_setting(name, field, path, table) for name, field in FIELDS.items()]


def _setting(name: str, field: "Field[Any]", path: Path, table: dict[str, Any]) -> Setting:
    described = field.metadata
    default = described["typed"]
    value, set_by = default, DEFAULT
    if variable(name) in os.environ:
        value, set_by = os.environ[variable(name)], variable(name)
    elif name in table:
        value, set_by = _typed(table[name]), str(path)
    return Setting(name, value, set_by, default, described["kind"].name, described["meaning"])


def _typed(value: object) -> str:
    """Write a TOML value as it would be typed elsewhere."""
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


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


def as_json(settings: list[Setting]) -> str:
    """Return settings as a JSON list of objects."""
    return json.dumps([asdict(one) for one in settings], ensure_ascii=False, indent=2)


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
    return "\n".join([*lines, ""])


def _toml(typed: str, kind: Kind) -> str:
    if kind in (COUNT, SHARE, BOOLEAN):
        return typed
    return json.dumps(list(kind.parse(typed)) if kind in (NAMES, PATTERNS) else typed)
