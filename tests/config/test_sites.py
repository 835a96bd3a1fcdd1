"""Settings of sites: which table applies to a URL, what is refused, and what is never shown."""

from pathlib import Path
from typing import Any

import pytest

from recrawl.config.access import site_access
from recrawl.config.readers import site_readers
from recrawl.config.secrets import MASK, Secret
from recrawl.config.settings import FIELDS, Settings
from recrawl.config.site_tables import SITE_FIELDS, shown_proxy
from recrawl.config.sites import Site
from recrawl.config.sources import load_settings
from recrawl.crawler.crawler import Crawler
from recrawl.errors import SettingsError
from recrawl.http.access import NO_ACCESS, Proxy, basic_auth

WORD = "sesame"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def settings_of(text: str, options: dict[str, Any] | None = None, **environ: str) -> Settings:
    Path("recrawl.toml").write_text(text, encoding="utf-8")
    return load_settings(options, environ=environ)


def refusal_of(text: str, **environ: str) -> str:
    """Return the sentence that a file is refused with, which has no secret in it."""
    with pytest.raises(SettingsError) as caught:
        site_access(settings_of(text, None, **environ), environ)
    assert WORD not in str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


TABLES = """
host_delay = "1s"
fingerprint = "main"
[host."example.org"]
delay = "5s"
importance = 2
min_interval = "1h"
[host."*.example.org"]
delay = "7s"
[host."*.deep.example.org"]
delay = "8s"
[url."https://example.org/news/*"]
importance = 3
selector = "article"
[url."https://example.org/news/*/live"]
importance = 4
fingerprint = "bytes"
[url."https://*.example.org/*.pdf"]
importance = 5
"""


@pytest.mark.parametrize(
    ("url", "delay", "importance", "fingerprint"),
    [
        ("https://example.org/", 5.0, 2, "main"),
        ("http://example.org/news/1", 5.0, 2, "main"),
        ("https://example.org/news/1", 5.0, 3, "selector"),
        ("https://example.org/news/1?b=2", 5.0, 3, "selector"),
        ("https://example.org/news/1/live", 5.0, 4, "bytes"),
        ("https://example.org/newspaper", 5.0, 2, "main"),
        ("https://www.example.org/", 7.0, None, "main"),
        ("https://www.example.org/a/b.pdf", 7.0, 5, "main"),
        ("https://a.deep.example.org/", 8.0, None, "main"),
        ("https://deep.example.org/", 7.0, None, "main"),
        ("https://badexample.org/", 1.0, None, "main"),
        ("https://example.org.evil.example/", 1.0, None, "main"),
        ("https://evil.example/.example.org/a.pdf", 1.0, None, "main"),
        ("https://example.org:8443/news/1", 1.0, None, "main"),
    ],
)
def test_the_most_specific_table_that_sets_it_applies(
    url: str, delay: float, importance: float | None, fingerprint: str
) -> None:
    site = settings_of(TABLES).site_of(url)
    assert site.delay == pytest.approx(delay)
    assert (site.importance, site.fingerprint) == (importance, fingerprint)


def test_options_and_the_environment_precede_the_tables() -> None:
    url = "https://example.org/news/1"
    by_variable = settings_of(TABLES, RECRAWL_HOST_DELAY="9s", RECRAWL_MIN_INTERVAL="2h")
    assert by_variable.site_of(url).delay == pytest.approx(9.0)
    assert by_variable.site_of(url).min_interval == pytest.approx(2 / 24)
    by_option = settings_of(TABLES, {"fingerprint": "text"})
    assert by_option.site_of(url).fingerprint == "text"
    assert by_option.site_of(url).selector == ""
    assert by_option.site_of(url).delay == pytest.approx(5.0)


def test_a_url_pattern_precedes_its_host_wherever_it_is_in_the_file() -> None:
    text = '[url."https://a.example/x*"]\nimportance = 3\n[host."a.example"]\nimportance = 2\n'
    assert settings_of(text).site_of("https://a.example/xy").importance == 3.0


@pytest.mark.parametrize(
    ("pattern", "url"),
    [
        ("https://Example.ORG:443/b\u00fccher/*", "https://example.org/b%C3%BCcher/1"),
        ("HTTPS://example.org", "https://example.org/"),
        ("https://example.org/a?x=1*", "https://example.org/a?x=12&y=3"),
        ("http://*.example.org/*", "http://www.example.org/a"),
    ],
)
def test_patterns_match_urls_however_they_are_written(pattern: str, url: str) -> None:
    assert settings_of(f'[url."{pattern}"]\nimportance = 7\n').site_of(url).importance == 7.0


def test_a_pattern_with_many_wildcards_is_soon_done_with_a_long_url() -> None:
    pattern = f"https://example.org{8 * '/*'}.html"
    settings = settings_of(f'[url."{pattern}"]\nimportance = 7\n')
    url = f"https://example.org{4_000 * '/'}"
    assert settings.site_of(url).importance is None
    assert settings.site_of(f"{url}.html").importance == 7.0


