"""Every setting: where it can be set, and how invalid values are refused."""

import sys
from pathlib import Path

import pytest

from recrawl.config.kinds import COUNT, NUMBER, SHARE
from recrawl.config.secrets import MASK, without_credentials
from recrawl.config.settings import FIELDS, Settings, agent_of
from recrawl.config.sources import OLD_NAMES, load_settings
from recrawl.crawler.build import retention_of
from recrawl.errors import SettingsError
from recrawl.store.rows import Retention


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_options_precede_the_environment_and_that_the_file() -> None:
    Path("recrawl.toml").write_text(
        'budget = "1/h"\nhost_delay = "3s"\nconnections = 7\n', encoding="utf-8"
    )
    environ = {"RECRAWL_BUDGET": "2/h", "RECRAWL_HOST_DELAY": "4s"}
    found = load_settings({"budget": "3/h", "contact": None}, environ=environ)
    assert (found.budget, found.connections) == (72.0, 7)
    assert found.host_delay == pytest.approx(4.0)
    assert found.contact == Settings().contact


def test_the_defaults_hold_if_nothing_is_set() -> None:
    assert load_settings(environ={}) == Settings()


@pytest.mark.parametrize("name", FIELDS)
def test_every_default_can_be_typed(name: str) -> None:
    typed = FIELDS[name].metadata["typed"]
    found = load_settings(environ={f"RECRAWL_{name.upper()}": typed})
    assert getattr(found, name) == getattr(Settings(), name)


@pytest.mark.parametrize("name", FIELDS)
def test_every_setting_is_described(name: str) -> None:
    described = FIELDS[name].metadata
    assert described["meaning"].endswith(".")
    assert described["kind"].name
    assert described["kind"].examples


def test_lists_numbers_and_booleans_of_toml_are_understood() -> None:
    text = 'follow = true\nfollow_hosts = ["a.example", "b.example"]\nlink_importance = 0.25\n'
    Path("mine.toml").write_text(text, encoding="utf-8")
    found = load_settings(environ={}, file="mine.toml")
    assert (found.follow, found.link_importance) == (True, 0.25)
    assert found.follow_hosts == ("a.example", "b.example")


@pytest.mark.parametrize("given", ["true", "yes", "1", "Yes", "false", "no", "0", "No"])
def test_what_is_on_or_off_can_be_said_in_several_ways(given: str) -> None:
    found = load_settings(environ={"RECRAWL_FOLLOW": given})
    assert found.follow is (given.lower() in {"true", "yes", "1"})


@pytest.mark.parametrize(
    ("typed", "size"),
    [("7", 7), ("7b", 7), ("7kB", 7_000), ("1.5 MB", 1_500_000), (" 1GB ", 1_000_000_000)],
)
def test_sizes_are_in_bytes_unless_they_say_otherwise(typed: str, size: int) -> None:
    assert load_settings(environ={"RECRAWL_MAX_BYTES": typed}).max_bytes == size


@pytest.mark.parametrize("name", [
    *("connections", "host_connections", "max_bytes", "processes", "full_fetch_every"),
    *("gone_after", "keep_changes", "webhook_connections", "webhook_attempts", "lease_time"),
])  # fmt: skip
def test_these_are_at_least_one(name: str) -> None:
    unit = "s" if name == "lease_time" else ""
    assert getattr(load_settings(environ={f"RECRAWL_{name.upper()}": f"1{unit}"}), name) == 1
    with pytest.raises(SettingsError, match="the minimum is 1"):
        load_settings(environ={f"RECRAWL_{name.upper()}": f"0{unit}"})


