"""What a robots.txt means: RFC 9309, what Google's reference adds, and a slow matcher."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recrawl.http import robots_rules as module
from recrawl.http.robots_rules import MAX_LINE, RobotsReader, normal, read_robots
from recrawl.urls import canonical


def allows(text: str, path: str, agent: str = "FooBot") -> bool:
    return read_robots(text, agent).allows(f"http://a.test{path}")


def obeys(rules: str, path: str) -> bool:
    return allows(f"User-agent: FooBot\n{rules}", path)


#: Pattern, paths that it matches, and paths that it does not: the table of Google's reference page.
MATCHES = [
    ("/", ["/", "/a", "/a?b", "/robots.txt"], []),
    ("/*", ["/", "/a"], []),
    ("/$", ["/"], ["/a", "/?a"]),
    ("/fish",
     ["/fish", "/fish.html", "/fish/salmon.html", "/fishheads", "/fish.php?id=anything"],
     ["/Fish.asp", "/catfish", "/?id=fish", "/desert/fish"]),
    ("/fish*",
     ["/fish", "/fish.html", "/fishheads/yummy.html", "/fish.php?id=anything"],
     ["/Fish.asp", "/catfish", "/?id=fish", "/desert/fish"]),
    ("/fish/",
     ["/fish/", "/fish/?id=anything", "/fish/salmon.htm"],
     ["/fish", "/fish.html", "/animals/fish/", "/Fish/Salmon.asp"]),
    ("/*.php",
     ["/index.php", "/filename.php", "/folder/any.php?parameters", "/filename.php/"],
     ["/", "/windows.PHP"]),
    ("/*.php$",
     ["/filename.php", "/folder/filename.php"],
     ["/filename.php?parameters", "/filename.php/", "/filename.php5", "/windows.PHP"]),
    ("/fish*.php",
     ["/fish.php", "/fishheads/catfish.php?parameters"],
     ["/Fish.PHP"]),
    # The examples of RFC 9309, section 2.2.2 and 2.2.3.
    ("/foo/bar?baz=quz", ["/foo/bar?baz=quz"], ["/foo/bar?baz=qux"]),
    ("/foo/bar?baz=https://foo.bar", ["/foo/bar?baz=https://foo.bar"], ["/foo/bar?baz=https:"]),
    ("/foo/bar/ツ", ["/foo/bar/%E3%83%84", "/foo/bar/%e3%83%84", "/foo/bar/ツ"], ["/foo/bar/"]),
    ("/foo/bar/%E3%83%84", ["/foo/bar/%E3%83%84", "/foo/bar/ツ"], ["/foo/bar/%E3%83"]),
    ("/foo/bar/%62%61%7A", ["/foo/bar/baz", "/foo/bar/%62%61%7A"], ["/foo/bar/ba"]),
    ("/with-a-%2A.html", ["/with-a-*.html", "/with-a-%2a.html"], ["/with-a-b.html"]),
    ("/foo-%24", ["/foo-$", "/foo-%24"], ["/foo-"]),
    # Colons and escapes, in paths and in queries.
    ("/wiki/Special:", ["/wiki/Special:Random", "/wiki/Special:"], ["/wiki/Special%3ARandom"]),
    ("/*?u=http:", ["/a?u=http://b"], ["/a?u=https://b"]),
    ("/a%2fb", ["/a%2Fb", "/a%2fb"], ["/a/b"]),
    ("/a%3fb", ["/a%3Fb"], ["/a?b"]),
    ("/a?b=%7e", ["/a?b=~c", "/a?b=%7Ec"], []),
    ("/100%", ["/100%", "/100%25"], ["/100"]),
    ("/a b|c", ["/a%20b%7Cc", "/a b|c"], ["/a+b|c"]),
    # A dollar elsewhere than at the end is a dollar; stars side by side are one.
    ("/a$b", ["/a$b", "/a$bc"], ["/a"]),
    ("/a**b", ["/ab", "/axb"], ["/a"]),
    ("/*a*b$", ["/ab", "/aab", "/abb"], ["/ba", "/abc"]),
    ("/ab*b$", ["/abb"], ["/ab"]),
    ("*.gif$", ["/a.gif"], ["/a.gif?b"]),
    ("/a*$", ["/a", "/ab"], ["/b"]),
    # A rule that is no path matches nothing.
    ("a", [], ["/a", "/"]),
    ("http://a.test/a", [], ["/a"]),
    ("$", [], ["/"]),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "matching", "others"), MATCHES)
def test_a_path_matches_as_documented(pattern: str, matching: list[str], others: list[str]) -> None:
    for path in matching:
        assert not obeys(f"Disallow: {pattern}", path), path
        assert obeys(f"Disallow: /\nAllow: {pattern}", path), path
    for path in others:
        assert obeys(f"Disallow: {pattern}", path), path


@pytest.mark.parametrize(
    ("rules", "path", "expected"),
    [
        # Google's reference page: the order of precedence.
        ("Allow: /p\nDisallow: /", "/page", True),
        ("Allow: /folder\nDisallow: /folder", "/folder/page", True),
        ("Allow: /page\nDisallow: /*.htm", "/page.htm", False),
        ("Allow: /page\nDisallow: /*.ph", "/page.php5", True),
        ("Allow: /$\nDisallow: /", "/", True),
        ("Allow: /$\nDisallow: /", "/page.htm", False),
        # RFC 9309, section 5.2: the longest match.
        ("Allow: /example/page/\nDisallow: /example/page/disallowed.gif",
         "/example/page/disallowed.gif", False),
        ("Disallow: /x\nAllow: /x/", "/x", False),
        ("Disallow: /x\nAllow: /x/", "/x/", True),
        ("Allow: /x/page.\nDisallow: /*.html", "/x/page.html", True),
        ("Allow: /x/page.\nDisallow: /*.html", "/x/y.html", False),
        ("Disallow:", "/x", True),
        ("Disallow:\nAllow:", "/x", True),
        ("Disallow: /foo/quz#qux\nAllow: /", "/foo/quz", False),
        ("Disallow: /\nAllow: /slash/index.html", "/slash/", True),
        ("Disallow: /\nAllow: /slash/index.html", "/slash/index.html", True),
        ("Disallow: /\nAllow: /slash/index.html", "/slash/index.htm", False),
        ("Disallow: /\nAllow: /slash/index.html", "/slash/a", False),
        # Octets count, not characters: a letter beyond ASCII is two or more escapes.
        ("Allow: /ä\nDisallow: /*%A4", "/ä", True),
        # The file itself is a page like any other for who asks for it as a page.
        ("Disallow: /", "/robots.txt", False),
        ("Disallow: /\nAllow: /robots.txt", "/robots.txt", True),
    ],
)  # fmt: skip
def test_the_longest_rule_decides(rules: str, path: str, expected: bool) -> None:
    assert obeys(rules, path) is expected
    swapped = "\n".join(reversed(rules.split("\n")))
    assert obeys(swapped, path) is expected


GROUPS = """allow: /foo/bar/