def test_headers_of_tables_add_up_and_the_most_specific_wins() -> None:
    text = (
        '[host."a.example"]\nheaders = { X-A = "1", X-B = "2" }\n'
        '[url."https://a.example/x"]\nheaders = { x-b = "3" }\n'
    )
    access = site_access(settings_of(text))
    assert access("https://a.example/x").headers == {"X-A": "1", "x-b": "3"}
    assert access("https://a.example/y").headers == {"X-A": "1", "X-B": "2"}
    assert access("https://b.example/x") is NO_ACCESS


def test_secrets_come_from_the_environment_or_a_file() -> None:
    Path("login").write_text("me:from a file\n", encoding="utf-8")
    Path("cookies.txt").write_text("a.example\tFALSE\t/\tFALSE\t0\tn\tv\n", encoding="utf-8")
    text = (
        'proxy = "env:PROXY"\n'
        '[host."a.example"]\nauth = "file:login"\nheaders = { X-Key = "env:KEY" }\n'
        'cookies = "cookies.txt"\n[host."b.example"]\nauth = "you:typed"\n'
    )
    environ = {"PROXY": "http://p.example:1", "KEY": "1234"}
    access = site_access(settings_of(text), environ)
    mine = access("https://a.example/")
    assert mine.headers_for("https://a.example/", 0.0) == {
        "Authorization": basic_auth("me:from a file"),
        "X-Key": "1234",
        "Cookie": "n=v",
    }
    assert mine.proxy == access("https://c.example/").proxy == Proxy("http://p.example:1")
    assert access("https://b.example/").headers == {"Authorization": basic_auth("you:typed")}


def test_paths_are_relative_to_the_settings_file(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "login").write_text("me:word", encoding="utf-8")
    (tmp_path / "conf" / "mine.toml").write_text(
        '[host."a.example"]\nauth = "file:login"\n', encoding="utf-8"
    )
    found = load_settings(environ={}, file="conf/mine.toml")
    assert site_access(found)("http://a.example/").headers == {
        "Authorization": basic_auth("me:word")
    }


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ('auth = "sesame"', "auth: write user:password, or env:NAME or file:PATH to read it"),
        ("auth = 5", "auth: write text in quotes"),
        ('auth = "env:NOT_SET"', "auth: the environment variable NOT_SET is not set"),
        ('auth = "file:absent"', "auth: absent: No such file or directory"),
        ('auth = "env:WORD"', "auth: its value is not user:password"),
        ("cookies = 5", "cookies: name a file, such as"),
        ('cookies = " "', "cookies: name a file, such as"),
        ('cookies = "absent.txt"', "cookies: absent.txt: No such file or directory"),
        ('cookies = "bad.txt"', "cookies: bad.txt, row 1: this is not a cookie"),
        ('headers = { X-Key = "sesame\\n" }', "headers: X-Key: a value is text on one line"),
        ('headers = { "X Key" = "sesame" }', "headers: 'X Key' cannot be the name of a header"),
        ('headers = "sesame"', "headers: write names and values"),
        ('headers = { User-Agent = "sesame" }', "headers: User-Agent: set user_agent"),
        ('headers = { host = "sesame" }', "headers: host: it follows from the URL"),
        ('proxy = "socks5://me:sesame@p:1"', "proxy: this is not a proxy URL"),
        ('headers = { Authorization = "sesame" }\nauth = "me:sesame"', "cannot be combined"),
        ('headers = { cookie = "sesame" }\ncookies = "c"', "cannot be combined"),
        ('fingerprint = "selector"', "selector: give it with fingerprint = selector"),
        ('fingerprint = "magic"', "fingerprint: 'magic' is not one of bytes, text"),
        ('delay = "soon"', "delay: 'soon' is not a duration"),
        ('delay = "31d"', "delay: '31d' is too large; the maximum is 30d"),
        ("importance = inf", "importance: 'inf' is too large"),
        ("importance = nan", "importance: 'nan' is too small"),
        ("importance = -1", "importance: '-1' is too small; the minimum is 0"),
        ('min_interval = "2h"\nmax_interval = "1h"', "max_interval: it is shorter than"),
        ('pace = "1s"', "there is no setting 'pace' for a site; choose one of delay, budget"),
    ],
)
def test_a_table_that_cannot_be_used_is_named_and_no_secret_repeated(
    table: str, sentence: str
) -> None:
    Path("bad.txt").write_text("sesame\n", encoding="utf-8")
    refusal = refusal_of(f'[host."a.example"]\n{table}\n', WORD=WORD)
    assert '[host."a.example"]' in refusal
    assert sentence in refusal


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('[host."https://a.example/"]', "write only the host, such as example.org"),
        ('[host."a b"]', "this is not a valid host"),
        ('[host."a.*.example"]', "this is not a valid host"),
        ('[host.example.org]\ndelay = "1s"', "put the name in quotes"),
        ("host = 5", "host: write a table"),
        ("[host]\ndelay = 5", "host.delay: write a table with a name in quotes"),
        ('[url."example.org/*"]', "a pattern begins with http:// or https://"),
        ('[url."https://example.org*"]', "in the host, * may only stand for subdomains"),
        ('[url."https://*/x"]', "in the host, * may only stand for subdomains"),
        ('[url."https://me:sesame@example.org/"]', "it has a user name or password"),
        ('[url."https://a.example/"]\ndelay = "1s"', "it applies to a whole host; set it in [host"),
        ('[url."https://a.example/"]\nbudget = "1/h"', "it applies to a whole host; set it in"),
    ],
)
def test_a_table_for_no_site_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(SettingsError) as caught:
        settings_of(text)
    assert str(caught.value).startswith("recrawl.toml, ")
    assert WORD not in str(caught.value)
    assert sentence in str(caught.value)


