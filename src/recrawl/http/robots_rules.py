"""Parse a robots.txt and match URLs, as RFC 9309 and Google's parser do.

The file may be hostile. Only the groups for one agent and for all agents are kept, so that the
names of other agents cost nothing; parsing takes linear time and can be interrupted; and the time
to match a URL is limited.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final, NamedTuple

#: Characters read of a file; the RFC requires at least 500 KiB. This also bounds the number of
#: lines, agents and rules: no rule is shorter than nine characters.
MAX_BYTES: Final = 512 * 1024

#: Characters read of a line, as many as Google reads: eight times the longest URL of a browser.
MAX_LINE: Final = 16_663

#: Wildcards in the rules that apply. Real files have some hundreds.
MAX_WILDCARDS: Final = 5_000

#: Sitemaps in a file.
MAX_SITEMAPS: Final = 5_000

#: Comparisons of characters for one URL in the worst case: some 50 ms. Real files with thousands of
#: wildcards stay below it even for long URLs.
MAX_COMPARISONS: Final = 50_000_000

#: Characters of a file read at once, which takes a few milliseconds at most.
SLICE: Final = 4 * 1024

_SPACE: Final = " \t\v\f\r\n"
_LINE = re.compile(r"[^\r\n]+")
_TOKEN = re.compile(r"[A-Za-z_-]+")
_NUMBER = re.compile(r"[0-9]{1,9}(?:[.,][0-9]{1,9})?|[.,][0-9]{1,9}")
_RATE = re.compile(r"([0-9]{1,9})\s*/\s*([0-9]{1,9})\s*([smhd]?)", re.IGNORECASE)
_UNIT: Final = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400}

#: Names of fields, with the misspellings that Google accepts; only the beginning has to match.
_AGENT: Final = ("user-agent", "useragent", "user agent")
_ALLOW: Final = ("allow",)
_DISALLOW: Final = ("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw")
_SITEMAP: Final = ("sitemap", "site-map")
_DELAY: Final = ("crawl-delay", "crawldelay", "crawl delay")
_REQUEST_RATE: Final = ("request-rate", "requestrate", "request rate")

_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})|[^A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]")
#: Escapes of : / ? @ ! ' ( ) , and ;
_PLAIN_IN_QUERIES = re.compile("%(?:3A|2F|3F|40|21|27|28|29|2C|3B)")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


#: Bytes that a dictionary entry takes in addition to its characters, and a rule with wildcards.
_PER_TEXT: Final = 120
_PER_PATTERN: Final = 500

#: Rules are ranked by twice their length, and one more for Allow: the highest rank of those that
#: match decides, and an odd one allows. This is the rank of no rule at all.
_NO_RULE: Final = 1


class _Pattern(NamedTuple):
    """A path with wildcards: the pieces before, between and after them."""

    pieces: tuple[str, ...]
    is_whole: bool

    def matches(self, path: str) -> bool:
        first, *middle, last = self.pieces
        if not path.startswith(first):
            return False
        position = len(first)
        # The first match of a piece leaves the most characters for the others.
        for piece in middle:
            found = path.find(piece, position)
            if found < 0:
                return False
            position = found + len(piece)
        if self.is_whole:
            return len(path) - len(last) >= position and path.endswith(last)
        return path.find(last, position) >= 0


class _Ranked(NamedTuple):
    """A rule with wildcards, in the order of ranks.

    Attributes:
        rank: Its rank.
        cost: Characters of this rule and all before it.
        piece: The longest piece of its pattern: if it is not found, as is usual, that is enough.
        pattern: Its pattern.
    """

    rank: int
    cost: int
    piece: str
    pattern: _Pattern


@dataclass(slots=True)
class _Group:
    """The rules for an agent, sorted by how they are matched.

    Attributes:
        starts: Ranks by prefix of a path.
        wholes: Ranks by whole path.
        patterns: Ranks by pattern with wildcards.
        wildcards: Their number in all patterns.
        delay: Seconds between requests.
    """

    starts: dict[str, int] = field(default_factory=dict)
    wholes: dict[str, int] = field(default_factory=dict)
    patterns: dict[_Pattern, int] = field(default_factory=dict)
    wildcards: int = 0
    delay: float = 0.0

    def add(self, value: str, *, allow: bool) -> None:
        """Add the rule of a line."""
        if not value:
            return
        text = normal(value)
        self._add(text, allow=allow)
        # A folder may be fetched if its index page may, as Google does.
        folder, slash, page = text.rpartition("/")
        if allow and slash and page.startswith("index.htm"):
            self._add(f"{folder}/$", allow=True)

    def ranked(self) -> tuple[_Ranked, ...]:
        """Return the rules with wildcards, the highest rank first."""
        rules = sorted(((rank, pattern) for pattern, rank in self.patterns.items()), reverse=True)
        costs = accumulate(rank // 2 for rank, _ in rules)
        return tuple(
            _Ranked(rank, cost, max(pattern.pieces, key=len), pattern)
            for (rank, pattern), cost in zip(rules, costs, strict=True)
        )

    def _add(self, text: str, *, allow: bool) -> None:
        rank = 2 * len(text) + allow
        is_whole = text.endswith("$")
        body = text[:-1] if is_whole else text
        if is_whole and body.endswith("*"):
            is_whole = False
        if not is_whole:
            body = body.rstrip("*")
        body = body.replace("$", "%24")
        if "*" in body:
            if self.wildcards > MAX_WILDCARDS:
                return
            pieces = body.split("*")
            pattern = _Pattern((pieces[0], *filter(None, pieces[1:-1]), pieces[-1]), is_whole)
            self.wildcards += len(pattern.pieces) - 1
            self.patterns[pattern] = max(rank, self.patterns.get(pattern, rank))
        else:
            known = self.wholes if is_whole else self.starts
            known[body] = max(rank, known.get(body, rank))


@dataclass(frozen=True, slots=True)
class RobotsFile:
    """What a robots.txt says to one agent.

    Attributes:
        delay: Seconds between requests that it asks for, 0 by default.
        sitemaps: Addresses of sitemaps, as written in the file.
        wildcards: Wildcards in the rules.
    """

    delay: float
    sitemaps: tuple[str, ...]
    wildcards: int
    _starts: dict[str, int] = field(repr=False)
    _wholes: dict[str, int] = field(repr=False)
    _ranked: tuple[_Ranked, ...] = field(repr=False)
    _lengths: tuple[int, ...] = field(repr=False)

    @property
    def memory(self) -> int:
        """About how many bytes it takes."""
        texts = [*self._starts, *self._wholes, *self.sitemaps]
        patterns = _PER_PATTERN * len(self._ranked) + _PER_TEXT * self.wildcards
        return patterns + _PER_TEXT * len(texts) + sum(map(len, texts))

    def allows(self, url: str) -> bool:
        """Whether a URL may be fetched; the longest rule decides, and Allow wins a tie.

        ``/robots.txt`` is a path like any other here: fetching it as a page needs permission. A
        canonical URL has escapes that links to it may lack, and that rules do not expect: both
        forms have to be allowed.
        """
        path = normal(_path_of(url))
        return all(self._allows_path(form) for form in {path, _as_linked(path)})

    def _allows_path(self, path: str) -> bool:
        path = path.replace("*", "%2A").replace("$", "%24")
        best = self._wholes.get(path, _NO_RULE)
        # There are at most some thousand lengths, since the file is limited.
        for length in self._lengths:
            if length > len(path):
                break
            best = max(best, self._starts.get(path[:length], _NO_RULE))
        affordable = MAX_COMPARISONS // len(path)
        for rank, cost, piece, pattern in self._ranked:
            if rank <= best:
                break
            if cost > affordable:
                return False
            if piece in path and pattern.matches(path):
                return bool(rank & 1)
        return bool(best & 1)


class RobotsReader:
    """Reads the text of a robots.txt for an agent, a slice at a time.

    Args:
        text: The file; bytes that are not UTF-8 as surrogates.
        token: The agent's name.
    """

    def __init__(self, text: str, token: str) -> None:
        self._text = _whole_lines(text)
        self._token = token.lower()
        self._ours, self._everyones = _Group(), _Group()
        self._is_named = False
        self._current: list[_Group] = []
        self._has_rules = False
        self._sitemaps: dict[str, None] = {}

    def slices(self) -> Iterator[None]:
        """Read the file; each pause is a chance for the caller to let other tasks run."""
        pause = SLICE
        for line in _LINE.finditer(self._text):
            self._take(line[0][:MAX_LINE])
            if line.end() >= pause:
                pause = line.end() + SLICE
                yield

    def file(self) -> RobotsFile:
        """Return the parsed file: the group that names the agent, or otherwise the one for all."""
        group = self._ours if self._is_named else self._everyones
        return RobotsFile(
            delay=group.delay,
            sitemaps=tuple(self._sitemaps),
            wildcards=group.wildcards,
            _starts=group.starts,
            _wholes=group.wholes,
            _ranked=group.ranked() if group.wildcards <= MAX_WILDCARDS else (),
            _lengths=tuple(sorted(set(map(len, group.starts)))),
        )

    def _take(self, line: str) -> None:
        name, colon, value = line.partition("#")[0].partition(":")
        if not colon:
            # A missing colon is tolerated if the line is unambiguous.
            words = name.split(maxsplit=2)
            if len(words) != 2:  # noqa: PLR2004 - name and value
                return
            name, value = words
        name, value = name.strip(_SPACE).lower(), value.strip(_SPACE)
        if name.startswith(_AGENT):
            self._begin(value)
        elif name.startswith(_SITEMAP):
            if value and len(self._sitemaps) < MAX_SITEMAPS:
                self._sitemaps[value] = None
        elif name.startswith((*_ALLOW, *_DISALLOW)):
            self._has_rules = True
            for group in self._current:
                group.add(value, allow=name.startswith(_ALLOW))
        elif self._current and (delay := _delay(name, value)) is not None:
            for group in self._current:
                group.delay = max(group.delay, delay)

    def _begin(self, agent: str) -> None:
        """Begin a group, or name another agent of one that has no rules yet."""
        if self._has_rules:
            self._current, self._has_rules = [], False
        found = _TOKEN.match(agent)
        if agent[:1] == "*" and agent[1:2] in {"", *_SPACE}:
            group = self._everyones
        elif found is not None and found[0].lower() == self._token:
            group = self._ours
            self._is_named = True
        else:
            return
        if not any(group is other for other in self._current):
            self._current.append(group)


def read_robots(text: str, token: str) -> RobotsFile:
    r"""Parse a robots.txt for the agent of this name.

    >>> file = read_robots("User-agent: *\nDisallow: /a\nAllow: /a/b\nCrawl-delay: 2", "recrawl")
    >>> file.allows("https://example.org/a"), file.allows("https://example.org/a/b"), file.delay
    (False, True, 2.0)
    """
    reader = RobotsReader(text, token)
    for _ in reader.slices():
        pass
    return reader.file()


def _whole_lines(text: str) -> str:
    """Return the lines of a file that are within the limit."""
    if len(text) <= MAX_BYTES:
        return text
    end = max(text.rfind(ending, 0, MAX_BYTES) for ending in "\r\n")
    return text[: end + 1]


def normal(path: str) -> str:
    """Return a path in the form in which paths are compared (RFC 9309, section 2.2.2).

    What is not ASCII is percent-encoded as UTF-8, and so is what no URL may contain; an escape of
    an unreserved character is decoded; any other stays, in upper case.

    >>> normal("/Käse %7e%3a:"), normal("/%4b%c3%a4se")
    ('/K%C3%A4se%20~%3A:', '/K%C3%A4se')
    """
    octets = path if path.isascii() else _octets(path).decode("latin-1")
    return _ESCAPE.sub(_escaped, octets)


def _octets(path: str) -> bytes:
    try:
        return path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return path.encode("utf-8", "surrogatepass")


def _escaped(found: re.Match[str]) -> str:
    if found[1] is None:
        return f"%{ord(found[0]):02X}"
    character = chr(int(found[1], 16))
    return character if character in _UNRESERVED else found[0].upper()


def _path_of(url: str) -> str:
    """Return path and query of a URL."""
    rest = url.partition("#")[0].partition("//")[2]
    start = re.search(r"[/?]", rest)
    if start is None:
        return "/"
    path = rest[start.start() :]
    return path if path.startswith("/") else f"/{path}"


def _as_linked(path: str) -> str:
    """Return a path in normal form without the escapes that only a canonical URL has.

    These are reserved characters that mean nothing in a query, and brackets anywhere.

    >>> _as_linked("/a%3Ab%5Bc?d=http%3A%2F%2Fe%26f")
    '/a%3Ab[c?d=http://e%26f'
    """
    if "%" not in path:
        return path
    before, mark, query = path.replace("%5B", "[").replace("%5D", "]").partition("?")
    return f"{before}{mark}{_PLAIN_IN_QUERIES.sub(_decoded, query)}"


def _decoded(found: re.Match[str]) -> str:
    return chr(int(found[0][1:], 16))


def _delay(name: str, value: str) -> float | None:
    """Return the seconds between requests that a line asks for, or None."""
    if name.startswith(_DELAY):
        number = _NUMBER.match(value)
        return None if number is None else float(number[0].replace(",", "."))
    if name.startswith(_REQUEST_RATE):
        rate = _RATE.match(value)
        if rate is not None and int(rate[1]):
            return int(rate[2]) * _UNIT[rate[3].lower()] / int(rate[1])
    return None