@pytest.mark.parametrize(("name", "least"), [
    *((name, "0s") for name in ("slack", "host_delay", "max_crawl_delay", "min_interval")),
    *((name, "0s") for name in ("max_interval", "gone_after_time", "keep_for")),
    *((name, "0/day") for name in ("host_budget", "sitemap_budget")),
    *((name, "0") for name in ("max_redirects", "parse_processes", "min_change", "keep_versions")),
    *((name, "0") for name in ("max_sitemap_pages", "max_depth", "max_pages", "link_importance")),
])  # fmt: skip
def test_these_may_be_nothing_but_not_less(name: str, least: str) -> None:
    variable = f"RECRAWL_{name.upper()}"
    assert getattr(load_settings(environ={variable: least}), name) == 0
    with pytest.raises(SettingsError, match=variable):
        load_settings(environ={variable: f"-{least.replace('0', '1')}"})


@pytest.mark.parametrize(
    ("name", "least", "less"),
    [
        *((name, "0.001s", "0.0009s") for name in ("connect_timeout", "read_timeout")),
        *((name, "0.001s", "0.0009s") for name in ("total_timeout", "webhook_timeout")),
        *((name, "0.0865s", "0.0863s") for name in ("refused_retry", "sitemap_interval")),
        ("half_life", "0.0000865s", "0.0000863s"),
        ("budget", "0.0000000011/day", "0.0000000009/day"),
    ],
)
def test_these_are_more_than_nothing_by_little(name: str, least: str, less: str) -> None:
    variable = f"RECRAWL_{name.upper()}"
    assert getattr(load_settings(environ={variable: least}), name) > 0
    with pytest.raises(SettingsError, match="too small"):
        load_settings(environ={variable: less})


def test_on_windows_one_process_fetches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert load_settings({"processes": "1"}, environ={}).processes == 1
    with pytest.raises(SettingsError, match="on Windows, one process fetches"):
        load_settings({"processes": "2"}, environ={})


@pytest.mark.parametrize("typed", ["0.05", "5%", " 5 % "])
def test_a_share_is_understood_in_percent_too(typed: str) -> None:
    assert load_settings(environ={"RECRAWL_MIN_CHANGE": typed}).min_change == 0.05


def test_selectors_are_a_list_and_may_have_commas() -> None:
    given = ["#comments", "aside:is(.related, .more)"]
    Path("mine.toml").write_text(f"ignore = {given}\nmin_change = 0.1\n", encoding="utf-8")
    found = load_settings(environ={"RECRAWL_WATCH": "h1, h2"}, file="mine.toml")
    assert (found.ignore, found.watch) == (tuple(given), ("h1, h2",))
    assert found.min_change == 0.1