READ = """
ignore = ["#ads"]
min_change = "5%"
[host."a.example"]
ignore = ["#comments", "aside.related"]
[url."https://a.example/prices/*"]
watch = "table"
min_change = 0
"""


@pytest.mark.parametrize(
    ("url", "ignore", "watch", "min_change"),
    [
        ("https://b.example/", ("#ads",), (), 0.05),
        ("https://a.example/", ("#comments", "aside.related"), (), 0.05),
        ("https://a.example/prices/1", ("#comments", "aside.related"), ("table",), 0.0),
    ],
)
def test_what_counts_is_set_per_site(
    url: str, ignore: tuple[str, ...], watch: tuple[str, ...], min_change: float
) -> None:
    found = settings_of(READ)
    site = found.site_of(url)
    assert (site.ignore, site.watch, site.min_change) == (ignore, watch, min_change)
    readers = site_readers(found)
    assert readers(url).min_change == min_change
    assert readers(url) is readers(url)


@pytest.mark.parametrize("name", ["watch", "ignore"])
def test_an_invalid_selector_of_what_counts_is_refused_before_the_crawl(name: str) -> None:
    with pytest.raises(SettingsError, match=f"^{name}: 'p\\[' is not a CSS selector$"):
        site_readers(settings_of(f'{name} = ["h1", "p["]'))
    for_host = settings_of(f'[host."a.example"]\n{name} = ["p["]')
    with pytest.raises(SettingsError, match=rf'^recrawl.toml, \[host\."a.example"\], {name}: '):
        site_readers(for_host)


def test_an_invalid_selector_is_refused_before_the_crawl_begins() -> None:
    found = settings_of('[url."https://a.example/*"]\nselector = "p["\n')
    with pytest.raises(SettingsError, match=r'^recrawl.toml, \[url\."https://a.example/\*"\], sel'):
        site_readers(found)


def test_settings_do_not_print_their_secrets() -> None:
    found = settings_of(
        f'proxy = "http://me:{WORD}@p.example"\n'
        f'[host."a.example"]\nauth = "me:{WORD}"\nheaders = {{ X-Key = "{WORD}" }}\n'
    )
    assert WORD not in repr(found)
    assert WORD not in repr(found.site_of("https://a.example/"))
    assert shown_proxy(found.proxy) == f"http://{MASK}@p.example"
    assert shown_proxy(Secret("env:PROXY")) == "env:PROXY"


def test_python_programs_give_tables_as_dictionaries() -> None:
    crawler = Crawler(
        host_delay="2s", host={"a.example": {"delay": "5s"}}, url={"http://b.example/*": {}}
    )
    assert crawler.settings.site_of("https://a.example/").delay == pytest.approx(5.0)
    assert crawler.settings.site_of("https://b.example/").delay == pytest.approx(2.0)
    with pytest.raises(SettingsError, match=r'^\[host\."a"\], delay: .x. is not a duration'):
        Crawler(host={"a": {"delay": "x"}})


def test_a_thousand_tables_are_looked_up_by_host() -> None:
    many = {f"host{n}.example": {"delay": f"{n}s"} for n in range(1000)}
    sites = Crawler(host=many).settings
    assert sites.site_of("https://host999.example/").delay == pytest.approx(999.0)
    assert len(sites.sites.sections_of("https://host5.example/")) == 1


def test_every_setting_of_a_site_is_described() -> None:
    assert {*SITE_FIELDS} == {name for name in Site.__dataclass_fields__ if name != "set_by"}
    assert all(described["meaning"].endswith(".") for described in SITE_FIELDS.values())


# Bounds


@pytest.mark.parametrize("name", FIELDS)
def test_every_number_has_bounds(name: str) -> None:
    described = FIELDS[name].metadata
    if isinstance(getattr(Settings(), name), (int, float)) and described["typed"] not in (
        "true",
        "false",
    ):
        assert described["minimum"] is not None
        with pytest.raises(SettingsError, match="is too large; "):
            load_settings({name: _larger(described["maximum"])}, environ={})


def _larger(typed: str) -> str:
    digits = "".join(one for one in typed if one.isdigit())
    return typed.replace(digits, f"{digits}1")


@pytest.mark.parametrize("typed", ["inf", "nan", "-inf", "1e400", "2"])
def test_a_share_without_a_bound_is_refused(typed: str) -> None:
    with pytest.raises(SettingsError, match=r"is too (large|small)"):
        load_settings({"link_importance": typed}, environ={})