user-agent: FooBot
disallow: /
allow: /x/
user-agent: BarBot
disallow: /
allow: /y/


allow: /w/
user-agent: BazBot

user-agent: FooBot
allow: /z/
disallow: /
"""


@pytest.mark.parametrize(
    ("agent", "allowed", "disallowed"),
    [
        ("FooBot", ["/x/b", "/z/d"], ["/y/c", "/w/a", "/foo/bar/"]),
        ("barbot", ["/y/c", "/w/a"], ["/z/d", "/foo/bar/"]),
        ("BAZBOT", ["/z/d"], ["/x/b", "/foo/bar/"]),
        ("QuxBot", ["/x/b", "/foo/bar/"], []),
    ],
)
def test_groups_of_an_agent_are_merged(
    agent: str, allowed: list[str], disallowed: list[str]
) -> None:
    assert all(allows(GROUPS, path, agent) for path in allowed)
    assert not any(allows(GROUPS, path, agent) for path in disallowed)


@pytest.mark.parametrize(
    ("agents", "is_ours"),
    [
        (["FooBot"], True),
        (["foobot/2.1 (+http://a.test)"], True),
        (["FooBot Images"], True),
        (["FooBot, BarBot"], True),
        (["BarBot, FooBot"], False),
        (["Mozilla/5.0 (compatible; FooBot/2.1)"], False),
        (["FooBotImages"], False),
        (["Foo"], False),
        (["*"], True),
        (["* "], True),
        (["* BarBot"], True),
        (["*Bot"], False),
        ([""], False),
        (["BarBot", "FooBot"], True),
        (["BarBot", "*"], True),
    ],
)
def test_a_line_names_one_agent_by_its_first_word(agents: list[str], is_ours: bool) -> None:
    lines = "".join(f"User-agent: {agent}\n" for agent in agents)
    assert allows(f"{lines}Disallow: /", "/x") is not is_ours


def test_a_group_that_names_us_replaces_the_one_for_all() -> None:
    text = "User-agent: *\nDisallow: /\nCrawl-delay: 9\nUser-agent: FooBot\nDisallow:"
    assert allows(text, "/x")
    assert read_robots(text, "FooBot").delay == 0.0
    assert read_robots(text, "BarBot").delay == 9.0
    # Other lines do not end the list of agents, but a delay is for those named so far.
    text = "User-agent: FooBot\nCrawl-delay: 5\nSitemap: /s\nUser-agent: *\nDisallow: /x"
    assert not allows(text, "/x")
    assert read_robots(text, "FooBot").delay == 5.0
    assert read_robots(text, "BarBot").delay == 0.0


@pytest.mark.parametrize(
    "name",
    ["DISALLOW", "Dissallow", "dissalow", "disalow", "diasllow", "disallaw", "Disallowed",
     " disallow "],
)  # fmt: skip
@pytest.mark.parametrize("agent", ["user-agent", "User agent", "useragent", "USER-AGENTS"])
@pytest.mark.parametrize("separator", [":", " : ", "\t:\t"])
def test_misspelled_lines_are_understood(name: str, agent: str, separator: str) -> None:
    text = f"{agent}{separator}FooBot\n{name}{separator}/x # why\n"
    assert not allows(text, "/x")
    assert allows(text, "/y")


def test_a_forgotten_colon_is_understood_if_there_are_two_words() -> None:
    assert not allows("user-agent FooBot\ndisallow\t/x", "/x")
    assert allows("user-agent FooBot\ndisallow /x /y", "/x")
    assert allows("user-agent FooBot\ndisallow\n/x", "/x")


@pytest.mark.parametrize("ending", ["\n", "\r", "\r\n", "\n\r\n", "\n\n\n"])
@pytest.mark.parametrize("start", ["", "\n", "\u2028", "# a\vb\x85c"])
def test_lines_end_as_the_standard_says_and_nowhere_else(ending: str, start: str) -> None:
    text = ending.join([start, "User-agent: FooBot", "Disallow: /x\u2028Disallow: /y", "Allow: /z"])
    assert allows(text, "/x")
    assert allows(text, "/y")
    assert not allows(text, "/x%E2%80%A8Disallow:%20/yes")


def test_bytes_that_are_not_utf_8_are_compared_as_bytes() -> None:
    text = b"User-agent: FooBot\nDisallow: /caf\xe9".decode("utf-8", "surrogateescape")
    assert not allows(text, "/caf%E9")
    assert not allows(text, "/caf%e9/x")
    assert allows(text, "/caf%C3%A9")
    assert normal("/\ud800") == "/%ED%A0%80"


def test_a_line_counts_up_to_a_length() -> None:
    long = "/x/" + "a" * MAX_LINE
    assert not obeys(f"Disallow: {long}", f"{long}b")
    assert not obeys(f"Disallow: {long}", long[: MAX_LINE - len("Disallow: ")])
    assert obeys(f"Disallow: {long}", long[: MAX_LINE - len("Disallow: ") - 1])


@pytest.mark.parametrize(
    ("lines", "delay"),
    [
        ("Crawl-delay: 2", 2.0),
        ("crawldelay: .5", 0.5),
        ("Crawl-delay: 1,5 s", 1.5),
        ("Crawl-delay: 2\nCrawl-delay: 1", 2.0),
        ("Crawl-delay: -1", 0.0),
        ("Crawl-delay: inf", 0.0),
        ("Crawl-delay: ٣", 0.0),
        ("Request-rate: 1/5", 5.0),
        ("Request-rate: 2/1M 0600-0845", 30.0),
        ("Request-rate: 1/1h", 3600.0),
        ("Request-rate: 1/1d", 86_400.0),
        ("Request-rate: 0/1", 0.0),
        ("Request-rate: 1", 0.0),
    ],
)
def test_delays_are_the_longest_asked_for(lines: str, delay: float) -> None:
    assert read_robots(f"User-agent: *\n{lines}", "FooBot").delay == delay


def test_sitemaps_belong_to_no_group_and_are_limited() -> None:
    text = "Sitemap: /a\nUser-agent: x\nSite-map: /b:c\nSITEMAP: /a\nsitemap:\n"
    assert read_robots(text, "FooBot").sitemaps == ("/a", "/b:c")
    many = "".join(f"Sitemap: /{n}\n" for n in range(module.MAX_SITEMAPS + 5))
    assert len(read_robots(many, "FooBot").sitemaps) == module.MAX_SITEMAPS


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("http://a.test", "/"),
        ("http://a.test/", "/"),
        ("http://a.test?b=/c", "/?b=/c"),
        ("http://a.test/b;c?d#e", "/b;c?d"),
        ("http://a.test//b", "//b"),
    ],
)
def test_path_and_query_are_compared(url: str, path: str) -> None:
    file = read_robots(f"User-agent: *\nDisallow: /\nAllow: {path}$", "FooBot")
    assert file.allows(url)


@pytest.mark.parametrize(
    ("rule", "link"),
    [
        ("/*?u=http:", "/a?u=http://b"),
        ("/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https://foo.bar"),
        ("/*?x=a,b;c!d(e)'f@g$", "/a?x=a,b;c!d(e)'f@g"),
        ("/*?x=[", "/a?x=[1]"),
        ("/a[", "/a[1]"),
        ("/a?b=*/c", "/a?b=x/c"),
        ("/wiki/Special:", "/wiki/Special:Random"),
        ("/a?q", "/a?q"),
        ("/a?b=c%26d", "/a?b=c%26d"),
        ("/a?u=http%3A%2F%2Fb", "/a?u=http%3a%2f%2fb"),
    ],
)
def test_a_rule_holds_for_the_canonical_form_of_a_link(rule: str, link: str) -> None:
    """Whose query has more escapes than the link, which is what the rule was written for."""
    page = canonical(f"http://a.test{link}").removeprefix("http://a.test")
    assert not obeys(f"Disallow: {rule}", page)
    assert not obeys(f"Disallow: {rule}", link)


# Against a matcher that is slow and plainly right.


def naive(pattern: str, path: str) -> bool:
    """Whether a pattern matches, by trying every way in which its stars can stand for something."""
    if pattern == "$":
        return not path
    if not pattern:
        return True
    if pattern[0] == "*":
        return any(naive(pattern[1:], path[skipped:]) for skipped in range(len(path) + 1))
    return path[:1] == pattern[0] and naive(pattern[1:], path[1:])


def naive_verdict(rules: list[tuple[bool, str]], path: str) -> bool:
    matching = [(len(text), allow) for allow, text in rules if text and naive(text, path)]
    return max(matching, default=(0, True))[1]


PATTERNS = st.builds(str.__add__, st.sampled_from("/*"), st.text("ab/*", max_size=6))
RULES = st.lists(
    st.tuples(st.booleans(), st.builds(str.__add__, PATTERNS, st.sampled_from(["", "$"]))),
    max_size=6,
)


@settings(max_examples=300, deadline=None)
@given(rules=RULES, path=st.text("ab/", max_size=8).map("/".__add__))
@example(rules=[(False, "/a*a$")], path="/a")
@example(rules=[(False, "/*$"), (True, "/*")], path="/")
@example(rules=[(False, "*/a*b")], path="/ab")
def test_matches_as_a_slow_matcher_does(rules: list[tuple[bool, str]], path: str) -> None:
    lines = "\n".join(f"{'Allow' if allow else 'Disallow'}: {text}" for allow, text in rules)
    assert obeys(lines, path) is naive_verdict(rules, path)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=30))
def test_the_normal_form_is_one(path: str) -> None:
    once = normal(path)
    assert normal(once) == once or "%25" in once or re.search(r"%[0-9A-Fa-f]?%", once)
    assert once.isascii()
    assert " " not in once


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(
    ["User-agent: *", "User-agent: FooBot", "Disallow: /", "Allow: *", ":", "#", "\r", "\0", " x",
     "Crawl-delay: 1/0", "Request-rate: 9/9x", "Sitemap", "\ud800", "%", "*" * 50, "$$",
     "é"])))  # fmt: skip
def test_any_text_is_read(parts: list[str]) -> None:
    for text in ("\n".join(parts), "".join(parts)):
        file = read_robots(text, "FooBot")
        assert file.allows("http://a.test/x") in {True, False}
        assert file.delay >= 0.0


# Nothing takes long, whatever a file contains.


@pytest.mark.parametrize(
    "line",
    ["User-agent: a{}\n", "Disallow: /{}\n", "Disallow: /*{}*a\n", "a{}\n",
     "Allow: /{}/index.htm\n", "User-agent: a{}\nDisallow: /*{}\n"],
)  # fmt: skip
def test_a_file_is_read_in_slices_whatever_it_contains(line: str) -> None:
    text = "User-agent: *\n" + "".join(line.replace("{}", str(n)) for n in range(20_000))
    reader = RobotsReader(text, "FooBot")
    slices = sum(1 for _ in reader.slices())
    read = min(len(text), module.MAX_BYTES)
    assert slices >= read / (module.SLICE + len(line) + 20) - 1


def test_agents_of_others_are_not_kept() -> None:
    group = "".join(f"User-agent: a{n}\n" for n in range(5_000))
    rules = "".join(f"Disallow: /{n}*x\n" for n in range(20_000))
    file = read_robots(f"{group}{rules}User-agent: *\nDisallow: /a", "FooBot")
    assert file.wildcards == 0
    assert not file.allows("http://a.test/a")


def test_a_pattern_is_compared_in_linear_time() -> None:
    """A pattern on which backtracking would take longer than the universe is old."""
    rule = "/" + "*a" * 1_000 + "*b"
    assert obeys(f"Disallow: {rule}", "/" + "a" * 4_000)
    assert not obeys(f"Disallow: {rule}", "/" + "a" * 4_000 + "b")


def test_a_url_that_would_take_too_long_is_not_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = "".join(f"Disallow: /*a{n}\n" for n in range(100))
    assert obeys(rules, "/" + "a" * 100)
    monkeypatch.setattr(module, "MAX_COMPARISONS", 40_000)
    assert not obeys(rules, "/" + "a" * 100)
    assert obeys(rules, "/" + "a" * 50)


def test_two_thousand_wildcards_are_followed_for_long_urls() -> None:
    rules = "".join(f"Disallow: /*{n:05}filter-by-something=\n" for n in range(2_000))
    assert obeys(rules, "/" + "a" * 700)
    assert not obeys(rules, "/" + "a" * 700 + "00000filter-by-something=")