@pytest.mark.parametrize(
    ("environ", "sentence"),
    [
        ({"RECRAWL_BUDGET": "fast"}, "RECRAWL_BUDGET: 'fast' is not a rate"),
        (
            {"RECRAWL_BUDGET": "0/day"},
            "RECRAWL_BUDGET: '0/day' is too small; the minimum is 1e-09 per day",
        ),
        ({"RECRAWL_CONNECTIONS": "0"}, "RECRAWL_CONNECTIONS: '0' is too small; the minimum is 1"),
        ({"RECRAWL_CONNECTIONS": "few"}, "RECRAWL_CONNECTIONS: 'few' is not a number"),
        ({"RECRAWL_FOLLOW": "maybe"}, "RECRAWL_FOLLOW: 'maybe' is not true or false"),
        ({"RECRAWL_MAX_BYTES": "10XB"}, "RECRAWL_MAX_BYTES: '10XB' is not a size"),
        ({"RECRAWL_FINGERPRINT": "magic"}, "fingerprint: 'magic' is not one of"),
        ({"RECRAWL_MIN_CHANGE": "5 %%"}, "RECRAWL_MIN_CHANGE: '5 %%' is not a share"),
        ({"RECRAWL_MIN_CHANGE": "101%"}, "RECRAWL_MIN_CHANGE: '101%' is too large; the maximum"),
        ({"RECRAWL_MIN_CHANGE": "nan"}, "RECRAWL_MIN_CHANGE: 'nan' is too small"),
        ({"RECRAWL_SELECTOR": "main"}, "selector is given, but fingerprint is text"),
        ({"RECRAWL_FINGERPRINT": "selector"}, "selector is missing"),
        (
            {"RECRAWL_FOLLOW_HOSTS": "https://a.example/"},
            "RECRAWL_FOLLOW_HOSTS: 'https://a.example/': write only the host",
        ),
        ({"RECRAWL_SERVER_NAMES": "a b"}, "RECRAWL_SERVER_NAMES: 'a b' is not a list of hosts"),
        ({"RECRAWL_LISTEN": "127.0.0.1:99999"}, "RECRAWL_LISTEN: '127.0.0.1:99999' is not an addr"),
        ({"RECRAWL_USER_AGENT": "a\nb"}, "user_agent: a User-Agent is like"),
        ({"RECRAWL_USER_AGENT": "(robot)"}, "user_agent: a User-Agent is like"),
        ({"RECRAWL_CONTACT": "me\nyou"}, "contact: 'me\\nyou' cannot be sent"),
    ],
)
def test_invalid_values_are_named(environ: dict[str, str], sentence: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(environ=environ)
    assert str(caught.value).startswith(sentence)


def test_hosts_are_understood_however_they_are_spelled() -> None:
    typed = "WWW.Example.org, bücher.example., a.example:443,b.example:8080"
    found = load_settings(environ={"RECRAWL_FOLLOW_HOSTS": typed})
    expected = ("www.example.org", "xn--bcher-kva.example", "a.example", "b.example:8080")
    assert found.follow_hosts == expected


@pytest.mark.parametrize("typed", ["inf", "-inf", "nan", "1e999"])
@pytest.mark.parametrize(
    "name",
    [name for name in FIELDS if FIELDS[name].metadata["kind"] in (COUNT, NUMBER, SHARE)],
)
def test_a_number_that_is_none_or_without_end_is_refused(name: str, typed: str) -> None:
    variable = f"RECRAWL_{name.upper()}"
    with pytest.raises(SettingsError, match=f"^{variable}: '{typed}' is "):
        load_settings(environ={variable: typed})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("budgte = 1", "mine.toml: there is no setting 'budgte'; `recrawl settings` lists them"),
        ("budget = ", "mine.toml: invalid TOML: "),
        ('budget = "1"', "mine.toml, budget: '1' has no unit"),
        (f"budget = {'[' * 9_999}", "mine.toml: values are nested too deeply"),
        (f"budget = {'{a = ' * 9_999}", "mine.toml: values are nested too deeply"),
        (f"{'a.' * 99_999}a = 1", "mine.toml: a key has more than 1,000 parts"),
        (f"[host.{'a.' * 99_999}a]", "mine.toml: a key has more than 1,000 parts"),
        ("""'"'.""" * 9_999 + "a = 1", "mine.toml: a key has more than 1,000 parts"),
        (f"processes = {'9' * 5_000}", "mine.toml: invalid TOML: "),
    ],
    ids=lambda text: text[:20],
)
def test_an_invalid_file_is_named(text: str, sentence: str) -> None:
    Path("mine.toml").write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        load_settings(environ={}, file="mine.toml")
    assert str(caught.value).startswith(sentence)


def test_dots_in_texts_are_not_parts_of_keys() -> None:
    agent = f"bot ({'.' * 2_000})"
    Path("mine.toml").write_text(f'user_agent = "{agent}" # "\n', encoding="utf-8")
    assert load_settings(environ={}, file="mine.toml").user_agent == agent


@pytest.mark.parametrize("name", ["connect_timeout", "read_timeout", "total_timeout"])
def test_a_timeout_is_a_millisecond_at_least(name: str) -> None:
    shortest = load_settings({name: "1ms"}, environ={})
    assert getattr(shortest, name) == pytest.approx(0.001)
    with pytest.raises(SettingsError, match=r"the minimum is 0\.001"):
        load_settings({name: "0s"}, environ={})


