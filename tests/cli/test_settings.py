"""What ``recrawl settings`` prints."""

import json
import tomllib
from pathlib import Path

import pytest
from cli.crawling_site import move_to, run
from cli.refusing import refused

from recrawl.crawler.settings import FIELDS, Settings, load_settings


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    move_to(tmp_path, monkeypatch)


def test_every_setting_is_listed_with_where_it_was_set(monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'budget = "1/h"\nfollow_hosts = ["a.example", "b.example"]\nfollow = true\n'
    Path("recrawl.toml").write_text(text, encoding="utf-8")
    monkeypatch.setenv("RECRAWL_BUDGET", "2/h")
    listed = {one["name"]: one for one in json.loads(run("settings", "--format", "json").stdout)}
    assert list(listed) == list(FIELDS)
    found = {name: (one["value"], one["set_by"]) for name, one in listed.items()}
    assert found["budget"] == ("2/h", "RECRAWL_BUDGET")
    assert found["follow"] == ("true", "recrawl.toml")
    assert found["follow_hosts"] == ("a.example, b.example", "recrawl.toml")
    assert found["connections"] == (FIELDS["connections"].metadata["typed"], "default")


def test_the_table_has_every_setting() -> None:
    shown = run("settings").stdout
    assert all(f"\n{name} " in shown for name in FIELDS)
    assert all(field.metadata["meaning"] in shown for field in FIELDS.values())


def test_the_example_has_the_defaults() -> None:
    example = run("settings", "--example").stdout
    assert tomllib.loads(example) == {}
    lines = [line.removeprefix("# ") for line in example.splitlines() if " = " in line]
    settings = [line for line in lines if line.partition(" = ")[0] in FIELDS]
    assert len(settings) == len(FIELDS)
    Path("mine.toml").write_text("\n".join(settings), encoding="utf-8")
    assert load_settings(environ={}, file="mine.toml") == Settings()


def test_a_bad_setting_is_refused() -> None:
    Path("mine.toml").write_text("connections = 0", encoding="utf-8")
    sentence = refused("settings", "--settings", "mine.toml")
    assert sentence == "mine.toml, connections: '0' is too small; the minimum is 1"
