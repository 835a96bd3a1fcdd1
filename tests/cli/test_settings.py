"""What ``recrawl settings`` prints."""

import json
import tomllib
from pathlib import Path

import pytest
from cli.crawling_site import move_to, run
from cli.refusing import refused

from recrawl.config.settings import FIELDS, Settings
from recrawl.config.sources import load_settings


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


@pytest.mark.parametrize("command", ["notify --key 4711", "notify\t--key\t4711"])
def test_the_arguments_of_a_command_are_not_shown(
    monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("RECRAWL_ON_CHANGE", command)
    for arguments in ([], ["--format", "json"]):
        shown = run("settings", *arguments).stdout
        assert "notify ••••" in shown
        assert "4711" not in shown


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


SITES = """
host_delay = "3s"
proxy = "http://me:sesame@proxy.example:3128"
[host."a.example"]
budget = "10/month"
auth = "me:sesame"
ignore = ["#ads", "aside:is(.a, .b)"]
headers = { Accept-Language = "de", X-Key = "sesame" }
[url."https://a.example/news/*"]
selector = "article"
min_change = "5%"
max_interval = "50ms"
headers = { X-Other = "env:KEY" }
"""


def test_what_applies_to_a_url_is_shown_with_where_it_was_set_and_without_secrets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("recrawl.toml").write_text(SITES, encoding="utf-8")
    url = "https://A.example/news/1"
    shown = run("settings", "--for", url, "--format", "json").stdout
    found = {one["name"]: (one["value"], one["set_by"]) for one in json.loads(shown)}
    host, pattern = '[host."a.example"]', '[url."https://a.example/news/*"]'
    assert found == {
        "delay": ("3s", "recrawl.toml, host_delay"),
        "budget": ("10/month", f"recrawl.toml, {host}"),
        "fingerprint": ("selector", f"recrawl.toml, {pattern}"),
        "selector": ("article", f"recrawl.toml, {pattern}"),
        "watch": ("", "default"),
        "ignore": ("#ads, aside:is(.a, .b)", f"recrawl.toml, {host}"),
        "min_change": ("5%", f"recrawl.toml, {pattern}"),
        "headers": (
            "Accept-Language: de, X-Key: ••••, X-Other: env:KEY",
            f"recrawl.toml, {pattern}",
        ),
        "cookies": ("", "default"),
        "auth": ("••••", f"recrawl.toml, {host}"),
        "proxy": ("http://••••@proxy.example:3128", "recrawl.toml"),
        "importance": ("1", "default"),
        "min_interval": ("10m", "default"),
        "max_interval": ("50ms", f"recrawl.toml, {pattern}"),
    }
    monkeypatch.setenv("RECRAWL_MAX_INTERVAL", "7d")
    by_variable = json.loads(run("settings", "--for", url, "--format", "json").stdout)
    assert by_variable[-1]["set_by"] == "RECRAWL_MAX_INTERVAL"
    for printed in (shown, run("settings").stdout, run("settings", "--for", url).stdout):
        assert "sesame" not in printed


@pytest.mark.parametrize(
    ("budget", "shown"), [("0/day", "no limit"), ("0.5/day", "0.5/day"), ("10/day", "10/day")]
)
def test_what_applies_to_a_url_calls_no_limit_by_its_name(budget: str, shown: str) -> None:
    Path("recrawl.toml").write_text(f'host_budget = "{budget}"\n', encoding="utf-8")
    rows = run("settings", "--for", "https://a.example/").stdout.splitlines()
    cells = {row.split()[0]: row for row in rows}
    assert cells["budget"].split("  recrawl.toml")[0].split(maxsplit=1)[1].strip() == shown
    assert "no limit" in cells["max_interval"]
    assert "no limit" not in cells["min_interval"]


def test_the_tables_for_sites_are_named_below_the_settings() -> None:
    Path("recrawl.toml").write_text(SITES, encoding="utf-8")
    assert '[host."a.example"], [url."https://a.example/news/*"]' in run("settings").stdout


def test_a_url_that_cannot_be_crawled_has_no_settings() -> None:
    assert refused("settings", "--for", "ftp://a.example/").endswith("http and https are")
