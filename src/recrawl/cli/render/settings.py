"""The crawler's settings as people read them: as a table, as JSON, and as a file to begin with."""

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
    COUNT,
    FILE,
    KNOBS,
    PREFIX,
    SHARE,
    WORDS,
    YES_NO,
    Kind,
    load_settings,
)

DEFAULT = "default"
NOTHING = "–"


@dataclass(frozen=True)
class Knob:
    """A setting.

    Attributes:
        name: Its name in a file; a flag has - for _.
        value: What it is now, as somebody typed it.
        set_by: Who typed that.
        default: What it is unless somebody says otherwise.
        kind: What may be typed.
        meaning: What it does.
    """

    name: str
    value: str
    set_by: str
    default: str
    kind: str
    meaning: str


def knobs_now(file: str | None) -> list[Knob]:
    """Give every setting as a run without flags would have it, or say what is wrong with one."""
    load_settings(file=file)
    path = Path(FILE if file is None else file)
    told = tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}
    return [_knob(name, field, path, told) for name, field in KNOBS.items()]


def _knob(name: str, field: "Field[Any]", path: Path, told: dict[str, Any]) -> Knob:
    described = field.metadata
    variable = PREFIX + name.upper()
    value, set_by = described["typed"], DEFAULT
    if variable in os.environ:
        value, set_by = os.environ[variable], variable
    elif name in told:
        value, set_by = _typed(told[name]), str(path)
    return Knob(
        name, value, set_by, described["typed"], described["kind"].name, described["meaning"]
    )


def _typed(value: object) -> str:
    """Write what a TOML file says as it would be typed elsewhere."""
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def print_knobs(knobs: list[Knob]) -> None:
    """Print settings as a table."""
    table = Table()
    for heading in ("setting", "value", "set by"):
        table.add_column(heading, no_wrap=True)
    table.add_column("default", no_wrap=True)
    table.add_column("meaning")
    for knob in knobs:
        cells = (knob.name, knob.value or NOTHING, knob.set_by, knob.default or NOTHING)
        table.add_row(*(Text(printable(cell)) for cell in (*cells, knob.meaning)))
    show(table)


def as_json(knobs: list[Knob]) -> str:
    """Write settings as a list of objects."""
    return json.dumps([asdict(knob) for knob in knobs], ensure_ascii=False, indent=2)


def example_file() -> str:
    """Give a file that says every default, each as a comment."""
    lines = [
        "# Settings of recrawl, read from recrawl.toml in the current directory or from the file",
        "# that --settings names. Take away the # before a setting to change it.",
    ]
    for name, field in KNOBS.items():
        described = field.metadata
        written = _toml(described["typed"], described["kind"])
        lines += ["", f"# {described['meaning']}", f"# {name} = {written}"]
    return "\n".join([*lines, ""])


def _toml(typed: str, kind: Kind) -> str:
    if kind in (COUNT, SHARE, YES_NO):
        return typed
    if kind is WORDS:
        return json.dumps(list(WORDS.read(typed)))
    return json.dumps(typed)