@pytest.mark.parametrize(
    "name",
    [
        *("slack", "host_delay", "host_budget", "max_crawl_delay", "max_redirects", "min_interval"),
        *("parse_processes", "max_interval", "min_change", "gone_after_time", "keep_versions"),
        *("keep_for", "sitemap_budget", "max_sitemap_pages", "max_depth", "max_pages"),
        "link_importance",
    ],
)
def test_what_can_be_none_at_all_may_be_0_and_not_less(name: str) -> None:
    unit = {"a duration": "s", "a rate": "/day"}.get(FIELDS[name].metadata["kind"].name, "")
    assert getattr(load_settings({name: f"0{unit}"}, environ={}), name) == 0
    with pytest.raises(SettingsError):
        load_settings({name: f"-1{unit}"}, environ={})


def test_a_file_that_is_named_must_exist() -> None:
    with pytest.raises(SettingsError, match="there is no such file"):
        load_settings(environ={}, file="mine.toml")


def test_the_user_agent_has_the_contact() -> None:
    assert agent_of(Settings(contact="https://a.example/bot")).endswith("(+https://a.example/bot)")
    assert agent_of(Settings(user_agent="mine/1", contact="x")) == "mine/1"
    assert agent_of(Settings()).startswith("recrawl/")


def test_patterns_are_lists_in_toml_and_separated_by_commas_elsewhere() -> None:
    text = 'include = ["https://A.example/x,y/*", "*.html"]\n'
    Path("recrawl.toml").write_text(text, encoding="utf-8")
    found = load_settings(environ={"RECRAWL_EXCLUDE": "https://a.example/s?*, *.pdf"})
    assert found.include == ("https://a.example/x,y/*", "*.html")
    assert found.exclude == ("https://a.example/s?*", "*.pdf")
    for wrong in ('["*.html", "docs"]', '"docs"', '["ftp://a.example/*"]'):
        Path("recrawl.toml").write_text(f"exclude = {wrong}\n", encoding="utf-8")
        with pytest.raises(SettingsError, match=r"exclude: .* is not a list of URL patterns"):
            load_settings(environ={})


@pytest.mark.parametrize(("old", "new"), OLD_NAMES.items())
def test_old_names_are_refused_with_the_new_one(old: str, new: str) -> None:
    assert new in FIELDS
    assert old not in FIELDS
    Path("mine.toml").write_text(f"{old} = 1\n", encoding="utf-8")
    with pytest.raises(SettingsError, match=rf"^mine\.toml: {old} is now {new}$"):
        load_settings(environ={}, file="mine.toml")
    sentence = f"^RECRAWL_{old} is now RECRAWL_{new}$".upper().replace("IS NOW", "is now")
    with pytest.raises(SettingsError, match=sentence):
        load_settings(environ={f"RECRAWL_{old.upper()}": "1"})
    sentence = f"^--{old} is now --{new}$".replace("_", "-")
    with pytest.raises(SettingsError, match=sentence):
        load_settings({old: "1"}, environ={})


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"^there is no setting 'budgte'"):
        load_settings({"budgte": "1/h"}, environ={})


def test_how_much_of_the_past_is_kept_is_in_microseconds_and_zero_is_no_limit() -> None:
    kept = retention_of(Settings(keep_for=2.0, keep_changes=5, keep_versions=3))
    assert kept == Retention(5, 2 * 86_400_000_000, 3)
    assert retention_of(Settings(keep_for=0.0)).time is None


def test_a_proxy_is_shown_without_credentials_however_it_is_written() -> None:
    assert (
        without_credentials("http://me:word@proxy.example:3128")
        == f"http://{MASK}@proxy.example:3128"
    )
    assert without_credentials("me:word@proxy.example:3128") == MASK
    assert without_credentials("proxy.example:3128") == "proxy.example:3128"
